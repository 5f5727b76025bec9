/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_MAILBOX_H
#define RTI_MAILBOX_H

/* A mailbox: the messages that wait for one actor, in the order in which they came.
 *
 * A message is an entry. There are four kinds, and they differ in where the memory comes from and
 * in what happens when the receiver is done with it:
 *
 *     ASYNC   entry pool + data pool; both are freed
 *     CALL    the same; the sender waits for an answer, which is not the mailbox's business
 *     SYNC    entry pool + sync pool; the sender is told, then both are freed
 *     NOTICE  the entry is part of what makes it: a link end, a monitor, a timer. It was reserved
 *             when that was made, so a notice is never refused; its `release` is called
 *
 * A received entry leaves the queue but not the world: it is held by its actor (struct rti_actor)
 * until the next receive, a release or death. A notice without data has nothing to keep, and of a
 * tick the actor keeps the id: both are released at the moment they are received, so that a timer
 * may tick again while its tick is handled.
 *
 * One reader at most: the owner, parked in a receive or in whatever else mail may wake. A push
 * claims the reader's wait and wakes it; the message stays in the queue until the reader takes it.
 * The receive that waits for ever has its wait here, because it is always the same: begun once, its
 * waiter never finished but taken by the push that claims it. To that reader, whose queue is empty,
 * a plain message goes straight: it becomes what the actor holds, and was never queued. A reader
 * that is killed before it runs gives it up like anything it holds.
 *
 * I1  `count` is the number of linked entries; count <= count_max.          (rti_mailbox_audit)
 * I2  An entry is linked iff it is queued; a held one is not.               (rti_mailbox_audit)
 * I3  `reader` is NULL or a waiter of the owner's present wait.             (rti_mailbox_unwatch)
 * I4  Nothing leaves the queue while a filter looks at it (`is_shown`).     (rti_mailbox_remove)
 *
 * Costs: a push is one list insertion, a count and a look at the reader; a take the reverse.
 *
 * Rejected: a wait list of readers (there is only ever one); handing every entry to the reader in
 * the push (a receive with a filter or a deadline may not want it, and would have to put it back).
 */

#include <orrery/rt/types.h>

#include "base/list.h"
#include "sched/wait.h"

enum rti_entry_kind {
    RTI_ENTRY_ASYNC,
    RTI_ENTRY_TYPED, /* ASYNC, by rt_behaviour_send: call_serial is the id of the message */
    RTI_ENTRY_CALL,
    RTI_ENTRY_BLOB, /* as TYPED; the payload is a token of a blob */
    RTI_ENTRY_SYNC,
    RTI_ENTRY_NOTICE,
    RTI_ENTRY_TICK, /* a notice whose data is the id of a timer, copied when it is received */
};

struct rti_notice;
struct rti_sync_wait;

/* The length of a message. */
#if RTI_ONE_WORKER && RT_MAX_MESSAGE_SIZE <= 0xffff
typedef uint16_t rti_entry_len;
#else
typedef uint32_t rti_entry_len;
#endif

/* One message. Written by who sends it; `link` by the mailbox. */
struct rti_entry {
    struct rti_link link; /* the mailbox's queue */
    const void *data;     /* what the receiver sees */
    union {
        struct rti_sync_wait *waiting; /* SYNC: its sender, NULL if that is gone */
        uint32_t call_serial; /* CALL: which call of the sender; TYPED, BLOB: the message's id */
        /* NOTICE: the receiver is done with it, or is dead: the memory is the record's again. May
         * be NULL. */
        void (*release)(struct rti_notice *notice);
    };
    actor_id sender;
    rti_entry_len len; /* bytes at `data` */
    uint8_t kind;      /* enum rti_entry_kind */
    bool has_trace;    /* a context goes with it (ipc_pools.h) */
};

/* Is it a message of the system, of either kind? */
static inline bool rti_entry_is_notice(const struct rti_entry *entry)
{
    return entry->kind >= RTI_ENTRY_NOTICE;
}

/* A message of the system, part of the record that makes it. */
struct rti_notice {
    struct rti_entry entry;
};

/* A SYNC sender's wait, on its stack. */
struct rti_sync_wait {
    struct rti_waiter waiter;
    struct rti_entry *entry; /* NULL once it was released */
    rt_status_code result;   /* RT_OK or RT_ERR_CLOSED, written by who releases */
};

