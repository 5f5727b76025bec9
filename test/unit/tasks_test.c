/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tasks: slots, handles, and what the end of a runtime finds in it. */
#define RTI_MODULE "tasks_test"
#include "task/tasks.h"

#include <string.h>

#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"

static struct rti_tasks *module(void)
{
    return rti_tasks_of(rti_worker_current());
}

static void *takes_slots(void *arg)
{
    struct rti_tasks *tasks = module();
    CHECK_EQ(rti_tasks_fresh(tasks), 1);
    struct rti_task *a = rti_tasks_take(tasks);
    struct rti_task *b = rti_tasks_take(tasks);
    CHECK(a != b && rti_size_load_relaxed(&a->handle) != rti_size_load_relaxed(&b->handle) &&
          rti_size_load_relaxed(&a->handle) != 0 && rti_size_load_relaxed(&b->handle) != 0);
    CHECK_EQ(rti_tasks_fresh(tasks), 3);
    uintptr_t before = rti_size_load_relaxed(&a->handle);
    CHECK(rti_task_lookup(rti_worker_current(), (rt_task *)before) == a);
    rti_tasks_give(tasks, b);
    rti_tasks_give(tasks, a);
    CHECK(rti_task_lookup(rti_worker_current(), (rt_task *)before) == NULL);
    /* The one that was given back last comes first, under another name. */
    CHECK(rti_tasks_take(tasks) == a);
    CHECK(rti_size_load_relaxed(&a->handle) != before);
    CHECK(rti_task_lookup(rti_worker_current(), (rt_task *)before) == NULL);
    rti_tasks_give(tasks, a);
    CHECK_EQ(rti_tasks_fresh(tasks), 3);
    rti_tasks_audit(tasks);
    return arg;
}

TEST(tasks_slots_are_used_again_under_another_handle)
{
    CHECK_OK(tasks_run(takes_slots, NULL));
}

/* What a task leaves behind: limits, a cancellation, a message. */
static void *is_limited(void *arg)
{
    rt_budget_scope scope;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    budget.poll_quota = 3;
    CHECK_OK(rt_cx_push_budget(NULL, budget, &scope));
    CHECK_EQ(rti_fiber_deadline(rti_fiber_current()), RT_TIME_NEVER - 1);
    return arg;
}

static void *panics(void *arg)
{
    rt_panic_task("it is over");
    return arg;
}

static void *is_cancelled(void *arg)
{
    CHECK_STATUS(rt_sleep(RT_NS_PER_S), RT_ERR_CANCELLED);
    return arg;
}

static void *begins_anew(void *arg)
{
    struct rti_fiber *fiber = rti_fiber_current();
    struct rti_task *task = rti_task_of_fiber(fiber);
    CHECK_EQ(rti_task_index(task), 1);
    CHECK_EQ(rti_fiber_deadline(fiber), RT_TIME_NEVER);
    CHECK(!fiber->is_hindered && rti_fiber_cx(fiber) == &task->cx && !rt_cancelled());
    CHECK(rti_cx_rest(&task->cx) == NULL);
    CHECK_EQ(rt_cx_budget(NULL).poll_quota, UINT32_MAX);
    CHECK_EQ(rt_cx_budget(NULL).deadline, RT_TIME_NEVER);
    rti_cx_audit(&task->cx);
    return arg;
}

static void joins_anew(void)
{
    rt_task_result result;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_join_result(rt_go(begins_anew, NULL), &result));
        CHECK_EQ(result.outcome, RT_OUTCOME_OK);
        CHECK(result.message[0] == '\0');
    }
}

static void *uses_one_slot(void *arg)
{
    rt_region region;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    budget.deadline = RT_TIME_NEVER - 1;
    joins_anew();
    CHECK_OK(rt_region_open(&region, NULL, &budget));
    CHECK_OK(rt_join(rt_region_go(&region, is_limited, NULL), NULL));
    joins_anew();
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_STATUS(rt_join(rt_go(panics, NULL), NULL), RT_ERR_PANICKED);
    joins_anew();
    CHECK_STATUS(rt_cancel(rt_go(is_cancelled, NULL), NULL), RT_ERR_CANCELLED);
    joins_anew();
    CHECK_EQ(rti_tasks_fresh(module()), 2);
    return arg;
}

