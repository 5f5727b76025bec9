/* SPDX-License-Identifier: Apache-2.0 */
/* When a runtime looks for deadlocks; what it finds is tried in deadlock_test.c. */
#define _GNU_SOURCE
#define RTI_MODULE "runtime_deadlock_test"
#include <orrery/rt.h>
#include <orrery/rt/mutex.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support/actors.h"
#include "support/tasks.h"
#include "support/test.h"

#define AFTER (2 * RT_NS_PER_MS)

static rt_mutex mutex;

static void *wants_it(void *arg)
{
    rt_status status = rt_mutex_lock(&mutex, NULL);
    CHECK_STATUS(status, RT_ERR_CANCELLED);
    return arg;
}

static void *joins_with_it(void *arg)
{
    CHECK_OK(rt_mutex_init(&mutex));
    CHECK_OK(rt_mutex_lock(&mutex, NULL));
    rt_task *task = rt_go(wants_it, NULL);
    (void)rt_join(task, NULL);
    CHECK_OK(rt_mutex_unlock(&mutex, NULL));
    return arg;
}

static rt_time asked_for;

/* Standard error is a pipe here: is there anything in it? */
static bool is_told(void)
{
    int bytes = 0;
    CHECK_EQ(ioctl(STDERR_FILENO, FIONREAD, &bytes), 0);
    return bytes > 0;
}

/* When it was told of, if it is to be, and some time later. */
static void *breaks_the_circle(void *arg)
{
    rt_task *task = rt_go(joins_with_it, NULL);
    while (asked_for == AFTER && !is_told()) {
        CHECK_OK(rt_sleep(AFTER));
    }
    CHECK_OK(rt_sleep(40 * AFTER));
    (void)rt_cancel(task, NULL);
    return arg;
}

static void run(void)
{
    CHECK_OK(rt_init());
    CHECK_OK(rt_watch_deadlocks(asked_for));
    CHECK_OK(rt_detach(rt_go(breaks_the_circle, NULL)));
    rt_run();
    rt_cleanup();
}

static const char *said_if_asked_for(rt_time after)
{
    asked_for = after;
    return actors_capture(run);
}

TEST(runtime_tells_a_deadlock_once_and_again_in_the_next_runtime)
{
    for (int i = 0; i < 2; i++) {
        const char *said = said_if_asked_for(AFTER);
        const char *first = strstr(said, "these wait for each other");
        CHECK(first != NULL && strstr(first + 1, "these wait for each other") == NULL);
    }
}

TEST(runtime_tells_no_deadlock_before_its_time_or_if_told_not_to)
{
    CHECK_STR(said_if_asked_for(RT_TIME_NEVER), "");
    CHECK_STR(said_if_asked_for(RT_NS_PER_S * 100), "");
    CHECK_STR(said_if_asked_for(0), ""); /* half a minute, or never */
}

static void *asks_in_a_run(void *arg)
{
    CHECK_STATUS(rt_watch_deadlocks(AFTER), RT_ERR_STATE);
    return arg;
}

TEST(runtime_is_asked_to_watch_outside_of_a_run_only)
{
    CHECK_STATUS(rt_watch_deadlocks(1), RT_ERR_THREAD);
    CHECK_OK(tasks_run_fixed(asks_in_a_run, NULL));
    CHECK_OK(tasks_run(asks_in_a_run, NULL));
    CHECK_OK(rt_init());
    CHECK_OK(rt_watch_deadlocks(AFTER));
    CHECK_OK(rt_watch_deadlocks(0));
    CHECK_OK(rt_watch_deadlocks(RT_TIME_NEVER));
    rt_cleanup();
    CHECK_STATUS(rt_watch_deadlocks(1), RT_ERR_THREAD);
}

/* ---- the end of a run between the timer and its post ---- */

static bool has_workers;

static void init(rt_time after)
{
    CHECK_OK(has_workers ? rt_init_ex(&(rt_config){.workers = 2}) : rt_init());
    CHECK_OK(rt_watch_deadlocks(after));
}

/* Both the stop and the timer are due at the next look, the stop first: the timer's post stays. */
static void *stops_when_a_search_is_due(void *arg)
{
    rt_shutdown();
    rt_time due = rt_clock() + 2 * RT_NS_PER_MS;
    while (rt_clock() < due) {
    }
    (void)rt_sleep(RT_NS_PER_S);
    return arg;
}

static void search_is_left_over(void)
{
    init(RT_NS_PER_MS);
    CHECK_OK(rt_detach(rt_go(stops_when_a_search_is_due, NULL)));
    rt_run();
}

TEST(runtime_ends_with_a_search_for_deadlocks_left_over_and_begins_anew)
{
    for (int i = 0; i < 8; i++) {
        has_workers = i % 2 != 0;
        search_is_left_over();
        rt_cleanup();
    }
}

TEST(runtime_is_asked_to_watch_anew_with_a_search_left_over)
{
    for (int i = 0; i < 8; i++) {
        has_workers = i % 2 != 0;
        search_is_left_over();
        CHECK_OK(rt_watch_deadlocks(i < 4 ? 1 : RT_TIME_NEVER));
        CHECK_OK(rt_detach(rt_go(stops_when_a_search_is_due, NULL)));
        rt_run();
        rt_cleanup();
    }
}
