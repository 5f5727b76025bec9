/* SPDX-License-Identifier: Apache-2.0 */
/* How many stations a crew uses: what is tried and kept, beside a crew that gets so much done at
 * each width; and what the crew does with stations that may not be used. What happens between
 * threads is explored (test/model/crew_model.c) and simulated, where every look is a trial. */
#define _GNU_SOURCE
#define RTI_MODULE "width_test"
#include "sched/width.h"

#include <orrery/rt.h>

#include "sched/crew_search.h"
#include "sched/sched_stats.h"
#include "support/crew.h"
#include "support/test.h"

#define STEP_NS UINT64_C(50000)
#define MS      UINT64_C(1000000)

enum { WIDTHS_MAX = 16 };

/* A crew of which only this much is known: what it gets done in a millisecond at each width. */
static struct rti_width width;
static uint64_t rates[WIDTHS_MAX + 1];
static struct rti_width_sight sight;
static uint32_t used_max; /* by what there is to do */
static bool is_flapping;  /* all but one are asleep at each look, and were not between */
static uint64_t cold_ns;  /* for so long after a change it gets a tenth of that done */
static uint64_t changed_ns;
static uint64_t narrow_ns; /* spent at fewer than all */
static uint32_t changes;   /* of the width */

static void begin_with(uint32_t max, uint32_t min)
{
    rti_width_init(&width, max, min);
    sight = (struct rti_width_sight){.now_ns = 5 * MS};
    rti_width_open(&width, &sight);
    used_max = max;
    is_flapping = false;
    cold_ns = 0;
    changed_ns = 0;
    narrow_ns = 0;
    changes = 0;
}

static void begin(uint32_t max)
{
    begin_with(max, 1);
}

/* Lets it work for so long, with a look every STEP_NS. */
static void pass(uint64_t ns)
{
    for (uint64_t end_ns = sight.now_ns + ns; sight.now_ns < end_ns;) {
        sight.most = width.now < used_max ? width.now : used_max;
        sight.used = is_flapping ? 1 : sight.most;
        sight.now_ns += STEP_NS;
        bool is_cold = sight.now_ns <= changed_ns + cold_ns;
        sight.work += rates[sight.most] / (is_cold ? 10 : 1) * STEP_NS / MS;
        narrow_ns += width.now < width.max ? STEP_NS : 0;
        uint32_t before = width.now;
        rti_width_look(&width, &sight);
        if (width.now != before) {
            changes++;
            changed_ns = sight.now_ns;
        }
        CHECK(width.now >= 1 && width.now <= width.max);
    }
}

TEST(width_shrinks_where_fewer_get_more_done)
{
    rates[1] = 40000;
    rates[2] = 20000;
    begin(2);
    pass(2 * MS);
    CHECK_EQ(width.now, 1);
}

TEST(width_shrinks_where_fewer_get_no_less_done)
{
    rates[1] = rates[2] = 20000;
    begin(2);
    pass(2 * MS);
    CHECK_EQ(width.now, 1);
    /* And stays so: two do not get a tenth more done. */
    rates[2] = 21000;
    pass(100 * MS);
    CHECK(narrow_ns > 98 * MS);
}

/* Who has nothing left sleeps and is woken for the next one, faster than the warden looks. */
TEST(width_shrinks_though_the_others_come_and_go)
{
    rates[1] = 40000;
    rates[2] = 20000;
    begin(2);
    is_flapping = true;
    pass(2 * MS);
    CHECK_EQ(width.now, 1);
}

TEST(width_stays_where_all_get_more_done)
{
    rates[1] = 20000;
    rates[2] = 23000;
    begin(2);
    pass(1000 * MS);
    /* It tries every 128 milliseconds in the end, each time for less than one. */
    CHECK(changes > 4 && changes < 40);
    CHECK(narrow_ns < 10 * MS);
}

/* What the others had in their caches comes over bit by bit. */
TEST(width_shrinks_though_fewer_have_to_warm_up)
{
    rates[1] = 40000;
    rates[2] = 20000;
    begin(2);
    cold_ns = RTI_WIDTH_SETTLE_NS + RTI_WIDTH_WINDOW_NS;
    pass(2 * MS);
    CHECK_EQ(width.now, 1);
}

