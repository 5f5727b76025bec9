/* SPDX-License-Identifier: Apache-2.0 */

/* The crew's way to sleep and wake, in its own code: whoever queues work while the others go to
 * sleep has it run by one of them, though it never runs anything itself again. Two stations, three
 * members; rings of 4. A lost wake-up shows as threads that all sleep. */

#include "sched/crew_start.h"
#include "search_world.h"

enum { STATIONS = 2, MEMBERS = 3, ITEMS = 2 };

struct item {
    struct rti_runnable run;
    uint32_t payload;
    uint32_t taken_count;
};

static struct rti_sched sched;
static struct rti_crew crew;
static struct rti_station stations[STATIONS];
static struct rti_member members[MEMBERS];
static struct item items[ITEMS];
static struct rti_port port;
static struct rti_port_ops ops;
static rti_atomic_u32 is_started; /* the third member's thread */
static rti_atomic_u32 taken_count;

/* What the crew needs of others. Each thread of the model is the member of its number. */
struct rti_worker *rti_worker_current(void)
{
    return members[explore_self()].worker;
}

static rt_status thread_start(struct rti_port *of, struct rti_port_thread *thread,
                              void (*main)(void *), void *arg)
{
    (void)of;
    (void)thread;
    (void)main;
    EXPLORE_ASSERT(arg == &members[MEMBERS - 1]);
    (void)rti_u32_exchange_acqrel(&is_started, 1);
    explore_futex_wake(&is_started, 1, EXPLORE_SITE);
    return RT_SUCCESS;
}

static void setup(void)
{
    ops = *explore_port()->ops;
    ops.clock_ns = world_clock;
    ops.wait = world_wait;
    ops.wake = world_wake;
    ops.thread_start = thread_start;
    port = (struct rti_port){.ops = &ops};
    sched = (struct rti_sched){.port = &port, .crew = &crew, .is_local = false};
    crew = (struct rti_crew){.sched = &sched,
                             .stations = stations,
                             .members = members,
                             .stations_count = STATIONS,
                             .members_max = MEMBERS,
                             .members_count = 2};
    rti_lock_init(&crew.lock, &sched, RTI_LOCK_CREW);
    rti_injector_init(&crew.injector, &sched);
    rti_u32_init(&world_bell, 0);
    rti_u32_init(&is_started, 0);
    rti_u32_init(&taken_count, 0);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] = (struct rti_member){.crew = &crew, .index = i, .look_interval = 1};
        members[i].worker = &members[i].own;
        members[i].own = (struct rti_worker){.sched = &sched, .member = &members[i]};
        members[i].turns_until_look = 1000;
        members[i].is_started = i < 2;
        rti_parker_init(&members[i].parker);
        rti_rng_init(&members[i].rng, i);
    }
    for (uint32_t i = 0; i < STATIONS; i++) {
        rti_station_init(&stations[i], i, &sched);
        stations[i].timers = (struct rti_timer_source){world_never, world_expire_none, NULL};
        stations[i].tick = 1;
        rti_u32_init(&stations[i].state, RTI_STATION_HELD);
        members[i].own.station = &stations[i];
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        items[i] = (struct item){.payload = 0};
        rti_runnable_init(&items[i].run, i + 1, 0, world_step);
        rti_u32_init(&items[i].run.state, RTI_RUNNABLE_READY);
    }
    explore_name(&crew.idle_count, "idle");
    explore_name(&crew.spinning, "spinning");
    explore_name(&crew.is_polled, "polled");
    explore_name(&crew.is_over, "over");
    explore_name(&world_bell, "bell");
}

static struct rti_runnable *ready(unsigned number)
{
    RTI_PLAIN_WRITE(&items[number].payload, sizeof items[number].payload);
    items[number].payload = number + 1;
    return &items[number].run;
}

/* Queues at its own station and computes from then on. */
static void queue_one(void)
{
    rti_station_queue(&stations[0], ready(0), &crew.injector);
    rti_fence_seqcst();
    rti_crew_rouse_one(&crew);
}

/* Starts one that begins early, and computes on. */
static void queue_early_one(void)
{
    struct rti_runnable *runnable = ready(0);
    runnable->priority = RTI_STATION_EARLY_LEVEL;
    runnable->is_fresh = true;
    rti_station_queue_early(&stations[0], runnable);
    rti_fence_seqcst();
    rti_crew_rouse_one(&crew);
}

