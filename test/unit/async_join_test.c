/* SPDX-License-Identifier: Apache-2.0 */
/* Joins of poll tasks: by fibers, by poll contexts and by poll tasks, that stay or lose interest,
 * and by several who come with one handle.
 */
#define RTI_MODULE "async_join_test"
#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"
#include "task/asyncs.h"

static struct rti_asyncs *module(void)
{
    return rti_asyncs_of(rti_worker_current());
}

/* Ends when it is woken for the first time. */
static rt_status waits(void *state, rt_cx *cx)
{
    rt_async_frame *frame = state;
    RT_ASYNC_BEGIN(frame);
    RT_AWAIT(rt_async_pause(cx));
    RT_ASYNC_END(((rt_status){RT_ERR_CLOSED, "told so"}));
}

/* A poll function that asks for an end as often as it is called, until `is_bored`. */
struct asker {
    rt_async_task *task;
    rt_status said;
    rt_time deadline;
    int calls;
    bool is_bored;
};

static rt_status asks(void *state, rt_cx *cx)
{
    struct asker *self = state;
    rt_status ended = {RT_ERR_STATE, NULL};
    self->calls++;
    if (self->is_bored) {
        return RT_SUCCESS;
    }
    self->said = rt_async_join_until(&self->task, cx, &ended, self->deadline);
    if (self->said.code == RT_OK) {
        CHECK_STATUS(ended, RT_ERR_CLOSED);
    }
    return self->said;
}

static void settle(void)
{
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
}

static void *joins_without_a_context(void *arg)
{
    enum { MANY = 20 };
    static rt_async_frame frames[MANY];
    static struct asker askers[MANY];
    rt_async_task *tasks[MANY];
    for (int i = 0; i < MANY; i++) {
        frames[i].at = 0;
        askers[i] = (struct asker){.task = rt_async(waits, &frames[i]), .deadline = RT_TIME_NEVER};
        tasks[i] = rt_async(asks, &askers[i]);
    }
    settle();
    /* Each call borrowed the same one. */
    CHECK_EQ(rti_pool_in_use(&module()->contexts), 1);
    for (int i = 0; i < MANY; i++) {
        CHECK_STATUS(askers[i].said, RT_ERR_WOULDBLOCK);
        /* A call without cause changes nothing. */
        CHECK_OK(rt_async_wake(tasks[i]));
        CHECK_OK(rt_async_wake(askers[i].task));
        CHECK_OK(rt_async_join(&tasks[i], NULL, NULL));
        CHECK(askers[i].task == NULL);
    }
    CHECK_EQ(rti_asyncs_audit(module()), 0);
    return arg;
}

TEST(async_join_by_a_poll_task_needs_no_context)
{
    tasks_run_everywhere(joins_without_a_context, NULL);
}

/* One asks with the deadline in `arg`, and then does so no more; another joins. */
static void *joins_in_the_place_of_another(void *arg)
{
    rt_async_frame frame = {0};
    rt_async_task *task = rt_async(waits, &frame);
    struct asker asker = {.task = task, .deadline = *(rt_time *)arg};
    rt_async_task *first = rt_async(asks, &asker);
    rt_status ended = {RT_ERR_STATE, NULL};
    settle();
    CHECK_STATUS(asker.said, RT_ERR_WOULDBLOCK);
    asker.is_bored = true;
    CHECK_STATUS(rt_async_join_until(&task, NULL, NULL, rt_clock() + RT_NS_PER_MS), RT_ERR_TIMEOUT);
    CHECK_OK(rt_async_wake(task));
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_STATUS(ended, RT_ERR_CLOSED);
    /* Its slot is another's before the first one leaves. */
    rt_async_frame again = {0};
    rt_async_task *next = rt_async(waits, &again);
    CHECK_EQ((uintptr_t)next & RTI_ASYNC_INDEX_MASK, (uintptr_t)asker.task & RTI_ASYNC_INDEX_MASK);
    struct asker heir = {.task = next, .deadline = RT_TIME_NEVER};
    rt_async_task *second = rt_async(asks, &heir);
    settle();
    CHECK_OK(rt_async_wake(first));
    CHECK_OK(rt_async_join(&first, NULL, NULL));
    CHECK_OK(rt_async_wake(next));
    CHECK_OK(rt_async_join(&second, NULL, NULL));
    CHECK_OK(heir.said);
    CHECK_EQ(rti_asyncs_audit(module()), 0);
    return NULL;
}

TEST(async_join_replaces_a_watcher_that_has_lost_interest)
{
    rt_time never = RT_TIME_NEVER;
    tasks_run_everywhere(joins_in_the_place_of_another, &never);
}

TEST(async_join_replaces_a_context_that_has_lost_interest)
{
    rt_time late = RT_TIME_NEVER - 1;
    tasks_run_everywhere(joins_in_the_place_of_another, &late);
}

struct napper {
    rt_async_frame frame;
    rt_nap nap;
};

