/* SPDX-License-Identifier: Apache-2.0 */
/* Ensure hooks: whichever way a task ends. */
#define RTI_MODULE "task_hooks_test"
#include "task/task_hooks.h"

#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"
#include "task/tasks.h"

static rt_status says(void *arg)
{
    tasks_say((char)(uintptr_t)arg);
    return RT_SUCCESS;
}

static void ensure_abc(void)
{
    CHECK_OK(rt_ensure(says, TASKS_NUMBER('a')));
    CHECK_OK(rt_ensure(says, TASKS_NUMBER('b')));
    CHECK_OK(rt_ensure(says, TASKS_NUMBER('c')));
    CHECK_EQ(rt_ensure_depth(), 3);
}

static void *returns_with_hooks(void *arg)
{
    ensure_abc();
    tasks_say('-');
    return arg;
}

static void *joins(void *arg)
{
    rt_task_fn fn = *(rt_task_fn *)arg;
    rt_task *task = rt_go(fn, NULL);
    rt_status status = rt_join(task, NULL);
    tasks_say(RT_FAILED(status) ? '!' : '.');
    return NULL;
}

static void check_said(rt_task_fn fn, const char *wanted)
{
    CHECK_OK(tasks_run(joins, &fn));
    CHECK_STR(tasks_said(), wanted);
    CHECK_OK(tasks_run_fixed(joins, &fn));
    CHECK_STR(tasks_said(), wanted);
}

TEST(hooks_run_last_in_first_out_on_return)
{
    check_said(returns_with_hooks, "-cba.");
}

static rt_status ends_its_context(void *arg)
{
    (void)arg;
    rt_cx inside;
    CHECK_STATUS(rt_cx_deinit(rt_cx_current()), RT_ERR_STATE);
    CHECK_OK(rt_cx_init(&inside));
    CHECK_OK(rt_cx_deinit(rt_cx_current()));
    tasks_say('e');
    return RT_SUCCESS;
}

static void *ends_contexts_in_hooks(void *arg)
{
    CHECK_OK(rt_ensure(ends_its_context, NULL));
    CHECK_OK(rt_ensure(ends_its_context, NULL));
    CHECK_OK(rt_ensure_run());
    return arg;
}

TEST(hooks_cannot_end_the_context_that_they_run_in)
{
    check_said(ends_contexts_in_hooks, "ee.");
}

static void *panics_with_hooks(void *arg)
{
    (void)arg;
    ensure_abc();
    rt_panic_task("in the middle");
}

TEST(hooks_run_on_a_panic)
{
    check_said(panics_with_hooks, "cba!");
}

static bool has_hooks; /* waits_with_hooks has had its first turn */

static void *waits_with_hooks(void *arg)
{
    ensure_abc();
    has_hooks = true;
    CHECK_STATUS(rt_sleep(RT_TIME_NEVER), RT_ERR_CANCELLED);
    return arg;
}

