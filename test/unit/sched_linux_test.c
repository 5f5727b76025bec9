/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed engine in the real world: its clock, its idle wait, posts of other threads. */
#define _GNU_SOURCE
#define RTI_MODULE "sched_linux_test"
#include <pthread.h>

#include "port/linux/port_linux.h"
#include "port/op.h"
#include "sched/fiber.h"
#include "support/test.h"
#include "time/deadline.h"

#define FIBERS  8
#define THREADS 2
#define POSTS   5000

static struct rti_port_linux world;
static struct rti_clockwork clockwork;
static struct rti_sched sched;
static struct rti_fiber fibers[FIBERS];
static char stacks[FIBERS][65536] RTI_ALIGNED(16);
static size_t fibers_count;

static void start(void)
{
    CHECK_OK(rti_port_linux_init(&world, NULL));
    rti_clockwork_init(&clockwork, world.port.ops->clock_ns(&world.port));
    struct rti_timer_source timers = rti_clockwork_source(&clockwork);
    CHECK_OK(rti_sched_init(&sched, &world.port, &timers));
    fibers_count = 0;
}

static void done(struct rti_fiber *fiber)
{
    (void)fiber;
}

static void go(void (*main)(void *arg), void *arg)
{
    static const struct rti_fiber_kind kind = {.main = rti_fiber_call, .on_done = done};
    struct rti_fiber_options options = {
        .id = (uint32_t)fibers_count + 1, .priority = 2, .fn = main, .arg = arg, .kind = &kind};
    rti_stack_init(&options.stack, stacks[fibers_count], sizeof(stacks[0]));
    rti_fiber_init(&fibers[fibers_count], &options);
    rti_fiber_start(&sched, &fibers[fibers_count++]);
}

static void finish(void)
{
    CHECK_OK(rti_sched_run(&sched));
    rti_sched_deinit(&sched);
    rti_port_linux_deinit(&world);
}

static void sleep_a_little(void *arg)
{
    uint64_t deadline_ns = rti_deadline_after(&sched, (uint64_t)(uintptr_t)arg * RTI_NS_PER_US);
    rti_fiber_sleep_until(rti_worker_current(), deadline_ns);
    CHECK(rti_sched_clock(&sched) >= deadline_ns);
}

TEST(fibers_sleep_on_the_real_clock_and_never_wake_early)
{
    start();
    for (uintptr_t i = 0; i < FIBERS; i++) {
        go(sleep_a_little, (void *)(i * 700));
    }
    finish();
}

struct counted_post {
    struct rti_post post;
    size_t thread;
    size_t number;
};

static struct counted_post posts[THREADS][POSTS];
static size_t next_number[THREADS];
static size_t posts_called;
static struct rti_waitlist all_called;

static void count_post(struct rti_post *post)
{
    struct counted_post *counted = RTI_CONTAINER_OF(post, struct counted_post, post);
    CHECK_EQ(counted->number, next_number[counted->thread]);
    next_number[counted->thread]++;
    if (++posts_called == THREADS * POSTS) {
        struct rti_waiter *waiter = rti_waitlist_claim(&all_called);
        if (waiter != NULL) {
            rti_waiter_wake(waiter);
        }
    }
}

static void *post_many(void *arg)
{
    size_t thread = (size_t)(uintptr_t)arg;
    for (size_t i = 0; i < POSTS; i++) {
        struct counted_post *counted = &posts[thread][i];
        counted->post.call = count_post;
        counted->thread = thread;
        counted->number = i;
        rti_sched_post(&sched, &counted->post);
    }
    return NULL;
}

static void wait_for_all_posts(void *arg)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_wait wait;
    struct rti_waiter waiter;
    (void)arg;
    if (posts_called == THREADS * POSTS) {
        return;
    }
    rti_fiber_wait_begin(worker, &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_waitlist_unlink);
    rti_waitlist_add(&all_called, &waiter);
    rti_fiber_park(worker, &wait);
}

static void yield_until_all_posts(void *arg)
{
    (void)arg;
    while (posts_called < THREADS * POSTS) {
        rti_fiber_yield(rti_worker_current());
    }
}

