/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REST_H
#define RTI_REST_H

/* How a behaviour that has nothing more to do comes to rest, and how the next message ends that.
 *
 * Two words are involved. The mailbox's own says whether anybody must be woken: it is marked idle
 * by the receiver, in the step that shows that nothing has come, and exactly one push finds the
 * mark. The runnable's state says what it is to others. The order is park, then mark: a behaviour
 * that is not muted is woken by who finds the mark and by nobody else, so until the mark is there
 * the state is its own, and from there on it is that pusher's alone. Both write it plainly, and the
 * swap of the mailbox's word orders the two. If something came meanwhile there is no mark, and the
 * park is taken back unseen. Nothing of the behaviour is touched after the mark.
 *
 * One that is muted has no mark; it parks and is woken as any runnable (sched/runnable.h).
 *
 * I1  Between a successful rest and the next turn exactly one push answers true.   (explored)
 * I2  A message that was pushed is followed by a turn.                             (explored)
 *
 * Rejected: giving up the turn when something came meanwhile (it is there, and the turn has room
 * for it, or ends by its batch); mark, then park, with a compare-exchange of the state on both
 * sides (two locked instructions more for each message to an idle one). */

#include "actor/letterbox.h"
#include "base/mpsc.h"
#include "sched/runnable.h"

/* Parks a RUNNING behaviour that is not muted, if nothing has come that it has not taken. After
 * true it is another's, as soon as somebody pushes; after false it runs on. `is_solo`: in a section
 * in which nobody does (sched/solo.h). */
static inline bool rti_rest_try(struct rti_runnable *run, struct rti_letterbox *letters,
                                bool is_solo)
{
    RT_DCHECK(rti_runnable_state(run) == RTI_RUNNABLE_RUNNING);
    rti_u32_store_relaxed(&run->state, RTI_RUNNABLE_PARKED);
    if (RTI_LIKELY(rti_letterbox_try_idle(letters, is_solo))) {
        return true;
    }
    rti_u32_store_relaxed(&run->state, RTI_RUNNABLE_RUNNING);
    return false;
}

/* The push that has found the mark makes it READY; the caller queues it. */
static inline void rti_rest_end(struct rti_runnable *run)
{
    RT_DCHECK(rti_runnable_state(run) == RTI_RUNNABLE_PARKED);
    rti_u32_store_relaxed(&run->state, RTI_RUNNABLE_READY);
}

/* The same with one worker, which has just found the mailbox empty: nobody can have woken it. */
static inline void rti_rest_alone(struct rti_runnable *run, struct rti_mpsc *mailbox)
{
    RT_DCHECK(rti_mpsc_is_empty_alone(mailbox));
    rti_mpsc_idle_alone(mailbox);
    rti_runnable_to_parked_here(run);
}

#endif