static void *cancels_one_with_hooks(void *arg)
{
    rt_task *task = rt_go(waits_with_hooks, NULL);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_STATUS(rt_cancel(task, NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(hooks_run_on_a_cancel)
{
    CHECK_OK(tasks_run(cancels_one_with_hooks, NULL));
    CHECK_STR(tasks_said(), "cba");
}

static void kill_handle(rt_task *handle)
{
    rti_task_kill(rti_task_lookup(rti_worker_current(), handle));
}

static void *kills_one_with_hooks(void *arg)
{
    rt_task_result result;
    rt_task *task = rt_go(waits_with_hooks, NULL);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    kill_handle(task);
    CHECK_STATUS(rt_join_result(task, &result), RT_ERR_CANCELLED);
    CHECK_STR(result.message, "killed");
    tasks_say('.');
    return arg;
}

TEST(hooks_run_on_a_kill_before_the_end_is_told)
{
    CHECK_OK(tasks_run(kills_one_with_hooks, NULL));
    CHECK_STR(tasks_said(), "cba.");
    CHECK_OK(tasks_run_fixed(kills_one_with_hooks, NULL));
    CHECK_STR(tasks_said(), "cba.");
}

static void *yields_with_hooks(void *arg)
{
    ensure_abc();
    for (;;) {
        rt_yield();
    }
    return arg;
}

static void *kills_one_that_yields(void *arg)
{
    rt_task *task = rt_go(yields_with_hooks, NULL);
    rt_task *fresh = rt_go(yields_with_hooks, NULL);
    kill_handle(fresh);
    rt_yield();
    kill_handle(task);
    CHECK_STATUS(rt_join(task, NULL), RT_ERR_CANCELLED);
    CHECK_STATUS(rt_join(fresh, NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(hooks_run_on_a_kill_between_two_turns)
{
    CHECK_OK(tasks_run(kills_one_that_yields, NULL));
    CHECK_STR(tasks_said(), "cba");
}

static rt_status fails(void *arg)
{
    tasks_say('f');
    return (rt_status){RT_ERR_IO, (const char *)arg};
}

static void *has_a_hook_that_fails(void *arg)
{
    CHECK_OK(rt_ensure(says, TASKS_NUMBER('a')));
    CHECK_OK(rt_ensure(fails, (void *)(uintptr_t) "the disk is gone"));
    CHECK_OK(rt_ensure(says, TASKS_NUMBER('c')));
    return arg;
}

TEST(hooks_that_fail_are_told_and_the_rest_run)
{
    const char *told = tasks_capture(has_a_hook_that_fails, NULL);
    CHECK_STR(tasks_said(), "cfa");
    CHECK(strstr(told, "ensure hook at ") != NULL && strstr(told, "task_hooks_test.c") != NULL);
    CHECK(strstr(told, "the disk is gone") != NULL);
}

static rt_status waits_a_little(void *arg)
{
    (void)arg;
    CHECK(!rt_cancelled());
    CHECK_OK(rt_checkpoint(NULL));
    rt_status status = rt_sleep(10 * RT_NS_PER_MS);
    tasks_say(RT_FAILED(status) ? '!' : 's');
    return status;
}

static void *is_cancelled_with_a_hook_that_waits(void *arg)
{
    CHECK_OK(rt_ensure(waits_a_little, NULL));
    CHECK_STATUS(rt_sleep(RT_TIME_NEVER), RT_ERR_CANCELLED);
    CHECK(rt_cancelled());
    return arg;
}

static void *cancels_one_with_a_hook_that_waits(void *arg)
{
    rt_task *task = rt_go(is_cancelled_with_a_hook_that_waits, NULL);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    /* Asked twice, the second time while the hook waits. */
    CHECK_OK(rt_task_ask_cancel(task));
    CHECK_OK(rt_sleep(5 * RT_NS_PER_MS));
    CHECK_STATUS(rt_cancel(task, NULL), RT_ERR_CANCELLED);
    tasks_say('.');
    return arg;
}

TEST(hooks_are_shielded_from_cancellation)
{
    CHECK_OK(tasks_run(cancels_one_with_a_hook_that_waits, NULL));
    CHECK_STR(tasks_said(), "s.");
}

static void *kills_one_with_a_hook_that_waits(void *arg)
{
    rt_task *task = rt_go(is_cancelled_with_a_hook_that_waits, NULL);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    kill_handle(task);
    CHECK_STATUS(rt_join(task, NULL), RT_ERR_CANCELLED);
    tasks_say('.');
    return arg;
}

TEST(hooks_of_the_killed_may_wait)
{
    CHECK_OK(tasks_run(kills_one_with_a_hook_that_waits, NULL));
    CHECK_STR(tasks_said(), "s.");
}

static rt_status waits_for_ever(void *arg)
{
    (void)arg;
    rt_status status = rt_sleep(RT_TIME_NEVER);
    tasks_say(status.code == RT_ERR_BUDGET_EXHAUSTED ? 'x' : 'c');
    return status;
}

static void *has_hooks_that_never_end(void *arg)
{
    CHECK_OK(rt_ensure(waits_for_ever, NULL));
    CHECK_OK(rt_ensure(waits_for_ever, NULL));
    return arg;
}

TEST(hooks_are_bounded_in_time_together)
{
    (void)tasks_capture(has_hooks_that_never_end, NULL);
    CHECK_STR(tasks_said(), "xc");
    CHECK_EQ(tasks_report.time, RT_ENSURE_TIME_NS);
}

static rt_status panics_in_a_hook(void *arg)
{
    (void)arg;
    tasks_say('p');
    rt_panic_task("in a hook");
}

static void *has_a_hook_that_panics(void *arg)
{
    CHECK_OK(rt_ensure(says, TASKS_NUMBER('a')));
    CHECK_OK(rt_ensure(panics_in_a_hook, NULL));
    CHECK_OK(rt_ensure(says, TASKS_NUMBER('c')));
    if (arg != NULL) {
        CHECK_STATUS(rt_sleep(RT_TIME_NEVER), RT_ERR_CANCELLED);
    }
    return arg;
}

static void *joins_one_with_a_hook_that_panics(void *arg)
{
    rt_task_result result;
    rt_task *task = rt_go(has_a_hook_that_panics, NULL);
    CHECK_STATUS(rt_join_result(task, &result), RT_ERR_PANICKED);
    CHECK_STR(result.message, "in a hook");
    task = rt_go(has_a_hook_that_panics, TASKS_NUMBER(1));
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    kill_handle(task);
    CHECK_STATUS(rt_join_result(task, &result), RT_ERR_CANCELLED);
    return arg;
}

TEST(hooks_that_panic_leave_the_others_to_run)
{
    const char *told = tasks_capture(joins_one_with_a_hook_that_panics, NULL);
    CHECK_STR(tasks_said(), "cpacpa");
    CHECK(strstr(told, "in a hook") != NULL);
}

static void *has_many(void *arg)
{
    for (uint32_t i = 0; i < RT_MAX_HOOKS; i++) {
        CHECK_EQ(rt_ensure_depth(), i);
        CHECK_OK(rt_ensure(says, TASKS_NUMBER('0' + i)));
    }
    CHECK_STATUS(rt_ensure(says, NULL), RT_ERR_NOMEM);
    CHECK_OK(rt_ensure_drop());
    CHECK_OK(rt_ensure_run());
    CHECK_OK(rt_ensure(says, TASKS_NUMBER('z')));
    rt_ensure_fn none = NULL;
    CHECK_STATUS(rt_ensure(none, NULL), RT_ERR_INVALID);
    while (rt_ensure_depth() > 1) {
        CHECK_OK(rt_ensure_drop());
    }
    CHECK_OK(rt_ensure_run());
    CHECK_STATUS(rt_ensure_run(), RT_ERR_EMPTY);
    CHECK_STATUS(rt_ensure_drop(), RT_ERR_EMPTY);
    return arg;
}

TEST(hooks_have_a_limit_and_can_be_taken_back)
{
    CHECK_OK(tasks_run(has_many, NULL));
    CHECK_STR(tasks_said(), "60");
}

static void *has_blocks(void *arg)
{
    RT_ENSURE(says, TASKS_NUMBER('1'));
    for (int i = 0; i < 2; i++) {
        RT_ENSURE(says, TASKS_NUMBER('2'));
        RT_ENSURE(says, TASKS_NUMBER('3'));
        tasks_say('-');
        if (i == 1) {
            return arg;
        }
    }
    return NULL;
}

static void *panics_in_blocks(void *arg)
{
    RT_ENSURE(says, TASKS_NUMBER('1'));
    if (arg == NULL) {
        RT_ENSURE(says, TASKS_NUMBER('2'));
        rt_panic_task("now");
    }
    return NULL;
}

TEST(hooks_of_a_block_run_when_it_is_left)
{
    check_said(has_blocks, "-32-321.");
    check_said(panics_in_blocks, "21!");
}

static void *has_too_many_blocks(void *arg)
{
    for (uint32_t i = 0; i < RT_MAX_HOOKS; i++) {
        CHECK_OK(rt_ensure(says, TASKS_NUMBER('.')));
    }
    RT_ENSURE(says, TASKS_NUMBER('!'));
    CHECK(false);
    return arg;
}

TEST(hooks_block_without_room_does_its_work_and_panics)
{
    check_said(has_too_many_blocks, "!........!");
}

TEST(hooks_are_for_tasks)
{
    CHECK_STATUS(rt_ensure(says, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_ensure_run(), RT_ERR_THREAD);
    CHECK_STATUS(rt_ensure_drop(), RT_ERR_THREAD);
    CHECK_EQ(rt_ensure_depth(), 0);
}

static void *leaves_a_sleeper(void *arg)
{
    CHECK_OK(rt_detach(rt_go(waits_with_hooks, NULL)));
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    rt_shutdown();
    return arg;
}

TEST(hooks_run_when_the_runtime_ends_before_the_task)
{
    CHECK_OK(tasks_run(leaves_a_sleeper, NULL));
    CHECK_STR(tasks_said(), "cba");
    CHECK_OK(tasks_run_fixed(leaves_a_sleeper, NULL));
    CHECK_STR(tasks_said(), "cba");
}

/* What a hook starts when the runtime ends already. */
enum { STARTS_A_TASK, STARTS_A_POLL_TASK, STARTS_AN_ACTOR, STARTS_NOTHING };

static int starts_what;

static rt_status never_done(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return (rt_status){RT_ERR_WOULDBLOCK, "for ever"};
}

static void waits_for_mail(void *arg)
{
    rt_message message;
    (void)arg;
    (void)rt_ipc_recv(&message, -1);
    test_fail(__FILE__, __LINE__, "nobody writes to it");
}

static rt_status starts_another(void *arg)
{
    const struct rti_task *self = rti_task_of(rti_worker_enter());
    (void)arg;
    rt_shutdown();
    while (!self->is_doomed) {
        /* With several workers the end comes at a moment of its own. */
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
    }
    tasks_say('s');
    switch (starts_what) {
    case STARTS_A_TASK:
        return rt_detach(rt_go(waits_with_hooks, NULL));
    case STARTS_A_POLL_TASK:
        return rt_async_detach(rt_async(never_done, NULL));
    case STARTS_AN_ACTOR:
        CHECK(rt_spawn(waits_for_mail, NULL) != ACTOR_ID_INVALID);
        break;
    default:
        break;
    }
    return RT_SUCCESS;
}

static void *has_a_hook_that_starts(void *arg)
{
    CHECK_OK(rt_ensure(starts_another, NULL));
    return arg;
}

static rt_status run_on_two_workers(rt_task_fn fn)
{
    static const rt_config parallel = {.workers = 2};
    return rt_run_main(&(rt_main_config){.parallel = &parallel}, fn, NULL);
}

/* What was started may be ended before its first turn, and has no hooks then. */
static void check_said_by_started(void)
{
    CHECK_STR(tasks_said(), has_hooks ? "scba" : "s");
    has_hooks = false;
}

TEST(hooks_that_start_others_do_not_keep_the_runtime)
{
    for (int what = STARTS_A_TASK; what <= STARTS_NOTHING; what++) {
        starts_what = what;
        has_hooks = false;
        CHECK_STATUS(tasks_run(has_a_hook_that_starts, NULL), RT_ERR_CANCELLED);
        CHECK_EQ(has_hooks, what == STARTS_A_TASK);
        check_said_by_started();
        CHECK_STATUS(tasks_run_fixed(has_a_hook_that_starts, NULL), RT_ERR_CANCELLED);
        check_said_by_started();
        CHECK_STATUS(run_on_two_workers(has_a_hook_that_starts), RT_ERR_CANCELLED);
    }
}
