/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FIBERS_H
#define FIBERS_H

/* A scheduler in the simulated world with a few fibers: what the tests of sched/ and time/ start
 * from.
 *
 *     struct fibers fibers;
 *     fibers_init(&fibers);
 *     fibers_go(&fibers, priority, fn, arg);      as often as FIBERS_MAX
 *     CHECK_OK(fibers_run(&fibers));
 *     fibers_deinit(&fibers); */

#include "port/sim/port_sim.h"
#include "sched/chooser.h"
#include "sched/fiber.h"
#include "time/clockwork.h"
#include "time/deadline.h"

#define FIBERS_MAX        64
#define FIBERS_STACK_SIZE (sizeof(void *) == 4 ? 16384 : 32768)

struct fibers {
    struct rti_port_sim port;
    struct rti_clockwork clockwork;
    struct rti_sched sched;
    struct rti_journal journal;
    struct rti_seeded_chooser chooser;
    struct rti_fiber fibers[FIBERS_MAX];
    size_t count;
    size_t done_count;
    enum rti_fiber_end ends[FIBERS_MAX];
    char stacks[FIBERS_MAX][FIBERS_STACK_SIZE] RTI_ALIGNED(16);
};

/* First come, first served among equals; every decision goes into the journal. */
void fibers_init(struct fibers *fibers);

/* From here on the choice among equals is drawn from the seed. */
void fibers_shuffle(struct fibers *fibers, uint64_t seed);

/* The plain engine: no journal, no chooser, fibers switch to each other directly. */
void fibers_unobserved(struct fibers *fibers);

struct rti_fiber *fibers_go(struct fibers *fibers, uint8_t priority, void (*main)(void *arg),
                            void *arg);
rt_status fibers_run(struct fibers *fibers);
void fibers_deinit(struct fibers *fibers);

#endif
