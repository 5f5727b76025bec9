/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SYSTICK_H
#define RTI_SYSTICK_H

/* The clock of a Cortex-M and the one alarm of the scheduler, both made of SysTick, without a tick.
 *
 * SysTick is a 24-bit counter that runs down, and pends its exception as it comes to 0. Left alone
 * it runs its longest period; `base` counts the counts of all periods that are over, the counter
 * itself the rest. Nothing interrupts a busy program but the end of a long period.
 *
 * To wake at a deadline that is nearer than the end of the period, aim ends the period where it is,
 * accounts for what has passed of it, and begins one that ends at the deadline; the reload value is
 * the longest again before it is used. Between the reading of the counter and its restart
 * RTI_SYSTICK_RESTART counts pass, which are added: the clock is exact to a few cycles for each
 * sleep that is cut short (systick_test, against another timer), and never goes back.
 *
 * A count at which the counter shows 0 belongs to the next period, for the exception is pending by
 * then. So the counts since a period of n began are n - counter, or 0 if that is 0.
 *
 * The struct is the application's: the hardware is there once, and so is it. All functions but init
 * may be called with interrupts masked or not, by thread and by handlers.
 *
 * I1  The clock never goes back.                                          (sleep sweep)
 * I2  A period that is over is added to `base` once: by the handler, or by who looked while the
 *     handler was pending and took the pending away.                      (sleep sweep)
 *
 * Rejected: a tick of 1 ms (wakes a sleeping processor a thousand times a second, and timers are
 * late by up to it); a vendor's timer (this one is in every Cortex-M). */

#include "base/time.h"
#include "port/cortex_m/core.h"

#ifndef RT_SYSTICK_HZ
#define RT_SYSTICK_HZ 25000000 /* what the processor's clock counts in a second */
#endif

#ifndef RTI_SYSTICK_RESTART
#define RTI_SYSTICK_RESTART 3u
#endif

#define RTI_SYSTICK_PERIOD_MAX UINT32_C(0x1000000)
#define RTI_SYSTICK_PERIOD_MIN UINT32_C(64)

struct rti_systick {
    uint64_t base;   /* counts of the periods that are over; masked or handler */
    uint32_t period; /* counts of the one that runs; the one after it is the longest */
};

/* Starts the counter. Before anything else here. */
void rti_systick_start(struct rti_systick *systick);
void rti_systick_stop(void);

/* Nanoseconds since the start. */
uint64_t rti_systick_now(struct rti_systick *systick);

/* Sees to an interrupt at `deadline_ns` or before. With interrupts masked. */
void rti_systick_aim(struct rti_systick *systick, uint64_t deadline_ns);

/* The handler of the exception. */
void rti_systick_expired(struct rti_systick *systick);

/* Whole nanoseconds of counts, and counts that are at least so many nanoseconds. */
static inline uint64_t rti_systick_to_ns(uint64_t counts)
{
    if (RTI_NS_PER_S % RT_SYSTICK_HZ == 0) {
        return counts * (RTI_NS_PER_S / RT_SYSTICK_HZ);
    }
    return counts / RT_SYSTICK_HZ * RTI_NS_PER_S +
           counts % RT_SYSTICK_HZ * RTI_NS_PER_S / RT_SYSTICK_HZ;
}

/* Rounded up, so that an alarm is not early. Less than a period, so that it fits. */
static inline uint32_t rti_systick_from_ns(uint64_t ns)
{
    if (RTI_NS_PER_S % RT_SYSTICK_HZ == 0 && RT_SYSTICK_HZ >= 4000000) {
        /* A period is less than 2^32 ns, and the processor divides 32 bits itself. */
        uint32_t ns_per_count = (uint32_t)(RTI_NS_PER_S / RT_SYSTICK_HZ);
        return ((uint32_t)ns + ns_per_count - 1) / ns_per_count;
    }
    return (uint32_t)((ns * RT_SYSTICK_HZ + RTI_NS_PER_S - 1) / RTI_NS_PER_S);
}

#endif
