/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_RUNTIME_H
#define RTI_RUNTIME_H

/* The one runtime of the process, assembled from one struct per module.
 *
 * Only src/runtime/ includes this: a module reaches its own state through the current worker. The
 * struct is static, so the footprint of a program is known when it is linked.
 *
 *     NONE --claim--> STARTING --> READY <--> RUNNING
 *      ^                                |
 *      +------------- release ----------+
 *
 * I1  Whoever moved `phase` from NONE owns everything here until it moves it back; only the stop
 * post is touched by others.                                              (rti_runtime_claim) I2
 * The modules are there iff the phase is READY or RUNNING.           (runtime_is_mine) */

#include "actor/actor_timer.h"
#include "actor/actors.h"
#include "actor/bus.h"
#include "io/io.h"
#include "port/linux/port_linux.h"
#include "port/sim/port_sim.h"
#include "sched/chooser.h"
#include "time/deadline.h"

enum rti_runtime_phase {
    RTI_RUNTIME_NONE,
    RTI_RUNTIME_STARTING,
    RTI_RUNTIME_READY,
    RTI_RUNTIME_RUNNING,
};

struct rt_runtime {
    rti_atomic_u32 phase;          /* enum rti_runtime_phase */
    rti_atomic_u32 is_stop_posted; /* the stop post is queued */
    struct rti_post stop;          /* rt_shutdown's, from whatever thread */
    bool is_stop_wanted;           /* a stop that came outside of rt_run */
    struct rti_port_linux linux_port;
    struct rti_port_sim sim_port;
    struct rti_wheel wheel;
    struct rti_sched sched;
    struct rti_journal journal;
    struct rti_seeded_chooser chooser;
    struct rti_actors actors;
    struct rti_actor_timers timers;
    struct rti_buses buses;
    struct rti_io io;
};

extern struct rt_runtime rti_runtime;

/* Takes the runtime for the calling thread; false if somebody has it. */
bool rti_runtime_claim(void);
void rti_runtime_release(void);

/* Makes every module over `port`. On failure nothing is left behind but the claim. */
rt_status rti_runtime_start(struct rti_port *port);

/* Turns until the program is over; see rti_sched_run. */
rt_status rti_runtime_turn(void);

/* Ends every actor and takes the modules apart; the port stays. */
void rti_runtime_stop(void);

#endif
