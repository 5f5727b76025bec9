/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_RUNTIME_H
#define RTI_RUNTIME_H

/* The one runtime of the process, assembled from one struct per module.
 *
 * Only src/runtime/ includes this: a module reaches its own state through the current worker. The
 * struct is static, so the footprint of a program is known when it is linked. What not every target
 * has is a part: a file of its own with its state in it, which the host names in its list.
 *
 * The host is the target: runtime/linux/ or runtime/cortex_m/. It gives the port, the list of
 * parts, and the one nap that stop may need.
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

#include <orrery/rt/sim.h>

#include <orrery/rt/runtime.h>

#include "actor/actor_timer.h"
#include "actor/actors.h"
#include "sched/fault.h"
#include "time/deadline.h"

enum rti_runtime_phase {
    RTI_RUNTIME_NONE,
    RTI_RUNTIME_CLAIMED, /* being made, or being taken apart */
    RTI_RUNTIME_READY,
    RTI_RUNTIME_RUNNING,
};

struct rt_runtime {
    struct rti_stacks stacks;                /* first: it is aligned as nothing else is */
    rti_atomic_u32 phase;                    /* enum rti_runtime_phase, and the visitors */
    rti_atomic_u32 is_stop_posted;           /* the stop post is queued */
    bool is_forked;                          /* it is the parent's: this process has a copy */
    bool is_observed;                        /* the program's configuration allows to look at it */
    struct rti_post stop;                    /* rt_shutdown's, from whatever thread */
    struct rti_clockwork clockwork;          /* the fixed engine's */
    const struct rti_runtime_engine *engine; /* NULL: the fixed one */
    struct rti_sched sched;
    struct rti_actors actors;
    struct rti_actor_timers timers;
};

extern struct rt_runtime rti_runtime;

/* A module that a target may be without. `halt` ends what it runs, NULL: nothing; it comes before
 * each run of the runtime's end. `stop` comes when nothing lives any more. */
struct rti_runtime_part {
    void (*start)(struct rt_runtime *runtime);
    void (*halt)(void);
    void (*stop)(void);
};

extern const struct rti_runtime_part rti_part_bus;
extern const struct rti_runtime_part rti_part_io;
extern const struct rti_runtime_part rti_part_channel;
extern const struct rti_runtime_part rti_part_task;
extern const struct rti_runtime_part rti_part_async;
extern const struct rti_runtime_part rti_part_behaviour;
extern const struct rti_runtime_part rti_part_supervisor;
extern const struct rti_runtime_part rti_part_signal;
extern const struct rti_runtime_part rti_part_observe; /* last: it looks at the others */

#define RTI_HOST_PARTS_MAX 10

/* The parts of this target in the order they start; NULL: not in this program. */
extern const struct rti_runtime_part *const rti_host_parts[RTI_HOST_PARTS_MAX];

/* Makes the port of the real world, for one worker, or with a configuration for several, and its
 * end. */
rt_status rti_host_open(struct rti_port **port, const rt_config *config);
void rti_host_close(void);

/* Sleeps a moment, while *word == expected. */
void rti_host_nap(rti_atomic_u32 *word, uint32_t expected);

/* The journal that the environment asks for, to be saved when the runtime stops; NULL: none. */
struct rti_journal *rti_host_journal(void);

/* What a simulated program has of the machine: files, protected memory, faults. NULL: nothing. */
struct rti_port *rti_host_machine(void);

/* What a thread that is no worker has of the machine; see rti_visitor_port. NULL: nothing. */
struct rti_port *rti_host_outside(void);

/* Has deadlocks looked for every so often; 0: as often as this build does without being asked,
 * RT_TIME_NEVER: not at all. The owner's thread, not in a run. */
void rti_host_watch_deadlocks(rt_time after);

/* Ends that. */
void rti_host_forget_deadlocks(void);

/* Takes the runtime for the calling thread; false if somebody has it. */
bool rti_runtime_claim(void);
void rti_runtime_release(void);

/* Why the runtime cannot be claimed. */
rt_status rti_runtime_refusal(void);

/* What makes a scheduler of one worker into something else, before any module exists, and takes it
 * apart after the last one is gone. `open` may fail and leaves nothing behind then. */
struct rti_runtime_engine {
    rt_status (*open)(struct rt_runtime *runtime, const rt_config *config);
    void (*close)(struct rt_runtime *runtime);
};

/* rt_init with an engine; NULL: the fixed one. */
rt_status rti_runtime_init(const struct rti_runtime_engine *engine, const rt_config *config);

/* In the child of a fork, on its only thread: from here on the library finds no runtime, and none
 * can be made. False if there was none. What still stands on the stack looks at the port next. */
bool rti_runtime_forked(void);

/* Counts the caller in if the modules are there: they stay until it leaves. Any thread, signal
 * handler. */
bool rti_runtime_visit(void);
void rti_runtime_leave(void);

/* Makes every module over `port`. On failure nothing is left behind but the claim. */
rt_status rti_runtime_start(struct rti_port *port, const struct rti_runtime_engine *engine,
                            const rt_config *config);

/* Turns until the program is over; see rti_sched_run. */
rt_status rti_runtime_turn(void);

/* Ends every actor and takes the modules apart; the port stays. */
void rti_runtime_stop(void);

/* What a run is for: `begin` starts the first one, `end` looks at what has become of it, before the
 * modules are taken apart. Both on the worker's own stack. */
struct rti_program {
    void (*begin)(void *context);
    void (*end)(void *context);
    void *context;
};

/* Runs a program in the simulator; see rt_sim_run. */
rt_status rti_sim_run(const rt_sim_config *config, const struct rti_program *program);

#endif
