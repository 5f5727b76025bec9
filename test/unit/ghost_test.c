/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor counts what the program got wrong, in checked builds; elsewhere it counts nothing. */
#define RTI_MODULE "ghost_test"
#include "sync/ghost.h"

#include <orrery/rt/region.h>

#include "support/kernel.h"

#define WANTED(n) (RT_CHECKS ? (n) : 0)

static uint64_t count(enum rti_ghost_kind kind)
{
    return rti_u32_load_relaxed(&kernel.channels.ghost.counts[kind]);
}

TEST(ghost_flags_a_permit_used_after_send_or_abort)
{
    rt_send_permit permit;
    int value = 1;
    kernel_start();
    kernel_channel(2);
    CHECK_OK(rt_channel_reserve(kernel.tx, NULL, &permit));
    CHECK_OK(rt_send_permit_send(&permit, &value));
    CHECK_EQ(count(RTI_GHOST_PERMIT_REUSED), 0);
    CHECK_STATUS(rt_send_permit_send(&permit, &value), RT_ERR_STATE);
    CHECK_EQ(count(RTI_GHOST_PERMIT_REUSED), WANTED(1));
    CHECK_STATUS(rt_send_permit_abort(&permit), RT_ERR_STATE);
    CHECK_EQ(count(RTI_GHOST_PERMIT_REUSED), WANTED(2));
    kernel_stop();
}

TEST(ghost_flags_the_use_of_a_closed_handle_and_not_of_a_number_that_never_was_one)
{
    int value = 1;
    kernel_start();
    kernel_channel(2);
    rt_channel_sender *second = NULL;
    CHECK_OK(rt_channel_clone_sender(kernel.tx, &second));
    CHECK_OK(rt_channel_close_sender(second));
    CHECK_STATUS(rt_channel_send(second, NULL, &value), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_close_sender(second), RT_ERR_INVALID);
    CHECK_EQ(count(RTI_GHOST_HANDLE_REUSED), WANTED(2));
    CHECK_STATUS(rt_channel_send(NULL, NULL, &value), RT_ERR_INVALID);
    CHECK_STATUS(rt_channel_send((rt_channel_sender *)(uintptr_t)0x123456789, NULL, &value),
                 RT_ERR_INVALID);
    CHECK_EQ(count(RTI_GHOST_HANDLE_REUSED), WANTED(2));
    kernel_stop();
}

TEST(ghost_says_nothing_of_a_peer_that_is_gone)
{
    int value = 1;
    kernel_start();
    kernel_channel(2);
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
    CHECK_STATUS(rt_channel_try_send(kernel.tx, &value), RT_ERR_DISCONNECTED);
    CHECK_EQ(count(RTI_GHOST_HANDLE_REUSED), 0);
    kernel_stop();
}

TEST(ghost_flags_a_timer_cancelled_twice)
{
    rt_region region;
    rt_region_timer timer;
    rt_waker waker = {NULL, NULL};
    kernel_start();
    CHECK_OK(rt_region_open(&region, NULL, NULL));
    CHECK_OK(rt_region_timer_start(&region, NULL, &timer, RT_NS_PER_S, waker));
    CHECK(rt_region_timer_cancel(&timer));
    CHECK_EQ(count(RTI_GHOST_TIMER_CANCELLED_TWICE), 0);
    CHECK(!rt_region_timer_cancel(&timer));
    CHECK_EQ(count(RTI_GHOST_TIMER_CANCELLED_TWICE), WANTED(1));
    CHECK_OK(rt_region_close(&region, NULL));
    kernel_stop();
}
