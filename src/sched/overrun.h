/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_OVERRUN_H
#define RTI_OVERRUN_H

/* An overrun: a turn that keeps a thread of the crew for so long, without a suspension, that the
 * program's author should hear of it. The watchdog.
 *
 * The warden sees a station that makes no turn. When it interrupts the holder for the first time
 * (sched/preempt.h) the member becomes a suspect; when the limit has passed it is interrupted once
 * more and asked. In the handler, on the thread itself, it is known whether it is still the same
 * turn:
 *
 *     the member still has its station      the station's count of turns is the one that was seen
 *     it had to let go of the station       it has not come back to one: a dispatch needs one, and
 *                                           so do rt_blocking_exit and every suspension
 *
 * and there the backtrace is taken and the line is put together: nothing of the fiber can go away
 * meanwhile. A call between rt_blocking_enter and _exit says itself that it takes long, and is
 * none. Each overrun is told once and counted. What has no stack of its own, a behaviour or a poll
 * task, is told as what runs on the worker's.
 *
 * A suspect is forgotten when it is asked, whatever the answer. Its thread may have ended the turn
 * and made others since; a long one among them is a suspicion of its own.
 *
 * I1  An overrun is told at most once.             (view->is_suspected; the list is left first)
 *
 * Who writes: the warden all of it, before it interrupts; the handler takes the question away.
 * Pairs: the release of `asked` with the exchange in the handler.
 *
 * Costs: nothing in a turn. */

#include <stdbool.h>

#include "base/atomic.h"
#include "base/compiler.h"

struct rti_backtrace;
struct rti_fiber;
struct rti_frame;
struct rti_member;
struct rti_sched;
struct rti_warden;
struct rti_warden_view;
struct rti_worker;

/* What is known of a member's present turn. */
struct rti_overrun {
    struct rti_member *next; /* the warden's list; not in it: it is no suspect */
    rti_atomic_u64 since_ns; /* when the turn was seen first */
    rti_atomic_u64 turns;    /* of its station, then */
    rti_atomic_u32 asked;    /* not 0: the handler is to tell */
    bool is_suspect;         /* the warden's */
};

/* What is told of one; see rti_sched: on_overrun. */
struct rti_overrun_report {
    const struct rti_fiber *fiber; /* NULL: what has no stack of its own */
    const struct rti_backtrace *trace;
    uint64_t span_ns;
};

/* Says that a member keeps its station as a view of it shows; the first time that this turn is seen
 * to be long, or once more. The warden, before it interrupts the member. */
void rti_overrun_suspect(struct rti_warden *warden, struct rti_member *member,
                         const struct rti_warden_view *view, bool is_new);

/* Asks the suspects whose time is over. The warden. */
void rti_overrun_ask(struct rti_warden *warden, uint64_t now_ns);

/* When the next one is to be asked; RTI_TIME_NEVER: there is none. The warden. */
uint64_t rti_overrun_next(const struct rti_warden *warden);

/* Forgets the suspects: their threads have ended. */
void rti_overrun_forget(struct rti_warden *warden);

/* Is the turn of this worker the one that the warden has seen? On its own thread. */
bool rti_overrun_is_meant(const struct rti_worker *worker);

/* On the interrupted thread, in the handler, before a station is let go of. False: this is another
 * turn than the one that was meant, and should be left alone. */
bool rti_overrun_interrupted(struct rti_worker *worker, const struct rti_frame *frame);

#endif
