/* SPDX-License-Identifier: Apache-2.0 */
/* How a member looks for work, one search at a time and without other threads: which place it asks
 * first, when it may spin, whom it wakes. The port's sleep ends the run, its threads never begin,
 * and the timers of the other stations tell what they see. */
#define RTI_MODULE "crew_search_test"
#include "sched/crew_search.h"

#include <string.h>

#include "sched/fiber.h"
#include "support/crew.h"
#include "support/test.h"

#define STATIONS_MAX CREW_WORKERS_MAX

static struct {
    struct rti_port_ops ops;
    struct rti_runnable items[STATIONS_MAX];
    uint32_t spinning_max;  /* that the timers of any station have seen */
    uint32_t starts;        /* of threads */
    uint32_t sleeps;        /* in the poller */
    uint32_t asleep_listed; /* stations that were idle then */
    uint32_t asleep_spinning;
} seen;

static struct rti_member *me(void)
{
    return &crew_world.members[0];
}

/* A station is asked for its timers by who visits it. */
static uint64_t tell_spinning(void *context)
{
    (void)context;
    uint32_t spinning = rti_u32_load_relaxed(&crew_world.crew.spinning);
    seen.spinning_max = spinning > seen.spinning_max ? spinning : seen.spinning_max;
    return RTI_TIME_NEVER;
}

static size_t expire_none(void *context, uint64_t now_ns)
{
    (void)context, (void)now_ns;
    return 0;
}

static rt_status thread_is_asked_for(struct rti_port *port, struct rti_port_thread *thread,
                                     void (*main)(void *), void *arg)
{
    (void)port, (void)thread, (void)main, (void)arg;
    seen.starts++;
    return RT_SUCCESS;
}

/* A look says nothing; a sleep is the end of the run. */
static enum rti_wait_end sleep_ends_the_run(struct rti_port *port, uint64_t deadline_ns)
{
    (void)port;
    if (deadline_ns != 0) {
        seen.sleeps++;
        seen.asleep_listed = rti_u32_load_relaxed(&crew_world.crew.listed_count);
        seen.asleep_spinning = rti_u32_load_relaxed(&crew_world.crew.spinning);
        rti_u32_store_relaxed(&crew_world.crew.is_over, 1);
    }
    return RTI_WAIT_WOKEN;
}

/* A crew whose first `busy` stations are held, the first of them by the caller; the rest are idle.
 */
static void open_crew(uint32_t stations, uint32_t busy)
{
    crew_world_open(stations);
    struct rti_port *port = &crew_world.port.port;
    seen.ops = *port->ops;
    seen.ops.thread_start = thread_is_asked_for;
    seen.ops.wait = sleep_ends_the_run;
    port->ops = &seen.ops;
    for (uint32_t i = 0; i < stations; i++) {
        crew_world.stations[i].timers = (struct rti_timer_source){tell_spinning, expire_none, NULL};
        /* Not at a tick, but where a case says so. */
        crew_world.stations[i].tick = 1;
    }
    for (uint32_t i = 1; i < busy; i++) {
        CHECK(rti_crew_take_idle(&crew_world.crew) == &crew_world.stations[i]);
    }
    rti_u32_store_relaxed(&crew_world.crew.is_over, 0);
}

static void set_spinning(uint32_t count)
{
    rti_u32_store_relaxed(&crew_world.crew.spinning, count);
}

static void never_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    (void)runnable, (void)worker;
    CHECK(false);
}

static struct rti_runnable *ready_item(uint32_t number)
{
    struct rti_runnable *item = &seen.items[number];
    rti_runnable_init(item, number + 1, 1, never_step);
    rti_u32_init(&item->state, RTI_RUNNABLE_READY);
    return item;
}

static void queue_item(uint32_t number, uint32_t station)
{
    rti_station_queue(&crew_world.stations[station], ready_item(number), &crew_world.crew.injector);
}

TEST(crew_search_spins_as_long_as_fewer_than_half_of_the_busy_do)
{
    open_crew(6, 4);
    rti_u32_store_relaxed(&crew_world.crew.idle_count, 0); /* nobody is woken */
    set_spinning(1);
    CHECK(rti_crew_search(me()) == NULL);
    CHECK_EQ(seen.spinning_max, 2);
    CHECK_EQ(seen.asleep_spinning, 1);
}

TEST(crew_search_does_not_spin_when_half_of_the_busy_do)
{
    open_crew(6, 4);
    rti_u32_store_relaxed(&crew_world.crew.idle_count, 0);
    set_spinning(2);
    CHECK(rti_crew_search(me()) == NULL);
    CHECK_EQ(seen.spinning_max, 2);
    CHECK_EQ(seen.asleep_spinning, 2);
}

TEST(crew_search_that_finds_nothing_gives_the_station_back_and_sleeps)
{
    open_crew(4, 4);
    CHECK(rti_crew_search(me()) == NULL);
    CHECK_EQ(seen.spinning_max, 1);
    CHECK_EQ(seen.sleeps, 1);
    CHECK_EQ(seen.asleep_listed, 1);
    CHECK_EQ(seen.asleep_spinning, 0);
    CHECK(me()->worker->station == NULL);
}