/* Has the wait that is kept a waiter? Its source is the mailbox, which its owner's end clears
 * anyway. */
#define RTI_KEEPS_WAITER (!RTI_ONE_WORKER)

/* How many entries wait. */
#if RTI_ONE_WORKER
typedef uint16_t rti_mail_count;
#else
typedef uint32_t rti_mail_count;
#endif

struct rti_mailbox {
    struct rti_list queue;
    struct rti_waiter *reader;
    rti_mail_count count;
    rti_mail_count count_max;
#if RT_HAS_BEHAVIOURS
    uint32_t notice_count; /* of `count`, those that are notices; for limits */
#endif
    struct rti_entry *seen; /* the last one that a receive with a filter has looked at */
    bool is_shown;          /* a filter looks at the queue now */
    struct rti_wait wait;   /* the owner's, in the receive that waits for ever */
#if RTI_KEEPS_WAITER
    struct rti_waiter waiter; /* its only one */
#endif
};

/* Who is the reader in the receive that waits for ever: the kept waiter, or where memory is scarce
 * a mark that is not looked into. */
static inline struct rti_waiter *rti_mailbox_kept_reader(struct rti_mailbox *mailbox)
{
#if RTI_KEEPS_WAITER
    return &mailbox->waiter;
#else
    return (struct rti_waiter *)(void *)&mailbox->wait;
#endif
}

/* How many notices wait. */
static inline uint32_t rti_mailbox_notice_count(const struct rti_mailbox *mailbox)
{
#if RT_HAS_BEHAVIOURS
    return mailbox->notice_count;
#else
    uint32_t count = 0;
    for (const struct rti_link *at = mailbox->queue.head.next; at != &mailbox->queue.head;
         at = at->next) {
        count += rti_entry_is_notice(RTI_CONTAINER_OF(at, struct rti_entry, link));
    }
    return count;
#endif
}

/* One more or one less entry of this kind waits. */
static inline void rti_mailbox_count_notice(struct rti_mailbox *mailbox,
                                            const struct rti_entry *entry, int step)
{
#if RT_HAS_BEHAVIOURS
    mailbox->notice_count += rti_entry_is_notice(entry) ? (uint32_t)step : 0;
#else
    (void)mailbox, (void)entry, (void)step;
#endif
}

/* Makes an empty mailbox for the owner's fiber, whose `wake` is the one of its waits. */
void rti_mailbox_init(struct rti_mailbox *mailbox, void (*wake)(struct rti_wait *), void *fiber,
                      bool is_local);

/* Makes an empty mailbox, made by init, ready for the next owner, which has the same fiber. */
static inline void rti_mailbox_reset(struct rti_mailbox *mailbox)
{
    RT_DCHECK(mailbox->count == 0 && mailbox->reader == NULL && !mailbox->is_shown);
    RT_DCHECK(rti_mailbox_notice_count(mailbox) == 0);
    mailbox->count_max = 0;
#if RTI_KEEPS_WAITER
    /* The end of the last owner may have finished it. */
    mailbox->wait.waiters = &mailbox->waiter;
#endif
}

/* Prepares a notice. `data` may be NULL with len 0; else it lives as long as the notice, and not
 * right behind it, which is where small payloads of messages are known to lie (ipc_pools.h). */
void rti_notice_init(struct rti_notice *notice, actor_id sender, const void *data, size_t len);

static inline struct rti_notice *rti_notice_of(struct rti_entry *entry)
{
    RT_DCHECK(rti_entry_is_notice(entry));
    return RTI_CONTAINER_OF(entry, struct rti_notice, entry);
}

/* Waits in a mailbox now. A notice that was received and is still held is not queued. */
static inline bool rti_notice_is_queued(const struct rti_notice *notice)
{
    return rti_link_is_linked(&notice->entry.link);
}

/* Messages that wait, notices not counted. */
static inline uint32_t rti_mailbox_mail_count(const struct rti_mailbox *mailbox)
{
    return mailbox->count - rti_mailbox_notice_count(mailbox);
}

static inline bool rti_mailbox_is_empty(const struct rti_mailbox *mailbox)
{
    return mailbox->count == 0;
}

