/* SPDX-License-Identifier: Apache-2.0 */

/* A station: what is queued, as next or in a ring, is taken exactly once and complete, by the
 * holder or by a thief, also when the ring spills into the injector. Rings of 4. */

#include "sched/station.h"

#include "port/explore/port.h"
#include "sched/injector.h"

enum { THREADS = 3, ITEMS = 6 };

struct item {
    struct rti_runnable run;
    uint32_t payload;
    uint32_t taken_count;
};

static struct rti_sched sched;
static struct rti_injector injector;
static struct rti_station stations[THREADS];
static struct item items[ITEMS];

void rti_port_log(const char *line)
{
    (void)line;
}

/* Nobody is a worker here: locks keep no account. */
struct rti_worker *rti_worker_current(void)
{
    return NULL;
}

static void step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    (void)runnable;
    (void)worker;
}

static void setup(void)
{
    sched = (struct rti_sched){.port = explore_port(), .is_local = false};
    rti_injector_init(&injector, &sched);
    for (uint32_t i = 0; i < THREADS; i++) {
        rti_station_init(&stations[i], i, &sched);
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        items[i] = (struct item){.payload = 0};
        rti_runnable_init(&items[i].run, i + 1, (uint8_t)(i % 2), step);
        rti_u32_init(&items[i].run.state, RTI_RUNNABLE_READY);
    }
    explore_name(&stations[0].next, "next");
    explore_name(&injector.count, "injected");
}

static struct rti_runnable *ready(unsigned number)
{
    RTI_PLAIN_WRITE(&items[number].payload, sizeof items[number].payload);
    items[number].payload = number + 1;
    return &items[number].run;
}

static void take(struct rti_runnable *runnable)
{
    if (runnable == NULL) {
        return;
    }
    struct item *item = RTI_CONTAINER_OF(runnable, struct item, run);
    RTI_PLAIN_READ(&item->payload, sizeof item->payload);
    EXPLORE_ASSERT(item->payload == (uint32_t)(item - items) + 1);
    runnable->is_fresh = false; /* as whoever runs it does */
    RTI_PLAIN_WRITE(&item->taken_count, sizeof item->taken_count);
    EXPLORE_ASSERT(item->taken_count == 0);
    item->taken_count++;
}

static void take_all(struct rti_station *station)
{
    struct rti_runnable *runnable;
    while ((runnable = rti_station_pick(station)) != NULL) {
        take(runnable);
    }
}

static void hold_next(void)
{
    (void)rti_station_queue_next(&stations[0], ready(0), &injector);
    (void)rti_station_queue_next(&stations[0], ready(1), &injector);
    take(rti_station_pick(&stations[0]));
    (void)rti_station_queue_next(&stations[0], ready(2), &injector);
    take_all(&stations[0]);
}

static void steal_both_ways(void)
{
    struct rti_station *own = &stations[explore_self()];
    take(rti_station_steal(own, &stations[0]));
    take(rti_station_steal_next(own, &stations[0]));
    take_all(own);
}

static void check_taken(unsigned count)
{
    for (unsigned i = 0; i < THREADS; i++) {
        take_all(&stations[i]);
    }
    struct rti_runnable *runnable;
    while ((runnable = rti_injector_take(&injector, &stations[0], 1)) != NULL) {
        take(runnable);
    }
    for (unsigned i = 0; i < count; i++) {
        EXPLORE_ASSERT(items[i].taken_count == 1);
    }
    EXPLORE_ASSERT(rti_injector_is_empty(&injector));
}

static void check_three(void)
{
    check_taken(3);
}

static void check_six(void)
{
    check_taken(6);
}

/* A pair that talks: the holder puts one, takes it, puts the other. */
static void hold_pair(void)
{
    (void)rti_station_put_next(&stations[0], ready(0));
    take(rti_station_pick_next(&stations[0], false));
    (void)rti_station_queue_next(&stations[0], ready(1), &injector);
    take(rti_station_pick_next(&stations[0], false));
    take_all(&stations[0]);
}

static void check_pair(void)
{
    check_taken(2);
}

MODEL(station_next_of_a_pair_is_taken_once){
    .about = "holder puts next and takes it without looking further, a thief steals it",
    .setup = setup,
    .threads = {hold_pair, steal_both_ways},
    .check = check_pair,
};

MODEL(station_next_is_taken_once_by_the_holder_or_a_thief){
    .about = "holder queues next and picks, a thief steals from ring and next",
    .setup = setup,
    .threads = {hold_next, steal_both_ways},
    .check = check_three,
    .executions_max = 300000,
};

