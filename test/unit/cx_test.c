/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "cx_test"
#include "sync/cx.h"

#include "support/kernel.h"

static void run_one(void (*main)(void *arg))
{
    kernel_start();
    kernel_go(main, NULL);
    kernel_run();
    kernel_stop();
}

static void look_without_a_context(void *arg)
{
    (void)arg;
    rt_budget_scope scope;
    rt_budget unlimited = RT_BUDGET_UNLIMITED;
    CHECK(rt_cx_current() == NULL);
    CHECK_OK(rt_checkpoint(NULL));
    CHECK(!rt_cx_is_cancelled(NULL));
    CHECK_OK(rt_cx_spend(NULL, 1000));
    CHECK_EQ(rt_cx_budget(NULL).poll_quota, UINT32_MAX);
    CHECK_STATUS(rt_cx_cancel(NULL), RT_ERR_STATE);
    CHECK_STATUS(rt_cx_push_budget(NULL, unlimited, &scope), RT_ERR_STATE);
    CHECK_EQ(rt_cx_outcome(NULL, RT_ERR_DISCONNECTED), RT_OUTCOME_ERR);
}

TEST(cx_of_a_fiber_without_one_never_ends_and_cannot_be_cancelled)
{
    run_one(look_without_a_context);
}

static void nest_and_cancel(void *arg)
{
    (void)arg;
    rt_cx outer;
    rt_cx middle;
    rt_cx inner;
    CHECK_OK(rt_cx_init(&outer));
    CHECK(rt_cx_current() == &outer);
    CHECK_OK(rt_cx_init(&middle));
    CHECK_OK(rt_cx_init(&inner));
    CHECK(rt_cx_current() == &inner);
    CHECK_OK(rt_cx_cancel(&middle));
    CHECK(!rt_cx_is_cancelled(&outer));
    CHECK(rt_cx_is_cancelled(&middle));
    CHECK(rt_cx_is_cancelled(&inner));
    CHECK_OK(rt_cx_cancel(&middle));
    CHECK_STATUS(rt_checkpoint(NULL), RT_ERR_CANCELLED);
    CHECK_STATUS(rt_cx_deinit(&middle), RT_ERR_STATE);
    CHECK_OK(rt_cx_deinit(&inner));
    rt_cx late;
    CHECK_OK(rt_cx_init(&late));
    CHECK(rt_cx_is_cancelled(&late));
    CHECK_OK(rt_cx_deinit(&late));
    CHECK_OK(rt_cx_deinit(&middle));
    CHECK_OK(rt_checkpoint(NULL));
    CHECK_OK(rt_cx_deinit(&outer));
    CHECK(rt_cx_current() == NULL);
    CHECK_STATUS(rt_cx_deinit(&outer), RT_ERR_INVALID);
}

TEST(cx_cancel_reaches_the_contexts_inside_and_not_those_around)
{
    run_one(nest_and_cancel);
}

static void use_up_polls(void *arg)
{
    (void)arg;
    rt_cx cx;
    rt_budget_scope scope;
    rt_budget three = {.deadline = RT_TIME_NEVER, .poll_quota = 3, .cost_quota = UINT64_MAX};
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_cx_push_budget(NULL, three, &scope));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_checkpoint(NULL));
    }
    CHECK(!rt_cx_is_cancelled(NULL));
    CHECK_EQ(rt_cx_outcome(NULL, RT_OK), RT_OUTCOME_OK);
    CHECK_STATUS(rt_checkpoint(NULL), RT_ERR_BUDGET_EXHAUSTED);
    CHECK(rt_cx_is_cancelled(NULL));
    CHECK_STATUS(rt_checkpoint(NULL), RT_ERR_CANCELLED);
    CHECK_EQ(rt_cx_outcome(NULL, RT_OK), RT_OUTCOME_CANCELLED);
    CHECK_EQ(rt_cx_outcome(NULL, RT_ERR_DISCONNECTED), RT_OUTCOME_CANCELLED);
    CHECK_EQ(rt_cx_outcome(NULL, RT_ERR_PANICKED), RT_OUTCOME_PANICKED);
    CHECK_OK(rt_cx_pop_budget(NULL, &scope));
    CHECK_STATUS(rt_checkpoint(NULL), RT_ERR_CANCELLED);
    CHECK_OK(rt_cx_deinit(&cx));
}

TEST(cx_that_uses_up_its_polls_is_cancelled_for_good)
{
    run_one(use_up_polls);
}

