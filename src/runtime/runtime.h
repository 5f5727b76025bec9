/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_RUNTIME_H
#define RTI_RUNTIME_H

/* The one runtime of the process, assembled from one struct per module.
 *
 * Only src/runtime/ includes this: a module reaches its own state through the current worker. The
 * struct is static, so the footprint of a program is known when it is linked.
 *
 *     NONE --claim--> CLAIMED --> READY <--> RUNNING
 *      ^              |    ^                    |
 *      +---release----+    +--------stop--------+
 *
 * rt_shutdown comes from any thread and at any moment, also while another thread is taking the
 * runtime apart. So it visits: it counts itself in, which it can only while the phase is READY or
 * RUNNING, posts, and counts itself out. Stop moves the phase first and goes on when the last
 * visitor has left. Phase and count are one word, so there is one order of all these steps and no
 * fence: phase in the two low bits, visitors above.
 *
 * I1  Whoever claimed owns everything here until the release; visitors touch the posts of the
 *     scheduler, the wake of the port and `is_stop_posted`, nothing else.  (rti_runtime_claim)
 * I2  The modules are there while the phase is READY or RUNNING, and as long as there is a
 *     visitor.                                                             (rti_runtime_stop) */

#include "actor/actor_timer.h"
#include "actor/actors.h"
#include "actor/bus.h"
#include "io/io.h"
#include "port/linux/port_linux.h"
#include "port/sim/port_sim.h"
#include "sched/chooser.h"
#include "sync/channels.h"
#include "time/deadline.h"

enum rti_runtime_phase {
    RTI_RUNTIME_NONE,
    RTI_RUNTIME_CLAIMED, /* being made, or being taken apart */
    RTI_RUNTIME_READY,
    RTI_RUNTIME_RUNNING,
};

struct rt_runtime {
    rti_atomic_u32 phase;          /* enum rti_runtime_phase, and the visitors */
    rti_atomic_u32 is_stop_posted; /* the stop post is queued */
    struct rti_post stop;          /* rt_shutdown's, from whatever thread */
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
    struct rti_channels channels;
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
