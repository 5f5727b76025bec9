/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_MPS2_TIMER_H
#define RTI_MPS2_TIMER_H

/* A timer of the MPS2 boards (CMSDK): counts the system's clock down, interrupts at zero and begins
 * again. The runtime needs none, its clock is SysTick; an application has it for what must not
 * depend on the scheduler: the handler of its interrupt acknowledges it and posts (rt_isr_post). */

#include "base/compiler.h"

struct rti_mps2_timer {
    uintptr_t base;     /* the registers: 0x40000000 and 0x40001000; on an AN505 0x50000000 */
    uint32_t interrupt; /* 8 and 9; on an AN505 3 and 4 */
};

/* Interrupts every `counts` counts, at least 2. */
void rti_mps2_timer_start(const struct rti_mps2_timer *timer, uint32_t counts);
void rti_mps2_timer_stop(const struct rti_mps2_timer *timer);

/* The counts that are left until the next interrupt. */
uint32_t rti_mps2_timer_left(const struct rti_mps2_timer *timer);

/* In the handler, first of all. */
void rti_mps2_timer_acknowledge(const struct rti_mps2_timer *timer);

#endif
