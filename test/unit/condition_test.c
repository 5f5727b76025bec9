/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "condition_test"
#include <orrery/rt/condition.h>

#include "support/kernel.h"

static struct {
    rt_mutex mutex;
    rt_condition condition;
    rt_cx cx;
    struct rti_fiber *victim;
    int stock;
} world;

static void begin(void)
{
    memset(&world, 0, sizeof(world));
    kernel_start();
    CHECK_OK(rt_mutex_init(&world.mutex));
    CHECK_OK(rt_condition_init(&world.condition));
}

static void end(void)
{
    kernel_run();
    CHECK_OK(rt_condition_deinit(&world.condition));
    CHECK_OK(rt_mutex_deinit(&world.mutex));
    kernel_stop();
}

static void lock(void)
{
    CHECK_OK(rt_mutex_lock(&world.mutex, NULL));
}

static void unlock(void)
{
    CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
}

static void take(void *arg)
{
    lock();
    while (world.stock == 0) {
        CHECK_OK(rt_condition_wait(&world.condition, &world.mutex, NULL));
    }
    world.stock--;
    kernel_say((char)(uintptr_t)arg);
    unlock();
}

static void give(void *arg)
{
    for (uintptr_t i = (uintptr_t)arg; i > 0; i--) {
        lock();
        world.stock++;
        kernel_say('.');
        CHECK_OK(rt_condition_signal(&world.condition));
        kernel_yield();
        unlock();
        kernel_yield();
    }
}

TEST(condition_signal_wakes_the_first_who_waits)
{
    begin();
    kernel_go(take, (void *)'a');
    kernel_go(take, (void *)'b');
    kernel_go(give, (void *)2);
    end();
    CHECK_STR(kernel.order, ".a.b");
}

static void give_to_all(void *arg)
{
    lock();
    world.stock += (int)(uintptr_t)arg;
    CHECK_OK(rt_condition_broadcast(&world.condition));
    kernel_say('!');
    unlock();
}

TEST(condition_broadcast_wakes_all_in_their_order)
{
    begin();
    kernel_go(take, (void *)'a');
    kernel_go(take, (void *)'b');
    kernel_go(take, (void *)'c');
    kernel_go(give_to_all, (void *)3);
    end();
    CHECK_STR(kernel.order, "!abc");
}

static void take_until(void *arg)
{
    (void)arg;
    lock();
    rt_time deadline = kernel.fibers.port.now_ns + 5;
    CHECK_STATUS(rt_condition_wait_until(&world.condition, &world.mutex, NULL, deadline),
                 RT_ERR_TIMEOUT);
    /* The mutex is ours again. */
    kernel_say('t');
    unlock();
}

static void hold_past_the_deadline(void *arg)
{
    (void)arg;
    lock();
    rti_fiber_sleep_until(rti_worker_current(), kernel.fibers.port.now_ns + 20);
    kernel_say('h');
    unlock();
}

TEST(condition_wait_ends_at_its_deadline_and_waits_for_the_mutex)
{
    begin();
    kernel_go(take_until, NULL);
    kernel_go(hold_past_the_deadline, NULL);
    end();
    CHECK_STR(kernel.order, "ht");
}

static void take_cancelled(void *arg)
{
    (void)arg;
    CHECK_OK(rt_cx_init(&world.cx));
    lock();
    CHECK_STATUS(rt_condition_wait(&world.condition, &world.mutex, NULL), RT_ERR_CANCELLED);
    kernel_say('c');
    /* The check point: nothing was let go. */
    CHECK_STATUS(rt_condition_wait(&world.condition, &world.mutex, NULL), RT_ERR_CANCELLED);
    unlock();
    CHECK_OK(rt_cx_deinit(&world.cx));
}

static void cancel_and_hold(void *arg)
{
    CHECK_OK(rt_cx_cancel(&world.cx));
    hold_past_the_deadline(arg);
}

