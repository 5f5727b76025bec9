/* SPDX-License-Identifier: Apache-2.0 */
/* When a worker begins to work alone and what ends it; what happens between threads is explored
 * (test/model/solo_model.c) and simulated (test/virtual/solo_sim_test.c). */
#define _GNU_SOURCE
#define RTI_MODULE "solo_test"
#include "sched/solo.h"

#include <pthread.h>

#include "sched/crew_search.h"
#include "sched/pin.h"
#include "support/crew.h"
#include "support/test.h"

static struct rti_crew *crew;
static struct rti_member *member;

/* Two stations, one of them idle; the port has the barrier, whatever the system has. */
static void open_two(void)
{
    crew_world_open(2);
    crew = &crew_world.crew;
    member = &crew->members[0];
    crew->can_solo = true;
}

static bool is_solo(void)
{
    bool is_inside = rti_solo_enter(member->worker);
    CHECK_EQ(rti_u32_load_relaxed(&member->worker->is_inside), is_inside);
    if (is_inside) {
        rti_solo_leave(member->worker);
    }
    CHECK_EQ(rti_u32_load_relaxed(&member->worker->is_inside), 0);
    return is_inside;
}

/* As in a run: outside of one nobody works alone, and in one threads are started. */
static void try_solo(void)
{
    uint32_t is_over = rti_u32_load_relaxed(&crew->is_over);
    rti_u32_store_relaxed(&crew->is_over, 0);
    rti_solo_try(member);
    rti_u32_store_relaxed(&crew->is_over, is_over);
}

TEST(solo_begins_while_all_other_stations_are_idle)
{
    open_two();
    CHECK(!is_solo());
    struct rti_station *taken = rti_crew_take_idle(crew);
    try_solo();
    CHECK(!is_solo());
    (void)rti_crew_give_back(crew, taken);
    CHECK(!is_solo());
    try_solo();
    CHECK(is_solo());
    crew_world_close();
}

TEST(solo_ends_when_a_station_is_taken)
{
    open_two();
    try_solo();
    struct rti_station *taken = rti_crew_take_idle(crew);
    CHECK(!is_solo());
    (void)rti_crew_give_back(crew, taken);
    crew_world_close();
}

TEST(solo_ends_when_somebody_without_a_station_comes_and_not_before_it_goes_begins_again)
{
    open_two();
    try_solo();
    rti_solo_receive(crew);
    CHECK(!is_solo());
    try_solo();
    CHECK(!is_solo());
    rti_solo_part(crew);
    try_solo();
    CHECK(is_solo());
    crew_world_close();
}

TEST(solo_needs_the_barrier)
{
    open_two();
    crew->can_solo = false;
    try_solo();
    CHECK(!is_solo());
    crew_world_close();
}

/* Who comes from outside is not made to pay again at once. */
TEST(solo_does_not_begin_before_its_time)
{
    open_two();
    rti_u64_store_relaxed(&crew->solo_again_ns, 1000);
    member->worker->now_ns = 999;
    try_solo();
    CHECK(!is_solo());
    member->worker->now_ns = 1000;
    try_solo();
    CHECK(is_solo());
    crew_world_close();
}

/* That others came before they had to leave was no guest's doing. */
TEST(solo_begins_at_once_when_one_is_left_who_may_work)
{
    open_two();
    rti_u64_store_relaxed(&crew->solo_again_ns, 1000);
    member->worker->now_ns = 999;
    rti_crew_set_width(crew, 1);
    try_solo();
    CHECK(is_solo());
    rti_crew_set_width(crew, 2);
    crew_world_close();
}

static bool refuse(struct rti_port *port)
{
    (void)port;
    return false;
}

static void *visit(void *arg)
{
    (void)arg;
    rti_solo_receive(crew);
    CHECK_EQ(rti_u32_load_relaxed(&member->worker->is_solo), 0);
    rti_solo_part(crew);
    return NULL;
}

/* Somebody from outside comes, on a thread of its own, and goes, while the port does this. */
static void receive_a_visitor(const struct rti_port_ops *meanwhile)
{
    struct rti_port *port = crew->sched->port;
    const struct rti_port_ops *ops = port->ops;
    pthread_t visitor;
    port->ops = meanwhile;
    CHECK_EQ(pthread_create(&visitor, NULL, visit, NULL), 0);
    CHECK_EQ(pthread_join(visitor, NULL), 0);
    port->ops = ops;
    CHECK(!is_solo());
}