TEST(tasks_slot_keeps_nothing_of_its_last_life)
{
    tasks_run_everywhere(uses_one_slot, NULL);
}

/* ---- what a life waits with ---- */

static rt_channel_sender *waits_tx;
static rt_channel_receiver *waits_rx;

static void *waits_alone(void *arg)
{
    uint64_t value = 0;
    CHECK_EQ(rti_task_index(rti_task_of_fiber(rti_fiber_current())), 1);
    CHECK_OK(rt_channel_recv(waits_rx, NULL, &value));
    CHECK_EQ(value, 7);
    return arg;
}

static void *starts_some_that_wait_alone(void *arg)
{
    static const size_t sizes[] = {8192, 24576, 12288};
    rt_channel_config config = {.elem_size = sizeof(uint64_t)};
    uint64_t value = 7;
    CHECK_OK(rt_channel_create_rendezvous(&config, &waits_tx, &waits_rx));
    for (size_t i = 0; i < RTI_COUNT_OF(sizes); i++) {
        rt_task *task = rt_go_ex(waits_alone, NULL, &(rt_task_config){.stack_size = sizes[i]});
        CHECK(task != NULL);
        rt_yield();
        CHECK_OK(rt_channel_send(waits_tx, NULL, &value));
        CHECK_OK(rt_join(task, NULL));
    }
    CHECK_OK(rt_channel_close_sender(waits_tx));
    CHECK_OK(rt_channel_close_receiver(waits_rx));
    return arg;
}

/* The slot is the same, the stack is not, and what it waits with lies there. */
TEST(tasks_slot_waits_with_the_stack_of_this_life)
{
    tasks_run_everywhere(starts_some_that_wait_alone, NULL);
}

static void *ends_its_own_context(void *arg)
{
    CHECK_STATUS(rt_cx_deinit(rt_cx_current()), RT_ERR_STATE);
    CHECK_OK(rt_cx_init(arg));
    CHECK_OK(rt_cx_deinit(rt_cx_current()));
    CHECK_STATUS(rt_cx_deinit(rt_cx_current()), RT_ERR_STATE);
    return arg;
}

TEST(task_cannot_end_the_context_that_it_was_started_with)
{
    static rt_cx cx;
    tasks_run_everywhere(ends_its_own_context, &cx);
}

static void *counts(void *arg)
{
    struct rti_tasks *tasks = module();
    CHECK_EQ(rti_tasks_live(tasks), 1);
    CHECK_OK(rt_join(rt_go(tasks_echo, NULL), NULL));
    CHECK_OK(rt_detach(rt_go(tasks_echo, NULL)));
    CHECK_EQ(rti_tasks_live(tasks), 2);
    CHECK_STATUS(rt_cancel(rt_go(tasks_wait_for_ever, NULL), NULL), RT_ERR_CANCELLED);
    CHECK_EQ(rti_tasks_counted(tasks, RTI_TASKS_SPAWNED), 4);
    CHECK_EQ(rti_tasks_counted(tasks, RTI_TASKS_JOINED), 1);
    CHECK_EQ(rti_tasks_counted(tasks, RTI_TASKS_DETACHED), 1);
    CHECK_EQ(rti_tasks_counted(tasks, RTI_TASKS_CANCELLED), 1);
    CHECK_EQ(rti_tasks_counted(tasks, RTI_TASKS_COMPLETED), 3);
    return arg;
}

TEST(tasks_are_counted)
{
    tasks_run_everywhere(counts, NULL);
}

static void *loses_a_handle(void *arg)
{
    rt_task *volatile lost = rt_go(tasks_echo, NULL);
    (void)lost;
    return arg;
}

