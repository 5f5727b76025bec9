/* SPDX-License-Identifier: Apache-2.0 */

/* The life of a task: its end races with the join, the cancelled join and the detach of who holds
 * the handle. Exactly one gives the memory back, the result is seen, a watcher is told once and not
 * touched when it has gone. Given back, the word is poisoned at once: whoever still touched it
 * would be seen. */

#include "task/task_asker.h"
#include "task/task_handle.h"
#include "task/task_life.h"

#include "port/explore/port.h"
#include "sched/lock.h"
#include "sched/parker.h"
#include "sched/wait.h"

enum { POISON = 77, RESULT = 5 };

static struct rti_task_word life;
static uint64_t result;            /* plain: written by the task, read by the holder */
static struct rti_waiter *watcher; /* plain: written by the holder, read by the end */
static struct rti_wait wait;       /* on the holder's stack */
static struct rti_waiter waiter;   /* on the holder's stack */
static struct rti_parker parker;
static rti_atomic_u32 wake_count;
static rti_atomic_u32 free_count;
static bool is_taken;
static bool is_given_up;
static bool is_cancelled;

static void wake_by_parker(struct rti_wait *ended)
{
    (void)rti_u32_add_relaxed(&wake_count, 1);
    rti_parker_unpark(ended->target, explore_port());
}

static void setup(void)
{
    rti_parker_init(&parker);
    rti_u32_init(&wake_count, 0);
    rti_u32_init(&free_count, 0);
    rti_task_life_init(&life, false);
    rti_task_to_held(&life);
    explore_name(&life.state, "life");
    explore_name(&parker.state, "parker");
    explore_name(&wait.claimed, "claimed");
    explore_name(&wake_count, "wakes");
    explore_name(&free_count, "frees");
    rti_wait_begin(&wait, wake_by_parker, &parker, false);
    result = 0;
    watcher = NULL;
    is_taken = false;
    is_given_up = false;
    is_cancelled = false;
}

/* The memory is another task's from here on. */
static void give_back(void)
{
    (void)rti_u32_add_relaxed(&free_count, 1);
    RTI_PLAIN_WRITE(&result, sizeof result);
    result = 0;
    rti_u8_store_relaxed(&life.state, POISON);
}

/* The end of the task, as rti_task_conclude has it. */
static void end(void)
{
    RTI_PLAIN_WRITE(&result, sizeof result);
    result = RESULT;
    switch (rti_task_to_ended(&life)) {
    case RTI_TASK_END_LEAVE:
        break;
    case RTI_TASK_END_TELL: {
        RTI_PLAIN_READ(&watcher, sizeof watcher);
        struct rti_waiter *told = watcher;
        RTI_PLAIN_READ(&waiter, sizeof waiter);
        bool is_won = rti_wait_claim(told->wait, told->event);
        rti_task_to_told(&life);
        if (is_won) {
            rti_waiter_wake(told);
        }
        break;
    }
    case RTI_TASK_END_FREE:
        give_back();
        break;
    }
}

static void unwatch(struct rti_waiter *gone)
{
    (void)gone;
    rti_task_to_unwatched(&life);
}

static void take(void)
{
    RTI_PLAIN_READ(&result, sizeof result);
    EXPLORE_ASSERT(result == RESULT);
    is_taken = true;
    rti_task_to_free(&life);
    give_back();
}

static void let_go(void)
{
    is_given_up = true;
    if (!rti_task_to_released(&life)) {
        rti_task_to_free(&life);
        give_back();
    }
}

