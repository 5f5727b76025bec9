/* SPDX-License-Identifier: Apache-2.0 */
/* Several workers when stations are taken from who holds them, and when runs end: the others sleep
 * and wake all the same, and every run comes to its end. */
#define _GNU_SOURCE
#define RTI_MODULE "crew_evict_test"
#include "sched/crew.h"

#include "sched/crew_roster.h"
#include "sched/fault.h"
#include "sched/lock.h"
#include "support/crew.h"
#include "support/test.h"

static void skip_without_interrupts(void)
{
    if (RTI_TSAN) {
        test_skip("the sanitizer keeps signals back until the program calls something");
    }
}

static rti_atomic_u32 are_done;
static volatile uint64_t turns;

static void loop_until_done(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&are_done) == 0) {
        turns++;
    }
}

static void sleep_then_end_the_loop(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        rti_fiber_sleep_until(rti_worker_current(),
                              rti_deadline_after(&crew_world.sched, RTI_NS_PER_MS));
    }
    rti_u32_store_relaxed(&are_done, 1);
}

/* The sleeper has nothing ready when the station is taken from the loop: somebody must still watch
 * the time. */
TEST(crew_of_one_worker_wakes_sleepers_beside_an_endless_loop)
{
    skip_without_interrupts();
    crew_world_open(1);
    CHECK_OK(rti_faults_open(&crew_world.sched));
    crew_world_go(sleep_then_end_the_loop, NULL, 0);
    crew_world_go(loop_until_done, NULL, 3);
    CHECK_OK(rti_sched_run(&crew_world.sched));
    rti_faults_close(&crew_world.sched);
    crew_world_close();
}

/* Ends in the moment in which it has no station any more and nobody else has it yet. */
static void loop_until_evicted(void *arg)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_station *volatile *station = &worker->station;
    (void)arg;
    while (*station != NULL) {
        turns++;
    }
}

TEST(crew_run_ends_though_its_last_fiber_ends_without_a_station)
{
    skip_without_interrupts();
    crew_world_open(2);
    CHECK_OK(rti_faults_open(&crew_world.sched));
    for (int i = 0; i < 20; i++) {
        crew_world_go(loop_until_evicted, NULL, 2);
        CHECK_OK(rti_sched_run(&crew_world.sched));
        CHECK_EQ(rti_sched_live(&crew_world.sched), 0);
    }
    rti_faults_close(&crew_world.sched);
    crew_world_close();
}

/* A sanitizer watches over what lies around an array. One whose size it does not know is always on
 * the stack itself. */
static void loop_beside_an_array(void *arg)
{
    volatile size_t size = 40;
    char array[size];
    char *volatile place = array;
    *place = 1;
    loop_until_evicted(arg);
    CHECK_EQ(*place, 1);
}

TEST(crew_takes_the_station_from_a_fiber_with_arrays_on_its_stack)
{
    skip_without_interrupts();
    crew_world_open(2);
    CHECK_OK(rti_faults_open(&crew_world.sched));
    crew_world_go(loop_beside_an_array, NULL, 2);
    CHECK_OK(rti_sched_run(&crew_world.sched));
    CHECK_EQ(rti_sched_live(&crew_world.sched), 0);
    rti_faults_close(&crew_world.sched);
    crew_world_close();
}

static void loop_until_evicted_then_stop(void *arg)
{
    loop_until_evicted(arg);
    rti_sched_stop(&crew_world.sched);
}

TEST(crew_stop_by_a_fiber_without_a_station_leaves_no_station_behind)
{
    skip_without_interrupts();
    crew_world_open(2);
    CHECK_OK(rti_faults_open(&crew_world.sched));
    for (int i = 0; i < 20; i++) {
        crew_world_go(loop_until_evicted_then_stop, NULL, 2);
        CHECK_OK(rti_sched_run(&crew_world.sched));
        CHECK_EQ(rti_u32_load_relaxed(&crew_world.crew.idle_count), 1);
    }
    rti_faults_close(&crew_world.sched);
    crew_world_close();
}

/* One fiber that waits, and threads from outside that end its wait. */
struct gate {
    struct rti_lock lock;
    struct rti_waitlist list;
    uint32_t tokens;
};

static struct gate gate;

static void gate_unlink(struct rti_waiter *waiter)
{
    rti_lock_acquire(&gate.lock, &crew_world.sched);
    rti_waitlist_unlink(waiter);
    rti_lock_release(&gate.lock);
}

static void gate_pass(void)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_wait wait;
    struct rti_waiter waiter;
    rti_fiber_wait_begin(worker, &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, gate_unlink);
    rti_lock_acquire(&gate.lock, &crew_world.sched);
    bool is_open = gate.tokens > 0;
    if (is_open) {
        gate.tokens--;
    } else {
        rti_waitlist_add(&gate.list, &waiter);
    }
    rti_lock_release(&gate.lock);
    if (!is_open) {
        (void)rti_fiber_park(worker, &wait);
    }
}