static void run_and_lose(void *arg)
{
    (void)tasks_run(loses_a_handle, arg);
}

TEST(tasks_handle_that_was_never_consumed_stops_a_checked_build)
{
    if (!RT_CHECKS) {
        test_skip("this build counts");
    }
    CHECK_PANICS("task_report", run_and_lose, NULL);
}

static void *leaves_sleepers(void *arg)
{
    rt_task *volatile never = rt_go(tasks_wait_for_ever, NULL);
    (void)never;
    CHECK_OK(rt_detach(rt_go(tasks_sleep_ms, TASKS_NUMBER(1000))));
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    rt_shutdown();
    return arg;
}

TEST(tasks_that_still_live_at_the_end_are_killed_and_not_called_lost)
{
    CHECK_OK(tasks_run(leaves_sleepers, NULL));
    CHECK_OK(tasks_run_fixed(leaves_sleepers, NULL));
    CHECK_OK(tasks_run(counts, NULL));
}

static void *cancels_everybody(void *arg)
{
    rt_task *a = rt_go(tasks_wait_for_ever, NULL);
    rt_task *b = rt_go(tasks_wait_for_ever, NULL);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    rti_tasks_cancel_all(module());
    CHECK(rt_cancelled());
    rt_yield();
    CHECK_STATUS(rt_join(a, NULL), RT_ERR_CANCELLED);
    CHECK_STATUS(rt_join(b, NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(tasks_can_all_be_asked_to_stop)
{
    CHECK_STATUS(tasks_run(cancels_everybody, NULL), RT_ERR_CANCELLED);
}

TEST(tasks_module_is_there_once)
{
    static struct rti_tasks second;
    CHECK_OK(rt_init());
    CHECK_STATUS(rti_tasks_init(&second, rti_sched_current(), 0), RT_ERR_STATE);
    CHECK(rti_tasks_of(NULL) == NULL);
    rt_cleanup();
}

/* ---- rt_task_reserve ---- */

#define ROOM (3 * RT_MAX_TASKS)

static rt_task *many[RT_MAX_TASKS + ROOM];

/* Starts as many as there is room for beside the caller. */
static size_t start_all(rt_task_fn fn)
{
    size_t count = 0;
    while (count < RTI_COUNT_OF(many) && (many[count] = rt_go(fn, TASKS_NUMBER(count))) != NULL) {
        count++;
    }
    return count;
}

static void *uses_the_room(void *arg)
{
    void *value = NULL;
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    for (int round = 0; round < 3; round++) {
        size_t count = start_all(tasks_echo);
        /* The caller is one of them. */
        CHECK_EQ(count, RT_MAX_TASKS + ROOM - 1);
        rti_tasks_audit(module());
        for (size_t i = 0; i < count; i++) {
            CHECK_OK(rt_join(many[i], &value));
            CHECK(value == TASKS_NUMBER(i));
        }
    }
    rti_tasks_audit(module());
    return arg;
}

TEST(tasks_fill_the_room_that_was_made_and_use_it_again)
{
    tasks_run_everywhere(uses_the_room, NULL);
}

static void *counts_stacks(void *arg)
{
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    size_t count = start_all(tasks_echo);
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(rt_join(many[i], NULL));
    }
    *(uint32_t *)arg = module()->slab.fresh;
    return NULL;
}

TEST(tasks_that_end_in_their_first_turn_share_one_stack)
{
    uint32_t used = 0;
    CHECK_OK(tasks_run_fixed(counts_stacks, &used));
    CHECK_EQ(used, 1);
}

/* The errno of one that has ended is not that of the next, which begins on its stack. */
static void *sets_errno(void *arg)
{
    CHECK_EQ(*rti_errno_address(), 0);
    *rti_errno_address() = 77;
    return arg;
}

static void *starts_some_that_set_errno(void *arg)
{
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    *rti_errno_address() = 78;
    size_t count = start_all(sets_errno);
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(rt_join(many[i], NULL));
    }
    CHECK_EQ(*rti_errno_address(), 78);
    CHECK_EQ(module()->slab.fresh, 1);
    return arg;
}

TEST(task_of_the_room_begins_with_an_errno_of_its_own)
{
    CHECK_OK(tasks_run_fixed(starts_some_that_set_errno, NULL));
}

static char levels_seen[8];

static void *notes_its_level(void *arg)
{
    size_t at = strlen(levels_seen);
    levels_seen[at] = *(const char *)arg;
    return arg;
}

static rt_task *go_at_level(rt_priority priority, const char *letter)
{
    return rt_go_ex(notes_its_level, (void *)(uintptr_t)letter,
                    &((rt_task_config){.priority = priority, .is_priority_set = true}));
}

/* Each chooses the next when it ends: of its own level, of a more and of a less urgent one. */
static void *starts_some_of_all_levels(void *arg)
{
    rt_task *tasks[6];
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    /* After a row of short turns the scheduler does not look in every one. */
    size_t count = start_all(tasks_echo);
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(rt_join(many[i], NULL));
    }
    tasks[0] = go_at_level(RT_PRIO_LOW, "l");
    tasks[1] = go_at_level(RT_PRIO_NORMAL, "n");
    tasks[2] = go_at_level(RT_PRIO_HIGH, "h");
    tasks[3] = go_at_level(RT_PRIO_NORMAL, "n");
    tasks[4] = go_at_level(RT_PRIO_CRITICAL, "c");
    tasks[5] = go_at_level(RT_PRIO_LOW, "l");
    for (size_t i = 0; i < RTI_COUNT_OF(tasks); i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    CHECK_EQ(module()->slab.fresh, 1);
    return arg;
}

TEST(tasks_of_the_room_begin_in_the_order_of_their_levels)
{
    memset(levels_seen, 0, sizeof(levels_seen));
    CHECK_OK(tasks_run_fixed(starts_some_of_all_levels, NULL));
    CHECK(strcmp(levels_seen, "chnnll") == 0);
}

static void *room_waits(void *arg)
{
    (void)rt_sleep(RT_TIME_NEVER);
    return arg;
}

static void *leaves_some_behind(void *arg)
{
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM, .stack_size = 8192}));
    size_t count = start_all(room_waits);
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(rt_detach(many[i]));
        /* Half of them wait, the others never come to run. */
        if (i == count / 2) {
            rt_yield();
        }
    }
    (void)start_all(tasks_echo);
    rt_shutdown();
    return arg;
}

