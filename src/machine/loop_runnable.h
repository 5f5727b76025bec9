/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LOOP_RUNNABLE_H
#define RTI_LOOP_RUNNABLE_H

/* A loop of machines as a runnable of an engine: machines beside actors and tasks, over one port.
 *
 * The engine waits for the world, the loop does not. A step does what a turn does after its wait
 * and then parks, unless something is left to do. It is woken by whatever comes. Several loops of
 * one group may be runnables of one engine.
 *
 * With one worker a completion of the port and a timer of the engine's wheel are told on the
 * worker's stack, between two steps, and go straight into the loop; a leg from another loop is told
 * by a post of that loop's thread.
 *
 * With several workers each step may run on another one, and one at a time, so that machines need
 * no locks. Nothing else touches the loop: what the port answers, on whichever thread, is put into
 * a list (`answers`) that the next step takes up, the loop keeps its own wheel, and one timer of
 * the engine stands for the earliest of it. All of them, and legs from other loops, wake the
 * runnable by the flag `is_posted`:
 *
 *     who brings something                    the step
 *       puts it in its place                    takes the flag down, then looks at everything
 *       raises the flag; was it down?           idle: parks, or is ready if it was woken meanwhile
 *         then wakes the runnable               not idle, or over: raises the flag itself; was it
 *                                               down? then it is ready, or ends, and nobody wakes
 *                                               it; else somebody is about to, and it parks
 *
 * So it is woken once for each time that the flag went up, and never once it is ready or has ended.
 * A loop whose group is not made yet parks until it is.
 *
 * I1  The runnable is parked only if the loop is idle, or somebody is about to wake it.
 *                                                                      (RT_ASSERT in the step)
 * I2  The post is queued, or the wake is due, at most once at a time.   (posted.h)
 * I3  With several workers the flag is up once the runnable has ended.  (host_step_shared)
 *
 * Who writes: is_posted any thread; `answers` any thread, under the lock; everything else the
 * worker that runs the step. The memory stays until the scheduler has returned from its run. */

#include "machine/loop.h"
#include "machine/posted.h"
#include "sched/lock.h"
#include "time/clockwork.h"

struct rti_loop_runnable {
    struct rti_runnable runnable;
    struct rti_loop *loop;
    struct rti_sched *sched;
    struct rti_post post;
    rti_atomic_u32 is_posted;
    bool is_parked; /* one worker */
#if !RTI_ONE_WORKER
    struct rti_lock lock;
    struct rti_list answers; /* ops that the port has answered; lock */
    struct rti_timer timer;  /* stands for the earliest of the loop's wheel */
    struct rti_clockwork *clockwork;
    uint64_t armed_ns; /* what it was armed for last; RTI_TIME_NEVER: it is not */
#endif
};

/* Makes `loop`, initialized with the scheduler's port and not yet turned, a runnable of `sched` and
 * starts it. It ends when all loops of the group are closed. Worker's thread. */
void rti_loop_host(struct rti_loop_runnable *self, rt_loop *loop, struct rti_sched *sched,
                   uint32_t id, uint8_t priority);

#endif
