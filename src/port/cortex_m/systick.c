/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "systick"
#include "port/cortex_m/systick.h"

#include "base/assert.h"

/* Counts that have passed since the period of `length` began, of a counter that shows `value`. */
static inline uint32_t systick_passed(uint32_t length, uint32_t value)
{
    return value == 0 ? 0 : length - value;
}

/* All counts so far. With interrupts masked. A period that ended while its handler waits is over
 * all the same, and the counter is read again, in case it ended between the two readings. */
static uint64_t systick_counts(struct rti_systick *systick)
{
    uint32_t value = RTI_SYST_CVR;
    if ((RTI_SCB_ICSR & RTI_SCB_ICSR_PENDSTSET) != 0) {
        RTI_SCB_ICSR = RTI_SCB_ICSR_PENDSTCLR;
        rti_systick_expired(systick);
        value = RTI_SYST_CVR;
    }
    return systick->base + systick_passed(systick->period, value);
}

void rti_systick_start(struct rti_systick *systick)
{
    systick->base = 0;
    systick->period = RTI_SYSTICK_PERIOD_MAX;
    RTI_SYST_RVR = RTI_SYSTICK_PERIOD_MAX - 1;
    RTI_SYST_CVR = 0;
    RTI_SCB_ICSR = RTI_SCB_ICSR_PENDSTCLR;
    RTI_SYST_CSR = RTI_SYST_CSR_ENABLE | RTI_SYST_CSR_TICKINT | RTI_SYST_CSR_PROCESSOR;
}

void rti_systick_stop(void)
{
    RTI_SYST_CSR = 0;
    RTI_SCB_ICSR = RTI_SCB_ICSR_PENDSTCLR;
}

uint64_t rti_systick_now(struct rti_systick *systick)
{
    uint32_t mask = rti_irq_mask();
    uint64_t counts = systick_counts(systick);
    rti_irq_restore(mask);
    return rti_systick_to_ns(counts);
}

void rti_systick_expired(struct rti_systick *systick)
{
    systick->base += systick->period;
    systick->period = RTI_SYSTICK_PERIOD_MAX;
}

/* Ends the period that runs and begins one of `length` counts. Between the last reading of the
 * counter and its restart lies nothing but the restart: what passes there is RTI_SYSTICK_RESTART.
 */
static void systick_restart(struct rti_systick *systick, uint32_t length)
{
    (void)systick_counts(systick); /* a period that is over is counted */
    RTI_SYST_RVR = length - 1;
    uint32_t value = RTI_SYST_CVR;
    RTI_SYST_CVR = 0;
    if ((RTI_SCB_ICSR & RTI_SCB_ICSR_PENDSTSET) != 0) {
        /* The period ended here. After the reading: a few counts were left of it. Before: what was
         * read belongs to the next one, of which a few counts have passed. */
        RTI_SCB_ICSR = RTI_SCB_ICSR_PENDSTCLR;
        if (value == 0 || value >= RTI_SYSTICK_PERIOD_MIN / 2) {
            systick->base += systick->period;
            value = 0;
        }
    }
    systick->base += systick_passed(systick->period, value) + RTI_SYSTICK_RESTART;
    systick->period = length;
    /* Once the counter has taken the length, the period after it may be long. */
    while (RTI_SYST_CVR == 0) {
    }
    RTI_SYST_RVR = RTI_SYSTICK_PERIOD_MAX - 1;
}

void rti_systick_aim(struct rti_systick *systick, uint64_t deadline_ns)
{
    uint64_t counts = systick_counts(systick);
    uint64_t now_ns = rti_systick_to_ns(counts);
    uint64_t end_ns = rti_systick_to_ns(systick->base + systick->period);
    RT_DCHECK(end_ns > now_ns);
    if (deadline_ns >= end_ns) {
        return;
    }
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    uint32_t length = rti_systick_from_ns(left_ns);
    systick_restart(systick, length < RTI_SYSTICK_PERIOD_MIN ? RTI_SYSTICK_PERIOD_MIN : length);
}
