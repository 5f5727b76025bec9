/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CANCEL_H
#define RTI_CANCEL_H

/* Cancellation: a flag that is raised once, and a line of those who wait meanwhile.
 *
 * A fiber's `cancel` is that of its current context (sync/cx.h). It lies in this layer so that
 * everything that waits can look at it.
 *
 * A wait that can be cancelled adds one more waiter, with the event RTI_EVENT_CANCEL, and links it
 * here. Raising the flag claims every wait in the line and wakes it; a wait that something else has
 * claimed already keeps what it got.
 *
 * I1  `is_requested` goes from false to true and never back.           (rti_cancel_request)
 * I2  Once it is true the line holds nobody whose wait is unclaimed.   (rti_cancel_add) */

#include "sched/wait.h"

struct rti_cancel {
    bool is_requested;
    bool is_seen; /* a call of the one who was asked has failed for it */
    struct rti_waitlist line;
};

static inline void rti_cancel_init(struct rti_cancel *cancel)
{
    cancel->is_requested = false;
    cancel->is_seen = false;
    rti_waitlist_init(&cancel->line);
}

/* Adds cancellation to the events of a wait. The flag is not raised: the caller has looked. */
static inline void rti_cancel_add(struct rti_cancel *cancel, struct rti_wait *wait,
                                  struct rti_waiter *waiter)
{
    RT_ASSERT(!cancel->is_requested);
    rti_wait_add(wait, waiter, RTI_EVENT_CANCEL, rti_waitlist_unlink);
    rti_waitlist_add(&cancel->line, waiter);
}

/* Raises the flag and wakes who waits. False if it was raised before. A waker may end the object
 * that the flag lies in. */
static inline bool rti_cancel_request(struct rti_cancel *cancel)
{
    if (cancel->is_requested) {
        return false;
    }
    cancel->is_requested = true;
    rti_waitlist_wake_all(&cancel->line);
    return true;
}

#endif