static void inject_one(void)
{
    rti_injector_push(&crew.injector, ready(0));
    rti_crew_rouse_one(&crew);
}

static void queue_two(void)
{
    queue_one();
    rti_station_queue(&stations[0], ready(1), &crew.injector);
    rti_fence_seqcst();
    rti_crew_rouse_one(&crew);
}

/* Runs one, and tells the crew that it is over if that was the last item. */
static void run_item(struct rti_runnable *runnable, uint32_t wanted)
{
    struct item *item = RTI_CONTAINER_OF(runnable, struct item, run);
    RTI_PLAIN_READ(&item->payload, sizeof item->payload);
    EXPLORE_ASSERT(item->payload == (uint32_t)(item - items) + 1);
    RTI_PLAIN_WRITE(&item->taken_count, sizeof item->taken_count);
    EXPLORE_ASSERT(item->taken_count == 0);
    item->taken_count++;
    if (rti_u32_add_acqrel(&taken_count, 1) + 1 == wanted) {
        rti_crew_end(&crew);
        /* A member that was never needed need not wait for its thread. */
        (void)rti_u32_exchange_acqrel(&is_started, 1);
        explore_futex_wake(&is_started, 1, EXPLORE_SITE);
    }
}

/* Runs what it finds until the crew is told that it is over. */
static void work(uint32_t wanted)
{
    struct rti_member *member = &members[explore_self()];
    struct rti_runnable *runnable;
    while ((runnable = rti_crew_search(member)) != NULL) {
        run_item(runnable, wanted);
    }
    EXPLORE_ASSERT(member->worker->station == NULL && !member->is_spinning);
}

static void work_for_one(void)
{
    work(1);
}

static void work_for_two(void)
{
    work(2);
}

/* The thread of the third member, once it is started. */
static void start_late(uint32_t wanted)
{
    struct rti_member *member = &members[explore_self()];
    while (rti_u32_load_acquire(&is_started) == 0) {
        (void)explore_futex_wait(&is_started, 0, false, EXPLORE_SITE);
    }
    if (member->given != NULL) {
        struct rti_station *given = member->given;
        member->given = NULL;
        rti_member_hold(member, given);
        work(wanted);
    }
}

static void late_for_one(void)
{
    start_late(1);
}

static void late_for_two(void)
{
    start_late(2);
}

static void check_one(void)
{
    EXPLORE_ASSERT(items[0].taken_count == 1);
    /* A thread that was started when all was over has not begun to run here. */
    uint32_t unborn = members[MEMBERS - 1].given != NULL ? 1 : 0;
    EXPLORE_ASSERT(rti_u32_load_relaxed(&crew.spinning) == unborn);
}

static void check_two(void)
{
    check_one();
    EXPLORE_ASSERT(items[1].taken_count == 1);
}

MODEL(crew_runs_what_is_queued_while_another_goes_to_sleep){
    .about = "one queues at its station and computes on, one goes to sleep, one may be started",
    .setup = setup,
    .threads = {queue_one, work_for_one, late_for_one},
    .check = check_one,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};

MODEL(crew_runs_what_begins_early_while_another_goes_to_sleep){
    .about = "one starts an early one and computes on, one goes to sleep, one may be started",
    .setup = setup,
    .threads = {queue_early_one, work_for_one, late_for_one},
    .check = check_one,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};

MODEL(crew_runs_what_is_injected_while_another_goes_to_sleep){
    .about = "one injects, one goes to sleep, one may be started",
    .setup = setup,
    .threads = {inject_one, work_for_one, late_for_one},
    .check = check_one,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};

MODEL(crew_runs_two_that_are_queued_one_after_the_other){
    .about = "one queues twice and computes on, one goes to sleep, one may be started",
    .setup = setup,
    .threads = {queue_two, work_for_two, late_for_two},
    .check = check_two,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};

/* The same with two members only: who wants to send a station calls the poller. */
static void setup_pair(void)
{
    setup();
    crew.members_max = 2;
}

/* Wakes two: the first goes to the ring when the second is put in its place. */
static void displace_one(void)
{
    (void)rti_station_queue_next(&stations[0], ready(0), &crew.injector);
    if (rti_station_queue_next(&stations[0], ready(1), &crew.injector)) {
        rti_crew_rouse_one(&crew);
    }
}

static void check_some(void)
{
    EXPLORE_ASSERT(items[0].taken_count + items[1].taken_count >= 1);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&crew.spinning) == 0);
}