/* The machine may have stood still before a trial: that was not the width's fault. */
TEST(width_stays_though_the_window_before_a_trial_got_little_done)
{
    rates[1] = 40000;
    rates[2] = 25000;
    begin(2);
    pass(3 * MS);
    CHECK_EQ(width.now, 1);
    for (int i = 0; i < 5; i++) {
        while (width.phase != RTI_WIDTH_WATCHING ||
               sight.now_ns + RTI_WIDTH_WINDOW_NS < width.again_ns) {
            pass(STEP_NS);
        }
        rates[1] = 15000;
        while (width.phase == RTI_WIDTH_WATCHING) {
            pass(STEP_NS);
        }
        CHECK_EQ(width.now, 2);
        rates[1] = 40000;
        while (width.phase != RTI_WIDTH_WATCHING) {
            pass(STEP_NS);
        }
        CHECK_EQ(width.now, 1);
    }
}

TEST(width_grows_again_when_more_get_more_done)
{
    rates[1] = 40000;
    rates[2] = 20000;
    begin(2);
    pass(500 * MS);
    CHECK_EQ(width.now, 1);
    rates[2] = 80000;
    pass(RTI_WIDTH_PAUSE_MAX_NS + MS);
    narrow_ns = 0;
    pass(100 * MS);
    CHECK(narrow_ns < 5 * MS);
}

TEST(width_of_many_comes_to_what_gets_most_done)
{
    for (uint32_t i = 1; i <= 16; i++) {
        uint32_t distance = i > 4 ? i - 4 : 4 - i;
        rates[i] = 60000 - 3000 * (uint64_t)distance;
    }
    begin(16);
    pass(100 * MS);
    narrow_ns = 0;
    uint64_t before = sight.work;
    pass(2000 * MS);
    CHECK_EQ(narrow_ns, 2000 * MS);
    /* At four nearly all of the time. */
    CHECK(sight.work - before > 2000 * rates[4] / 100 * 98);
}

TEST(width_is_not_tried_where_turns_are_long)
{
    rates[1] = 950;
    rates[2] = 1900; /* of a microsecond, and a bit */
    begin(2);
    pass(500 * MS);
    CHECK_EQ(changes, 0);
    CHECK_EQ(rti_width_next_ns(&width), UINT64_MAX);
}

TEST(width_is_open_as_soon_as_turns_are_long)
{
    rates[1] = 40000;
    rates[2] = 20000;
    begin(2);
    pass(20 * MS);
    CHECK_EQ(width.now, 1);
    rates[1] = 500;
    rates[2] = 1000;
    pass(2 * RTI_WIDTH_WINDOW_NS);
    CHECK_EQ(width.now, 2);
    pass(100 * MS);
    CHECK_EQ(width.now, 2);
}

TEST(width_is_open_beside_one_long_turn)
{
    rates[1] = 40000;
    rates[2] = 20000;
    begin(2);
    sight.is_uneven = true;
    pass(100 * MS);
    CHECK_EQ(changes, 0);
    sight.is_uneven = false;
    pass(2 * MS);
    CHECK_EQ(width.now, 1);
    sight.is_uneven = true;
    pass(2 * RTI_WIDTH_WINDOW_NS);
    CHECK_EQ(width.now, 2);
}

TEST(width_is_open_if_a_turn_is_long_in_a_trial)
{
    rates[1] = 40000;
    rates[2] = 20000;
    begin(2);
    while (width.phase != RTI_WIDTH_TRYING) {
        pass(STEP_NS);
    }
    CHECK_EQ(width.now, 1);
    sight.is_uneven = true;
    pass(RTI_WIDTH_WINDOW_NS);
    CHECK_EQ(width.now, 2);
    CHECK_EQ(width.phase, RTI_WIDTH_WATCHING);
}

/* What the program did before is no measure. */
TEST(width_grows_soon_when_work_becomes_another)
{
    rates[1] = 100000;
    rates[2] = 50000;
    begin(2);
    while (width.now == 2 || width.phase != RTI_WIDTH_WATCHING) {
        pass(STEP_NS);
    }
    rates[1] = 1200;
    rates[2] = 2400;
    pass(RTI_WIDTH_PAUSE_MIN_NS + MS);
    CHECK_EQ(width.now, 2);
    CHECK_EQ(width.phase, RTI_WIDTH_WATCHING);
}

