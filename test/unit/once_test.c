/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "once_test"
#include <orrery/rt/once.h>

#include "support/kernel.h"

static rt_once once;
static struct rti_fiber *first;
static int calls;

static void begin(void)
{
    calls = 0;
    kernel_start();
    CHECK_OK(rt_once_init(&once));
}

static void end(void)
{
    kernel_run();
    CHECK_OK(rt_once_deinit(&once));
    kernel_stop();
}

static void slowly(void *arg)
{
    (void)arg;
    calls++;
    kernel_say('(');
    rti_fiber_sleep_until(rti_worker_current(), kernel.fibers.port.now_ns + 10);
    kernel_say(')');
}

static void run(void *arg)
{
    CHECK_OK(rt_once_run(&once, NULL, slowly, NULL));
    CHECK(rt_once_is_done(&once));
    kernel_say((char)(uintptr_t)arg);
}

TEST(once_is_done_once_and_the_others_wait)
{
    begin();
    CHECK(!rt_once_is_done(&once));
    kernel_go(run, (void *)'a');
    kernel_go(run, (void *)'b');
    kernel_go(run, (void *)'c');
    end();
    CHECK_STR(kernel.order, "()abc");
    CHECK_EQ(calls, 1);
}

static void kill_first(void *arg)
{
    (void)arg;
    CHECK(rti_fiber_kill(&kernel.fibers.sched, first));
}

TEST(once_whose_runner_dies_is_done_by_the_next)
{
    begin();
    first = kernel_go(run, (void *)'a');
    kernel_go(run, (void *)'b');
    kernel_go(run, (void *)'c');
    kernel_go(kill_first, NULL);
    end();
    CHECK_STR(kernel.order, "(()bc");
    CHECK_EQ(calls, 2);
}

TEST(once_whose_runner_dies_alone_begins_anew)
{
    begin();
    first = kernel_go(run, (void *)'a');
    kernel_go(kill_first, NULL);
    kernel_run();
    CHECK(!rt_once_is_done(&once));
    kernel_go(run, (void *)'b');
    end();
    CHECK_STR(kernel.order, "(()b");
}

static void run_itself(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_once_run(&once, NULL, slowly, NULL), RT_ERR_STATE);
    CHECK_STATUS(rt_once_deinit(&once), RT_ERR_STATE);
}

static void run_nested(void *arg)
{
    (void)arg;
    CHECK_OK(rt_once_run(&once, NULL, run_itself, NULL));
}

TEST(once_does_not_wait_for_itself)
{
    begin();
    kernel_go(run_nested, NULL);
    end();
}

static void run_until(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_once_run_until(&once, NULL, slowly, NULL, kernel.fibers.port.now_ns + 5),
                 RT_ERR_TIMEOUT);
    kernel_say('t');
}

/* Runs right after the runner has ended: the first in line has its turn and has not run. */
static void kill_before_its_turn(void *arg)
{
    (void)arg;
    kernel_yield();
    kernel_yield();
    CHECK(!rt_once_is_done(&once));
    CHECK(rti_fiber_kill(&kernel.fibers.sched, first));
}

static void runner_ends(void *arg)
{
    (void)arg;
    kernel_say('(');
    kernel_yield();
    kernel_yield();
    rti_fiber_exit(rti_worker_current());
}

static void run_and_end(void *arg)
{
    (void)arg;
    (void)rt_once_run(&once, NULL, runner_ends, NULL).code;
}

/* The second is told that it is its turn, and dies before it runs. */
TEST(once_turn_of_one_who_dies_passes_on)
{
    begin();
    kernel_go(run_and_end, NULL);
    first = kernel_go(run, (void *)'b');
    kernel_go(run, (void *)'c');
    kernel_go(kill_before_its_turn, NULL);
    end();
    CHECK_STR(kernel.order, "(()c");
}

TEST(once_wait_ends_at_its_deadline)
{
    begin();
    kernel_go(run, (void *)'a');
    kernel_go(run_until, NULL);
    end();
    CHECK_STR(kernel.order, "(t)a");
}

static void at_once(void *arg)
{
    (void)arg;
    calls++;
}

TEST(once_serves_poll_contexts_and_main)
{
    struct poller poller;
    begin();
    poller_init(&poller);
    CHECK_OK(rt_once_run(&once, &poller.cx, at_once, NULL));
    CHECK_OK(rt_once_run(&once, NULL, at_once, NULL));
    CHECK_EQ(calls, 1);
    poller_deinit(&poller);
    end();
}

TEST(once_refuses_what_is_none)
{
    rt_once none = {{0}};
    begin();
    CHECK_STATUS(rt_once_init(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_once_run(&none, NULL, at_once, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_once_run(&once, NULL, NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_once_deinit(&none), RT_ERR_INVALID);
    CHECK(!rt_once_is_done(&none));
    end();
}
