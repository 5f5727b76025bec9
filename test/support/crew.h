/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_CREW_H
#define TEST_CREW_H

/* Several workers in the real world, with fibers in fixed memory. One per process. */

#include "port/linux/port_linux.h"
#include "sched/crew.h"
#include "sched/fiber.h"
#include "time/deadline.h"

#define CREW_WORKERS_MAX 8
#define CREW_FIBERS_MAX  2048
#define CREW_STACK_BYTES 16384

struct crew_world {
    struct rti_port_linux port;
    struct rti_sched sched;
    struct rti_crew crew;
    struct rti_clockwork clockworks[CREW_WORKERS_MAX];
    struct rti_station stations[CREW_WORKERS_MAX];
    struct rti_warden_view views[CREW_WORKERS_MAX];
    struct rti_member members[2 * CREW_WORKERS_MAX + 1];
    struct rti_fiber fibers[CREW_FIBERS_MAX];
    char stacks[CREW_FIBERS_MAX][CREW_STACK_BYTES] RTI_ALIGNED(16);
    rti_atomic_u32 fibers_count;
    rti_atomic_u32 ended[8]; /* by enum rti_fiber_end */
};

extern struct crew_world crew_world;

/* Makes a crew of `workers`; the calling thread is its first member. */
void crew_world_open(uint32_t workers);

/* Runs until no fiber lives, checks that every fiber has ended once, and takes all apart. */
void crew_world_close(void);

/* Starts a fiber. Main before the run, or a fiber. */
struct rti_fiber *crew_world_go(void (*main)(void *arg), void *arg, uint8_t priority);

#endif