MODEL(crew_runs_one_who_was_displaced_while_another_goes_to_sleep){
    .about = "one wakes two and computes on, one goes to sleep",
    .setup = setup_pair,
    .threads = {displace_one, work_for_one},
    .check = check_some,
    .executions_max = 300000,
};

static void setup_pair_solo(void)
{
    setup_pair();
    crew.can_solo = true;
}

/* Works alone if the other has gone, starts one and computes on. */
static void start_alone(void)
{
    rti_solo_try(&members[0]);
    rti_crew_queue_new(&crew, &members[0].own, ready(0), 0);
}

/* Goes to sleep as far as member_give_up has it. */
static bool has_found;

static void go_to_sleep(void)
{
    (void)rti_crew_give_back(&crew, &stations[1]);
    members[1].own.station = NULL;
    rti_crew_stop_spinning(&crew);
    rti_fence_seqcst();
    has_found = !rti_station_is_empty(&stations[0]);
}

static void setup_pair_spinning(void)
{
    setup_pair_solo();
    rti_u32_init(&crew.spinning, 1);
    has_found = false;
}

/* There is no thread to send: who wants to wake one calls the poller. */
static void check_seen_or_called(void)
{
    EXPLORE_ASSERT(has_found || rti_u32_load_relaxed(&world_bell) != 0);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&crew.spinning) == 0);
}

MODEL(crew_start_of_one_who_works_alone_is_seen_or_told){
    .about = "one works alone as soon as it can and starts one, another goes to sleep",
    .setup = setup_pair_spinning,
    .threads = {start_alone, go_to_sleep},
    .check = check_seen_or_called,
};

/* Two are ready for anybody: in the injector, or started and not begun at the first station. */
static void setup_injected(void)
{
    struct rti_runnable *both[] = {&items[0].run, &items[1].run};
    setup_pair();
    (void)ready(0);
    (void)ready(1);
    rti_injector_push_all(&crew.injector, both, 2);
}

static void setup_backlog(void)
{
    struct rti_runnable *both[] = {&items[0].run, &items[1].run};
    setup_pair();
    both[0]->is_fresh = both[1]->is_fresh = true;
    (void)ready(0);
    (void)ready(1);
    rti_backlog_push(&stations[0].backlog, &sched, both, 2);
}

/* Takes what is there, runs one and computes on with it: the other is for whoever sleeps. */
static void take_both(void)
{
    struct rti_runnable *runnable = rti_crew_search(&members[0]);
    if (runnable != NULL) {
        run_item(runnable, 2);
    }
}

MODEL(crew_runs_what_is_taken_from_the_injector_while_another_goes_to_sleep){
    .about = "one takes two from the injector and computes on with one, one goes to sleep",
    .setup = setup_injected,
    .threads = {take_both, work_for_two},
    .check = check_two,
    .executions_max = 300000,
};

MODEL(crew_runs_what_is_taken_from_a_backlog_while_another_goes_to_sleep){
    .about = "one takes two that were started and computes on with one, one goes to sleep",
    .setup = setup_backlog,
    .threads = {take_both, work_for_two},
    .check = check_two,
    .executions_max = 300000,
};

/* The second station is idle and its member sleeps; what wakes that one is looked at in the end. */
static void setup_asleep(void)
{
    setup_pair();
    members[1].own.station = NULL;
    crew.idle_members = &members[1];
    (void)rti_crew_give_back(&crew, &stations[1]);
}

static void rouse_one(void)
{
    rti_crew_rouse_one(&crew);
}

/* Takes the station before the other, who has promised to wake somebody for it, and gives it back;
 * then there is work. */
static void come_and_go_and_inject(void)
{
    struct rti_station *station = rti_crew_take_idle(&crew);
    if (station != NULL) {
        (void)rti_crew_give_back(&crew, station);
        rti_fence_seqcst();
    }
    inject_one();
}

static void check_roused(void)
{
    EXPLORE_ASSERT(members[1].given == &stations[1]);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&crew.spinning) == 1);
}

MODEL(crew_wakes_one_for_what_is_made_beside_a_promise_that_is_broken){
    .about = "one finds no station for whom it would wake, one gives it back and makes work",
    .setup = setup_asleep,
    .threads = {come_and_go_and_inject, rouse_one},
    .check = check_roused,
    .executions_max = 300000,
};