static rt_status naps(void *state, rt_cx *cx)
{
    struct napper *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    RT_AWAIT(rt_async_sleep(&self->nap, cx, 5 * RT_NS_PER_MS));
    RT_ASYNC_END(RT_SUCCESS);
}

/* One asks with the deadline in `arg`; its task is let go meanwhile. */
static void *detaches_under_a_watcher(void *arg)
{
    struct napper napper = {.frame = {0}};
    rt_async_task *task = rt_async(naps, &napper);
    struct asker asker = {.task = task, .deadline = *(rt_time *)arg};
    rt_async_task *first = rt_async(asks, &asker);
    settle();
    CHECK_OK(rt_async_detach(task));
    CHECK_STATUS(rt_async_wake(task), RT_ERR_INVALID);
    CHECK_OK(rt_async_cancel(first));
    CHECK_OK(rt_async_join(&first, NULL, NULL));
    CHECK_STATUS(asker.said, RT_ERR_INVALID);
    CHECK_OK(rt_sleep(10 * RT_NS_PER_MS));
    CHECK_EQ(rti_asyncs_audit(module()), 0);
    return NULL;
}

TEST(async_detach_under_a_watcher_leaves_it_nothing_to_wait_for)
{
    rt_time never = RT_TIME_NEVER;
    rt_time late = RT_TIME_NEVER - 1;
    tasks_run_everywhere(detaches_under_a_watcher, &never);
    tasks_run_everywhere(detaches_under_a_watcher, &late);
}

static void *cancels_a_join(void *arg)
{
    rt_async_frame frame = {0};
    rt_async_task *task = rt_async(waits, &frame);
    struct asker asker = {.task = task, .deadline = *(rt_time *)arg};
    rt_async_task *first = rt_async(asks, &asker);
    rt_status ended = {RT_ERR_STATE, NULL};
    settle();
    CHECK_OK(rt_async_cancel(first));
    CHECK_OK(rt_async_join(&first, NULL, NULL));
    CHECK_STATUS(asker.said, RT_ERR_CANCELLED);
    /* The handle is still good. */
    CHECK_OK(rt_async_wake(task));
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_STATUS(ended, RT_ERR_CLOSED);
    CHECK_EQ(rti_asyncs_audit(module()), 0);
    return NULL;
}

TEST(async_join_that_is_cancelled_keeps_the_handle)
{
    rt_time never = RT_TIME_NEVER;
    rt_time late = RT_TIME_NEVER - 1;
    tasks_run_everywhere(cancels_a_join, &never);
    tasks_run_everywhere(cancels_a_join, &late);
}

static rt_status deadline_comes(void *state, rt_cx *cx)
{
    struct asker *self = state;
    self->said = rt_async_join_until(&self->task, cx, NULL, self->deadline);
    return self->said;
}

static void *joins_until_a_deadline(void *arg)
{
    rt_async_frame frame = {0};
    rt_async_task *task = rt_async(waits, &frame);
    struct asker asker = {.task = task, .deadline = rt_clock() + RT_NS_PER_MS};
    rt_async_task *first = rt_async(deadline_comes, &asker);
    rt_status ended;
    CHECK_OK(rt_async_join(&first, NULL, &ended));
    CHECK_STATUS(ended, RT_ERR_TIMEOUT);
    CHECK_OK(rt_async_wake(asker.task));
    CHECK_OK(rt_async_join(&asker.task, NULL, NULL));
    return arg;
}

TEST(async_join_by_a_poll_task_ends_at_its_deadline)
{
    tasks_run_everywhere(joins_until_a_deadline, NULL);
}

/* Asks for an end, then for a value: it waits for one thing at a time. */
struct chooser {
    rt_async_task *task;
    rt_channel_receiver *rx;
    int value;
    bool has_asked;
};

static rt_status asks_then_receives(void *state, rt_cx *cx)
{
    struct chooser *self = state;
    if (!self->has_asked) {
        self->has_asked = true;
        CHECK_STATUS(rt_async_join(&self->task, cx, NULL), RT_ERR_WOULDBLOCK);
    }
    return rt_channel_recv(self->rx, cx, &self->value);
}

static void *waits_for_something_else(void *arg)
{
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    rt_channel_sender *tx;
    rt_async_frame frame = {0};
    struct chooser chooser = {.task = rt_async(waits, &frame)};
    CHECK_OK(rt_channel_create(&config, &tx, &chooser.rx));
    rt_async_task *first = rt_async(asks_then_receives, &chooser);
    settle();
    int value = 7;
    CHECK_OK(rt_async_wake(chooser.task));
    CHECK_OK(rt_async_join(&chooser.task, NULL, NULL));
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    CHECK_OK(rt_async_join(&first, NULL, NULL));
    CHECK_EQ(chooser.value, 7);
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(chooser.rx));
    return arg;
}

TEST(async_task_that_waits_for_something_else_joins_no_more)
{
    tasks_run_everywhere(waits_for_something_else, NULL);
}

