/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "link"
#include "actor/link.h"

#include "actor/actors.h"

void rti_links_init(struct rti_links *links)
{
    rti_pool_init(&links->pool, links->memory, sizeof(struct rti_link_end),
                  RT_LINK_ENTRY_POOL_SIZE);
}

void rti_links_deinit(struct rti_links *links)
{
    rti_pool_deinit(&links->pool);
}

static struct rti_link_end *link_end_of(struct rti_link *link)
{
    return RTI_CONTAINER_OF(link, struct rti_link_end, link);
}

static void link_end_free(struct rti_link_end *end)
{
    struct rti_links *links = &end->owner->actors->links;
    rti_list_remove(&end->link);
    rti_pool_free(&links->pool, end);
}

static void link_end_release(struct rti_notice *notice)
{
    struct rti_link_end *end = RTI_CONTAINER_OF(notice, struct rti_link_end, notice);
    RT_ASSERT(end->peer == NULL);
    link_end_free(end);
}

static RTI_NOINLINE void link_end_init(struct rti_link_end *end, struct rti_actor *owner,
                                       struct rti_actor *target, struct rti_link_end *peer)
{
    rti_link_init(&end->link);
    end->peer = peer;
    end->owner = owner;
    end->target = target->id;
    rti_notice_init(&end->notice, RT_SENDER_SYSTEM, &end->exit, sizeof(end->exit));
    end->notice.entry.release = link_end_release;
    rti_actor_note_attached(owner);
    rti_list_push_tail(&owner->links, &end->link);
}

/* The end of `actor` that is whole or whose notice waits; NULL if there is none. */
static struct rti_link_end *link_find(struct rti_actor *actor, actor_id target)
{
    for (struct rti_link *at = rti_list_peek(&actor->links); at != NULL;
         at = rti_list_next(&actor->links, at)) {
        struct rti_link_end *end = link_end_of(at);
        if (end->target == target && (end->peer != NULL || rti_notice_is_queued(&end->notice))) {
            return end;
        }
    }
    return NULL;
}

/* Takes two ends or none. */
static rt_status link_make(struct rti_actor *self, struct rti_actor *target)
{
    struct rti_pool *pool = &self->actors->links.pool;
    struct rti_link_end *mine = rti_pool_alloc(pool);
    struct rti_link_end *theirs = mine == NULL ? NULL : rti_pool_alloc(pool);
    if (theirs == NULL) {
        if (mine != NULL) {
            rti_pool_free(pool, mine);
        }
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no two link entries are left")};
    }
    link_end_init(mine, self, target, theirs);
    link_end_init(theirs, target, self, mine);
    return RT_SUCCESS;
}

static rt_status link_to(struct rti_actor *self, actor_id target)
{
    struct rti_actor *other = rti_actors_lookup(self->actors, target);
    if (other == NULL || other == self) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("a link needs another actor that lives")};
    }
    return link_find(self, target) != NULL ? RT_SUCCESS : link_make(self, other);
}

rt_status rt_link(actor_id target)
{
    struct rti_actor *self = rti_actor_current();
    if (self == NULL) {
        return rti_actor_refusal(rti_worker_current());
    }
    rti_actors_lock(self->actors);
    rt_status status = link_to(self, target);
    rti_actors_unlock(self->actors);
    return status;
}

static rt_status link_end(struct rti_actor *self, actor_id target)
{
    struct rti_link_end *end = link_find(self, target);
    if (end == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("there is no such link")};
    }
    if (end->peer != NULL) {
        link_end_free(end->peer);
    } else {
        rti_mailbox_remove_notice(self, &end->notice);
    }
    link_end_free(end);
    return RT_SUCCESS;
}

rt_status rt_unlink(actor_id target)
{
    struct rti_actor *self = rti_actor_current();
    if (self == NULL) {
        return rti_actor_refusal(rti_worker_current());
    }
    rti_actors_lock(self->actors);
    rt_status status = link_end(self, target);
    rti_actors_unlock(self->actors);
    return status;
}

void rti_links_notify(struct rti_actor *dead, rt_exit_reason reason)
{
    struct rti_link *at;
    while ((at = rti_list_peek(&dead->links)) != NULL) {
        struct rti_link_end *mine = link_end_of(at);
        struct rti_link_end *theirs = mine->peer;
        /* The dead one's mailbox is clear, so none of its ends is without a peer. */
        RT_ASSERT(theirs != NULL && theirs->peer == mine);
        theirs->peer = NULL;
        theirs->exit = (rt_exit_msg){.actor = dead->id, .reason = reason};
        rti_mailbox_push_notice(theirs->owner, &theirs->notice);
        link_end_free(mine);
    }
}

bool rt_is_exit_msg(const rt_message *msg)
{
    return msg != NULL && msg->sender == RT_SENDER_SYSTEM;
}

rt_status rt_decode_exit(const rt_message *msg, rt_exit_msg *out)
{
    if (!rt_is_exit_msg(msg) || out == NULL || msg->data == NULL ||
        msg->len != sizeof(rt_exit_msg)) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("this is no exit message, or no room for the answer")};
    }
    memcpy(out, msg->data, sizeof(*out));
    return RT_SUCCESS;
}

size_t rti_links_audit(const struct rti_actor *actor)
{
    size_t count = 0;
    for (struct rti_link *at = rti_list_peek(&actor->links); at != NULL;
         at = rti_list_next(&actor->links, at)) {
        const struct rti_link_end *end = link_end_of(at);
        RT_ASSERT(end->owner == actor);
        bool is_notice = rti_notice_is_queued(&end->notice) || actor->held == &end->notice.entry;
        RT_ASSERT((end->peer == NULL) == is_notice);
        if (end->peer != NULL) {
            RT_ASSERT(end->peer->peer == end && end->peer->owner->id == end->target);
            struct rti_link *later = rti_list_next(&actor->links, at);
            for (; later != NULL; later = rti_list_next(&actor->links, later)) {
                RT_ASSERT(link_end_of(later)->target != end->target);
            }
        }
        count++;
    }
    return count;
}
