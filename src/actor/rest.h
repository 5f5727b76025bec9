/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REST_H
#define RTI_REST_H

/* How a behaviour that has nothing more to do comes to rest, and how the next message ends that.
 *
 * Two words are involved. The mailbox's tail says whether anybody must be woken: it is marked idle
 * by the consumer, in the step that shows that nothing is queued, and exactly one push finds the
 * mark. The runnable's state says who queues it: the pusher's wake may come between the mark and
 * the park, finds it RUNNING and leaves it WOKEN, and the consumer, which cannot park then, queues
 * it itself. The order is mark, then park; nothing of the behaviour is touched after the mark but
 * the state word.
 *
 * I1  Between a successful rest and the next turn exactly one push answers true.   (explored)
 * I2  A message that was pushed is followed by a turn.                             (explored) */

#include "base/mpsc.h"
#include "sched/runnable.h"

enum rti_rest {
    RTI_REST_QUEUE,  /* the caller queues it: there is more to do */
    RTI_REST_PARKED, /* it is another's, as soon as somebody pushes */
};

/* Parks a RUNNING behaviour if its mailbox is empty. */
static inline enum rti_rest rti_rest_try(struct rti_runnable *run, struct rti_mpsc *mailbox,
                                         bool is_local)
{
    bool is_idle = is_local ? rti_mpsc_try_idle_alone(mailbox) : rti_mpsc_try_idle(mailbox);
    if (!is_idle) {
        rti_runnable_to_yielding(run);
        return RTI_REST_QUEUE;
    }
    return rti_runnable_to_parked(run) ? RTI_REST_PARKED : RTI_REST_QUEUE;
}

#endif
