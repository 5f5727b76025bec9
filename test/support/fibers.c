/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "fibers"
#include "support/fibers.h"

#include "support/test.h"

void fibers_init(struct fibers *fibers)
{
    rti_port_sim_init(&fibers->port, 1, 0, NULL);
    rti_clockwork_init(&fibers->clockwork, 0);
    struct rti_timer_source timers = rti_clockwork_source(&fibers->clockwork);
    CHECK_OK(rti_sched_init(&fibers->sched, &fibers->port.port, &timers));
    rti_journal_init(&fibers->journal, NULL, 0);
    rti_sched_observe(&fibers->sched, &fibers->journal, NULL);
    fibers->count = 0;
    fibers->done_count = 0;
}

void fibers_shuffle(struct fibers *fibers, uint64_t seed)
{
    rti_seeded_chooser_init(&fibers->chooser, seed);
    rti_sched_observe(&fibers->sched, &fibers->journal, &fibers->chooser.chooser);
}

void fibers_unobserved(struct fibers *fibers)
{
    rti_sched_observe(&fibers->sched, NULL, NULL);
}

static void fibers_done(struct rti_fiber *fiber)
{
    struct fibers *fibers = RTI_CONTAINER_OF(rti_sched_current(), struct fibers, sched);
    fibers->ends[fiber->run.id - 1] = (enum rti_fiber_end)fiber->end;
    fibers->done_count++;
}

struct rti_fiber *fibers_go(struct fibers *fibers, uint8_t priority, void (*main)(void *arg),
                            void *arg)
{
    CHECK(fibers->count < FIBERS_MAX);
    struct rti_fiber *fiber = &fibers->fibers[fibers->count];
    static const struct rti_fiber_kind kind = {.main = rti_fiber_call, .on_done = fibers_done};
    struct rti_fiber_options options = {
        .id = (uint32_t)fibers->count + 1,
        .priority = priority,
        .fn = main,
        .arg = arg,
        .kind = &kind,
    };
    rti_stack_init(&options.stack, fibers->stacks[fibers->count], FIBERS_STACK_SIZE);
    rti_fiber_init(fiber, &options);
    fibers->count++;
    rti_fiber_start(&fibers->sched, fiber);
    return fiber;
}

rt_status fibers_run(struct fibers *fibers)
{
    return rti_sched_run(&fibers->sched);
}

void fibers_deinit(struct fibers *fibers)
{
    rti_sched_deinit(&fibers->sched);
}