TEST(crew_search_that_has_found_spins_no_more_and_sends_one_other_to_look)
{
    open_crew(4, 2);
    rti_u32_store_relaxed(&crew_world.crew.is_polled, 1); /* who has looked there wakes one, too */
    queue_item(0, 1);
    queue_item(1, 1);
    CHECK(rti_crew_search(me()) == &seen.items[0]);
    CHECK_EQ(seen.spinning_max, 0); /* it was found in the first round */
    CHECK(!me()->is_spinning);
    CHECK_EQ(seen.starts, 1);
    CHECK_EQ(rti_u32_load_relaxed(&crew_world.crew.spinning), 1); /* the promise for that one */
    CHECK_EQ(rti_u32_load_relaxed(&crew_world.crew.idle_count), 1);
}

TEST(crew_wakes_one_for_an_idle_station_and_no_second_while_one_looks)
{
    open_crew(4, 1);
    rti_crew_queue(&crew_world.crew, ready_item(0));
    CHECK_EQ(seen.starts, 1);
    rti_crew_queue(&crew_world.crew, ready_item(1));
    CHECK_EQ(seen.starts, 1);
    rti_crew_stop_spinning(&crew_world.crew); /* it has found something */
    rti_crew_queue(&crew_world.crew, ready_item(2));
    CHECK_EQ(seen.starts, 2);
}

TEST(crew_wakes_nobody_when_no_station_is_idle)
{
    open_crew(2, 2);
    rti_crew_queue(&crew_world.crew, ready_item(0));
    CHECK_EQ(seen.starts, 0);
    CHECK_EQ(rti_u32_load_relaxed(&crew_world.crew.spinning), 0);
}

TEST(crew_search_takes_its_own_before_what_all_share)
{
    open_crew(2, 2);
    rti_injector_push(&crew_world.crew.injector, ready_item(0));
    queue_item(1, 0);
    queue_item(2, 0);
    CHECK(rti_crew_search(me()) == &seen.items[1]);
    CHECK(rti_crew_search(me()) == &seen.items[2]);
    CHECK(rti_crew_search(me()) == &seen.items[0]);
}

TEST(crew_search_asks_what_all_share_first_at_every_tick)
{
    open_crew(2, 2);
    queue_item(1, 0);
    queue_item(2, 0);
    rti_injector_push(&crew_world.crew.injector, ready_item(0));
    crew_world.stations[0].tick = RTI_STATION_TICKS - 1;
    CHECK(rti_crew_search(me()) == &seen.items[1]);
    CHECK(rti_crew_search(me()) == &seen.items[0]);
    CHECK(rti_crew_search(me()) == &seen.items[2]);
}

/* What is asked in a look, as it comes. */
static char looked[8];

static void looked_at(char what)
{
    size_t length = strlen(looked);
    CHECK(length < sizeof(looked) - 1);
    looked[length] = what;
}

static enum rti_wait_end look_at_port(struct rti_port *port, uint64_t deadline_ns)
{
    looked_at('o');
    return sleep_ends_the_run(port, deadline_ns);
}

static uint64_t timer_is_due(void *context)
{
    (void)context;
    return 0;
}

static size_t look_at_timers(void *context, uint64_t now_ns)
{
    (void)context, (void)now_ns;
    looked_at('t');
    return 1;
}

/* A timer may be the limit of a wait for what the port would give. */
TEST(crew_look_asks_the_port_before_it_fires_timers)
{
    open_crew(2, 2);
    seen.ops.wait = look_at_port;
    crew_world.stations[0].timers = (struct rti_timer_source){timer_is_due, look_at_timers, NULL};
    rti_u64_store_relaxed(&crew_world.crew.polled_ns, 0);
    me()->turns_until_look = 0;
    queue_item(0, 0);
    CHECK(rti_crew_search(me()) == &seen.items[0]);
    CHECK_STR(looked, "ot");
}

/* Every other station has something: whose is taken is the draw's, and over many draws each is
 * taken from. */
TEST(crew_search_takes_from_a_victim_that_is_drawn)
{
    open_crew(STATIONS_MAX, STATIONS_MAX);
    uint32_t counts[STATIONS_MAX] = {0};
    for (uint32_t i = 1; i < STATIONS_MAX; i++) {
        queue_item(i, i);
    }
    for (uint64_t draw = 0; draw < 64; draw++) {
        rti_rng_init(&me()->rng, draw);
        struct rti_runnable *stolen = rti_crew_search(me());
        CHECK(stolen != NULL);
        uint32_t from = stolen->id - 1;
        CHECK(from > 0 && from < STATIONS_MAX);
        counts[from]++;
        queue_item(from, from);
    }
    for (uint32_t i = 1; i < STATIONS_MAX; i++) {
        CHECK(counts[i] > 0);
    }
}
