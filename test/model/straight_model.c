/* SPDX-License-Identifier: Apache-2.0 */

/* A fiber that goes straight to the next one (src/sched/passing.h): who comes there makes it
 * visible, and what the switch has saved is complete for whoever goes on with it. One who yielded
 * is taken from its ring once, by its own worker or a thief; one who parks is woken or killed on
 * its way or behind it, and goes on once.
 *
 * The model is the switch: the thread of the fiber writes what a switch saves, and then does what
 * the next fiber on that thread does first. Rings of 4. */

#include "crew_unused.h"
#include "crew_world.h"
#include "sched/fault.h"
#include "sched/fiber_park.h"
#include "sched/passing.h"

enum { MEMBERS = 3 };

static struct rti_sched sched;
static struct rti_crew crew;
static struct rti_station stations[MEMBERS];
static struct rti_member members[MEMBERS];
static struct rti_fiber fiber;
static struct rti_wait wait;
static struct rti_port port;
static struct rti_port_ops ops;
static uint64_t saved;   /* plain: what the switch writes, and who goes on reads */
static unsigned goes_on; /* how often it was made to; plain: once */

/* Each thread of the model is the member of its number. */
struct rti_worker *rti_worker_current(void)
{
    return members[explore_self()].worker;
}

void rti_warden_rouse(struct rti_warden *warden)
{
    (void)warden;
}

void rti_fiber_die(struct rti_worker *worker)
{
    (void)worker;
    unused();
}

bool rti_sched_glance(struct rti_sched *of)
{
    (void)of;
    unused();
}

void rti_context_audit(const struct rti_context *context)
{
    (void)context;
    unused();
}

void rti_arch_fp_control_exchange(struct rti_arch_context *from, struct rti_arch_context *to)
{
    (void)from, (void)to;
    unused();
}

void rti_fiber_park_shared(struct rti_worker *worker, struct rti_fiber *self)
{
    (void)worker, (void)self;
    unused();
}

void rti_sched_wake_shared(struct rti_sched *of, struct rti_runnable *runnable)
{
    (void)of;
    rti_crew_wake(&crew, runnable);
}

static void setup(void)
{
    ops = *explore_port()->ops;
    ops.wait = world_wait;
    ops.wake = world_wake;
    port = (struct rti_port){.ops = &ops};
    sched = (struct rti_sched){.port = &port, .crew = &crew, .is_local = false};
    crew = (struct rti_crew){.sched = &sched,
                             .stations = stations,
                             .members = members,
                             .stations_count = MEMBERS,
                             .members_max = MEMBERS,
                             .members_count = MEMBERS};
    rti_lock_init(&crew.lock, &sched, RTI_LOCK_CREW);
    rti_injector_init(&crew.injector, &sched);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] = (struct rti_member){.crew = &crew, .index = i};
        members[i].worker = &members[i].own;
        members[i].own = (struct rti_worker){.sched = &sched, .member = &members[i]};
        rti_station_init(&stations[i], i, &sched);
        rti_u32_init(&stations[i].state, RTI_STATION_HELD);
        members[i].own.station = &stations[i];
    }
    rti_runnable_init(&fiber.run, 1, 0, world_step);
    fiber.run.is_fiber = true;
    fiber.run.is_shared = true;
    fiber.sched = &sched;
    rti_u32_init(&fiber.run.state, RTI_RUNNABLE_RUNNING);
    rti_u32_init(&fiber.killed, 0);
    rti_wait_begin(&wait, rti_fiber_wake, &fiber, false);
    fiber.wait = &wait;
    explore_name(&fiber.run.state, "state");
    explore_name(&fiber.killed, "killed");
    explore_name(&wait.claimed, "claimed");
    explore_name(&stations[0].next, "next");
    saved = 0;
    goes_on = 0;
}

/* Makes the fiber go on, on this thread, if it is the one that was found. */
static void go_on(struct rti_runnable *found)
{
    if (found == NULL) {
        return;
    }
    EXPLORE_ASSERT(found == &fiber.run);
    EXPLORE_ASSERT(rti_runnable_state(found) == RTI_RUNNABLE_READY);
    RTI_PLAIN_WRITE(&saved, sizeof saved);
    saved++;
    RTI_PLAIN_WRITE(&goes_on, sizeof goes_on);
    goes_on++;
}

/* The switch away from the fiber, to one that goes on here. */
static void leave(bool is_parking)
{
    struct rti_worker *worker = rti_worker_current();
    worker->leaving = &fiber;
    worker->is_parking = is_parking;
    RTI_PLAIN_WRITE(&saved, sizeof saved);
    saved++;
    rti_worker_arrive(worker);
    EXPLORE_ASSERT(worker->leaving == NULL);
}

static void yield_and_pick(void)
{
    leave(false);
    go_on(rti_station_pop(&stations[0], RTI_PRIORITY_LEVELS, false));
}

static void steal(void)
{
    unsigned self = explore_self();
    go_on(rti_station_steal(&stations[self], &stations[0]));
}

static void check_once(void)
{
    EXPLORE_ASSERT(goes_on == 1 && saved == 2);
}

MODEL(straight_yield_is_taken_up_once_and_complete){
    .about = "one yields straight and picks again, one steals",
    .setup = setup,
    .threads = {yield_and_pick, steal},
    .check = check_once,
};

static void park_and_pick(void)
{
    leave(true);
    go_on(rti_station_pick(&stations[0]));
}

/* Ends the wait as a source does. */
static void wake_it(void)
{
    if (rti_wait_claim(&wait, RTI_EVENT_SOURCE)) {
        wait.wake(&wait);
    }
    go_on(rti_station_pick(&stations[explore_self()]));
}

static void kill_it(void)
{
    (void)rti_fiber_kill(&sched, &fiber);
    go_on(rti_station_pick(&stations[explore_self()]));
}

MODEL(straight_park_races_with_a_wake){
    .about = "one parks straight, one wakes it",
    .setup = setup,
    .threads = {park_and_pick, wake_it},
    .check = check_once,
};

MODEL(straight_park_races_with_a_kill){
    .about = "one parks straight, one kills it",
    .setup = setup,
    .threads = {park_and_pick, kill_it},
    .check = check_once,
};

MODEL(straight_park_races_with_a_wake_and_a_kill){
    .about = "one parks straight, one wakes it, one kills it",
    .setup = setup,
    .threads = {park_and_pick, wake_it, kill_it},
    .check = check_once,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(2)},
    .executions_max = 200000,
};