/* One station may be used, and its holder computes; who had the other waits. */
static void setup_narrow(void)
{
    setup_pair();
    rti_crew_set_width(&crew, 1);
    members[1].own.station = NULL;
    (void)rti_crew_give_back(&crew, &stations[1]);
}

static void widen(void)
{
    rti_crew_set_width(&crew, 2);
}

/* One works alone at the only station that may be used, starts one and computes on. */
static void setup_narrow_solo(void)
{
    setup_narrow();
    crew.can_solo = true;
    /* Nobody is wanted there. */
    rti_u32_init(&crew.is_polled, 1);
}

static void check_pair(void)
{
    EXPLORE_ASSERT(items[0].taken_count == 1);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&crew.spinning) == 0);
}

MODEL(crew_runs_what_is_queued_while_more_stations_may_be_used){
    .about = "one queues and computes on, one has no station that may be used, then it may",
    .setup = setup_narrow,
    .threads = {queue_one, work_for_one, widen},
    .check = check_pair,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(2)},
    .executions_max = 300000,
};

MODEL(crew_runs_what_is_injected_while_more_stations_may_be_used){
    .about = "one injects and computes on, one has no station that may be used, then it may",
    .setup = setup_narrow,
    .threads = {inject_one, work_for_one, widen},
    .check = check_pair,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(2)},
    .executions_max = 300000,
};

/* It has no more than looks, as who widens does: the bell rings, or the other is sent. */
static void check_told(void)
{
    EXPLORE_ASSERT(items[0].taken_count == 1 || members[1].given != NULL ||
                   rti_u32_load_relaxed(&world_bell) != 0);
}

MODEL(crew_start_of_one_who_works_alone_is_seen_when_more_may_be_used){
    .about = "one works alone and starts one, and then another station may be used",
    .setup = setup_narrow_solo,
    .threads = {start_alone, widen},
    .check = check_told,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};

/* Each station has one that is ready. */
static void setup_shared_out(void)
{
    setup_pair();
    for (unsigned i = 0; i < STATIONS; i++) {
        rti_station_queue(&stations[i], ready(i), &crew.injector);
    }
}

static void narrow(void)
{
    rti_crew_set_width(&crew, 1);
}

MODEL(crew_runs_what_lies_at_stations_while_fewer_may_be_used){
    .about = "two run what they have, and one of them has to leave its station",
    .setup = setup_shared_out,
    .threads = {work_for_two, work_for_two, narrow},
    .check = check_two,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};

/* Two stations are used and one may be: one of the members leaves. */
static void setup_too_wide(void)
{
    setup_pair();
    rti_station_queue(&stations[0], ready(0), &crew.injector);
    (void)rti_station_queue_next(&stations[1], ready(1), &crew.injector);
    rti_crew_set_width(&crew, 1);
}

static bool is_second_left(void)
{
    rti_lock_acquire(&crew.lock, &sched);
    bool is_left = rti_u32_load_relaxed(&stations[1].state) == RTI_STATION_IDLE;
    rti_lock_release(&crew.lock);
    return is_left;
}

/* Two turns, the first of which asks what waits elsewhere, and always one that is ready here: what
 * lay at the other station is found if that was left before. */
static void take_turns(void)
{
    struct rti_runnable *runnable = NULL;
    bool is_left = is_second_left();
    stations[0].tick = 0;
    for (int i = 0; i < 2 && runnable != &items[1].run; i++) {
        runnable = rti_crew_search(&members[0]);
        if (runnable == NULL) {
            return;
        }
        if (i == 0 && runnable == &items[0].run) {
            rti_station_queue(&stations[0], runnable, &crew.injector);
        }
    }
    EXPLORE_ASSERT(runnable == &items[1].run || !is_left);
    while (runnable != NULL && runnable != &items[1].run) {
        runnable = rti_crew_search(&members[0]);
    }
    rti_crew_end(&crew);
}

/* Leaves its station or, if the other has, goes on until it has what was here. */
static void leave_or_stay(void)
{
    struct rti_runnable *runnable;
    do {
        runnable = rti_crew_search(&members[1]);
    } while (runnable != NULL && runnable != &items[1].run);
    rti_crew_end(&crew);
}

MODEL(crew_fetches_what_lies_at_a_station_that_was_left){
    .about = "one leaves its station with one in `next`, one is never without work",
    .setup = setup_too_wide,
    .threads = {take_turns, leave_or_stay},
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(2)},
    .executions_max = 300000,
};
