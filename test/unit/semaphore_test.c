/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "semaphore_test"
#include <orrery/rt/semaphore.h>

#include "support/kernel.h"

static rt_semaphore semaphore;
static rt_cx cx;
static struct rti_fiber *victim;

static void begin(uint32_t count)
{
    kernel_start();
    CHECK_OK(rt_semaphore_init(&semaphore, count));
}

static void end(uint32_t count)
{
    kernel_run();
    CHECK_EQ(rt_semaphore_count(&semaphore), count);
    CHECK_OK(rt_semaphore_deinit(&semaphore));
    kernel_stop();
}

static void take_one(void *arg)
{
    CHECK_OK(rt_semaphore_acquire(&semaphore, 1, NULL));
    kernel_say((char)(uintptr_t)arg);
}

static void take_three(void *arg)
{
    CHECK_OK(rt_semaphore_acquire(&semaphore, 3, NULL));
    kernel_say((char)(uintptr_t)arg);
}

static void give_one_by_one(void *arg)
{
    for (uintptr_t i = (uintptr_t)arg; i > 0; i--) {
        kernel_say('.');
        CHECK_OK(rt_semaphore_release(&semaphore, 1));
        kernel_yield();
    }
}

TEST(semaphore_counts)
{
    begin(2);
    CHECK_OK(rt_semaphore_try_acquire(&semaphore, 1));
    CHECK_STATUS(rt_semaphore_try_acquire(&semaphore, 2), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_semaphore_acquire(&semaphore, 1, NULL));
    CHECK_STATUS(rt_semaphore_acquire(&semaphore, 1, NULL), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_semaphore_acquire(&semaphore, 0, NULL));
    CHECK_OK(rt_semaphore_release(&semaphore, UINT32_MAX));
    CHECK_STATUS(rt_semaphore_release(&semaphore, 1), RT_ERR_LIMIT);
    end(UINT32_MAX);
}

TEST(semaphore_refuses_what_is_none)
{
    rt_semaphore none = {{0}};
    begin(0);
    CHECK_STATUS(rt_semaphore_init(NULL, 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_semaphore_acquire(&none, 1, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_semaphore_release(NULL, 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_semaphore_deinit(&none), RT_ERR_INVALID);
    CHECK_EQ(rt_semaphore_count(&none), 0);
    end(0);
}

TEST(semaphore_serves_in_the_order_of_the_line_whatever_is_wanted)
{
    begin(0);
    kernel_go(take_three, (void *)'a');
    kernel_go(take_one, (void *)'b');
    kernel_go(give_one_by_one, (void *)5);
    end(1);
    CHECK_STR(kernel.order, "...a.b.");
}

static void take_until(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_semaphore_acquire_until(&semaphore, 3, NULL, kernel.fibers.port.now_ns + 5),
                 RT_ERR_TIMEOUT);
    kernel_say('t');
}

/* Who gives up at the front lets those behind through. */
TEST(semaphore_waiter_that_times_out_lets_the_next_through)
{
    begin(1);
    kernel_go(take_until, NULL);
    kernel_go(take_one, (void *)'b');
    end(0);
    CHECK_STR(kernel.order, "tb");
}

static void take_cancelled(void *arg)
{
    (void)arg;
    CHECK_OK(rt_cx_init(&cx));
    CHECK_STATUS(rt_semaphore_acquire(&semaphore, 3, NULL), RT_ERR_CANCELLED);
    CHECK_OK(rt_cx_deinit(&cx));
}

static void cancel(void *arg)
{
    (void)arg;
    CHECK_OK(rt_cx_cancel(&cx));
}

TEST(semaphore_waiter_that_is_cancelled_lets_the_next_through)
{
    begin(1);
    kernel_go(take_cancelled, NULL);
    kernel_go(take_one, (void *)'b');
    kernel_go(cancel, NULL);
    end(0);
    CHECK_STR(kernel.order, "b");
}

static void give_and_kill(void *arg)
{
    (void)arg;
    CHECK_OK(rt_semaphore_release(&semaphore, 3));
    CHECK(rti_fiber_kill(&kernel.fibers.sched, victim));
}

TEST(semaphore_units_of_one_who_is_killed_pass_on)
{
    begin(0);
    victim = kernel_go(take_three, (void *)'a');
    kernel_go(take_one, (void *)'b');
    kernel_go(give_and_kill, NULL);
    end(2);
    CHECK_STR(kernel.order, "b");
}

TEST(semaphore_serves_poll_contexts)
{
    struct poller first;
    struct poller second;
    begin(0);
    poller_init(&first);
    poller_init(&second);
    CHECK_STATUS(rt_semaphore_acquire(&semaphore, 2, &first.cx), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_semaphore_acquire(&semaphore, 1, &second.cx), RT_ERR_WOULDBLOCK);
    CHECK_STATUS(rt_semaphore_deinit(&semaphore), RT_ERR_STATE);
    CHECK_OK(rt_semaphore_release(&semaphore, 1));
    CHECK_EQ(first.woken + second.woken, 0);
    CHECK_OK(rt_cx_abandon(&first.cx));
    CHECK_EQ(second.woken, 1);
    CHECK_OK(rt_semaphore_acquire(&semaphore, 1, &second.cx));
    poller_deinit(&first);
    poller_deinit(&second);
    end(0);
}
