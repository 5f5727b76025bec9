/* SPDX-License-Identifier: Apache-2.0 */
/* Poll tasks as programs write them: waiting, joining, cancelling, running out. */
#define RTI_MODULE "async_test"
#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"
#include "task/asyncs.h"

struct echo {
    rt_async_frame frame;
    rt_channel_receiver *rx;
    rt_channel_sender *tx;
    int value;
    int rounds;
};

static rt_status echo(void *state, rt_cx *cx)
{
    struct echo *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    for (;;) {
        RT_AWAIT(rt_channel_recv(self->rx, cx, &self->value));
        if (RT_FAILED(rt_awaited)) {
            break;
        }
        self->rounds++;
        self->value *= 2;
        RT_AWAIT(rt_channel_send(self->tx, cx, &self->value));
        CHECK_OK(rt_awaited);
    }
    RT_ASYNC_END(rt_awaited.code == RT_ERR_DISCONNECTED ? RT_SUCCESS : rt_awaited);
}

static void channel(rt_channel_sender **tx, rt_channel_receiver **rx, size_t capacity)
{
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = capacity};
    CHECK_OK(capacity == 0 ? rt_channel_create_rendezvous(&config, tx, rx)
                           : rt_channel_create(&config, tx, rx));
}

static void *echoes(void *arg)
{
    struct echo state = {.rounds = 0};
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    rt_status ended = {RT_ERR_STATE, NULL};
    channel(&tx, &state.rx, (size_t)(uintptr_t)arg);
    channel(&state.tx, &rx, (size_t)(uintptr_t)arg);
    rt_async_task *task = rt_async(echo, &state);
    CHECK(task != NULL);
    for (int i = 0; i < 100; i++) {
        int value = i;
        CHECK_OK(rt_channel_send(tx, NULL, &value));
        CHECK_OK(rt_channel_recv(rx, NULL, &value));
        CHECK_EQ(value, 2 * i);
    }
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_OK(ended);
    CHECK(task == NULL);
    CHECK_EQ(state.rounds, 100);
    CHECK_OK(rt_channel_close_receiver(state.rx));
    CHECK_OK(rt_channel_close_sender(state.tx));
    CHECK_OK(rt_channel_close_receiver(rx));
    CHECK_EQ(rti_asyncs_audit(rti_asyncs_of(rti_worker_current())), 0);
    return NULL;
}

TEST(async_task_echoes_over_channels)
{
    tasks_run_everywhere(echoes, TASKS_NUMBER(1));
}

TEST(async_task_meets_at_a_rendezvous)
{
    tasks_run_everywhere(echoes, TASKS_NUMBER(0));
}

/* A task that joins a task that joins a task ... */
struct link {
    rt_async_frame frame;
    struct link *next;
    rt_async_task *child;
    rt_status ended;
};

static rt_status chain(void *state, rt_cx *cx)
{
    struct link *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    if (self->next != NULL) {
        self->child = rt_async(chain, self->next);
        CHECK(self->child != NULL);
        RT_AWAIT(rt_async_join(&self->child, cx, &self->ended));
        CHECK_OK(rt_awaited);
        self->ended.code = (rt_status_code)(self->ended.code + 1);
    }
    RT_ASYNC_END(self->ended);
}