static void *joins_for(void *arg)
{
    rt_async_task *task = arg;
    rt_status ended = {RT_ERR_STATE, NULL};
    CHECK_OK(rt_async_join(&task, NULL, &ended));
    CHECK_STATUS(ended, RT_ERR_CLOSED);
    CHECK(task == NULL);
    return NULL;
}

/* A fiber waits; whoever else comes with the handle is told so, and changes nothing. */
static void *comes_while_a_fiber_waits(void *arg)
{
    rt_async_frame frame = {0};
    rt_async_task *task = rt_async(waits, &frame);
    rt_task *first = rt_go(joins_for, task);
    const struct rti_async *async = &module()->slots[(uintptr_t)task & RTI_ASYNC_INDEX_MASK];
    while (rti_task_life(&async->life) != RTI_TASK_WATCHED) {
        settle();
    }
    rt_async_task *copy = task;
    CHECK_STATUS(rt_async_join(&copy, NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_async_join_until(&copy, NULL, NULL, rt_clock() + RT_NS_PER_MS), RT_ERR_INVALID);
    CHECK(copy == task);
    CHECK_STATUS(rt_async_detach(task), RT_ERR_INVALID);
    struct asker plain = {.task = task, .deadline = RT_TIME_NEVER};
    struct asker with_context = {.task = task, .deadline = RT_TIME_NEVER - 1};
    rt_async_task *askers[] = {rt_async(asks, &plain), rt_async(asks, &with_context)};
    for (int i = 0; i < 2; i++) {
        rt_status ended = RT_SUCCESS;
        CHECK_OK(rt_async_join(&askers[i], NULL, &ended));
        CHECK_STATUS(ended, RT_ERR_INVALID);
    }
    CHECK_OK(rt_async_wake(task));
    CHECK_OK(rt_join(first, NULL));
    CHECK_STATUS(rt_async_detach(task), RT_ERR_INVALID);
    CHECK_EQ(rti_asyncs_audit(module()), 0);
    return arg;
}

TEST(async_join_with_a_handle_that_a_fiber_waits_with_is_refused)
{
    tasks_run_everywhere(comes_while_a_fiber_waits, NULL);
}

/* ---- several who come with one handle in the same moment ---- */

enum { RIVALS = 4, CONTESTS = 100 };

static rt_async_task *contested;
static rti_atomic_u32 contest; /* the number of the one that is on */
static rti_atomic_u32 winners;
static rti_atomic_u32 answers;

static void *comes_each_time(void *arg)
{
    uint32_t self = (uint32_t)(uintptr_t)arg;
    for (uint32_t round = 1; round <= CONTESTS; round++) {
        /* Acquire pairs with the release in holds_contests: the handle is seen. */
        while (rti_u32_load_acquire(&contest) != round) {
            rt_yield();
        }
        rt_async_task *handle = contested;
        rt_status status = (round / 2 + self) % 3 == 0
                               ? rt_async_detach(handle)
                               : rt_async_join_until(&handle, NULL, NULL, RT_TIME_NEVER);
        if (status.code != RT_ERR_INVALID) {
            CHECK_OK(status);
            (void)rti_u32_add_relaxed(&winners, 1);
        }
        (void)rti_u32_add_acqrel(&answers, 1);
    }
    return NULL;
}

static rt_status ends_at_once(void *state, rt_cx *cx)
{
    (void)state, (void)cx;
    return RT_SUCCESS;
}

static void *holds_contests(void *arg)
{
    rt_task *rivals[RIVALS];
    rti_u32_init(&contest, 0);
    for (uintptr_t i = 0; i < RIVALS; i++) {
        rivals[i] = rt_go(comes_each_time, (void *)i);
    }
    for (uint32_t round = 1; round <= CONTESTS; round++) {
        rti_u32_store_relaxed(&winners, 0);
        rti_u32_store_relaxed(&answers, 0);
        contested = rt_async(ends_at_once, NULL);
        if (round % 2 == 0) {
            rt_yield();
        }
        /* Release pairs with the acquire of those who come. */
        rti_u32_store_release(&contest, round);
        while (rti_u32_load_acquire(&answers) != RIVALS) {
            (void)rt_async_wake(contested);
            (void)rt_async_cancel(contested);
            rt_yield();
        }
        CHECK_EQ(rti_u32_load_relaxed(&winners), 1);
        CHECK_STATUS(rt_async_wake(contested), RT_ERR_INVALID);
    }
    for (int i = 0; i < RIVALS; i++) {
        CHECK_OK(rt_join(rivals[i], NULL));
    }
    return arg;
}

TEST(async_join_of_several_who_come_with_one_handle_is_that_of_one)
{
    static const rt_config parallel = {.workers = 4};
    CHECK_OK(rt_run_main(&(rt_main_config){.parallel = &parallel}, holds_contests, NULL));
    CHECK_OK(tasks_run(holds_contests, NULL));
}