TEST(tasks_of_the_room_are_ended_with_the_runtime_begun_or_not)
{
    (void)tasks_run_fixed(leaves_some_behind, NULL);
    (void)tasks_run(leaves_some_behind, NULL);
}

static void *cancels_the_unborn(void *arg)
{
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    rt_task *task = rt_go(room_waits, NULL);
    CHECK_STATUS(rt_cancel(task, NULL), RT_ERR_CANCELLED);
    return arg;
}

TEST(task_of_the_room_can_be_cancelled_before_its_first_turn)
{
    tasks_run_everywhere(cancels_the_unborn, NULL);
}

static void *asks_for_bad_rooms(void *arg)
{
    CHECK_STATUS(rt_task_reserve(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_task_reserve(&(rt_task_room){.tasks = 0}), RT_ERR_INVALID);
    CHECK_STATUS(rt_task_reserve(&(rt_task_room){.tasks = SIZE_MAX}), RT_ERR_INVALID);
    CHECK_STATUS(rt_task_reserve(&(rt_task_room){.tasks = 1, .stack_size = 4095}), RT_ERR_INVALID);
    CHECK_STATUS(rt_task_reserve(&(rt_task_room){.tasks = 1, .stack_size = SIZE_MAX}),
                 RT_ERR_INVALID);
    CHECK_STATUS(
        rt_task_reserve(&(rt_task_room){.tasks = 1, .stack_size = (size_t)RT_STACK_SIZE_MAX + 1}),
        RT_ERR_INVALID);
    CHECK_STATUS(
        rt_task_reserve(&(rt_task_room){.tasks = 1 << 20, .stack_size = RT_STACK_SIZE_MAX}),
        RT_ERR_NOMEM);
    CHECK_EQ(module()->capacity, RT_MAX_TASKS);
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = 1}));
    CHECK_STATUS(rt_task_reserve(&(rt_task_room){.tasks = 1}), RT_ERR_STATE);
    CHECK_EQ(module()->capacity, RT_MAX_TASKS + 1);
    return arg;
}