static void *joins_a_chain(void *arg)
{
    struct link links[8];
    rt_status ended = {RT_OK, NULL};
    memset(links, 0, sizeof(links));
    for (size_t i = 0; i + 1 < 8; i++) {
        links[i].next = &links[i + 1];
    }
    links[7].ended.code = RT_ERR_FULL;
    rt_async_task *task = rt_async(chain, &links[0]);
    rt_async_task *same = task;
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_EQ(ended.code, RT_ERR_FULL + 7);
    /* Consumed: it names nothing, whatever comes. */
    CHECK_STATUS(rt_async_join(&same, NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_detach(same), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_cancel(same), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_wake(same), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_join(NULL, NULL, NULL), RT_ERR_INVALID);
    CHECK(rt_async(NULL, NULL) == NULL);
    return arg;
}

TEST(async_tasks_join_each_other)
{
    tasks_run_everywhere(joins_a_chain, NULL);
}

static rt_status waits_in_a_channel(void *state, rt_cx *cx)
{
    struct echo *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    RT_AWAIT(rt_channel_recv(self->rx, cx, &self->value));
    RT_ASYNC_END(rt_awaited);
}

static void *cancels(void *arg)
{
    struct echo state = {.rounds = 0};
    rt_channel_sender *tx;
    rt_status ended = {RT_OK, NULL};
    channel(&tx, &state.rx, 1);
    rt_async_task *task = rt_async(waits_in_a_channel, &state);
    CHECK_STATUS(rt_async_join_until(&task, NULL, &ended, rt_clock() + 1000), RT_ERR_TIMEOUT);
    CHECK(task != NULL);
    CHECK_OK(rt_async_cancel(task));
    CHECK_OK(rt_async_cancel(task));
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_STATUS(ended, RT_ERR_CANCELLED);
    /* Nobody is in line any more; what is sent stays. */
    rt_channel_info info;
    CHECK_OK(rt_channel_sender_info(tx, &info));
    CHECK_EQ(info.waiting_receivers, 0);
    /* Cancelled before it began. */
    memset(&state.frame, 0, sizeof(state.frame));
    task = rt_async(waits_in_a_channel, &state);
    CHECK_OK(rt_async_cancel(task));
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_STATUS(ended, RT_ERR_CANCELLED);
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(state.rx));
    return arg;
}

TEST(async_task_that_is_cancelled_ends_its_wait)
{
    tasks_run_everywhere(cancels, NULL);
}

struct pauses {
    rt_async_frame frame;
    int woken;
};

static rt_status pauses(void *state, rt_cx *cx)
{
    struct pauses *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    while (self->woken < 3) {
        RT_AWAIT(rt_async_pause(cx));
        if (RT_FAILED(rt_awaited)) {
            break;
        }
        self->woken++;
    }
    RT_ASYNC_END(rt_awaited);
}

static void *wakes(void *arg)
{
    struct pauses state = {.woken = 0};
    rt_status ended = {RT_OK, NULL};
    rt_async_task *task = rt_async(pauses, &state);
    CHECK_OK(rt_sleep(1000));
    CHECK_EQ(state.woken, 0);
    /* Two wakes at once are one. */
    CHECK_OK(rt_async_wake(task));
    CHECK_OK(rt_async_wake(task));
    CHECK_OK(rt_sleep(1000));
    CHECK_EQ(state.woken, 1);
    CHECK_OK(rt_async_wake(task));
    CHECK_OK(rt_sleep(1000));
    CHECK_OK(rt_async_wake(task));
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_OK(ended);
    CHECK_EQ(state.woken, 3);
    state = (struct pauses){.woken = 0};
    task = rt_async(pauses, &state);
    CHECK_OK(rt_sleep(1000));
    CHECK_OK(rt_async_cancel(task));
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_STATUS(ended, RT_ERR_CANCELLED);
    CHECK_STATUS(rt_async_pause(NULL), RT_ERR_INVALID);
    return arg;
}

TEST(async_task_pauses_until_it_is_woken)
{
    tasks_run_everywhere(wakes, NULL);
}

#if RTI_ASYNC_FORESIGHT

enum { QUEUED = 20 };

/* Wakes many, twice in the same slots; with one worker each is noted in one that was woken before.
 */
static void *lets_them_queue_up(void *arg)
{
    struct rti_asyncs *asyncs = rti_asyncs_of(rti_worker_current());
    for (int life = 0; life < 2; life++) {
        struct pauses states[QUEUED];
        rt_async_task *tasks[QUEUED];
        for (size_t i = 0; i < QUEUED; i++) {
            states[i] = (struct pauses){.woken = 2};
            tasks[i] = rt_async(pauses, &states[i]);
        }
        CHECK_OK(rt_sleep(1000));
        for (size_t i = 0; i < QUEUED; i++) {
            CHECK_OK(rt_async_wake(tasks[i]));
        }
        /* The first found nobody in the queue. */
        for (size_t i = 1; i + RTI_ASYNC_FORESIGHT < QUEUED; i++) {
            const struct rti_async *follower =
                rti_asyncs_lookup(asyncs, tasks[i + RTI_ASYNC_FORESIGHT]);
            CHECK_EQ(rti_asyncs_lookup(asyncs, tasks[i])->ahead,
                     (uint32_t)(follower - asyncs->slots) + 1);
        }
        CHECK_OK(rt_sleep(1000));
        for (size_t i = 0; i < QUEUED; i++) {
            CHECK_EQ(states[i].woken, 3);
            CHECK_EQ(rti_asyncs_lookup(asyncs, tasks[i])->ahead, 0);
            CHECK_OK(rt_async_join(&tasks[i], NULL, NULL));
        }
    }
    return arg;
}

