/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker of the parallel engine has at hand in a turn: the fiber that runs on it, if it is
 * one, and the station it runs by, which it is without in a blocking call. */
#define RTI_MODULE "worker_crew_test"
#include <orrery/rt.h>

#include "sched/fiber.h"
#include "sched/station.h"
#include "support/test.h"

static unsigned turns;

static bool worker_has(bool has_fiber, bool has_station)
{
    const struct rti_worker *worker = rti_worker_current();
    turns++;
    return (worker->fiber != NULL) == has_fiber && (worker->station != NULL) == has_station;
}

static void handle(void *state, const rt_behaviour_message *msg)
{
    (void)state, (void)msg;
    CHECK(worker_has(false, true));
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
}

static const rt_behaviour_fn handlers[] = {handle};
static const rt_behaviour_type listener = {
    .name = "listener", .handlers = handlers, .handler_count = RTI_COUNT_OF(handlers)};

static void talk(void *arg)
{
    (void)arg;
    CHECK(worker_has(true, true));
    actor_id id = rt_behaviour_spawn(&listener, NULL);
    CHECK_OK(rt_behaviour_send(id, 0, NULL, 0));
    rt_yield();
    CHECK(worker_has(true, true));
    rt_exit();
}

TEST(worker_has_a_fiber_while_that_runs_and_none_in_a_turn_without_a_stack)
{
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 1}));
    CHECK(rti_worker_current()->fiber == NULL);
    CHECK(rt_spawn(talk, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK_EQ(turns, 3);
}

static void block(void *arg)
{
    (void)arg;
    CHECK(worker_has(true, true));
    CHECK_OK(rt_blocking_enter());
    CHECK(worker_has(true, false));
    CHECK_OK(rt_blocking_exit());
    CHECK(worker_has(true, true));
    rt_exit();
}

TEST(worker_has_a_station_while_it_runs_and_none_in_a_blocking_call)
{
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 1}));
    CHECK(rt_spawn(block, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK_EQ(turns, 3);
}