TEST(task_room_that_cannot_be_changes_nothing)
{
    CHECK_STATUS(rt_task_reserve(&(rt_task_room){.tasks = 1}), RT_ERR_THREAD);
    CHECK_OK(tasks_run_fixed(asks_for_bad_rooms, NULL));
}

static rt_status writes_down(void *arg)
{
    (*(int *)arg)++;
    return RT_SUCCESS;
}

static void *has_a_hook_and_panics(void *arg)
{
    CHECK_OK(rt_ensure(writes_down, arg));
    rt_panic_task("on purpose");
}

static void *panics_in_the_room(void *arg)
{
    int hooks = 0;
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    for (int i = 0; i < 100; i++) {
        CHECK_STATUS(rt_join(rt_go(has_a_hook_and_panics, &hooks), NULL), RT_ERR_PANICKED);
    }
    CHECK_EQ(hooks, 100);
    return arg;
}

TEST(task_of_the_room_panics_like_any_other)
{
    tasks_run_everywhere(panics_in_the_room, NULL);
}

/* ---- annexes ---- */

/* The slot of a task that waits is memory that a million of them have a million times. Who lets it
 * grow says so here, and in docs/internals/performance.md. */
TEST(tasks_slot_is_no_larger_than_is_told)
{
    if (RTI_ASAN || RTI_TSAN || sizeof(void *) != 8) {
        test_skip("the figure is of plain builds on machines of 64 bits");
    }
    /* Of the stack, in the registers' context, and what valgrind calls it. */
    size_t bounds = RTI_CONTEXT_BOUNDED ? 24 : 0;
    /* On x86-64 the registers of a parked task are on its stack. */
    size_t registers = sizeof(struct rti_arch_context) - 16;
    CHECK(sizeof(struct rti_task) <= 248 + bounds + registers);
}

/* What nobody writes. */
#define UNTOUCHED 0xa5

static void spoil_annexes(void)
{
    struct rti_tasks *tasks = module();
    memset(tasks->annexes, UNTOUCHED, sizeof(tasks->annexes));
    memset(tasks->more_annexes, UNTOUCHED, ROOM * sizeof(*tasks->more_annexes));
    memset(tasks->more_sides, UNTOUCHED, ROOM * sizeof(*tasks->more_sides));
}

static size_t touched_bytes(const void *memory, size_t size)
{
    const unsigned char *bytes = memory;
    size_t touched = 0;
    for (size_t i = 0; i < size; i++) {
        touched += bytes[i] != UNTOUCHED;
    }
    return touched;
}

static void *wants_nothing(void *arg)
{
    rt_yield();
    CHECK(rt_local_get(0) == NULL && rt_ensure_depth() == 0);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    return arg;
}

static void *starts_the_modest(void *arg)
{
    rt_task_result result;
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    spoil_annexes();
    for (int round = 0; round < 2; round++) {
        size_t count = start_all(wants_nothing);
        CHECK_EQ(count, RT_MAX_TASKS + ROOM - 1);
        for (size_t i = 0; i < count; i++) {
            CHECK_OK(rt_join_result(many[i], &result));
            CHECK(result.value == TASKS_NUMBER(i) && result.message[0] == '\0');
        }
    }
    const struct rti_tasks *tasks = module();
    CHECK_EQ(touched_bytes(tasks->annexes, sizeof(tasks->annexes)), 0);
    CHECK_EQ(touched_bytes(tasks->more_annexes, ROOM * sizeof(*tasks->more_annexes)), 0);
    CHECK_EQ(touched_bytes(tasks->more_sides, ROOM * sizeof(*tasks->more_sides)), 0);
    return arg;
}

