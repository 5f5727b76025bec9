/* SPDX-License-Identifier: Apache-2.0 */
/* What the holder of a handle may do, and what it meets. */
#define RTI_MODULE "task_join_test"
#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"
#include "task/tasks.h"

static size_t tasks_alive(void)
{
    return rti_tasks_live(rti_tasks_of(rti_worker_current()));
}

static void *joins_early_and_late(void *arg)
{
    void *value = NULL;
    rt_task *early = rt_go(tasks_sleep_ms, TASKS_NUMBER(5));
    CHECK(!rt_task_has_ended(early));
    CHECK_OK(rt_join(early, &value));
    CHECK(value == TASKS_NUMBER(5));
    rt_task *late = rt_go(tasks_echo, TASKS_NUMBER(6));
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK(rt_task_has_ended(late));
    CHECK_OK(rt_join(late, &value));
    CHECK(value == TASKS_NUMBER(6));
    CHECK_OK(rt_join(rt_go(tasks_echo, NULL), NULL));
    return arg;
}

TEST(task_join_before_and_after_the_end_gives_the_result)
{
    tasks_run_everywhere(joins_early_and_late, NULL);
}

/* The compiler knows that a consumed handle is of no use any more. */
static rt_task *hidden(rt_task *handle)
{
    rt_task *volatile same = handle;
    return same;
}

static void *uses_handles_twice(void *arg)
{
    void *value = TASKS_NUMBER(9);
    rt_task *joined = rt_go(tasks_echo, NULL);
    rt_task *detached = rt_go(tasks_sleep_ms, TASKS_NUMBER(1));
    rt_task *cancelled = rt_go(tasks_wait_for_ever, NULL);
    rt_task *used[] = {hidden(joined), hidden(detached), hidden(cancelled), NULL,
                       (rt_task *)(uintptr_t)0x7fffffff};
    CHECK_OK(rt_join(joined, NULL));
    CHECK_OK(rt_detach(detached));
    CHECK_STATUS(rt_cancel(cancelled, NULL), RT_ERR_CANCELLED);
    rt_task *again = rt_go(tasks_echo, NULL);
    for (size_t i = 0; i < 5; i++) {
        rt_task_result result;
        rt_task *handle = hidden(used[i]);
        CHECK(handle != again);
        CHECK_STATUS(rt_join(hidden(handle), &value), RT_ERR_INVALID);
        CHECK_STATUS(rt_join_result(hidden(handle), &result), RT_ERR_INVALID);
        CHECK_STATUS(rt_join_until(&handle, &value, 0), RT_ERR_INVALID);
        CHECK_STATUS(rt_detach(hidden(handle)), RT_ERR_INVALID);
        CHECK_STATUS(rt_cancel(hidden(handle), &value), RT_ERR_INVALID);
        CHECK_STATUS(rt_task_ask_cancel(handle), RT_ERR_INVALID);
        CHECK(!rt_task_has_ended(handle));
    }
    CHECK(value == TASKS_NUMBER(9));
    CHECK_STATUS(rt_join_until(NULL, &value, 0), RT_ERR_INVALID);
    CHECK_OK(rt_join_result(again, NULL));
    return arg;
}

TEST(task_handle_that_is_consumed_is_refused_for_ever)
{
    tasks_run_everywhere(uses_handles_twice, NULL);
}

static void *cancels(void *arg)
{
    void *value = NULL;
    rt_task_result result;
    CHECK_STATUS(rt_cancel(rt_go(tasks_wait_for_ever, TASKS_NUMBER(3)), &value), RT_ERR_CANCELLED);
    CHECK(value == TASKS_NUMBER(3));
    /* Asked before it has begun: its first wait fails. */
    rt_task *task = rt_go(tasks_wait_for_ever, TASKS_NUMBER(4));
    CHECK_OK(rt_task_ask_cancel(task));
    CHECK_OK(rt_task_ask_cancel(task));
    CHECK_STATUS(rt_join_result(task, &result), RT_ERR_CANCELLED);
    CHECK(result.has_ended && result.outcome == RT_OUTCOME_CANCELLED);
    CHECK(result.value == TASKS_NUMBER(4));
    /* One that never looks has its result. */
    CHECK_OK(rt_cancel(rt_go(tasks_echo, TASKS_NUMBER(5)), &value));
    CHECK(value == TASKS_NUMBER(5));
    return arg;
}

