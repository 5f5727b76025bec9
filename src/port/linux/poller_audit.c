/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over the poller's table; the invariants are in poller.c. */
#define RTI_MODULE "poller_audit"
#include "port/linux/poller.h"

_Static_assert(sizeof(struct rti_fd) == RTI_CACHE_LINE, "an entry is a line");

static size_t queue_audit(const struct rti_fd *entry, int fd, enum rti_direction direction)
{
    const struct rti_list *queue = &entry->queue[direction];
    size_t count = rti_list_audit(queue);
    RT_ASSERT(count == 0 || (entry->armed & 1U << direction) != 0);
    for (struct rti_link *link = rti_list_peek(queue); link != NULL;
         link = rti_list_next(queue, link)) {
        const struct rti_op *op = rti_op_of_link(link);
        RT_ASSERT(op->state == RTI_OP_IN_FLIGHT && op->stage == RTI_STAGE_WAITING);
        RT_ASSERT(op->fd == fd && rti_op_direction(op) == direction);
    }
    return count;
}

size_t rti_poller_audit(const struct rti_poller *poller)
{
    size_t count = 0;
    RT_ASSERT(poller->fds_top <= poller->fds_count);
    for (size_t i = 0; i < poller->fds_top; i++) {
        const struct rti_fd *entry = &poller->fds[i];
        if (entry->kind == RTI_FD_UNKNOWN) {
            RT_ASSERT(entry->armed == 0 && entry->dry == 0 && !entry->is_starved);
            continue;
        }
        RT_ASSERT((entry->dry & ~entry->armed) == 0);
        count += queue_audit(entry, (int)i, RTI_INWARD);
        count += queue_audit(entry, (int)i, RTI_OUTWARD);
    }
    RT_ASSERT(count == poller->waiting_count);
    return count;
}