TEST(tasks_that_use_none_of_it_do_not_touch_their_annex)
{
    tasks_run_everywhere(starts_the_modest, NULL);
}

static int hooks_run;
static int values_gone;

static rt_status counts_itself(void *arg)
{
    (void)arg;
    hooks_run++;
    return RT_SUCCESS;
}

static void value_goes(void *value)
{
    (void)value;
    values_gone++;
}

static void *uses_it_all(void *arg)
{
    rt_local key = *(rt_local *)arg;
    CHECK(rt_local_get(key) == NULL);
    CHECK_EQ(rt_trace_get().trace_id[0], 0);
    CHECK_OK(rt_local_set(key, arg));
    for (int i = 0; i < RT_MAX_HOOKS; i++) {
        CHECK_OK(rt_ensure(counts_itself, NULL));
    }
    CHECK(rt_local_get(key) == arg);
    rt_panic_task("as told");
}

static void *starts_the_greedy(void *arg)
{
    rt_local key;
    rt_task_result result;
    hooks_run = 0;
    values_gone = 0;
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    CHECK_OK(rt_local_open(&key, value_goes));
    spoil_annexes();
    for (int round = 0; round < 2; round++) {
        int count = 0;
        while (count < RT_MAX_TASKS + ROOM - 1 &&
               (many[count] = rt_go(uses_it_all, &key)) != NULL) {
            count++;
        }
        CHECK_EQ(count, RT_MAX_TASKS + ROOM - 1);
        for (int i = 0; i < count; i++) {
            CHECK_STATUS(rt_join_result(many[i], &result), RT_ERR_PANICKED);
            CHECK_STR(result.message, "as told");
            CHECK(result.site.line > 0 && result.site.file != NULL);
        }
        CHECK_EQ(hooks_run, (round + 1) * count * RT_MAX_HOOKS);
        CHECK_EQ(values_gone, (round + 1) * count);
    }
    CHECK_OK(rt_local_close(key));
    return arg;
}

TEST(tasks_find_what_they_keep_in_their_annex_whatever_was_there_before)
{
    tasks_run_everywhere(starts_the_greedy, NULL);
}

static void *is_there(void *arg)
{
    CHECK_EQ(rt_trace_get().trace_id[0], 7);
    return arg;
}

static void *wants_no_trace(void *arg)
{
    CHECK_EQ(rt_trace_get().trace_id[0], 0);
    return arg;
}

static void *hands_its_trace_on(void *arg)
{
    struct rt_trace trace = {.trace_id = {7}, .span_id = {8}};
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    spoil_annexes();
    CHECK_OK(rt_join(rt_go(wants_nothing, NULL), NULL));
    CHECK_OK(rt_trace_set(&trace));
    CHECK_OK(rt_join(rt_go(is_there, NULL), NULL));
    CHECK_OK(rt_trace_set(NULL));
    CHECK_OK(rt_join(rt_go(wants_no_trace, NULL), NULL));
    return arg;
}

TEST(tasks_have_the_trace_of_their_starter_and_no_other)
{
    tasks_run_everywhere(hands_its_trace_on, NULL);
    tasks_run_everywhere(hands_its_trace_on, NULL);
}

#if RTI_RECORDS

static rti_atomic_u64 ring[RTI_RECORDER_WORDS];
static uint64_t words[RTI_RECORDER_WORDS];
static struct rti_recording recording = {.rings_count = 1, .rings = ring};