/* Waits for the end; false if something else ended the wait. */
static bool await_end(void)
{
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, unwatch);
    RTI_PLAIN_WRITE(&waiter, sizeof waiter);
    RTI_PLAIN_WRITE(&watcher, sizeof watcher);
    watcher = &waiter;
    if (rti_task_to_watched(&life)) {
        EXPLORE_ASSERT(rti_parker_park(&parker, explore_port(), RTI_TIME_NEVER));
        rti_wait_finish(&wait);
    } else {
        /* Whoever else would end the wait finds it claimed. */
        if (!rti_wait_claim(&wait, RTI_EVENT_SOURCE)) {
            EXPLORE_ASSERT(rti_parker_park(&parker, explore_port(), RTI_TIME_NEVER));
        }
        return true;
    }
    /* The stack is used for something else. */
    RTI_PLAIN_WRITE(&waiter, sizeof waiter);
    waiter.event = POISON;
    return rti_wait_event(&wait) == RTI_EVENT_SOURCE;
}

static void join(void)
{
    if (rti_task_life(&life) == RTI_TASK_COMPLETE) {
        take();
    } else if (await_end()) {
        take();
    } else {
        let_go();
    }
}

/* Something else ends the wait of the holder: its cancellation or a deadline. */
static void cancel(void)
{
    if (rti_wait_claim(&wait, RTI_EVENT_CANCEL)) {
        is_cancelled = true;
        wake_by_parker(&wait);
    }
}

static void check(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&free_count) == 1);
    EXPLORE_ASSERT(rti_u8_load_relaxed(&life.state) == POISON);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&wake_count) <= 1);
    EXPLORE_ASSERT(is_taken != is_given_up);
    explore_outcome((uint64_t)is_taken << 1 | rti_u32_load_relaxed(&wake_count));
}

MODEL(task_end_races_with_a_join){
    .about = "a join either sees the end or is told of it",
    .setup = setup,
    .threads = {join, end},
    .check = check,
    .outcomes = {{2, {2, 3}}, {2, {2, 3}}},
};

MODEL(task_end_races_with_a_join_that_is_cancelled){
    .about = "a join that something else ends leaves nothing behind that the end could touch",
    .setup = setup,
    .threads = {join, end, cancel},
    .check = check,
    .outcomes = {{3, {1, 2, 3}}, {3, {1, 2, 3}}},
};

static void detach(void)
{
    let_go();
}

MODEL(task_end_races_with_a_detach){
    .about = "either the end or the detach gives the memory back",
    .setup = setup,
    .threads = {detach, end},
    .check = check,
    .outcomes = {{1, {0}}, {1, {0}}},
};

/* A holder that waits for a moment, gives up waiting, and comes back later: a select over joins. */
static void wait_and_come_back(void)
{
    if (rti_task_life(&life) != RTI_TASK_COMPLETE && !await_end()) {
        is_cancelled = true;
        while (rti_task_life(&life) != RTI_TASK_COMPLETE) {
            rti_spin_hint();
        }
    }
    take();
}

MODEL(task_end_races_with_a_watch_that_is_given_up){
    .about = "the handle of a task that was watched in vain is as good as before",
    .setup = setup,
    .threads = {wait_and_come_back, end, cancel},
    .check = check,
    .outcomes = {{2, {2, 3}}, {2, {2, 3}}},
};

/* ---- two who come with one handle ---- */

enum { NUMBER = 1 }; /* the handle; its next is that of the task after it in the slot */

static rti_atomic_size handle;
static uint64_t left_behind; /* plain: written by who has the handle in use */
static rti_atomic_u32 uses;
static rti_atomic_u32 refusals;

static void setup_handle(void)
{
    setup();
    rti_size_init(&handle, NUMBER);
    rti_u32_init(&uses, 0);
    rti_u32_init(&refusals, 0);
    explore_name(&handle, "handle");
    explore_name(&uses, "uses");
    explore_name(&refusals, "refusals");
    left_behind = 0;
}

/* Nobody else is here meanwhile. */
static bool use_handle(void)
{
    if (!rti_task_handle_is(&handle, NUMBER) || !rti_task_handle_use(&handle, NUMBER, false)) {
        (void)rti_u32_add_relaxed(&refusals, 1);
        return false;
    }
    (void)rti_u32_add_relaxed(&uses, 1);
    RTI_PLAIN_WRITE(&left_behind, sizeof left_behind);
    left_behind++;
    return true;
}