/* Appends an entry and tells nobody. */
static inline void rti_mailbox_append(struct rti_mailbox *mailbox, struct rti_entry *entry)
{
    rti_list_push_tail(&mailbox->queue, &entry->link);
    rti_mailbox_count_notice(mailbox, entry, 1);
    rti_mail_count count = ++mailbox->count;
    if (count > mailbox->count_max) {
        mailbox->count_max = count;
    }
}

/* Wakes the reader, if there is one; it is claimed from here on. */
void rti_mailbox_wake_reader(struct rti_mailbox *mailbox);

/* Makes the kept wait the owner's present one. */
static inline struct rti_wait *rti_mailbox_watch_for_ever(struct rti_mailbox *mailbox)
{
    RT_ASSERT(mailbox->reader == NULL);
    rti_wait_rearm(&mailbox->wait);
    mailbox->reader = rti_mailbox_kept_reader(mailbox);
    return &mailbox->wait;
}

/* Is the owner in the receive that waits for ever? Then claims its wait: the caller gives it a
 * message to hold, and wakes it. */
static inline bool rti_mailbox_claim_reader(struct rti_mailbox *mailbox)
{
    if (mailbox->reader != rti_mailbox_kept_reader(mailbox) ||
        !rti_wait_claim(&mailbox->wait, RTI_EVENT_SOURCE)) {
        return false;
    }
    RT_DCHECK(mailbox->count == 0);
    mailbox->reader = NULL;
    return true;
}

/* The owner has come to its end: nobody reads, and no filter looks. */
static inline void rti_mailbox_abandon(struct rti_mailbox *mailbox)
{
#if !RTI_KEEPS_WAITER
    RT_ASSERT(mailbox->reader == NULL || mailbox->reader == rti_mailbox_kept_reader(mailbox));
    mailbox->reader = NULL;
#endif
    mailbox->is_shown = false;
}

/* Appends an entry and wakes the reader if there is one. */
static inline void rti_mailbox_push(struct rti_mailbox *mailbox, struct rti_entry *entry)
{
    rti_mailbox_append(mailbox, entry);
    if (mailbox->reader != NULL) {
        rti_mailbox_wake_reader(mailbox);
    }
}

/* Takes out a queued entry, wherever it is. */
static inline void rti_mailbox_remove(struct rti_mailbox *mailbox, struct rti_entry *entry)
{
    RT_ASSERT(mailbox->count > 0 && !mailbox->is_shown);
    rti_list_remove(&entry->link);
    mailbox->count--;
    rti_mailbox_count_notice(mailbox, entry, -1);
}

/* The entry that has waited longest, left where it is; NULL if there is none. */
static inline struct rti_entry *rti_mailbox_peek(const struct rti_mailbox *mailbox)
{
    struct rti_link *link = rti_list_peek(&mailbox->queue);
    return link == NULL ? NULL : RTI_CONTAINER_OF(link, struct rti_entry, link);
}

/* The entry behind `entry`, or the first with NULL; NULL at the end. */
struct rti_entry *rti_mailbox_next(const struct rti_mailbox *mailbox,
                                   const struct rti_entry *entry);

/* Ends the watch of a waiter given to rti_mailbox_watch, if it lasts: what its `unlink` does. */
void rti_mailbox_unwatch(struct rti_waiter *waiter);

/* Makes `waiter` the reader: the next push wakes it. Its `slot` is the mailbox's from here on. For
 * every wait that mail ends, not only receives:
 *
 *     rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_actors_unwatch);
 *     rti_mailbox_watch(&actor->mailbox, &waiter); */
static inline void rti_mailbox_watch(struct rti_mailbox *mailbox, struct rti_waiter *waiter)
{
    RT_ASSERT(mailbox->reader == NULL);
    RT_DCHECK(waiter->unlink != NULL);
    waiter->slot = mailbox;
    mailbox->reader = waiter;
}

/* What the `unlink` of a SYNC sender's waiter does: the message stays, nobody waits for it any
 * more.
 */
void rti_sync_wait_unlink(struct rti_waiter *waiter);

/* Lets the sender of a SYNC entry, if it is still there, go on with `result`. */
void rti_entry_end_sync(struct rti_entry *entry, rt_status_code result);

/* Checks I1 and I2; returns the number of entries that are not notices. */
size_t rti_mailbox_audit(const struct rti_mailbox *mailbox);

#endif