TEST(task_cancel_ends_a_wait_and_gives_what_was_returned)
{
    tasks_run_everywhere(cancels, NULL);
}

static void *joins_a_sleeper(void *arg)
{
    rt_task **sleeper = arg;
    *sleeper = rt_go(tasks_wait_for_ever, NULL);
    CHECK_STATUS(rt_join(*sleeper, NULL), RT_ERR_CANCELLED);
    tasks_say('j');
    return NULL;
}

static void *cancels_a_joiner(void *arg)
{
    rt_task *sleeper = NULL;
    rt_task *joiner = rt_go(joins_a_sleeper, &sleeper);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK(sleeper != NULL);
    CHECK_STATUS(rt_cancel(joiner, NULL), RT_ERR_CANCELLED);
    CHECK_STR(tasks_said(), "j");
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_EQ(tasks_alive(), 1);
    return arg;
}

TEST(task_join_that_is_cancelled_cancels_the_joined_and_returns_at_once)
{
    tasks_run_everywhere(cancels_a_joiner, NULL);
}

static void *joins_for_a_while(void *arg)
{
    void *value = NULL;
    rt_task *task = rt_go(tasks_sleep_ms, TASKS_NUMBER(20));
    rt_task *handle = task;
    CHECK_STATUS(rt_join_until(&handle, &value, rt_clock() + RT_NS_PER_MS), RT_ERR_TIMEOUT);
    CHECK(handle == task && value == NULL);
    CHECK_STATUS(rt_join_until(&handle, &value, 0), RT_ERR_TIMEOUT);
    CHECK_OK(rt_join_until(&handle, &value, rt_clock() + 3600 * RT_NS_PER_S));
    CHECK(handle == NULL && value == TASKS_NUMBER(20));
    return arg;
}

TEST(task_join_until_a_deadline_leaves_the_handle)
{
    tasks_run_everywhere(joins_for_a_while, NULL);
}

static void *is_an_observer(void *arg)
{
    /* Cancelled while its join has already been won: nothing is lost. */
    void *value = NULL;
    CHECK_OK(rt_join(rt_go(tasks_sleep_ms, TASKS_NUMBER(5)), &value));
    CHECK(value == TASKS_NUMBER(5));
    CHECK(rt_cancelled());
    return arg;
}

