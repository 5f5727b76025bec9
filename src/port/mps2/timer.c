/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "mps2_timer"
#include "port/mps2/timer.h"

#include "base/assert.h"
#include "port/cortex_m/core.h"

#define TIMER_CTRL(timer)   RTI_REGISTER((timer)->base)
#define TIMER_VALUE(timer)  RTI_REGISTER((timer)->base + 0x4u)
#define TIMER_RELOAD(timer) RTI_REGISTER((timer)->base + 0x8u)
#define TIMER_CLEAR(timer)  RTI_REGISTER((timer)->base + 0xCu)

#define CTRL_ENABLE    0x1u
#define CTRL_INTERRUPT 0x8u

void rti_mps2_timer_start(const struct rti_mps2_timer *timer, uint32_t counts)
{
    RT_ASSERT(counts >= 2);
    TIMER_CTRL(timer) = 0;
    TIMER_CLEAR(timer) = 1;
    /* It counts from the reload value to 0, both included. */
    TIMER_RELOAD(timer) = counts - 1;
    TIMER_VALUE(timer) = counts - 1;
    RTI_NVIC_ISER(timer->interrupt) = RTI_NVIC_BIT(timer->interrupt);
    TIMER_CTRL(timer) = CTRL_ENABLE | CTRL_INTERRUPT;
}

void rti_mps2_timer_stop(const struct rti_mps2_timer *timer)
{
    TIMER_CTRL(timer) = 0;
    TIMER_CLEAR(timer) = 1;
}

uint32_t rti_mps2_timer_left(const struct rti_mps2_timer *timer)
{
    return TIMER_VALUE(timer);
}

void rti_mps2_timer_acknowledge(const struct rti_mps2_timer *timer)
{
    TIMER_CLEAR(timer) = 1;
}