/* The way of a join that does not have to wait. */
static bool join_the_ended(void)
{
    if (!rti_task_handle_is(&handle, NUMBER) || rti_task_life(&life) != RTI_TASK_COMPLETE ||
        !rti_task_handle_take(&handle, NUMBER)) {
        return false;
    }
    (void)rti_u32_add_relaxed(&uses, 1);
    RTI_PLAIN_WRITE(&left_behind, sizeof left_behind);
    left_behind++;
    take();
    rti_size_store_relaxed(&handle, NUMBER + RTI_TASK_HANDLE_STEP);
    return true;
}

static void join_with_handle(void)
{
    if (join_the_ended() || !use_handle()) {
        return;
    }
    if (rti_task_life(&life) != RTI_TASK_COMPLETE) {
        EXPLORE_ASSERT(await_end());
    }
    rti_task_handle_consume(&handle, false);
    take();
    /* The memory is another task's at once. */
    rti_size_store_relaxed(&handle, NUMBER + RTI_TASK_HANDLE_STEP);
}

static void check_joins(void)
{
    check();
    EXPLORE_ASSERT(rti_u32_load_relaxed(&uses) == 1 && rti_u32_load_relaxed(&refusals) == 1);
    EXPLORE_ASSERT(rti_size_load_relaxed(&handle) == NUMBER + RTI_TASK_HANDLE_STEP);
}

MODEL(task_joins_of_one_handle_are_one_join){
    .about = "of two who come with one handle one joins, and the other is refused",
    .setup = setup_handle,
    .threads = {join_with_handle, join_with_handle, end},
    .check = check_joins,
    .outcomes = {{2, {2, 3}}, {2, {2, 3}}},
};

/* An arm of a select that finds the task not ended, or a join whose deadline has come. */
static void look_with_handle(void)
{
    if (use_handle()) {
        rti_task_handle_lay_down(&handle);
    }
}

static void check_looks(void)
{
    EXPLORE_ASSERT(rti_size_load_relaxed(&handle) == NUMBER);
    EXPLORE_ASSERT(left_behind == rti_u32_load_relaxed(&uses));
    explore_outcome(rti_u32_load_relaxed(&uses));
}

MODEL(task_handle_is_laid_down_for_the_next){
    .about = "a handle that was used in vain is as good as before, and what was left is seen",
    .setup = setup_handle,
    .threads = {look_with_handle, look_with_handle},
    .check = check_looks,
    .outcomes = {{2, {1, 2}}, {2, {1, 2}}},
};

/* A look, and a join of a task that has ended: the holder after the look sees what that left. */
static void setup_ended(void)
{
    setup_handle();
    result = RESULT;
    rti_u8_init(&life.state, RTI_TASK_COMPLETE);
}

static void take_with_handle(void)
{
    if (!join_the_ended()) {
        (void)rti_u32_add_relaxed(&refusals, 1);
    }
}

static void check_taken(void)
{
    EXPLORE_ASSERT(left_behind == rti_u32_load_relaxed(&uses));
    EXPLORE_ASSERT(rti_u32_load_relaxed(&uses) + rti_u32_load_relaxed(&refusals) == 2);
    explore_outcome((uint64_t)rti_u32_load_relaxed(&uses) << 1 | is_taken);
}

MODEL(task_handle_that_was_laid_down_is_taken){
    .about = "a join that does not wait sees what who used the handle before has left",
    .setup = setup_ended,
    .threads = {look_with_handle, take_with_handle},
    .check = check_taken,
    .outcomes = {{3, {2, 3, 5}}, {3, {2, 3, 5}}},
};

/* ---- who asks with a copy of the handle ---- */

enum { FIRST = 1, ASKED, NEXT }; /* whose context it is, or what was done to it */

static struct rti_sched sched;
static struct rti_lock lock; /* of the module */
static struct rti_task_asker asker;
static uint64_t context; /* plain: of the task, written by who asks; then of the next in the slot */

