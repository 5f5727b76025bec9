/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_H
#define ACTORS_H

/* The actor module on a scheduler: what the tests of actor/ start from. The world is the simulated
 * one, or the machine itself with ORRERY_WORLD=real (world.h).
 *
 *     struct actors_world *world = actors_start();
 *     rt_spawn(fn, arg);
 *     actors_finish(world);       runs to the end and demands that every pool is empty again
 *
 * The world is one static object; a case starts it once or several times, one after the other. */

#include "actor/actors.h"
#include "port/linux/port_linux.h"
#include "port/sim/port_sim.h"
#include "sched/chooser.h"
#include "time/clockwork.h"
#include "time/deadline.h"

struct actors_world {
    bool is_real;
    struct rti_port *port; /* one of the two below */
    struct rti_port_sim sim_port;
    struct rti_port_linux linux_port;
    struct rti_port_ops linux_ops; /* the machine's, but for the wait */
    enum rti_wait_end (*linux_wait)(struct rti_port *port, uint64_t deadline_ns);
    struct rti_clockwork clockwork;
    struct rti_sched sched;
    struct rti_journal journal;
    struct rti_seeded_chooser chooser;
    struct rti_stacks stacks;
    struct rti_actors actors;
};

/* A fresh world. In the simulated one every decision goes into its journal, so that all of them
 * pass through the scheduler; in the real one nothing is observed, as in a user's program, and the
 * quick ways are taken. */
struct actors_world *actors_start(void);

/* From here on the choice among equals is drawn from the seed. */
void actors_shuffle(struct actors_world *world, uint64_t seed);

/* Every turn passes through the scheduler and is counted, in the real world too. */
void actors_stepwise(struct actors_world *world);

/* Every decision goes into the journal, in the real world too. */
void actors_observed(struct actors_world *world);

/* The plain engine: no journal, no chooser, fibers switch to each other directly. */
void actors_unobserved(struct actors_world *world);

/* Runs until nothing lives or nothing can run. */
rt_status actors_run(struct actors_world *world);

/* Runs until only `world` is left to do something, demands RT_OK, and that nothing leaked. */
void actors_finish(struct actors_world *world);

/* Kills whoever is left, runs them to their end, and demands that nothing leaked. */
void actors_abandon(struct actors_world *world);

/* Demands that no pool, table or arena has anything in use. */
void actors_check_ledger(struct actors_world *world);

/* Stacks that living actors have; those that are kept for the next one do not count. */
size_t actors_stacks_in_use(const struct actors_world *world);

/* Milliseconds of the virtual clock; a case that asks says world_needs_virtual_clock first. */
uint64_t actors_now_ms(const struct actors_world *world);

/* Parks the calling actor for so long. */
void actors_sleep_ms(uint64_t ms);

/* Spawns with a priority and a name, and a small stack, so that many fit. */
actor_id actors_spawn(actor_fn fn, void *arg, rt_priority priority, const char *name);

/* A log of single characters that actors write and cases compare. */
void actors_say(char c);
const char *actors_said(void);

/* Runs `body` with what it writes to the standard error kept back, and gives that text. */
const char *actors_capture(void (*body)(void));

#endif