TEST(width_that_gets_nothing_done_is_not_kept)
{
    rates[1] = 0;
    rates[2] = 20000;
    begin(2);
    pass(200 * MS);
    CHECK_EQ(width.now, 2);
}

TEST(width_of_one_and_of_one_that_is_used_is_not_tried)
{
    rates[1] = 40000;
    rates[2] = 90000;
    begin(1);
    pass(100 * MS);
    CHECK_EQ(changes, 0);
    begin(2);
    used_max = 1;
    pass(100 * MS);
    CHECK_EQ(changes, 0);
}

TEST(width_is_not_less_than_the_program_wants)
{
    for (uint32_t i = 1; i <= 16; i++) {
        rates[i] = 100000 - 3000 * (uint64_t)i;
    }
    begin_with(16, 3);
    pass(100 * MS);
    CHECK_EQ(width.now, 3);
    begin_with(16, 16);
    pass(100 * MS);
    CHECK_EQ(changes, 0);
}

TEST(width_is_looked_at_when_it_is_due)
{
    rates[1] = 40000;
    rates[2] = 20000;
    begin(2);
    /* Those who are woken come before anything is tried. */
    CHECK_EQ(rti_width_next_ns(&width), sight.now_ns + 2 * RTI_WIDTH_WINDOW_NS);
    while (width.phase != RTI_WIDTH_SETTLING) {
        pass(STEP_NS);
    }
    CHECK_EQ(rti_width_next_ns(&width), sight.now_ns + RTI_WIDTH_SETTLE_NS);
    while (width.phase != RTI_WIDTH_WATCHING) {
        pass(STEP_NS);
    }
    /* While stations are held back somebody has to see that turns become long. */
    CHECK_EQ(width.now, 1);
    CHECK(rti_width_next_ns(&width) <= sight.now_ns + RTI_WIDTH_CARE_NS);
}

/* What the program says arrives, and is never more than there are. */
TEST(width_has_the_least_that_the_configuration_says)
{
    static const uint32_t wanted[][2] = {{0, 1}, {1, 1}, {2, 2}, {3, 3}, {UINT32_MAX, 3}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        rt_status status = rt_init_ex(&(rt_config){.workers = 3, .workers_min = wanted[i][0]});
        if (status.code == RT_ERR_UNSUPPORTED) {
            test_skip("no parallel engine here");
        }
        CHECK_OK(status);
        const struct rti_width *used = &rti_worker_current()->sched->crew->warden.width;
        CHECK_EQ(used->min, wanted[i][1]);
        rt_run();
        CHECK_EQ(used->min, wanted[i][1]);
        rt_cleanup();
    }
}

static struct rti_crew *crew;
static struct rti_member *member;

/* Two stations, of which the first is held and the other may not be used. The run has begun, as
 * far as a search can tell. */
static void open_narrow_of(uint32_t workers)
{
    crew_world_open(workers);
    crew = &crew_world.crew;
    member = &crew->members[0];
    rti_crew_set_width(crew, 1);
    rti_u32_store_relaxed(&crew->is_over, 0);
}

static void open_narrow(void)
{
    open_narrow_of(2);
}

static void close_narrow(void)
{
    rti_u32_store_relaxed(&crew->is_over, 1);
    rti_crew_set_width(crew, crew->stations_count);
    crew_world_close();
}

TEST(crew_gives_no_station_that_may_not_be_used)
{
    open_narrow();
    struct rti_sched_stats stats;
    size_t depths[2];
    rti_sched_stats(&crew_world.sched, &stats, depths, 2);
    CHECK_EQ(stats.workers, 2);
    CHECK_EQ(stats.workers_used, 1);
    CHECK(rti_crew_take_idle(crew) == NULL);
    rti_crew_rouse_one(crew);
    CHECK_EQ(rti_u32_load_relaxed(&crew->spinning), 0);
    /* Nobody is sent to the poller: somebody is there. */
    rti_u32_store_relaxed(&crew->is_polled, 1);
    rti_crew_set_width(crew, 2);
    rti_u32_store_relaxed(&crew->is_polled, 0);
    struct rti_station *station = rti_crew_take_idle(crew);
    CHECK(station == &crew->stations[1]);
    CHECK(!rti_crew_give_back(crew, station));
    close_narrow();
}