MODEL(station_next_is_taken_once_with_two_thieves){
    .about = "holder queues next and picks, two thieves steal from ring and next",
    .setup = setup,
    .threads = {hold_next, steal_both_ways, steal_both_ways},
    .check = check_three,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};

/* All of one level, so that the ring of 4 is full; but for the second one they have not run yet. */
static void hold_too_many(void)
{
    for (unsigned i = 0; i < 6; i++) {
        items[i].run.priority = 1;
        items[i].run.is_fresh = i != 1;
        rti_station_queue(&stations[0], ready(i), &injector);
    }
    take(rti_station_begin_old(&stations[0]));
    take(rti_station_pick(&stations[0]));
}

/* The same of those who have run: all that the ring spills goes to the injector. */
static void hold_too_many_that_ran(void)
{
    for (unsigned i = 0; i < 6; i++) {
        items[i].run.priority = 1;
        rti_station_queue(&stations[0], ready(i), &injector);
    }
    take(rti_station_pick(&stations[0]));
}

static void take_injected(void)
{
    struct rti_station *own = &stations[explore_self()];
    take(rti_injector_take(&injector, own, 2));
    take(rti_station_steal(own, &stations[0]));
    take_all(own);
}

static void steal_twice(void)
{
    struct rti_station *own = &stations[explore_self()];
    take(rti_station_steal(own, &stations[0]));
    take(rti_station_steal(own, &stations[0]));
    take_all(own);
}

MODEL(station_that_spills_loses_nothing){
    .about = "holder overfills a ring, another takes from the injector and steals",
    .setup = setup,
    .threads = {hold_too_many, take_injected},
    .check = check_six,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};

MODEL(station_that_spills_those_who_ran_loses_nothing){
    .about = "holder overfills a ring with those who ran, another takes a share of the injector",
    .setup = setup,
    .threads = {hold_too_many_that_ran, take_injected},
    .check = check_six,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};

MODEL(station_that_spills_loses_nothing_to_a_thief){
    .about = "holder overfills a ring with fresh ones, another steals from ring and backlog",
    .setup = setup,
    .threads = {hold_too_many, steal_twice},
    .check = check_six,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};

/* Two that have not run and were in no ring yet: the one is run, the other queued. */
static void hold_backlog(void)
{
    struct rti_runnable *fresh[] = {ready(0), ready(1)};
    for (unsigned i = 0; i < 2; i++) {
        fresh[i]->priority = 1;
        fresh[i]->is_fresh = true;
    }
    rti_backlog_push(&stations[0].backlog, &sched, fresh, 2);
    take_all(&stations[0]);
}

MODEL(station_that_comes_to_its_backlog_loses_nothing){
    .about = "holder fills its ring from its backlog, another steals from both",
    .setup = setup,
    .threads = {hold_backlog, steal_twice},
    .check = check_pair,
    .executions_max = 300000,
};

/* Those that begin early: the last one for the holder, the oldest for a thief. */
static void hold_early(void)
{
    for (unsigned i = 0; i < 3; i++) {
        items[i].run.priority = RTI_STATION_EARLY_LEVEL;
        items[i].run.is_fresh = true;
        rti_station_queue_early(&stations[0], ready(i));
    }
    take(rti_station_pick(&stations[0]));
    items[3].run.priority = RTI_STATION_EARLY_LEVEL;
    items[3].run.is_fresh = true;
    rti_station_queue_early(&stations[0], ready(3));
    take_all(&stations[0]);
}

static void check_early(void)
{
    check_taken(4);
}

MODEL(station_early_ones_are_taken_once){
    .about = "holder queues early ones and picks, a thief steals the oldest",
    .setup = setup,
    .threads = {hold_early, steal_twice},
    .check = check_early,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(2)},
    .executions_max = 300000,
};

/* More than the deque of 4 has room for, and one of another level. */
static void hold_too_many_early(void)
{
    for (unsigned i = 0; i < 6; i++) {
        items[i].run.priority = i == 2 ? 1 : RTI_STATION_EARLY_LEVEL;
        items[i].run.is_fresh = true;
        rti_station_queue_early(&stations[0], ready(i));
    }
    take(rti_station_pick(&stations[0]));
    take(rti_station_pick(&stations[0]));
}

MODEL(station_early_ones_that_find_no_room_are_taken_once){
    .about = "holder overfills the deque, a thief steals from it and from what was set aside",
    .setup = setup,
    .threads = {hold_too_many_early, steal_twice},
    .check = check_six,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 300000,
};