static void post_from_threads(void (*waiting)(void *))
{
    pthread_t threads[THREADS];
    start();
    rti_waitlist_init(&all_called);
    posts_called = 0;
    memset(next_number, 0, sizeof(next_number));
    go(waiting, NULL);
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, post_many, (void *)i), 0);
    }
    CHECK_OK(rti_sched_run(&sched));
    for (size_t i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    CHECK_EQ(posts_called, THREADS * POSTS);
    rti_sched_deinit(&sched);
    rti_port_linux_deinit(&world);
}

TEST(posts_of_threads_wake_an_idle_scheduler_none_lost_order_kept)
{
    post_from_threads(wait_for_all_posts);
}

TEST(posts_of_threads_reach_a_busy_scheduler_none_lost_order_kept)
{
    post_from_threads(yield_until_all_posts);
}

#define FLOOD 1000

static struct rti_post flood[FLOOD];
static size_t flood_called;
static struct rti_waitlist flood_over;

static void flood_call(struct rti_post *post)
{
    (void)post;
    if (++flood_called == FLOOD) {
        rti_waiter_wake(rti_waitlist_claim(&flood_over));
    }
}

/* Posts all and waits: from the second batch on nothing but the posts is left to do. */
static void post_all_and_wait(void *arg)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_wait wait;
    struct rti_waiter waiter;
    (void)arg;
    for (size_t i = 0; i < FLOOD; i++) {
        flood[i].call = flood_call;
        rti_sched_post(worker->sched, &flood[i]);
    }
    rti_fiber_wait_begin(worker, &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_waitlist_unlink);
    rti_waitlist_add(&flood_over, &waiter);
    CHECK_EQ(rti_fiber_park(worker, &wait), RTI_EVENT_SOURCE);
}

TEST(posts_beyond_one_batch_are_called_though_nothing_else_is_to_do)
{
    flood_called = 0;
    rti_waitlist_init(&flood_over);
    start();
    go(post_all_and_wait, NULL);
    finish();
    CHECK_EQ(flood_called, FLOOD);
}

/* An op awaited the way the calls of the io layer await theirs. */
struct awaited {
    struct rti_op op;
    struct rti_waiter waiter;
};

static void awaited_done(struct rti_op *op)
{
    struct awaited *awaited = RTI_CONTAINER_OF(op, struct awaited, op);
    if (rti_wait_claim(awaited->waiter.wait, awaited->waiter.event)) {
        rti_waiter_wake(&awaited->waiter);
    }
}

static void leave_to_the_port(struct rti_waiter *waiter)
{
    (void)waiter;
}

static void compute(struct rti_op *op)
{
    rti_op_answer(op, RT_OK, 6 * 7, 0);
}

static void await_work(void *arg)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_wait wait;
    struct awaited awaited;
    (void)arg;
    rti_op_init(&awaited.op, RTI_OP_WORK, awaited_done);
    awaited.op.work = compute;
    rti_fiber_wait_begin(worker, &wait);
    rti_wait_add(&wait, &awaited.waiter, RTI_EVENT_SOURCE, leave_to_the_port);
    sched.port->ops->submit(sched.port, &awaited.op);
    CHECK_EQ(rti_fiber_park(worker, &wait), RTI_EVENT_SOURCE);
    CHECK_EQ(awaited.op.status, RT_OK);
    CHECK_EQ(awaited.op.result, 42);
}

TEST(fiber_awaits_work_of_the_blocking_pool)
{
    start();
    for (size_t i = 0; i < FIBERS; i++) {
        go(await_work, NULL);
    }
    finish();
}

/* A thread of the pool pushes what it has completed first and calls the port then: by that time the
 * scheduler may have collected the one and be gone. */
static void forget(struct rti_op *op)
{
    (void)op;
}

TEST(scheduler_may_go_while_a_thread_of_the_pool_still_calls_the_port)
{
    for (int i = 0; i < 50; i++) {
        struct rti_op op;
        start();
        rti_op_init(&op, RTI_OP_WORK, forget);
        op.work = compute;
        sched.port->ops->submit(sched.port, &op);
        while (!rti_op_is_idle(&op)) {
            sched.port->ops->wait(sched.port, 0);
        }
        rti_sched_deinit(&sched);
        memset(&sched, 0, sizeof(sched));
        rti_port_linux_deinit(&world);
    }
}