TEST(crew_tells_how_many_were_held_at_a_time_between_two_looks)
{
    open_narrow();
    rti_u32_store_relaxed(&crew->is_polled, 1); /* nobody is sent there */
    rti_crew_set_width(crew, 2);
    rti_u32_store_relaxed(&crew->is_polled, 0);
    rti_u32_store_relaxed(&crew->used_most, 1);
    CHECK(!rti_crew_give_back(crew, rti_crew_take_idle(crew)));
    CHECK_EQ(rti_u32_load_relaxed(&crew->listed_count), 1);
    CHECK_EQ(rti_u32_load_relaxed(&crew->used_most), 2);
    close_narrow();
}

TEST(crew_knows_that_all_are_idle_though_not_all_may_be_used)
{
    open_narrow();
    CHECK(rti_crew_give_back(crew, member->worker->station));
    CHECK(rti_crew_take_idle(crew) == member->worker->station);
    CHECK(rti_crew_take_idle(crew) == NULL);
    close_narrow();
}

static void no_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    (void)runnable;
    (void)worker;
}

static void make_ready(struct rti_runnable *runnable, uint32_t id, uint8_t priority)
{
    rti_runnable_init(runnable, id, priority, no_step);
    rti_u32_store_relaxed(&runnable->state, RTI_RUNNABLE_READY);
}

/* All levels, however busy the one station is that is used. */
TEST(crew_fetches_what_a_station_has_that_may_not_be_used)
{
    static struct rti_runnable busy;
    static struct rti_runnable left[RTI_PRIORITY_LEVELS];
    uint32_t found = 0;
    open_narrow();
    make_ready(&busy, 1, 0);
    rti_station_queue(member->worker->station, &busy, &crew->injector);
    for (uint8_t i = 0; i < RTI_PRIORITY_LEVELS; i++) {
        make_ready(&left[i], 2U + i, i);
        rti_station_queue(&crew->stations[1], &left[i], &crew->injector);
    }
    for (int i = 0; i < (RTI_PRIORITY_LEVELS + 1) * RTI_STATION_TICKS; i++) {
        struct rti_runnable *runnable = rti_crew_search(member);
        CHECK(runnable != NULL);
        if (runnable == &busy) {
            rti_station_queue(member->worker->station, &busy, &crew->injector);
        } else {
            found |= 1U << runnable->priority;
        }
    }
    /* Who is less urgent than one that is always there never has a turn, as anywhere. */
    CHECK_EQ(found, 1);
    CHECK(rti_station_is_empty(&crew->stations[1]));
    while (rti_station_pick(member->worker->station) != NULL) {
    }
    close_narrow();
}

/* More than a station that is low has, of one level, each of them always ready. */
static struct rti_runnable crowd[RTI_RING_CAPACITY / 2];

static void make_crowd(uint8_t priority)
{
    for (uint32_t i = 0; i < RTI_RING_CAPACITY / 2; i++) {
        make_ready(&crowd[i], 1000 + i, priority);
        rti_station_queue(member->worker->station, &crowd[i], &crew->injector);
    }
}

static bool is_of_crowd(const struct rti_runnable *runnable)
{
    return runnable >= crowd && runnable < crowd + RTI_RING_CAPACITY / 2;
}

/* So many turns, in which all of the crowd is ready again. Returns how many others had one. */
static uint32_t serve_crowd(uint32_t turns_max)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < turns_max; i++) {
        struct rti_runnable *runnable = rti_crew_search(member);
        CHECK(runnable != NULL);
        if (is_of_crowd(runnable)) {
            rti_station_queue(member->worker->station, runnable, &crew->injector);
        } else {
            others++;
        }
    }
    return others;
}

static void dismiss_crowd(void)
{
    while (rti_station_pick(member->worker->station) != NULL) {
    }
    close_narrow();
}

/* Those who have not run yet are taken by who has little to do, and here nobody ever has. */
TEST(crew_fetches_who_has_not_run_from_a_station_that_may_not_be_used)
{
    static struct rti_runnable fresh[3];
    open_narrow();
    struct rti_station *left = &crew->stations[1];
    make_crowd(2);
    for (uint32_t i = 0; i < 3; i++) {
        struct rti_runnable *runnable = &fresh[i];
        make_ready(runnable, 1 + i, 2);
        runnable->is_fresh = true;
        rti_backlog_push(i < 2 ? &left->backlog : &left->early_rest, &crew_world.sched, &runnable,
                         1);
    }
    CHECK_EQ(serve_crowd(4 * RTI_STATION_TICKS + RTI_RING_CAPACITY), 3);
    CHECK(rti_station_is_empty(left));
    dismiss_crowd();
}