static void *cancels_at_the_same_time(void *arg)
{
    rt_task *observer = rt_go(is_an_observer, NULL);
    CHECK_OK(rt_sleep(5 * RT_NS_PER_MS));
    /* The sleeper has its turn and ends; the observer is woken, but not yet running. */
    rt_yield();
    CHECK_STATUS(rt_cancel(observer, NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(task_join_that_was_won_before_a_cancel_has_its_result)
{
    CHECK_OK(tasks_run(cancels_at_the_same_time, NULL));
}

static void *is_cancelled_with_a_result_at_hand(void *arg)
{
    rt_task *task = rt_go(tasks_echo, TASKS_NUMBER(8));
    void *value = NULL;
    CHECK_STATUS(rt_sleep(RT_TIME_NEVER), RT_ERR_CANCELLED);
    /* What has ended is taken without waiting, by a cancelled caller too. */
    CHECK_OK(rt_join(task, &value));
    CHECK(value == TASKS_NUMBER(8));
    return arg;
}

static void *cancels_one_with_a_result(void *arg)
{
    rt_task *task = rt_go(is_cancelled_with_a_result_at_hand, NULL);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_STATUS(rt_cancel(task, NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(task_join_of_one_that_ended_is_no_check_point)
{
    tasks_run_everywhere(cancels_one_with_a_result, NULL);
}

static void *detaches(void *arg)
{
    rt_task *ended = rt_go(tasks_echo, NULL);
    CHECK_OK(rt_detach(rt_go(tasks_sleep_ms, TASKS_NUMBER(2))));
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_OK(rt_detach(ended));
    CHECK_EQ(tasks_alive(), 2);
    return arg;
}

TEST(task_detach_lets_the_task_go_on)
{
    tasks_run_everywhere(detaches, NULL);
}

TEST(task_join_outside_of_a_task_does_not_wait)
{
    CHECK_OK(rt_init());
    rt_task *task = rt_go(tasks_echo, TASKS_NUMBER(1));
    CHECK(task != NULL);
    CHECK_STATUS(rt_join(rt_go(tasks_echo, NULL), NULL), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_join_until(&task, NULL, RT_TIME_NEVER), RT_ERR_WOULDBLOCK);
    rt_task *other = rt_go(tasks_wait_for_ever, NULL);
    CHECK_STATUS(rt_cancel(other, NULL), RT_ERR_WOULDBLOCK);
    rt_run();
    void *value = NULL;
    CHECK_OK(rt_join(task, &value));
    CHECK(value == TASKS_NUMBER(1));
    rt_cleanup();
}

TEST(task_functions_without_a_runtime_are_refused)
{
    rt_task *none = NULL;
    rt_task_result result;
    CHECK_STATUS(rt_join(none, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_join_result(none, &result), RT_ERR_THREAD);
    CHECK_STATUS(rt_join_until(&none, NULL, 0), RT_ERR_THREAD);
    CHECK_STATUS(rt_detach(none), RT_ERR_THREAD);
    CHECK_STATUS(rt_cancel(none, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_task_ask_cancel(none), RT_ERR_THREAD);
    CHECK(!rt_task_has_ended(none) && !rt_cancelled());
}

static void actor_main(void *arg)
{
    void *value = NULL;
    CHECK_OK(rt_join(rt_go(tasks_sleep_ms, TASKS_NUMBER(3)), &value));
    *(void **)arg = value;
    rt_exit();
}

static void *joins_from_an_actor_main(void *arg)
{
    void *value = NULL;
    CHECK(rt_spawn(actor_main, &value) != ACTOR_ID_INVALID);
    while (value == NULL) {
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
    }
    CHECK(value == TASKS_NUMBER(3));
    return arg;
}

TEST(task_is_joined_by_an_actor)
{
    tasks_run_everywhere(joins_from_an_actor_main, NULL);
}

/* ---- the one who joins is killed ---- */

static rt_task *joined;
static bool is_over;

static void *ends_when_asked(void *arg)
{
    while (!rt_cancelled() && !is_over) {
        rt_yield();
    }
    return arg;
}

static void joins_for_good(void *arg)
{
    (void)rt_join(arg, NULL);
    rt_exit();
}

static void asks_for_the_result(void *arg)
{
    rt_task_result result;
    (void)rt_join_result(arg, &result);
    rt_exit();
}

static void cancels_for_good(void *arg)
{
    (void)rt_cancel(arg, NULL);
    rt_exit();
}

/* The handle was given to the call and went with who made it; the task goes on. */
static void *kills_who_joins(void *arg)
{
    static const actor_fn ways[] = {joins_for_good, asks_for_the_result, cancels_for_good};
    is_over = false;
    for (size_t i = 0; i < 4 * RTI_COUNT_OF(ways); i++) {
        joined = rt_go(ends_when_asked, NULL);
        actor_id holder = rt_spawn(ways[i % RTI_COUNT_OF(ways)], joined);
        rt_yield();
        rt_yield();
        if (i % 4 >= 2) {
            /* It has ended and its holder is to run: the result waits for a dead one. */
            (void)rt_task_ask_cancel(joined);
            for (int turn = 0; turn < 4 && !rt_task_has_ended(joined); turn++) {
                rt_yield();
            }
        }
        (void)rt_actor_kill(holder);
        rt_yield();
        CHECK(rt_task_has_ended(joined) == false);
        CHECK_STATUS(rt_join(hidden(joined), NULL), RT_ERR_INVALID);
    }
    is_over = true;
    return arg;
}

TEST(task_handle_in_a_join_goes_with_the_actor_that_is_killed_in_it)
{
    /* Where those that are started run in their order. */
    CHECK_OK(tasks_run(kills_who_joins, NULL));
    CHECK_OK(tasks_run_fixed(kills_who_joins, NULL));
}

static void joins_with_a_deadline(void *arg)
{
    rt_status status = rt_join_until(arg, NULL, RT_TIME_NEVER);
    CHECK_OK(status);
    rt_exit();
}

/* Here it stays where it is: somebody else has it, too. */
static void *kills_who_joins_with_a_deadline(void *arg)
{
    is_over = false;
    joined = rt_go(ends_when_asked, NULL);
    actor_id holder = rt_spawn(joins_with_a_deadline, &joined);
    rt_yield();
    rt_yield();
    CHECK_OK(rt_actor_kill(holder));
    rt_yield();
    CHECK_STATUS(rt_cancel(joined, NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(task_handle_in_a_join_until_a_deadline_outlives_the_actor_that_is_killed_in_it)
{
    tasks_run_everywhere(kills_who_joins_with_a_deadline, NULL);
}

/* Whatever else is tried with the handle of somebody who waits is refused, and harms nobody. */
static rt_task *held;

static void refuse_all(void)
{
    rt_task *copy = held;
    rt_task_result result;
    CHECK_STATUS(rt_join(held, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_join_result(held, &result), RT_ERR_INVALID);
    CHECK_STATUS(rt_join_until(&copy, NULL, RT_TIME_NEVER), RT_ERR_INVALID);
    CHECK(copy == held);
    CHECK_STATUS(rt_cancel(held, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_detach(held), RT_ERR_INVALID);
    if (rt_cx_current() != NULL) {
        rt_select_arm arm = {0};
        rt_selected chosen;
        rt_arm_join(&arm, &copy, NULL);
        CHECK_OK(rt_select(&arm, 1, NULL, &chosen));
        CHECK_STATUS(chosen.status, RT_ERR_INVALID);
    }
}

static void *joins_held(void *arg)
{
    void *value = NULL;
    CHECK_OK(rt_join(held, &value));
    CHECK(value == TASKS_NUMBER(5));
    return arg;
}

/* Tells the other urgent one and ends: that one runs before whoever waits for the end. */
static bool may_end;

static void *tells_and_ends(void *arg)
{
    int value = 1;
    while (!may_end) {
        CHECK_OK(rt_sleep(1));
    }
    CHECK_OK(rt_channel_send(arg, NULL, &value));
    return TASKS_NUMBER(5);
}

static void *uses_a_handle_of_another(void *arg)
{
    static const rt_task_config urgent = {.priority = RT_PRIO_HIGH, .is_priority_set = true};
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    int value;
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    may_end = false;
    held = rt_go_ex(tells_and_ends, tx, &urgent);
    rt_task *holder = rt_go(joins_held, NULL);
    while (!rti_task_is_awaited(rti_task_lookup(rti_worker_current(), held))) {
        CHECK_OK(rt_sleep(1));
    }
    refuse_all();
    may_end = true;
    CHECK_OK(rt_channel_recv(rx, NULL, &value));
    rt_yield();
    CHECK(rt_task_has_ended(held));
    refuse_all();
    CHECK_OK(rt_join(holder, NULL));
    CHECK_STATUS(rt_join(held, NULL), RT_ERR_INVALID);
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(rx));
    return arg;
}

static void *is_urgent(void *arg)
{
    static const rt_task_config urgent = {.priority = RT_PRIO_HIGH, .is_priority_set = true};
    CHECK_OK(rt_join(rt_go_ex(uses_a_handle_of_another, NULL, &urgent), NULL));
    return arg;
}

TEST(join_with_a_handle_that_another_waits_with_is_refused)
{
    CHECK_OK(tasks_run(is_urgent, NULL));
    CHECK_OK(tasks_run_fixed(is_urgent, NULL));
}
