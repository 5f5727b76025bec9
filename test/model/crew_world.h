/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_CREW_WORLD_H
#define MODEL_CREW_WORLD_H

/* What surrounds the crew in its models: the functions of other files that its search calls, empty
 * where a model has nothing for them to do, and a port with a bell in the place of the poller. One
 * model is one translation unit. */

#include "port/explore/port.h"
#include "sched/crew_search.h"

static rti_atomic_u32 world_bell; /* of the poller: not 0: called */

void rti_port_log(const char *line)
{
    (void)line;
}

/* One for all threads: no call of a model sets it. */
int *rti_errno_address(void)
{
    static int value;
    return &value;
}

bool rti_sched_drain_posts(struct rti_sched *sched)
{
    (void)sched;
    return false;
}

void rti_sched_write(struct rti_sched *sched, const struct rti_journal_event *event)
{
    (void)sched, (void)event;
}

void rti_worker_follow(struct rti_worker *worker)
{
    (void)worker;
}

void rti_sched_attend_shared(void)
{
}

/* Sleeps until it is called; who asks with 0 only looks. */
static inline enum rti_wait_end world_wait(struct rti_port *port, uint64_t deadline_ns)
{
    (void)port;
    while (rti_u32_exchange_acqrel(&world_bell, 0) == 0 && deadline_ns != 0) {
        (void)explore_futex_wait(&world_bell, 0, false, EXPLORE_SITE);
    }
    return RTI_WAIT_WOKEN;
}

static void world_wake(struct rti_port *port)
{
    (void)port;
    (void)rti_u32_exchange_acqrel(&world_bell, 1);
    explore_futex_wake(&world_bell, 1, EXPLORE_SITE);
}

/* A station without timers. */
static inline uint64_t world_never(void *context)
{
    (void)context;
    return RTI_TIME_NEVER;
}

static inline size_t world_expire_none(void *context, uint64_t now_ns)
{
    (void)context;
    (void)now_ns;
    return 0;
}

static inline void world_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    (void)runnable;
    (void)worker;
}

#endif
