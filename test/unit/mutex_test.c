/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "mutex_test"
#include "sync/mutex.h"

#include "support/kernel.h"

static struct {
    rt_mutex mutex;
    rt_cx cx;
    struct rti_fiber *fibers[8];
    int inside;
} world;

static void begin(void)
{
    memset(&world, 0, sizeof(world));
    kernel_start();
    CHECK_OK(rt_mutex_init(&world.mutex));
}

static void end(void)
{
    kernel_run();
    rti_mutex_audit(rti_mutex_of(&world.mutex));
    CHECK_OK(rt_mutex_deinit(&world.mutex));
    kernel_stop();
}

static void lock(void)
{
    CHECK_OK(rt_mutex_lock(&world.mutex, NULL));
    CHECK_EQ(world.inside++, 0);
}

static void unlock(void)
{
    CHECK_EQ(--world.inside, 0);
    CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
}

static void nap(rt_time duration)
{
    rti_fiber_sleep_until(rti_worker_current(), kernel.fibers.port.now_ns + duration);
}

static void work(void *arg)
{
    lock();
    kernel_say((char)(uintptr_t)arg);
    nap(10);
    kernel_say((char)(uintptr_t)arg);
    unlock();
}

TEST(mutex_goes_from_hand_to_hand_in_the_order_of_the_line)
{
    begin();
    kernel_go(work, (void *)'a');
    kernel_go(work, (void *)'b');
    kernel_go(work, (void *)'c');
    end();
    CHECK_STR(kernel.order, "aabbcc");
}

static void lock_twice(void *arg)
{
    (void)arg;
    lock();
    unlock();
    /* Somebody waits by now: the mutex has been given away, and is not free to be taken back. */
    lock();
    kernel_yield();
    unlock();
    CHECK_STATUS(rt_mutex_try_lock(&world.mutex, NULL), RT_ERR_WOULDBLOCK);
    kernel_say('x');
    lock();
    kernel_say('y');
    unlock();
}

TEST(mutex_is_not_taken_back_from_who_waits)
{
    begin();
    kernel_go(lock_twice, NULL);
    kernel_go(work, (void *)'b');
    end();
    CHECK_STR(kernel.order, "xbby");
}

