/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "mailbox"
#include "actor/mailbox.h"

#if RTI_ONE_WORKER
_Static_assert(RT_MAILBOX_ENTRY_POOL_SIZE + RT_LINK_ENTRY_POOL_SIZE + RT_MONITOR_ENTRY_POOL_SIZE +
                       RT_TIMER_ENTRY_POOL_SIZE + 2 * RT_CHILD_POOL_SIZE + RT_MAX_SUPERVISORS <=
                   UINT16_MAX,
               "a mailbox counts in 16 bits here, and all there is may wait in one");
#endif

void rti_mailbox_init(struct rti_mailbox *mailbox, void (*wake)(struct rti_wait *), void *fiber,
                      bool is_local)
{
    rti_list_init(&mailbox->queue);
    mailbox->reader = NULL;
    mailbox->count = 0;
    mailbox->count_max = 0;
#if RT_HAS_BEHAVIOURS
    mailbox->notice_count = 0;
#endif
    mailbox->seen = NULL;
    mailbox->is_shown = false;
    rti_wait_begin(&mailbox->wait, wake, fiber, is_local);
    mailbox->wait.reason = RTI_REASON_MAIL;
#if RTI_KEEPS_WAITER
    rti_wait_add(&mailbox->wait, &mailbox->waiter, RTI_EVENT_SOURCE, rti_mailbox_unwatch);
    mailbox->waiter.slot = mailbox;
#endif
}

void rti_notice_init(struct rti_notice *notice, actor_id sender, const void *data, size_t len)
{
    RT_ASSERT((data == NULL) == (len == 0));
    RT_ASSERT((uintptr_t)data - (uintptr_t)(notice + 1) >= _Alignof(max_align_t));
    RT_ASSERT(len <= (rti_entry_len)-1);
    notice->entry = (struct rti_entry){
        .data = data,
        .sender = sender,
        .len = (rti_entry_len)len,
        .kind = RTI_ENTRY_NOTICE,
    };
    notice->entry.release = NULL;
}

struct rti_entry *rti_mailbox_next(const struct rti_mailbox *mailbox, const struct rti_entry *entry)
{
    if (entry == NULL) {
        return rti_mailbox_peek(mailbox);
    }
    RT_DCHECK(rti_link_is_linked(&entry->link));
    struct rti_link *link = rti_list_next(&mailbox->queue, &entry->link);
    return link == NULL ? NULL : RTI_CONTAINER_OF(link, struct rti_entry, link);
}

void rti_mailbox_wake_reader(struct rti_mailbox *mailbox)
{
    struct rti_waiter *reader = mailbox->reader;
    RT_ASSERT(reader != NULL);
    mailbox->reader = NULL;
    bool is_kept = reader == rti_mailbox_kept_reader(mailbox);
    struct rti_wait *wait = is_kept ? &mailbox->wait : reader->wait;
    if (rti_wait_claim(wait, is_kept ? RTI_EVENT_SOURCE : reader->event)) {
        wait->wake(wait);
    }
}

void rti_mailbox_unwatch(struct rti_waiter *waiter)
{
    struct rti_mailbox *mailbox = waiter->slot;
    RT_ASSERT(mailbox->reader == waiter || mailbox->reader == NULL);
    mailbox->reader = NULL;
}

void rti_sync_wait_unlink(struct rti_waiter *waiter)
{
    struct rti_sync_wait *sync = RTI_CONTAINER_OF(waiter, struct rti_sync_wait, waiter);
    if (sync->entry != NULL) {
        RT_ASSERT(sync->entry->waiting == sync);
        sync->entry->waiting = NULL;
        sync->entry = NULL;
    }
}

void rti_entry_end_sync(struct rti_entry *entry, rt_status_code result)
{
    RT_ASSERT(entry->kind == RTI_ENTRY_SYNC);
    struct rti_sync_wait *sync = entry->waiting;
    if (sync == NULL) {
        return;
    }
    entry->waiting = NULL;
    sync->entry = NULL;
    if (rti_wait_claim(sync->waiter.wait, sync->waiter.event)) {
        sync->result = result;
        rti_waiter_wake(&sync->waiter);
    }
}

size_t rti_mailbox_audit(const struct rti_mailbox *mailbox)
{
    RT_ASSERT(rti_list_audit(&mailbox->queue) == mailbox->count);
    RT_ASSERT(mailbox->count <= mailbox->count_max);
    size_t pooled = 0;
    for (struct rti_entry *at = rti_mailbox_peek(mailbox); at != NULL;
         at = rti_mailbox_next(mailbox, at)) {
        RT_ASSERT(at->kind <= RTI_ENTRY_TICK);
        RT_ASSERT(at->kind != RTI_ENTRY_SYNC || at->waiting == NULL || at->waiting->entry == at);
        pooled += !rti_entry_is_notice(at);
    }
    RT_ASSERT(mailbox->count - pooled == rti_mailbox_notice_count(mailbox));
    return pooled;
}