static void use_up_cost(void *arg)
{
    (void)arg;
    rt_cx cx;
    rt_budget_scope scope;
    rt_budget ten = {.deadline = RT_TIME_NEVER, .poll_quota = UINT32_MAX, .cost_quota = 10};
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_cx_push_budget(NULL, ten, &scope));
    CHECK_OK(rt_cx_spend(NULL, 4));
    CHECK_EQ(rt_cx_budget(NULL).cost_quota, 6);
    CHECK_STATUS(rt_cx_spend(NULL, 7), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_EQ(rt_cx_budget(NULL).cost_quota, 6);
    CHECK_STATUS(rt_cx_spend(NULL, 1), RT_ERR_CANCELLED);
    CHECK_OK(rt_cx_pop_budget(NULL, &scope));
    CHECK_OK(rt_cx_deinit(&cx));
}

TEST(cx_spends_all_or_nothing_and_is_cancelled_when_it_cannot)
{
    run_one(use_up_cost);
}

static void nest_budgets(void *arg)
{
    (void)arg;
    rt_cx cx;
    rt_cx inner;
    rt_budget_scope wide;
    rt_budget_scope tight;
    rt_budget outer = {.deadline = 1000, .poll_quota = 10, .cost_quota = 100};
    rt_budget mixed = {.deadline = 2000, .poll_quota = 4, .cost_quota = 200};
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_cx_push_budget(NULL, outer, &wide));
    CHECK_OK(rt_cx_push_budget(NULL, mixed, &tight));
    CHECK_EQ(rt_cx_budget(NULL).deadline, 1000);
    CHECK_EQ(rt_cx_budget(NULL).poll_quota, 4);
    CHECK_EQ(rt_cx_budget(NULL).cost_quota, 100);
    CHECK_STATUS(rt_cx_pop_budget(NULL, &wide), RT_ERR_STATE);
    CHECK_OK(rt_checkpoint(NULL));
    CHECK_OK(rt_cx_spend(NULL, 30));
    CHECK_OK(rt_cx_init(&inner));
    CHECK_EQ(rt_cx_budget(NULL).poll_quota, 3);
    CHECK_OK(rt_checkpoint(NULL));
    CHECK_OK(rt_cx_deinit(&inner));
    CHECK_EQ(rt_cx_budget(NULL).poll_quota, 2);
    CHECK_OK(rt_cx_pop_budget(NULL, &tight));
    CHECK_EQ(rt_cx_budget(NULL).poll_quota, 8);
    CHECK_EQ(rt_cx_budget(NULL).cost_quota, 70);
    CHECK_OK(rt_cx_pop_budget(NULL, &wide));
    CHECK_EQ(rt_cx_budget(NULL).poll_quota, UINT32_MAX);
    CHECK_STATUS(rt_cx_pop_budget(NULL, &wide), RT_ERR_STATE);
    CHECK_OK(rt_cx_deinit(&cx));
}

TEST(cx_scope_gets_the_meet_and_what_it_uses_counts_outside)
{
    run_one(nest_budgets);
}

static void pass_a_deadline(void *arg)
{
    (void)arg;
    rt_cx cx;
    rt_budget_scope scope;
    rt_budget soon = RT_BUDGET_UNLIMITED;
    soon.deadline = 5 * RT_NS_PER_MS;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_cx_push_budget(NULL, soon, &scope));
    CHECK_OK(rt_checkpoint(NULL));
    rti_fiber_sleep_until(rti_worker_current(), soon.deadline - 1);
    CHECK_OK(rt_checkpoint(NULL));
    rti_fiber_sleep_until(rti_worker_current(), soon.deadline);
    CHECK_STATUS(rt_checkpoint(NULL), RT_ERR_BUDGET_EXHAUSTED);
    CHECK_STATUS(rt_checkpoint(NULL), RT_ERR_CANCELLED);
    CHECK_OK(rt_cx_pop_budget(NULL, &scope));
    CHECK_OK(rt_cx_deinit(&cx));
}

TEST(cx_budget_deadline_is_over_at_its_very_nanosecond)
{
    run_one(pass_a_deadline);
}

static struct rti_fiber *watched;
static uint64_t watched_deadline;

static void publish_deadlines(void *arg)
{
    (void)arg;
    rt_cx cx;
    rt_budget_scope scope;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    struct rti_fiber *self = rti_fiber_current();
    budget.deadline = 777;
    CHECK_EQ(rti_fiber_deadline(self), RTI_TIME_NEVER);
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_cx_push_budget(NULL, budget, &scope));
    CHECK_EQ(rti_fiber_deadline(self), 777);
    CHECK_OK(rt_cx_pop_budget(NULL, &scope));
    CHECK_EQ(rti_fiber_deadline(self), RTI_TIME_NEVER);
    CHECK_OK(rt_cx_deinit(&cx));
    watched = self;
    watched_deadline = rti_fiber_deadline(self);
}