TEST(async_tasks_that_queue_up_are_noted_in_those_before_them)
{
    tasks_run_everywhere(lets_them_queue_up, NULL);
}

#endif

struct chooser {
    rt_async_frame frame;
    rt_select_arm arms[3];
    rt_selected chosen;
    rt_interval interval;
    rt_channel_receiver *rx;
    rt_task *task;
    int value;
    int ticks;
    int values;
    int joins;
};

static rt_status selects(void *state, rt_cx *cx)
{
    struct chooser *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    CHECK_OK(rt_interval_open(&self->interval, RT_NS_PER_MS, RT_MISSED_BURST));
    rt_arm_tick(&self->arms[0], &self->interval, NULL);
    rt_arm_recv(&self->arms[1], self->rx, &self->value);
    rt_arm_join(&self->arms[2], &self->task, NULL);
    while (self->ticks < 3 || self->values < 2 || self->joins < 1) {
        RT_AWAIT(rt_select(self->arms, 3, cx, &self->chosen));
        CHECK_OK(rt_awaited);
        CHECK_OK(self->chosen.status);
        self->ticks += self->chosen.index == 0;
        self->values += self->chosen.index == 1;
        self->joins += self->chosen.index == 2;
    }
    CHECK_OK(rt_interval_close(&self->interval));
    RT_ASYNC_END(RT_SUCCESS);
}

static void *feeds_a_select(void *arg)
{
    struct chooser state;
    rt_channel_sender *tx;
    rt_status ended = {RT_OK, NULL};
    memset(&state, 0, sizeof(state));
    channel(&tx, &state.rx, 0);
    state.task = rt_go(tasks_sleep_ms, TASKS_NUMBER(2));
    rt_async_task *task = rt_async(selects, &state);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_channel_send(tx, NULL, &i));
    }
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_OK(ended);
    CHECK_EQ(state.values, 2);
    CHECK_EQ(state.joins, 1);
    CHECK(state.task == NULL);
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(state.rx));
    return arg;
}

TEST(async_task_selects_among_ticks_values_and_joins)
{
    tasks_run_everywhere(feeds_a_select, NULL);
}

static rt_status ends_at_once(void *state, rt_cx *cx)
{
    (void)cx;
    ++*(int *)state;
    return RT_SUCCESS;
}

static void *fills_the_table(void *arg)
{
    static rt_async_task *tasks[RT_MAX_ASYNC];
    int count = 0;
    for (size_t i = 0; i < RT_MAX_ASYNC; i++) {
        tasks[i] = rt_async(ends_at_once, &count);
        CHECK(tasks[i] != NULL);
    }
    CHECK(rt_async(ends_at_once, &count) == NULL);
    CHECK_OK(rt_async_join(&tasks[5], NULL, NULL));
    CHECK_OK(rt_async_detach(tasks[6]));
    rt_async_task *last = rt_async(ends_at_once, &count);
    CHECK(last != NULL);
    CHECK_OK(rt_async_detach(last));
    for (size_t i = 0; i < RT_MAX_ASYNC; i++) {
        if (i != 5 && i != 6) {
            CHECK_OK(rt_async_join(&tasks[i], NULL, NULL));
        }
    }
    CHECK_OK(rt_sleep(1000));
    CHECK_EQ(count, RT_MAX_ASYNC + 1);
    CHECK_EQ(rti_asyncs_audit(rti_asyncs_of(rti_worker_current())), 0);
    return arg;
}

TEST(async_table_is_full_then_has_room_again)
{
    tasks_run_everywhere(fills_the_table, NULL);
}