static void setup_asked(void)
{
    setup_ended();
    sched = (struct rti_sched){.port = explore_port(), .is_local = false};
    rti_lock_init(&lock, &sched, RTI_LOCK_TASK);
    rti_task_asker_init(&asker);
    explore_name(&lock.is_taken, "lock");
    explore_name(&asker.at, "asker");
    context = FIRST;
}

/* The threads are no workers: nobody keeps count of their locks. */
struct rti_worker *rti_worker_current(void)
{
    return NULL;
}

/* As rti_tasks_ask_cancel has it. */
static void ask(void)
{
    rti_lock_acquire(&lock, &sched);
    rti_task_asker_come(&asker, &life);
    if (rti_task_handle_is(&handle, NUMBER)) {
        RTI_PLAIN_WRITE(&context, sizeof context);
        EXPLORE_ASSERT(context == FIRST);
        context = ASKED;
        (void)rti_u32_add_relaxed(&uses, 1);
    }
    rti_task_asker_go(&asker);
    rti_lock_release(&lock);
}

/* The slot goes back, as rti_tasks_give_at has it, and is another task's. */
static void give_slot(void)
{
    if (rti_task_asker_is_at(&asker, &life)) {
        rti_lock_acquire(&lock, &sched);
        rti_lock_release(&lock);
    }
    RTI_PLAIN_WRITE(&context, sizeof context);
    context = NEXT;
    rti_size_store_relaxed(&handle, NUMBER + RTI_TASK_HANDLE_STEP);
}

static void take_and_give(void)
{
    EXPLORE_ASSERT(rti_task_handle_take(&handle, NUMBER));
    give_slot();
}

/* The same for who had to wait. */
static void use_and_give(void)
{
    EXPLORE_ASSERT(rti_task_handle_use(&handle, NUMBER, false));
    rti_task_handle_consume(&handle, false);
    give_slot();
}

static void check_asked(void)
{
    EXPLORE_ASSERT(context == NEXT);
    explore_outcome(rti_u32_load_relaxed(&uses));
}

MODEL(task_that_is_asked_keeps_its_slot){
    .about = "a slot is no other task's while somebody asks the one that its handle named",
    .setup = setup_asked,
    .threads = {ask, take_and_give},
    .check = check_asked,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

/* Another task is asked, later or before. */
static void ask_another(void)
{
    static uint64_t another;
    rti_lock_acquire(&lock, &sched);
    rti_task_asker_come(&asker, &another);
    rti_task_asker_go(&asker);
    rti_lock_release(&lock);
}

MODEL(task_that_is_asked_after_another_keeps_its_slot){
    .about = "the same if somebody is at another slot when the holder looks",
    .setup = setup_asked,
    .threads = {ask, ask_another, take_and_give},
    .check = check_asked,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

MODEL(task_that_was_waited_for_and_is_asked_keeps_its_slot){
    .about = "the same with a holder who had to wait",
    .setup = setup_asked,
    .threads = {ask, use_and_give},
    .check = check_asked,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

/* The holder lets the task go, and its end gives the slot back. */
static void setup_let_go(void)
{
    setup_asked();
    rti_u8_init(&life.state, RTI_TASK_HELD);
}

static void let_go_and_give(void)
{
    EXPLORE_ASSERT(rti_task_handle_use(&handle, NUMBER, false));
    rti_task_handle_consume(&handle, false);
    if (!rti_task_to_released(&life)) {
        rti_task_to_free(&life);
        give_slot();
    }
}

static void end_and_give(void)
{
    if (rti_task_to_ended(&life) == RTI_TASK_END_FREE) {
        give_slot();
    }
}

MODEL(task_that_is_asked_and_let_go_keeps_its_slot){
    .about = "the same where the end gives the slot back",
    .setup = setup_let_go,
    .threads = {ask, let_go_and_give, end_and_give},
    .check = check_asked,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};
