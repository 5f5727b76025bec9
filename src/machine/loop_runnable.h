/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LOOP_RUNNABLE_H
#define RTI_LOOP_RUNNABLE_H

/* A loop of machines as a runnable of an engine: machines beside actors and tasks, on one thread,
 * over one port and one wheel.
 *
 * The engine waits for the world, the loop does not. A step does what a turn does after its wait
 * and then parks, unless something is left to do. It is woken by whatever comes: a completion of
 * the port or a timer, both told on the worker's stack; a leg from another loop, told by a post of
 * that loop's thread. Several loops of one group may be runnables of one engine.
 *
 * I1  The runnable is parked only if the loop is idle.                     (RT_ASSERT in the step)
 * I2  The post is queued at most once at a time.                           (posted.h)
 *
 * Who writes: is_posted any thread; everything else the worker. The memory stays until the
 * scheduler has returned from its run. */

#include "machine/loop.h"
#include "machine/posted.h"
#include "sched/scheduler.h"

struct rti_loop_runnable {
    struct rti_runnable runnable;
    struct rti_loop *loop;
    struct rti_sched *sched;
    struct rti_post post;
    rti_atomic_u32 is_posted;
    bool is_parked;
};

/* Makes `loop`, initialized with the scheduler's port and not yet turned, a runnable of `sched` and
 * starts it. It ends when all loops of the group are closed. Worker's thread. */
void rti_loop_host(struct rti_loop_runnable *self, rt_loop *loop, struct rti_sched *sched,
                   uint32_t id, uint8_t priority);

#endif