/* Three that wait with their contexts, and two contexts. */
static void *runs_out_of_contexts(void *arg)
{
    struct echo states[3];
    rt_async_task *tasks[3];
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    memset(states, 0, sizeof(states));
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = 4, .contexts = 2}));
    CHECK_STATUS(rt_async_reserve(&(rt_async_config){.tasks = 4}), RT_ERR_STATE);
    channel(&tx, &rx, 1);
    for (size_t i = 0; i < 3; i++) {
        states[i].rx = rx;
        tasks[i] = rt_async(waits_in_a_channel, &states[i]);
    }
    for (int i = 0; i < 3; i++) {
        rt_yield();
        CHECK_OK(rt_channel_send(tx, NULL, &i));
    }
    for (size_t i = 0; i < 3; i++) {
        rt_status ended = {RT_ERR_STATE, NULL};
        CHECK_OK(rt_async_join(&tasks[i], NULL, &ended));
        CHECK_OK(ended);
    }
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(rx));
    return arg;
}

/* What lasts longer than a call cannot be begun with a context that ends with it. */
struct taker {
    rt_async_frame frame;
    rt_mutex *mutex;
    rt_channel_sender *tx;
    rt_region *region;
    rt_send_permit permit;
    rt_budget_scope scope;
    rt_status budget; /* what was said when there was no context */
    rt_status entry;
    rt_status attempt;
    int calls;
    int value;
};

static rt_status takes_much(void *state, rt_cx *cx)
{
    struct taker *self = state;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    self->calls++;
    RT_ASYNC_BEGIN(&self->frame);
    budget.deadline = RT_TIME_NEVER - 1;
    self->budget = rt_cx_push_budget(cx, budget, &self->scope);
    self->entry = rt_region_enter(self->region, cx);
    self->attempt = rt_channel_try_reserve(self->tx, cx, &self->permit);
    RT_AWAIT(rt_mutex_lock(self->mutex, cx));
    CHECK_OK(rt_awaited);
    RT_AWAIT(rt_channel_reserve(self->tx, cx, &self->permit));
    CHECK_OK(rt_awaited);
    RT_AWAIT(rt_async_pause(cx));
    CHECK_OK(rt_awaited);
    self->value = 7;
    CHECK_OK(rt_send_permit_send(&self->permit, &self->value));
    CHECK_OK(rt_mutex_unlock(self->mutex, cx));
    RT_ASYNC_END(RT_SUCCESS);
}

