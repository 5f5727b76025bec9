/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "inbox"
#include "machine/inbox.h"

void rti_inbox_init(struct rti_inbox *inbox)
{
    rti_mpsc_init(&inbox->queue);
    inbox->has_marker = false;
    inbox->is_idle = true;
}

struct rti_leg *rti_inbox_next(struct rti_inbox *inbox)
{
    struct rti_mpsc_node *node;
    enum rti_mpsc_result result = rti_mpsc_pop(&inbox->queue, &node);
    if (result != RTI_MPSC_EMPTY) {
        /* The push that made it so has found the idle mark, if there was one. */
        inbox->is_idle = false;
    }
    if (result != RTI_MPSC_ITEM) {
        RT_ASSERT(result == RTI_MPSC_BUSY || !inbox->has_marker);
        return NULL;
    }
    if (node == &inbox->marker) {
        RT_ASSERT(inbox->has_marker);
        inbox->has_marker = false;
        return NULL;
    }
    if (!inbox->has_marker) {
        inbox->has_marker = true;
        bool was_idle = rti_mpsc_push(&inbox->queue, &inbox->marker);
        RT_ASSERT(!was_idle);
    }
    return rti_leg_of_node(node);
}

bool rti_inbox_try_idle(struct rti_inbox *inbox)
{
    /* Once marked, a push takes the mark away and wakes: blocking stays right until something is
     * taken. */
    if (!inbox->is_idle) {
        inbox->is_idle = rti_mpsc_try_idle(&inbox->queue);
    }
    return inbox->is_idle;
}

size_t rti_inbox_audit(const struct rti_inbox *inbox)
{
    size_t count = rti_mpsc_audit(&inbox->queue);
    RT_ASSERT(count > 0 || !inbox->has_marker);
    return inbox->has_marker ? count - 1 : count;
}
