/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "systick_test"
#include "port/cortex_m/systick.h"

#include "port/mps2/timer.h"
#include "support/test.h"

static struct rti_systick systick;
static volatile uint32_t interrupts;

void SysTick_Handler(void);

void SysTick_Handler(void)
{
    interrupts++;
    rti_systick_expired(&systick);
}

/* Sleeps as the port does, until the deadline. */
static void sleep_until(uint64_t deadline_ns)
{
    bool is_over = false;
    while (!is_over) {
        uint32_t mask = rti_irq_mask();
        is_over = rti_systick_now(&systick) >= deadline_ns;
        if (!is_over) {
            rti_systick_aim(&systick, deadline_ns);
            rti_irq_await();
        }
        rti_irq_restore(mask);
        rti_irq_let_run();
    }
}

TEST(systick_clock_never_goes_back_over_many_periods)
{
    rti_systick_start(&systick);
    uint64_t last = rti_systick_now(&systick);
    /* Four periods of two thirds of a second, looked at all the time. */
    while (last < 3 * RTI_NS_PER_S) {
        uint64_t now = rti_systick_now(&systick);
        CHECK(now >= last);
        CHECK(now - last < RTI_NS_PER_MS);
        last = now;
        if (last % 7 == 0) {
            sleep_until(last + 400 * RTI_NS_PER_US);
        } else {
            sleep_until(last + 3 * RTI_NS_PER_MS / 4);
        }
        last = rti_systick_now(&systick) > last ? rti_systick_now(&systick) : last;
    }
    rti_systick_stop();
}

TEST(systick_counts_a_period_once_when_interrupts_are_masked_over_its_end)
{
    rti_systick_start(&systick);
    uint32_t mask = rti_irq_mask();
    uint64_t start = rti_systick_now(&systick);
    uint64_t last = start;
    /* Longer than one period, but looked at in each. */
    while (last < start + 2 * RTI_NS_PER_S) {
        uint64_t now = rti_systick_now(&systick);
        CHECK(now >= last);
        CHECK(now - last < RTI_NS_PER_MS);
        last = now;
    }
    CHECK_EQ(interrupts, 0);
    rti_irq_restore(mask);
    uint64_t after = rti_systick_now(&systick);
    CHECK(after >= last && after - last < RTI_NS_PER_MS);
    rti_systick_stop();
}

TEST(systick_aim_wakes_at_the_deadline_and_not_before)
{
    rti_systick_start(&systick);
    static const uint64_t distances[] = {1,       2000,     10000,     999999,
                                         1000000, 77777777, 670000000, 3000000000};
    for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
        uint64_t deadline = rti_systick_now(&systick) + distances[i];
        sleep_until(deadline);
        uint64_t now = rti_systick_now(&systick);
        CHECK(now >= deadline);
        CHECK(now - deadline < 20 * RTI_NS_PER_US);
    }
    rti_systick_stop();
}

TEST(systick_aim_beyond_the_period_leaves_it_alone)
{
    rti_systick_start(&systick);
    uint32_t mask = rti_irq_mask();
    rti_systick_aim(&systick, RTI_TIME_NEVER);
    CHECK_EQ(systick.period, RTI_SYSTICK_PERIOD_MAX);
    rti_systick_aim(&systick, 10 * RTI_NS_PER_S);
    CHECK_EQ(systick.period, RTI_SYSTICK_PERIOD_MAX);
    rti_systick_aim(&systick, rti_systick_now(&systick) + RTI_NS_PER_MS);
    CHECK(systick.period < RTI_SYSTICK_PERIOD_MAX / 100);
    rti_irq_restore(mask);
    rti_systick_stop();
}

TEST(systick_sleeps_that_are_cut_short_keep_the_clock)
{
    rti_systick_start(&systick);
    /* The reference: the same counter, never restarted, would show the sum of all sleeps. */
    uint64_t start = rti_systick_now(&systick);
    for (int i = 0; i < 1000; i++) {
        sleep_until(start + (uint64_t)(i + 1) * RTI_NS_PER_MS);
    }
    uint64_t passed = rti_systick_now(&systick) - start;
    CHECK(passed >= 1000 * RTI_NS_PER_MS);
    CHECK(passed < 1000 * RTI_NS_PER_MS + RTI_NS_PER_MS / 10);
    CHECK(interrupts >= 1000);
    CHECK(interrupts < 1100);
    rti_systick_stop();
}

#if defined(__ARM_ARCH_8M_MAIN__)
static const struct rti_mps2_timer timer = {0x50000000u, 3};
#else
static const struct rti_mps2_timer timer = {0x40000000u, 8};
#endif

#define PERIODS      400u
#define DRIFT_NS_MAX 100 /* for each restart of the counter */

/* Periods of many lengths: SysTick is restarted by each, and counts lost there add up. The
 * processor does not sleep meanwhile: with sleep=off the emulator may let a second timer come to
 * its end before it wakes a processor that sleeps. */
TEST(systick_agrees_with_the_timer_of_the_board_over_many_periods)
{
    rti_systick_start(&systick);
    rti_mps2_timer_start(&timer, UINT32_MAX);
    uint64_t begin = rti_systick_now(&systick);
    uint32_t counts = rti_mps2_timer_left(&timer);
    for (uint32_t i = 0; i < PERIODS; i++) {
        uint32_t mask = rti_irq_mask();
        uint64_t deadline = rti_systick_now(&systick) + 20000 + i * 700;
        rti_systick_aim(&systick, deadline);
        while (rti_systick_now(&systick) < deadline) {
        }
        rti_irq_restore(mask);
    }
    counts -= rti_mps2_timer_left(&timer);
    uint64_t passed_ns = rti_systick_now(&systick) - begin;
    rti_mps2_timer_stop(&timer);
    rti_systick_stop();
    int64_t wanted_ns = (int64_t)((uint64_t)counts * 1000000000u / RT_SYSTICK_HZ);
    int64_t drift_ns = (int64_t)passed_ns - wanted_ns;
    printf("drift %d ns in %d us\n", (int)drift_ns, (int)(wanted_ns / 1000));
    CHECK(drift_ns < (int64_t)PERIODS * DRIFT_NS_MAX &&
          -drift_ns < (int64_t)PERIODS * DRIFT_NS_MAX);
}