/* How many words of the kind the recorder has about the task with this number. */
static size_t recorded(const struct rti_worker *worker, enum rti_note what, uint32_t serial)
{
    uint64_t lost = 0;
    size_t found = 0;
    size_t count = rti_recorder_copy(&worker->recorder, &recording, words, &lost);
    CHECK_EQ(lost, 0);
    for (size_t i = 0; i < count; i++) {
        found += words[i] >> 56 == what && (words[i] & 0xffff) == serial;
    }
    return found;
}

static void *records_the_room(void *arg)
{
    struct rti_worker *worker = rti_worker_current();
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = ROOM}));
    rti_recording_begin(&recording);
    rti_ptr_store_release(&worker->sched->recording, &recording);
    rti_worker_follow(worker);
    for (int i = 0; i < 8; i++) {
        many[i] = rt_go(tasks_echo, NULL);
    }
    for (int i = 0; i < 8; i++) {
        CHECK_OK(rt_join(many[i], NULL));
    }
    for (uint32_t serial = 2; serial < 10; serial++) {
        CHECK_EQ(recorded(worker, RTI_NOTE_RUN, serial), 1);
        CHECK_EQ(recorded(worker, RTI_NOTE_END, serial), 1);
    }
    rti_recording_end(&recording);
    rti_worker_follow(worker);
    rti_ptr_store_release(&worker->sched->recording, NULL);
    return arg;
}

TEST(task_of_the_room_that_begins_on_the_stack_of_another_is_recorded)
{
    CHECK_OK(tasks_run_fixed(records_the_room, NULL));
}

#endif

static void *yields_some(void *arg)
{
    for (uintptr_t i = 0; i < (uintptr_t)arg % 4; i++) {
        rt_yield();
    }
    if ((uintptr_t)arg % 7 == 6) {
        rt_panic_task("on purpose");
    }
    return arg;
}

static void *spawns_a_few(void *arg)
{
    rt_task *own[5];
    for (size_t i = 0; i < RTI_COUNT_OF(own); i++) {
        own[i] = rt_go(yields_some, TASKS_NUMBER(i + (uintptr_t)arg % 3));
        CHECK(own[i] != NULL);
    }
    for (size_t i = 0; i < RTI_COUNT_OF(own); i++) {
        (void)rt_cancel(own[i], NULL);
    }
    return arg;
}

static void *shares_the_room(void *arg)
{
    for (int round = 0; round < 6; round++) {
        for (size_t i = 0; i < 50; i++) {
            many[i] = rt_go(spawns_a_few, TASKS_NUMBER(i));
            CHECK(many[i] != NULL);
        }
        for (size_t i = 0; i < 50; i++) {
            CHECK_OK(rt_join(many[i], NULL));
        }
    }
    return arg;
}

TEST(tasks_of_the_room_are_run_by_several_workers)
{
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 4}));
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = 400, .stack_size = 16384}));
    CHECK_OK(rt_detach(rt_go(shares_the_room, NULL)));
    rt_run();
    CHECK_EQ(rti_tasks_live(module()), 0);
    CHECK_EQ(rti_stack_slab_audit(&module()->slab), 0);
    /* And some are ended with the runtime, begun or not. */
    for (size_t i = 0; i < 200; i++) {
        CHECK_OK(rt_detach(rt_go(room_waits, NULL)));
    }
    rt_shutdown();
    rt_run();
    rt_cleanup();
}

/* A port that maps nothing. */
static void *asks_where_nothing_is_mapped(void *arg)
{
    struct rti_port *port = module()->sched->port;
    const struct rti_port_ops *whole = port->ops;
    struct rti_port_ops less = *whole;
    less.memory_map = NULL;
    port->ops = &less;
    CHECK_STATUS(rt_task_reserve(&(rt_task_room){.tasks = 1}), RT_ERR_UNSUPPORTED);
    port->ops = whole;
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = 1}));
    return arg;
}

TEST(task_room_is_unsupported_where_memory_cannot_be_mapped)
{
    /* The port of the simulator has no threads that could look at it meanwhile. */
    CHECK_OK(tasks_run(asks_where_nothing_is_mapped, NULL));
}