TEST(condition_wait_that_is_cancelled_comes_out_with_the_mutex)
{
    begin();
    kernel_go(take_cancelled, NULL);
    kernel_go(cancel_and_hold, NULL);
    end();
    CHECK_STR(kernel.order, "hc");
}

static void signal_and_kill(void *arg)
{
    (void)arg;
    world.stock = 1;
    CHECK_OK(rt_condition_signal(&world.condition));
    CHECK(rti_fiber_kill(&kernel.fibers.sched, world.victim));
}

TEST(condition_signal_of_one_who_is_killed_passes_on)
{
    begin();
    world.victim = kernel_go(take, (void *)'a');
    kernel_go(take, (void *)'b');
    kernel_go(signal_and_kill, NULL);
    end();
    CHECK_STR(kernel.order, "b");
}

static void kill_it(void *arg)
{
    (void)arg;
    CHECK(rti_fiber_kill(&kernel.fibers.sched, world.victim));
    kernel_yield();
    kernel_yield();
    /* It had let go of the mutex: nobody has died with it. */
    lock();
    unlock();
}

TEST(condition_waiter_that_is_killed_does_not_hold_the_mutex)
{
    begin();
    world.victim = kernel_go(take, (void *)'a');
    kernel_go(kill_it, NULL);
    end();
}

static void poll_it(void *arg)
{
    struct poller poller;
    rt_cx *cx = &poller.cx;
    (void)arg;
    poller_init(&poller);
    CHECK_STATUS(rt_condition_wait(&world.condition, &world.mutex, cx), RT_ERR_STATE);
    CHECK_OK(rt_mutex_lock(&world.mutex, cx));
    CHECK_STATUS(rt_condition_wait(&world.condition, &world.mutex, cx), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_condition_deinit(&world.condition), RT_ERR_STATE);
    lock();
    CHECK_OK(rt_condition_signal(&world.condition));
    CHECK_EQ(poller.woken, 1);
    /* Signalled, and the mutex is not free: it waits for that. */
    CHECK_STATUS(rt_condition_wait(&world.condition, &world.mutex, cx), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_condition_wait(&world.condition, &world.mutex, cx), RT_ERR_WOULDBLOCK);
    unlock();
    CHECK_EQ(poller.woken, 2);
    CHECK_OK(rt_condition_wait(&world.condition, &world.mutex, cx));
    /* And the other way to end: by cancellation, with the mutex in another's hand. */
    CHECK_STATUS(rt_condition_wait(&world.condition, &world.mutex, cx), RT_ERR_WOULDBLOCK);
    lock();
    CHECK_OK(rt_cx_cancel(cx));
    CHECK_STATUS(rt_condition_wait(&world.condition, &world.mutex, cx), RT_ERR_WOULDBLOCK);
    unlock();
    CHECK_STATUS(rt_condition_wait(&world.condition, &world.mutex, cx), RT_ERR_CANCELLED);
    CHECK_OK(rt_mutex_unlock(&world.mutex, cx));
    poller_deinit(&poller);
}

TEST(condition_wait_of_a_poll_context_has_two_parts)
{
    begin();
    kernel_go(poll_it, NULL);
    end();
}

static void misuse(void *arg)
{
    rt_condition none = {{0}};
    rt_mutex no_mutex = {{0}};
    (void)arg;
    CHECK_STATUS(rt_condition_wait(&none, &world.mutex, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_condition_wait(&world.condition, &no_mutex, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_condition_wait(&world.condition, &world.mutex, NULL), RT_ERR_STATE);
    CHECK_STATUS(rt_condition_signal(&none), RT_ERR_INVALID);
    CHECK_STATUS(rt_condition_broadcast(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_condition_init(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_condition_deinit(&none), RT_ERR_INVALID);
    CHECK_OK(rt_condition_signal(&world.condition));
}

TEST(condition_refuses_what_is_wrong)
{
    begin();
    kernel_go(misuse, NULL);
    end();
}
