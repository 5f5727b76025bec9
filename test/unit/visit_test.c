/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "visit_test"
#include "sched/visit.h"

#include <orrery/rt.h>
#include <pthread.h>

#include "sched/visitor.h"
#include "support/test.h"

#define ROUNDS 2000

/* A source of one waiter. */
static struct rti_waitlist line;
static struct rti_lock line_lock;
static struct rti_sched *visited;

static void leave_line(struct rti_waiter *waiter)
{
    rti_lock_acquire(&line_lock, visited);
    rti_waitlist_unlink(waiter);
    rti_lock_release(&line_lock);
}

/* One wait of the calling thread; the event that ended it, or RTI_EVENT_NONE if it may not. */
static uint32_t wait_once(uint64_t deadline_ns)
{
    struct rti_visit visit;
    struct rti_waiter waiter;
    if (!rti_visit_begin(&visit, visited, RTI_REASON_CHANNEL)) {
        return RTI_EVENT_NONE;
    }
    rti_wait_add(&visit.wait, &waiter, RTI_EVENT_SOURCE, leave_line);
    rti_lock_acquire(&line_lock, visited);
    rti_waitlist_add(&line, &waiter);
    rti_lock_release(&line_lock);
    return rti_visit_park(&visit, deadline_ns);
}

static bool wake_one(void)
{
    rti_lock_acquire(&line_lock, visited);
    struct rti_waiter *waiter = rti_waitlist_claim(&line);
    rti_lock_release(&line_lock);
    if (waiter != NULL) {
        rti_waiter_wake(waiter);
    }
    return waiter != NULL;
}

static void *enter(void *arg)
{
    visited = rti_visitor_enter();
    rti_lock_init(&line_lock, visited, RTI_LOCK_CHANNEL);
    rti_waitlist_init(&line);
    rti_visitor_leave();
    return arg;
}

static void start(void)
{
    pthread_t thread;
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2}));
    CHECK_EQ(pthread_create(&thread, NULL, enter, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(visited != NULL);
}

static void *waits_for_nothing(void *arg)
{
    uint64_t deadline_ns = rti_sched_clock(visited) + 2 * RTI_NS_PER_MS;
    CHECK(rti_visitor_enter() == visited);
    CHECK_EQ(wait_once(deadline_ns), RTI_EVENT_TIMEOUT);
    CHECK(rti_sched_clock(visited) >= deadline_ns);
    CHECK(rti_waitlist_is_empty(&line));
    rti_visitor_leave();
    return arg;
}

TEST(visit_ends_at_its_deadline_and_leaves_the_line)
{
    pthread_t thread;
    start();
    CHECK_EQ(pthread_create(&thread, NULL, waits_for_nothing, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rt_cleanup();
}

/* Half of the waits are long enough, the others race with their deadline. */
static void *waits_often(void *arg)
{
    uint32_t *woken = arg;
    CHECK(rti_visitor_enter() == visited);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint64_t deadline_ns =
            i % 2 == 0 ? RTI_TIME_NEVER : rti_sched_clock(visited) + i % 64 * 1000;
        uint32_t event = wait_once(deadline_ns);
        CHECK(event == RTI_EVENT_SOURCE ||
              (event == RTI_EVENT_TIMEOUT && deadline_ns != RTI_TIME_NEVER));
        *woken += event == RTI_EVENT_SOURCE;
    }
    rti_visitor_leave();
    return NULL;
}

TEST(visit_is_ended_by_exactly_one_event)
{
    pthread_t thread;
    uint32_t woken = 0;
    uint32_t wakes = 0;
    start();
    CHECK_EQ(pthread_create(&thread, NULL, waits_often, &woken), 0);
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        wakes += wake_one();
    }
    CHECK_EQ(woken, wakes);
    CHECK(woken >= ROUNDS / 2);
    rt_cleanup();
}

static void *is_evicted(void *arg)
{
    if (rti_visitor_enter() == NULL) {
        return arg;
    }
    uint32_t event = wait_once(RTI_TIME_NEVER);
    CHECK(event == RTI_EVENT_KILL || event == RTI_EVENT_NONE);
    rti_visitor_leave();
    return arg;
}

TEST(visit_is_evicted_when_the_runtime_ends)
{
    pthread_t threads[4];
    start();
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, is_evicted, NULL), 0);
    }
    rt_cleanup();
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
}

static void *finds_it_there(void *arg)
{
    struct rti_visit visit;
    CHECK(rti_visitor_enter() == visited);
    CHECK(rti_visit_begin(&visit, visited, RTI_REASON_JOIN));
    CHECK(rti_visit_end(&visit, RTI_EVENT_SOURCE));
    CHECK(rti_visit_begin(&visit, visited, RTI_REASON_JOIN));
    CHECK(rti_wait_claim(&visit.wait, RTI_EVENT_SOURCE));
    CHECK(!rti_visit_end(&visit, RTI_EVENT_SOURCE));
    visit.wait.wake(&visit.wait);
    CHECK_EQ(rti_visit_park(&visit, RTI_TIME_NEVER), RTI_EVENT_SOURCE);
    rti_visitor_leave();
    return arg;
}

TEST(visit_that_need_not_wait_ends_at_once_unless_another_event_was_first)
{
    pthread_t thread;
    start();
    CHECK_EQ(pthread_create(&thread, NULL, finds_it_there, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rt_cleanup();
}