static void gate_open(void)
{
    rti_lock_acquire(&gate.lock, &crew_world.sched);
    struct rti_waiter *waiter = rti_waitlist_claim(&gate.list);
    gate.tokens += waiter == NULL ? 1 : 0;
    rti_lock_release(&gate.lock);
    if (waiter != NULL) {
        rti_waiter_wake(waiter);
    }
}

#define POSTS 2000
static struct rti_post posts[POSTS];
static uint32_t posts_called;

static void post_count(struct rti_post *post)
{
    (void)post;
    posts_called++;
    if (posts_called == POSTS) {
        gate_open();
    }
}

/* All of them lie there when the only call comes: as if their threads had called all at once. */
static void post_all_with_one_call(void *arg)
{
    struct rti_port *port = &crew_world.port.port;
    uint64_t wake_ns = port->ops->clock_ns(port) + 20 * RTI_NS_PER_MS;
    rti_atomic_u32 never;
    (void)arg;
    rti_u32_init(&never, 0);
    /* Everybody sleeps by then. If not, there is less to see, and nothing to fail. */
    (void)port->ops->futex_wait(port, &never, 0, wake_ns);
    for (size_t i = 0; i < POSTS; i++) {
        posts[i].call = post_count;
        rti_mpsc_push(&crew_world.sched.posts, &posts[i].node);
    }
    port->ops->wake(port);
}

static void pass_once(void *arg)
{
    (void)arg;
    gate_pass();
}

TEST(crew_asleep_calls_all_that_is_posted_at_once)
{
    struct rti_port_thread thread;
    crew_world_open(2);
    struct rti_port *port = &crew_world.port.port;
    rti_lock_init(&gate.lock, &crew_world.sched, RTI_LOCK_CHANNEL);
    rti_waitlist_init(&gate.list);
    crew_world_go(pass_once, NULL, 2);
    CHECK_OK(port->ops->thread_start(port, &thread, post_all_with_one_call, NULL));
    crew_world_close();
    port->ops->thread_join(port, &thread);
    CHECK_EQ(posts_called, POSTS);
}

#define RUNS 300
static rti_atomic_u32 is_thread_over;

static void open_gates_for_ever(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&is_thread_over) == 0) {
        gate_open();
        for (int i = 0; i < 200; i++) {
            rti_spin_hint();
        }
    }
}

static void pass_and_stop(void *arg)
{
    (void)arg;
    for (int i = 0; i < RUNS; i++) {
        gate_pass();
        rti_sched_stop(&crew_world.sched);
    }
}

static void pass_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < RUNS; i++) {
        gate_pass();
    }
}

/* A thread from outside wakes fibers, and so starts members, while runs end and begin. */
TEST(crew_runs_end_while_a_thread_from_outside_wakes_fibers)
{
    struct rti_port_thread thread;
    crew_world_open(4);
    struct rti_port *port = &crew_world.port.port;
    rti_lock_init(&gate.lock, &crew_world.sched, RTI_LOCK_CHANNEL);
    rti_waitlist_init(&gate.list);
    crew_world_go(pass_and_stop, NULL, 2);
    for (int i = 0; i < 3; i++) {
        crew_world_go(pass_often, NULL, 2);
    }
    CHECK_OK(port->ops->thread_start(port, &thread, open_gates_for_ever, NULL));
    while (rti_sched_live(&crew_world.sched) > 0) {
        CHECK_OK(rti_sched_run(&crew_world.sched));
    }
    rti_u32_store_relaxed(&is_thread_over, 1);
    port->ops->thread_join(port, &thread);
    crew_world_close();
}

/* ---- who goes away, and comes back ---- */

/* As the warden does, for somebody else. */
static void take_away(struct rti_station *station)
{
    CHECK_EQ(rti_u32_load_relaxed(&station->state), RTI_STATION_BLOCKED);
    rti_u32_store_relaxed(&station->state, RTI_STATION_HELD);
}

TEST(crew_worker_that_comes_back_in_time_has_its_station_again)
{
    crew_world_open(2);
    struct rti_worker *worker = rti_worker_current();
    struct rti_station *first = worker->station;
    rti_worker_let_go(worker);
    CHECK(worker->station == NULL);
    CHECK(rti_worker_come_back(worker));
    CHECK(worker->station == first);
    CHECK_EQ(rti_u32_load_relaxed(&crew_world.crew.idle_count), 1);
    rti_worker_let_go(worker);
    take_away(first);
    CHECK(rti_worker_come_back(worker));
    struct rti_station *second = worker->station;
    CHECK(second != NULL && second != first);
    rti_worker_let_go(worker);
    take_away(second);
    CHECK(!rti_worker_come_back(worker));
    CHECK(worker->station == NULL);
    rti_member_hold(worker->member, second);
    (void)rti_crew_give_back(&crew_world.crew, first);
    crew_world_close();
}
