/* SPDX-License-Identifier: Apache-2.0 */
/* The timer of the board posts to an actor. That it agrees with SysTick on the time is in
 * systick_test.c. */
#define RTI_MODULE "mps2_timer_test"
#include <orrery/rt.h>

#include "port/mps2/timer.h"
#include "support/test.h"

#if defined(__ARM_ARCH_8M_MAIN__)
static const struct rti_mps2_timer timer = {0x50000000u, 3};
#else
static const struct rti_mps2_timer timer = {0x40000000u, 8};
#endif

#define PERIOD_US 500u
#define BEATS     50u

static rt_isr source;
static uint32_t events[8];
static uint32_t beats;

void Interrupt_Handler(void);

void Interrupt_Handler(void)
{
    rti_mps2_timer_acknowledge(&timer);
    beats++;
    CHECK(rt_isr_post(&source, &beats));
}

static void listener(void *arg)
{
    (void)arg;
    CHECK_OK(rt_isr_open(&source, rt_self(), events, sizeof(events[0]), 8));
    rti_mps2_timer_start(&timer, PERIOD_US * (RT_SYSTICK_HZ / 1000000u));
    for (uint32_t i = 1; i <= BEATS; i++) {
        rt_message msg;
        CHECK_OK(rt_ipc_recv(&msg, 100));
        uint32_t beat;
        memcpy(&beat, msg.data, sizeof(beat));
        CHECK_EQ(beat, i);
    }
    rti_mps2_timer_stop(&timer);
    rt_exit();
}

TEST(mps2_timer_posts_to_an_actor_at_each_beat)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(listener, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK(beats >= BEATS);
}
