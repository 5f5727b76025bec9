/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "test_crew"
#include "support/crew.h"

#include "support/test.h"

struct crew_world crew_world;

void crew_world_open(uint32_t workers)
{
    struct rti_timer_source timers[CREW_WORKERS_MAX];
    CHECK_OK(rti_port_linux_init(&crew_world.port, NULL));
    struct rti_port *port = &crew_world.port.port;
    uint64_t now_ns = port->ops->clock_ns(port);
    for (uint32_t i = 0; i < workers; i++) {
        rti_clockwork_init(&crew_world.clockworks[i], now_ns);
        rti_clockwork_share(&crew_world.clockworks[i], &crew_world.sched);
        timers[i] = rti_clockwork_source(&crew_world.clockworks[i]);
    }
    CHECK_OK(rti_sched_init(&crew_world.sched, port, &timers[0]));
    struct rti_crew_config config = {.workers = workers,
                                     .members_max = 2 * workers + 1,
                                     .seed = 1,
                                     .stations = crew_world.stations,
                                     .members = crew_world.members,
                                     .timers = timers,
                                     .views = crew_world.views};
    rti_crew_init(&crew_world.crew, &crew_world.sched, &config);
}

void crew_world_close(void)
{
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_EQ(rti_sched_live(&crew_world.sched), 0);
    uint32_t ended = 0;
    for (size_t i = 0; i < RTI_COUNT_OF(crew_world.ended); i++) {
        ended += rti_u32_load_relaxed(&crew_world.ended[i]);
    }
    CHECK_EQ(ended, rti_u32_load_relaxed(&crew_world.fibers_count));
    rti_sched_deinit(&crew_world.sched);
    rti_port_linux_deinit(&crew_world.port);
}

static void fiber_done(struct rti_fiber *fiber)
{
    rti_u32_add_relaxed(&crew_world.ended[fiber->end], 1);
}

struct rti_fiber *crew_world_go(void (*main)(void *arg), void *arg, uint8_t priority)
{
    uint32_t index = rti_u32_add_relaxed(&crew_world.fibers_count, 1);
    CHECK(index < CREW_FIBERS_MAX);
    struct rti_fiber *fiber = &crew_world.fibers[index];
    static const struct rti_fiber_kind kind = {.main = rti_fiber_call, .on_done = fiber_done};
    struct rti_fiber_options options = {
        .id = index + 1, .priority = priority, .fn = main, .arg = arg, .kind = &kind};
    rti_stack_init(&options.stack, crew_world.stacks[index], CREW_STACK_BYTES);
    rti_fiber_init(fiber, &options);
    rti_fiber_start(&crew_world.sched, fiber);
    return fiber;
}