TEST(cx_budget_deadline_is_the_logical_deadline_of_its_fiber)
{
    run_one(publish_deadlines);
    CHECK(watched != NULL && watched_deadline == RTI_TIME_NEVER);
}

static void init_two_and_sleep(void *arg)
{
    (void)arg;
    rt_cx cx;
    rt_cx inner;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_OK(rt_cx_init(&inner));
    rti_fiber_sleep_until(rti_worker_current(), RT_NS_PER_S);
    kernel_say('!');
}

static void kill_it(void *arg)
{
    CHECK(rti_fiber_kill(&kernel.fibers.sched, arg));
}

TEST(cx_of_a_killed_fiber_is_taken_apart)
{
    kernel_start();
    struct rti_fiber *fiber = kernel_go(init_two_and_sleep, NULL);
    kernel_go(kill_it, fiber);
    kernel_run();
    CHECK_STR(kernel.order, "");
    CHECK(rti_fiber_cx(fiber) == NULL);
    CHECK(rti_cleanups_are_none(&fiber->cleanups));
    kernel_stop();
}

static void return_with_a_context(void *arg)
{
    (void)arg;
    rt_cx cx;
    CHECK_OK(rt_cx_init(&cx));
}

static void run_careless(void *arg)
{
    (void)arg;
    run_one(return_with_a_context);
}

TEST(cx_left_in_a_frame_that_returns_panics)
{
    CHECK_PANICS("fiber", run_careless, NULL);
}

static rt_cx shared_cx;

static void make_shared(void *arg)
{
    (void)arg;
    CHECK_OK(rt_cx_init(&shared_cx));
    kernel_yield();
    CHECK_OK(rt_cx_deinit(&shared_cx));
}

static void use_anothers(void *arg)
{
    (void)arg;
    int value = 0;
    CHECK_STATUS(rt_channel_recv(kernel.rx, &shared_cx, &value), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_deinit(&shared_cx), RT_ERR_STATE);
}

TEST(cx_of_another_fiber_is_refused)
{
    kernel_start();
    kernel_channel(1);
    kernel_go(make_shared, NULL);
    kernel_go(use_anothers, NULL);
    kernel_run();
    kernel_stop();
}

TEST(cx_that_is_none_is_refused)
{
    rt_cx cx;
    rt_budget_scope scope;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    rt_waker waker = {NULL, NULL};
    memset(&cx, 0x5a, sizeof(cx));
    CHECK_STATUS(rt_cx_init_poll(&cx, waker), RT_ERR_THREAD);
    kernel_start();
    CHECK_STATUS(rt_cx_init(&cx), RT_ERR_THREAD);
    CHECK_STATUS(rt_cx_init(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_init_poll(NULL, waker), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_deinit(&cx), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_deinit(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_cancel(&cx), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_abandon(&cx), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_set_waker(&cx, waker), RT_ERR_INVALID);
    CHECK_STATUS(rt_checkpoint(&cx), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_spend(&cx, 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_push_budget(&cx, budget, &scope), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_push_budget(&cx, budget, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_pop_budget(&cx, &scope), RT_ERR_INVALID);
    CHECK_STATUS(rt_cx_pop_budget(&cx, NULL), RT_ERR_INVALID);
    CHECK(!rt_cx_is_cancelled(&cx));
    CHECK_EQ(rt_cx_budget(&cx).deadline, RT_TIME_NEVER);
    kernel_stop();
}

TEST(cx_to_poll_gives_up_one_operation_for_another_and_replaces_its_waker)
{
    struct poller poller;
    struct poller other;
    int value = 0;
    kernel_start();
    kernel_channel(1);
    poller_init(&poller);
    poller_init(&other);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_EQ(kernel_info().waiting_receivers, 1);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_EQ(kernel_info().waiting_receivers, 1);
    CHECK_OK(rt_cx_abandon(&poller.cx));
    CHECK_OK(rt_cx_abandon(&poller.cx));
    CHECK_EQ(kernel_info().waiting_receivers, 0);
    CHECK_STATUS(rt_channel_recv(kernel.rx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    rt_waker waker = rti_cx_poll(rti_cx_of(&other.cx))->waker;
    CHECK_OK(rt_cx_set_waker(&poller.cx, waker));
    value = 5;
    CHECK_OK(rt_channel_try_send(kernel.tx, &value));
    CHECK_EQ(poller.woken, 0);
    CHECK_EQ(other.woken, 1);
    /* A send is another operation: the promise for the receive passes back to the queue. */
    CHECK_STATUS(rt_channel_send(kernel.tx, &poller.cx, &value), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_channel_try_recv(kernel.rx, &value));
    poller_deinit(&other);
    poller_deinit(&poller);
    kernel_stop();
}