static void *takes_without_a_context(void *arg)
{
    rt_mutex mutex;
    rt_region region;
    rt_channel_sender *tx[2];
    rt_channel_receiver *rx[2];
    int value = 3;
    CHECK_OK(rt_async_reserve(&(rt_async_config){.tasks = 4, .contexts = 1}));
    CHECK_OK(rt_mutex_init(&mutex));
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    channel(&tx[0], &rx[0], 1);
    channel(&tx[1], &rx[1], 1);
    /* The only one is that of a task that waits. */
    struct echo waiter = {.rx = rx[0]};
    rt_async_task *first = rt_async(waits_in_a_channel, &waiter);
    rt_yield();
    struct taker taker = {.mutex = &mutex, .tx = tx[1], .region = &region};
    rt_async_task *second = rt_async(takes_much, &taker);
    for (int i = 0; i < 3; i++) {
        rt_yield();
        CHECK(taker.calls > i); /* it is called again and again */
    }
    CHECK_STATUS(taker.budget, RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_STATUS(taker.entry, RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_STATUS(taker.attempt, RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_OK(rt_mutex_try_lock(&mutex, NULL));
    CHECK_OK(rt_mutex_unlock(&mutex, NULL));
    CHECK_OK(rt_channel_send(tx[0], NULL, &value));
    CHECK_OK(rt_async_join(&first, NULL, NULL));
    rt_yield();
    rt_yield();
    CHECK_STATUS(rt_mutex_try_lock(&mutex, NULL), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_async_wake(second));
    CHECK_OK(rt_async_join(&second, NULL, NULL));
    CHECK_OK(rt_channel_recv(rx[1], NULL, &value));
    CHECK_EQ(value, 7);
    CHECK_OK(rt_region_close(&region, NULL));
    CHECK_OK(rt_mutex_deinit(&mutex));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_channel_close_sender(tx[i]));
        CHECK_OK(rt_channel_close_receiver(rx[i]));
    }
    return arg;
}

TEST(async_task_without_a_context_holds_nothing_until_it_has_one)
{
    CHECK_OK(tasks_run(takes_without_a_context, NULL));
    CHECK_OK(tasks_run_fixed(takes_without_a_context, NULL));
}

TEST(async_task_without_a_context_still_gets_there)
{
    CHECK_OK(tasks_run(runs_out_of_contexts, NULL));
    CHECK_OK(tasks_run_fixed(runs_out_of_contexts, NULL));
}

static struct {
    rt_mutex mutex;
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
} left_over;

struct holder {
    rt_async_frame frame;
    int value;
};

static rt_status holds_and_waits(void *state, rt_cx *cx)
{
    struct holder *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    RT_AWAIT(rt_mutex_lock(&left_over.mutex, cx));
    CHECK_OK(rt_awaited);
    RT_AWAIT(rt_async_pause(cx));
    CHECK_OK(rt_awaited);
    CHECK_OK(rt_mutex_unlock(&left_over.mutex, cx));
    RT_AWAIT(rt_mutex_lock(&left_over.mutex, cx));
    CHECK_OK(rt_awaited);
    RT_ASYNC_END(RT_SUCCESS);
}

/* A context that holds something stays with its task, and the end of the task is its end. */
static void *holds(void *arg)
{
    struct holder state = {.value = 0};
    CHECK_OK(rt_mutex_init(&left_over.mutex));
    rt_async_task *task = rt_async(holds_and_waits, &state);
    CHECK_OK(rt_sleep(1000));
    CHECK_STATUS(rt_mutex_try_lock(&left_over.mutex, NULL), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_async_wake(task));
    CHECK_OK(rt_async_join(&task, NULL, NULL));
    CHECK_STATUS(rt_mutex_lock(&left_over.mutex, NULL), RT_ERR_OWNER_DIED);
    CHECK_OK(rt_mutex_recover(&left_over.mutex, NULL));
    CHECK_OK(rt_mutex_unlock(&left_over.mutex, NULL));
    CHECK_OK(rt_mutex_deinit(&left_over.mutex));
    return arg;
}

TEST(async_task_holds_a_mutex_across_its_waits)
{
    tasks_run_everywhere(holds, NULL);
}

static rt_status waits_for_ever(void *state, rt_cx *cx)
{
    struct holder *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    RT_AWAIT(rt_channel_recv(left_over.rx, cx, &self->value));
    test_fail(__FILE__, __LINE__, "the dead went on");
    RT_ASYNC_END(RT_SUCCESS);
}

static void *leaves_one_behind(void *arg)
{
    static struct holder state;
    memset(&state, 0, sizeof(state));
    channel(&left_over.tx, &left_over.rx, 1);
    rt_async_task *task = rt_async(waits_for_ever, &state);
    CHECK_OK(rt_async_detach(task));
    return arg;
}

/* The runtime ends, and so does what still waits; nothing is left to trip the next one. */
TEST(async_task_that_waits_for_ever_ends_with_the_runtime)
{
    CHECK_STATUS(tasks_run(leaves_one_behind, NULL), RT_ERR_DEADLOCK);
    CHECK_STATUS(tasks_run(leaves_one_behind, NULL), RT_ERR_DEADLOCK);
    tasks_run_everywhere(joins_a_chain, NULL);
}

static rt_async_task *not_to_be_called;
static bool is_ending;

static rt_status called_no_more(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    CHECK(!is_ending);
    return (rt_status){RT_ERR_WOULDBLOCK, "for ever"};
}

/* Urgent, and never without a turn to make: the run ends under it, and the next one, which ends
 * the runtime, comes to it before it comes to the poll task. */
static rt_status cancels_at_the_end(void *arg)
{
    (void)arg;
    is_ending = true;
    rt_shutdown();
    for (int i = 0; i < 20; i++) {
        rt_yield();
    }
    return rt_async_cancel(not_to_be_called);
}

static void *has_a_hook_that_cancels(void *arg)
{
    CHECK_OK(rt_ensure(cancels_at_the_end, NULL));
    return arg;
}

static void *leaves_one_to_cancel(void *arg)
{
    static const rt_task_config urgent = {.priority = RT_PRIO_HIGH, .is_priority_set = true};
    is_ending = false;
    not_to_be_called = rt_async(called_no_more, NULL);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_OK(rt_detach(rt_go_ex(has_a_hook_that_cancels, NULL, &urgent)));
    return arg;
}

TEST(async_task_that_is_cancelled_when_the_runtime_ends_is_not_called_again)
{
    CHECK_OK(tasks_run(leaves_one_to_cancel, NULL));
    CHECK(is_ending);
    CHECK_OK(tasks_run_fixed(leaves_one_to_cancel, NULL));
    CHECK(is_ending);
}

/* Keeps to its context across a pause what it has put there. */
struct keeper {
    rt_async_frame frame;
    rt_region *region;
    rt_region_timer timer;
    rt_budget_scope scope;
    rt_time after; /* the timer fires */
    int fired;
};

static void counts(void *arg)
{
    ++*(int *)arg;
}

static rt_status starts_a_timer(void *state, rt_cx *cx)
{
    struct keeper *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    CHECK_OK(rt_region_timer_start(self->region, cx, &self->timer, rt_clock() + self->after,
                                   (rt_waker){.fn = counts, .arg = &self->fired}));
    RT_AWAIT(rt_async_pause(cx));
    RT_ASYNC_END(rt_awaited);
}

static rt_status only_pauses(void *state, rt_cx *cx)
{
    struct keeper *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    RT_AWAIT(rt_async_pause(cx));
    RT_ASYNC_END(rt_awaited);
}

static void *has_timers_of_poll_tasks(void *arg)
{
    rt_region region;
    rt_status ended;
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    /* 0: it waits until the timer has fired, a stranger is cancelled; 1: it ends before; 2: it is
     * cancelled before. The region waits for a timer that was left. */
    struct keeper keepers[3];
    for (int way = 0; way < 3; way++) {
        struct keeper *keeper = &keepers[way];
        struct keeper stranger = {.region = NULL};
        *keeper =
            (struct keeper){.region = &region, .after = way == 0 ? RT_NS_PER_MS : 5 * RT_NS_PER_S};
        rt_async_task *task = rt_async(starts_a_timer, keeper);
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
        rt_async_task *other = rt_async(only_pauses, &stranger);
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
        CHECK_OK(rt_async_cancel(way == 2 ? task : other));
        CHECK_OK(way == 1 ? rt_async_wake(task) : RT_SUCCESS);
        while (way == 0 && keeper->fired == 0) {
            CHECK_OK(rt_sleep(RT_NS_PER_MS));
        }
        CHECK_OK(rt_async_wake(task));
        CHECK_OK(rt_async_join(&task, NULL, &ended));
        CHECK_EQ(ended.code, way == 2 ? RT_ERR_CANCELLED : RT_OK);
        CHECK_OK(rt_async_wake(other));
        CHECK_OK(rt_async_join(&other, NULL, NULL));
    }
    CHECK_OK(rt_region_close(&region, NULL));
    for (int way = 0; way < 3; way++) {
        CHECK_EQ(keepers[way].fired, way == 0);
    }
    return arg;
}

TEST(async_task_has_its_timers_for_itself)
{
    tasks_run_everywhere(has_timers_of_poll_tasks, NULL);
}

static rt_status changes_its_context(void *state, rt_cx *cx)
{
    struct keeper *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    CHECK_OK(rt_region_enter(self->region, cx));
    CHECK_OK(rt_cx_push_budget(cx, (rt_budget)RT_BUDGET_UNLIMITED, &self->scope));
    RT_AWAIT(rt_async_pause(cx));
    CHECK_OK(rt_cx_pop_budget(cx, &self->scope));
    CHECK_STATUS(rt_region_enter(self->region, cx), RT_ERR_STATE);
    RT_ASYNC_END(rt_awaited);
}

static rt_status gives_its_wakes_away(void *state, rt_cx *cx)
{
    return rt_cx_set_waker(cx, (rt_waker){.fn = counts, .arg = state});
}

static void *changes_contexts(void *arg)
{
    rt_region region;
    rt_status ended;
    int count = 0;
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    struct keeper keeper = {.region = &region};
    rt_async_task *task = rt_async(changes_its_context, &keeper);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_OK(rt_async_wake(task));
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_OK(ended);
    CHECK_OK(rt_region_close(&region, NULL));
    /* What one does to its waker the next one does not meet. */
    task = rt_async(gives_its_wakes_away, &count);
    CHECK_OK(rt_async_join(&task, NULL, NULL));
    echoes(TASKS_NUMBER(1));
    CHECK_EQ(count, 0);
    return arg;
}

TEST(async_task_finds_its_context_as_it_left_it)
{
    tasks_run_everywhere(changes_contexts, NULL);
}