static void misuse(void *arg)
{
    rt_mutex none = {{0}};
    (void)arg;
    CHECK_STATUS(rt_mutex_lock(&none, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_mutex_try_lock(NULL, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_mutex_unlock(&none, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_mutex_init(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_mutex_unlock(&world.mutex, NULL), RT_ERR_STATE);
    lock();
    CHECK_STATUS(rt_mutex_lock(&world.mutex, NULL), RT_ERR_STATE);
    CHECK_STATUS(rt_mutex_try_lock(&world.mutex, NULL), RT_ERR_STATE);
    CHECK_STATUS(rt_mutex_deinit(&world.mutex), RT_ERR_STATE);
    CHECK_STATUS(rt_mutex_recover(&world.mutex, NULL), RT_ERR_STATE);
    unlock();
}

static void unlock_of_another(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_mutex_unlock(&world.mutex, NULL), RT_ERR_STATE);
}

TEST(mutex_refuses_what_is_wrong)
{
    begin();
    CHECK_STATUS(rt_mutex_lock(&world.mutex, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_mutex_try_lock(&world.mutex, NULL), RT_ERR_THREAD);
    kernel_go(misuse, NULL);
    kernel_go(work, (void *)'w');
    kernel_go(unlock_of_another, NULL);
    end();
}

static void wait_until(void *arg)
{
    (void)arg;
    rt_time deadline = kernel.fibers.port.now_ns + 5;
    CHECK_STATUS(rt_mutex_lock_until(&world.mutex, NULL, deadline), RT_ERR_TIMEOUT);
    CHECK_EQ(kernel.fibers.port.now_ns, deadline);
    kernel_say('t');
}

TEST(mutex_wait_ends_at_its_deadline_and_the_line_goes_on)
{
    begin();
    kernel_go(work, (void *)'a');
    kernel_go(wait_until, NULL);
    kernel_go(work, (void *)'c');
    end();
    CHECK_STR(kernel.order, "atacc");
}

static void wait_cancelled(void *arg)
{
    (void)arg;
    CHECK_OK(rt_cx_init(&world.cx));
    CHECK_STATUS(rt_mutex_lock(&world.mutex, NULL), RT_ERR_CANCELLED);
    CHECK_OK(rt_cx_deinit(&world.cx));
}

static void cancel(void *arg)
{
    (void)arg;
    CHECK_OK(rt_cx_cancel(&world.cx));
}

TEST(mutex_wait_ends_by_cancellation)
{
    begin();
    kernel_go(work, (void *)'a');
    kernel_go(wait_cancelled, NULL);
    kernel_go(cancel, NULL);
    end();
}

static void kill_one(void *arg)
{
    CHECK(rti_fiber_kill(&kernel.fibers.sched, world.fibers[(uintptr_t)arg]));
}

TEST(mutex_waiter_that_is_killed_leaves_the_line)
{
    begin();
    kernel_go(work, (void *)'a');
    world.fibers[1] = kernel_go(work, (void *)'b');
    kernel_go(work, (void *)'c');
    kernel_go(kill_one, (void *)1);
    end();
    CHECK_STR(kernel.order, "aacc");
}

static void unlock_and_kill(void *arg)
{
    lock();
    kernel_yield();
    unlock();
    /* It has the mutex and does not know. */
    kill_one(arg);
}

TEST(mutex_given_to_one_who_is_killed_passes_on)
{
    begin();
    kernel_go(unlock_and_kill, (void *)1);
    world.fibers[1] = kernel_go(work, (void *)'b');
    kernel_go(work, (void *)'c');
    end();
    CHECK_STR(kernel.order, "cc");
}

static void hold_for_ever(void *arg)
{
    (void)arg;
    CHECK_OK(rt_mutex_lock(&world.mutex, NULL));
    nap(RT_NS_PER_S);
}

static void find_it_orphaned(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_mutex_lock(&world.mutex, NULL), RT_ERR_OWNER_DIED);
    kernel_say('o');
}

static void recover(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_mutex_try_lock(&world.mutex, NULL), RT_ERR_OWNER_DIED);
    CHECK_OK(rt_mutex_recover(&world.mutex, NULL));
    kernel_say('r');
    CHECK_STATUS(rt_mutex_recover(&world.mutex, NULL), RT_ERR_STATE);
    kernel_yield();
    CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
}

static void kill_and_look(void *arg)
{
    kill_one(arg);
    kernel_yield();
    kernel_yield();
    kernel_go(find_it_orphaned, NULL);
    kernel_go(recover, NULL);
    kernel_go(work, (void *)'w');
}

TEST(mutex_of_a_dead_holder_is_refused_until_it_is_recovered)
{
    begin();
    world.fibers[0] = kernel_go(hold_for_ever, NULL);
    kernel_go(find_it_orphaned, NULL);
    kernel_go(find_it_orphaned, NULL);
    kernel_go(kill_and_look, (void *)0);
    end();
    CHECK_STR(kernel.order, "ooorww");
}

static void return_with_it(void *arg)
{
    (void)arg;
    CHECK_OK(rt_mutex_lock(&world.mutex, NULL));
}

TEST(mutex_of_a_holder_that_returned_is_orphaned_too)
{
    begin();
    kernel_go(return_with_it, NULL);
    kernel_go(find_it_orphaned, NULL);
    end();
    CHECK_STR(kernel.order, "o");
}

static void poll_it(void *arg)
{
    struct poller poller;
    struct poller second;
    (void)arg;
    poller_init(&poller);
    poller_init(&second);
    lock();
    CHECK_STATUS(rt_mutex_lock(&world.mutex, &poller.cx), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_mutex_lock(&world.mutex, &poller.cx), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_mutex_lock(&world.mutex, &second.cx), RT_ERR_WOULDBLOCK);
    unlock();
    CHECK_EQ(poller.woken, 1);
    CHECK_EQ(second.woken, 0);
    CHECK_OK(rt_mutex_lock(&world.mutex, &poller.cx));
    CHECK_STATUS(rt_mutex_unlock(&world.mutex, NULL), RT_ERR_STATE);
    CHECK_OK(rt_mutex_unlock(&world.mutex, &poller.cx));
    /* Given, and given up: it passes on, to nobody. */
    CHECK_EQ(second.woken, 1);
    CHECK_OK(rt_cx_abandon(&second.cx));
    lock();
    unlock();
    /* A context that ends with it is a dead holder. */
    CHECK_OK(rt_mutex_lock(&world.mutex, &poller.cx));
    poller_deinit(&poller);
    CHECK_STATUS(rt_mutex_lock(&world.mutex, NULL), RT_ERR_OWNER_DIED);
    CHECK_OK(rt_mutex_recover(&world.mutex, NULL));
    CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
    poller_deinit(&second);
}

TEST(mutex_is_held_by_poll_contexts_too)
{
    begin();
    kernel_go(poll_it, NULL);
    end();
}
