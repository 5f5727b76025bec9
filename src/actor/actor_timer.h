/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ACTOR_TIMER_H
#define RTI_ACTOR_TIMER_H

/* The timers of actors: records in a fixed table, armed in the wheel, each with the memory of its
 * ticks. The manual is <orrery/rt/timer.h>.
 *
 * A tick that was received is no longer the record's: the actor keeps the id (mailbox.h), and the
 * notice can carry the next one. A second queued tick would tell the actor nothing that the first
 * does not; it is counted as an overrun.
 *
 *     ARMED --cancel, death--> ENDED     a one-shot that fires is ENDED too
 *     ENDED, no tick queued: the record is free
 *
 * With several workers a timer fires under the lock of the wheel, where the lock of the actors may
 * not be taken. It then counts itself in `due` and posts; the post brings the tick. A record whose
 * post is on its way is not free. It lies in the wheel of the worker that started it, so that
 * timers of different workers do not meet.
 *
 * I1  A record's timer is armed iff it has not ended.                  (rti_actor_timers_audit)
 * I2  A record in use is in its owner's list.                          (rti_actor_timers_audit) */

#include <orrery/rt/timer.h>
#include <orrery/rt_static_config.h>

#include "actor/actors.h"
#include "time/clockwork.h"

struct rti_actor_timer {
    struct rti_timer timer;
    struct rti_link at_owner; /* in owner->owned[RTI_OWNED_TIMERS] */
    struct rti_actor *owner;
    timer_id id;   /* what a tick's data points to */
    bool is_ended; /* fires no more; the id names nothing */
    rti_count overruns;
    uint64_t interval_ns; /* 0: one-shot */
    struct rti_notice tick;
#if !RTI_ONE_WORKER
    rti_atomic_u32 due;              /* ticks that a post is to bring */
    struct rti_post post;            /* on its way iff `due` is not 0 */
    struct rti_clockwork *clockwork; /* where it lies: that of the worker that started it */
#endif
};

struct rti_actor_timers {
    struct rti_actors *actors;
    struct rti_clockwork *clockwork; /* the one of an engine with one worker */
    struct rti_handle_table ids;
    struct rti_handle_slot id_slots[RT_TIMER_ENTRY_POOL_SIZE];
    struct rti_actor_timer table[RT_TIMER_ENTRY_POOL_SIZE];
};

/* Hangs the module at the scheduler of `actors`, whose timers are a wheel. */
void rti_actor_timers_init(struct rti_actor_timers *timers, struct rti_actors *actors);
void rti_actor_timers_deinit(struct rti_actor_timers *timers);

/* Step 5 of death: ends the timers of the dead one. */
void rti_actor_timers_end(struct rti_actor *dead);

/* Checks I1 and I2 and returns how many records are in use. */
size_t rti_actor_timers_audit(const struct rti_actor_timers *timers);

#endif
