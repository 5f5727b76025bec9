/* SPDX-License-Identifier: Apache-2.0 */

/* A station that changes hands: its worker lets go of it for a blocking call and comes back, while
 * the warden finds it blocked twice and hands it to a member that sleeps. Whoever has it has it
 * alone, and what lies there is run once. One station; the warden's own loop, the members' own
 * search; rings of 4. */

#include "crew_unused.h"
#include "crew_world.h"
#include "sched/fault.h"
#include "sched/fiber.h"

enum { MEMBERS = 2, LOOKS = 3 };

struct item {
    struct rti_runnable run;
    uint32_t taken_count;
};

static struct rti_sched sched;
static struct rti_crew crew;
static struct rti_station station;
static struct rti_warden_view view;
static struct rti_member members[MEMBERS];
static struct item item;
static struct rti_port port;
static struct rti_port_ops ops;
static rti_atomic_u32 taken_count;
static void (*warden_main)(void *arg);
static uint64_t now_ns;
static uint32_t holder_count; /* plain: touched by who holds the station */
static bool has_come_back;

struct rti_worker *rti_worker_current(void)
{
    unsigned self = explore_self();
    return self < MEMBERS ? members[self].worker : NULL;
}

void rti_fiber_kill_parked(struct rti_sched *of, struct rti_fiber *fiber)
{
    (void)of;
    (void)fiber;
    unused();
}

/* Each look of the warden sees a later time; nobody else's clock matters here. */
static uint64_t clock_ns(struct rti_port *of)
{
    (void)of;
    return now_ns;
}

/* The warden's thread is the model's. */
static rt_status thread_start(struct rti_port *of, struct rti_port_thread *thread,
                              void (*main)(void *), void *arg)
{
    (void)of;
    (void)thread;
    EXPLORE_ASSERT(arg == &crew.warden);
    warden_main = main;
    return RT_SUCCESS;
}

static void setup_members(void)
{
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] = (struct rti_member){.crew = &crew, .index = i, .look_interval = 1};
        members[i].worker = &members[i].own;
        members[i].own = (struct rti_worker){.sched = &sched, .member = &members[i]};
        members[i].turns_until_look = 1000;
        members[i].is_started = true;
        rti_parker_init(&members[i].parker);
        rti_rng_init(&members[i].rng, i);
    }
    members[0].own.station = &station;
}

static void setup(void)
{
    ops = *explore_port()->ops;
    ops.clock_ns = clock_ns;
    ops.wait = world_wait;
    ops.wake = world_wake;
    ops.thread_start = thread_start;
    port = (struct rti_port){.ops = &ops};
    sched = (struct rti_sched){.port = &port, .crew = &crew, .is_local = false};
    crew = (struct rti_crew){.sched = &sched,
                             .stations = &station,
                             .members = members,
                             .stations_count = 1,
                             .members_max = MEMBERS,
                             .members_count = MEMBERS};
    now_ns = 1;
    view = (struct rti_warden_view){.since_ns = now_ns};
    crew.warden.crew = &crew;
    crew.warden.views = &view;
    rti_lock_init(&crew.lock, &sched, RTI_LOCK_CREW);
    rti_injector_init(&crew.injector, &sched);
    rti_u32_init(&world_bell, 0);
    rti_u32_init(&taken_count, 0);
    setup_members();
    rti_station_init(&station, 0, &sched);
    station.timers = (struct rti_timer_source){world_never, world_expire_none, NULL};
    station.tick = 1;
    rti_u32_init(&station.state, RTI_STATION_HELD);
    item = (struct item){.taken_count = 0};
    rti_runnable_init(&item.run, 1, 0, world_step);
    rti_u32_init(&item.run.state, RTI_RUNNABLE_READY);
    rti_u64_init(&station.live, 1);
    rti_station_queue(&station, &item.run, &crew.injector);
    holder_count = 0;
    has_come_back = false;
    rti_warden_start(&crew.warden);
    explore_name(&station.state, "state");
    explore_name(&crew.idle_count, "idle");
    explore_name(&crew.is_over, "over");
    explore_name(&crew.is_polled, "polled");
    explore_name(&world_bell, "bell");
}

/* Who holds the station: two at a time would be a race here. */
static void hold(void)
{
    RTI_PLAIN_WRITE(&holder_count, sizeof holder_count);
    holder_count++;
}

static void take(struct rti_runnable *runnable)
{
    EXPLORE_ASSERT(runnable == &item.run);
    RTI_PLAIN_WRITE(&item.taken_count, sizeof item.taken_count);
    EXPLORE_ASSERT(item.taken_count == 0);
    item.taken_count++;
    (void)rti_u32_add_acqrel(&taken_count, 1);
}

/* Searches until the crew is told that it is over. */
static void work(struct rti_member *member)
{
    struct rti_runnable *runnable;
    while ((runnable = rti_crew_search(member)) != NULL) {
        hold();
        take(runnable);
        rti_crew_end(&crew);
    }
    EXPLORE_ASSERT(member->worker->station == NULL && !member->is_spinning);
}

/* Calls out. Whether it has a station afterwards decides if it may go on: it runs what is there. */
static void call_out(void)
{
    struct rti_worker *worker = members[0].worker;
    hold();
    rti_worker_let_go(worker);
    EXPLORE_ASSERT(worker->station == NULL);
    has_come_back = rti_worker_come_back(worker);
    if (has_come_back) {
        hold();
        work(&members[0]);
    } else {
        work(&members[0]);
    }
    rti_u32_store_release(&crew.warden.is_stopping, 1);
    ops.futex_wake(&port, &crew.warden.is_stopping, 1);
    rti_fence_seqcst();
    rti_warden_rouse(&crew.warden);
}

static void sleep_and_work(void)
{
    work(&members[1]);
}

static void watch(void)
{
    warden_main(&crew.warden);
}

static void check(void)
{
    EXPLORE_ASSERT(item.taken_count == 1);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&crew.idle_count) == 1);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&crew.spinning) == 0);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&station.state) == RTI_STATION_IDLE);
}

MODEL(handover_of_a_blocked_station_races_with_its_return){
    .about = "one lets go and comes back, one sleeps, the warden looks",
    .setup = setup,
    .threads = {call_out, sleep_and_work, watch},
    .check = check,
    .timeouts_max = LOOKS,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};