/* As it lies there if the station was taken from one who blocks, and no thread was left for it. */
TEST(crew_fetches_the_next_of_a_station_that_may_not_be_used)
{
    static struct rti_runnable next;
    open_narrow();
    make_crowd(2);
    make_ready(&next, 1, 2);
    (void)rti_station_queue_next(&crew->stations[1], &next, &crew->injector);
    CHECK_EQ(serve_crowd(RTI_STATION_TICKS + RTI_RING_CAPACITY), 1);
    dismiss_crowd();
}

/* Of the deque one is fetched at a time. Who is urgent at the next station does not wait for all of
 * them. */
TEST(crew_fetches_from_stations_that_may_not_be_used_in_turns)
{
    static struct rti_runnable early[50];
    static struct rti_runnable urgent;
    open_narrow_of(3);
    make_crowd(RTI_STATION_EARLY_LEVEL);
    for (uint32_t i = 0; i < 50; i++) {
        make_ready(&early[i], 2 + i, RTI_STATION_EARLY_LEVEL);
        early[i].is_fresh = true;
        rti_station_queue_early(&crew->stations[1], &early[i]);
    }
    make_ready(&urgent, 1, 0);
    rti_station_queue(&crew->stations[2], &urgent, &crew->injector);
    (void)serve_crowd(2 * RTI_STATION_TICKS + 1);
    CHECK(rti_station_is_empty(&crew->stations[2]));
    while (rti_station_pick(&crew->stations[1]) != NULL) {
    }
    dismiss_crowd();
}

static uint64_t due_ns;
static uint32_t expired;

static uint64_t next_deadline(void *context)
{
    (void)context;
    return due_ns;
}

static size_t expire(void *context, uint64_t now_ns)
{
    (void)context;
    (void)now_ns;
    due_ns = RTI_TIME_NEVER;
    expired++;
    return 1;
}

/* Nobody sleeps in the poller, and the one worker is never without work. */
TEST(crew_fires_timers_of_a_station_that_may_not_be_used)
{
    static struct rti_runnable busy;
    open_narrow();
    struct rti_timer_source before = crew->stations[1].timers;
    crew->stations[1].timers = (struct rti_timer_source){next_deadline, expire, NULL};
    make_ready(&busy, 1, 0);
    rti_station_queue(member->worker->station, &busy, &crew->injector);
    for (int i = 0; i < 200; i++) {
        CHECK(rti_crew_search(member) == &busy);
        member->turns_until_look--;
        rti_station_queue(member->worker->station, &busy, &crew->injector);
    }
    CHECK_EQ(expired, 1);
    (void)rti_station_pick(member->worker->station);
    crew->stations[1].timers = before;
    close_narrow();
}

/* With real threads: the width goes up and down while fibers yield, sleep and end. */
static rti_atomic_u32 turns;

static void yield_and_sleep(void *arg)
{
    (void)arg;
    for (int i = 0; i < 300; i++) {
        struct rti_worker *worker = rti_worker_current();
        rti_u32_add_acqrel(&turns, 1);
        if (i % 50 == 49) {
            rti_fiber_sleep_until(worker, rti_deadline_after(&crew_world.sched, 100000));
        } else {
            rti_fiber_yield(worker);
        }
    }
}

static void change_the_width(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < 400; i++) {
        rti_crew_set_width(&crew_world.crew, 1 + i % 4);
        rti_fiber_yield(rti_worker_current());
    }
    rti_crew_set_width(&crew_world.crew, 4);
}

TEST(crew_runs_all_while_its_width_changes)
{
    crew_world_open(4);
    for (int i = 0; i < 40; i++) {
        crew_world_go(yield_and_sleep, NULL, (uint8_t)(i % 4));
    }
    crew_world_go(change_the_width, NULL, 0);
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_EQ(rti_u32_load_relaxed(&turns), 40 * 300);
    crew_world_close();
}