/* As it is from the moment on at which the program has set a filter that does not know of it. */
TEST(solo_ends_for_good_when_the_barrier_is_refused)
{
    open_two();
    struct rti_port *port = crew->sched->port;
    struct rti_port_ops refusing = *port->ops;
    refusing.fence_all = refuse;
    try_solo();
    CHECK(is_solo());
    receive_a_visitor(&refusing);
    member->worker->now_ns = port->ops->clock_ns(port) + 2 * RTI_SOLO_PAUSE_NS;
    try_solo();
    CHECK(!is_solo());
    /* Though there is one left who may work. */
    rti_crew_set_width(crew, 1);
    try_solo();
    CHECK(!is_solo());
    rti_crew_set_width(crew, 2);
    crew_world_close();
}

/* The worker leaves its section only while who comes sleeps: both have one processor, and who comes
 * goes first. */
static bool sleep_and_let_work(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                               uint64_t deadline_ns)
{
    (void)port;
    (void)deadline_ns;
    CHECK_EQ(rti_u32_load_relaxed(word), expected);
    rti_solo_leave(member->worker);
    return false;
}

TEST(solo_sleeps_if_who_works_alone_stays_inside)
{
    open_two();
    struct rti_port_ops shared = *crew->sched->port->ops;
    shared.futex_wait = sleep_and_let_work;
    try_solo();
    CHECK(rti_solo_enter(member->worker));
    receive_a_visitor(&shared);
    crew_world_close();
}

TEST(solo_is_no_business_of_who_has_a_station)
{
    open_two();
    try_solo();
    bool is_visiting = rti_solo_knock(&crew_world.sched);
    CHECK(!is_visiting);
    rti_solo_go(&crew_world.sched, is_visiting);
    CHECK(is_solo());
    crew_world_close();
}

/* In a section nobody asks whether what happens is written down, nor whether the run is over. */
TEST(solo_ends_when_a_journal_is_begun_and_begins_again_when_there_is_none)
{
    struct rti_journal journal;
    open_two();
    rti_journal_init(&journal, NULL, 0);
    try_solo();
    CHECK(is_solo());
    CHECK(rti_crew_observe(crew, NULL, &journal));
    CHECK(!is_solo());
    try_solo();
    CHECK(!is_solo());
    CHECK(rti_crew_observe(crew, &journal, NULL));
    try_solo();
    CHECK(is_solo());
    crew_world_close();
}

TEST(solo_ends_when_the_run_is_over)
{
    open_two();
    try_solo();
    CHECK(is_solo());
    rti_crew_stop(crew);
    CHECK(!is_solo());
    rti_solo_try(member);
    CHECK(!is_solo());
    crew_world_close();
}

TEST(solo_ends_at_the_look_at_which_its_worker_begins_to_record)
{
    static uint64_t ring[64];
    open_two();
    try_solo();
    CHECK(is_solo());
    rti_ptr_store_relaxed(&member->worker->recorder.at, ring);
    try_solo();
    CHECK(!is_solo());
    try_solo();
    CHECK(!is_solo());
    rti_ptr_store_relaxed(&member->worker->recorder.at, NULL);
    try_solo();
    CHECK(is_solo());
    crew_world_close();
}

/* Without a station it may fire timers, whose wakers start tasks. */
TEST(solo_ends_when_the_station_is_sent_to_a_pinned_thread)
{
    open_two();
    struct rti_member *target = &crew->members[1];
    struct rti_runnable pinned = {.pin = 2};
    *target = (struct rti_member){.crew = crew, .index = 1, .pin = 2, .pinned = &pinned};
    target->is_waiting = true;
    crew->pinned_count = 1;
    rti_u32_store_relaxed(&crew->is_over, 0);
    try_solo();
    CHECK(is_solo());
    CHECK(!rti_pin_forward(member, &pinned));
    CHECK(member->worker->station == NULL && target->given != NULL);
    CHECK(!is_solo());
    rti_u32_store_relaxed(&crew->is_over, 1);
    (void)rti_crew_give_back(crew, target->given);
    rti_member_hold(member, rti_crew_take_idle(crew));
}

TEST(solo_ends_when_a_pinned_thread_gives_its_station_up)
{
    open_two();
    try_solo();
    CHECK(is_solo());
    rti_pin_give_up(member);
    CHECK(member->worker->station == NULL);
    CHECK(!is_solo());
    rti_member_hold(member, rti_crew_take_idle(crew));
    crew_world_close();
}
