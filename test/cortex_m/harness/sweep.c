/* SPDX-License-Identifier: Apache-2.0 */
/* The first timer of the CMSDK subsystem, which all four boards have. */
#include "cortex_m/harness/sweep.h"

#include <stddef.h>

#include "port/cortex_m/core.h"

#if defined(__ARM_ARCH_8M_MAIN__)
#define TIMER_BASE      0x50000000u
#define TIMER_INTERRUPT 3u
#else
#define TIMER_BASE      0x40000000u
#define TIMER_INTERRUPT 8u
#endif

#define TIMER_CTRL     RTI_REGISTER(TIMER_BASE + 0x0)
#define TIMER_VALUE    RTI_REGISTER(TIMER_BASE + 0x4)
#define TIMER_RELOAD   RTI_REGISTER(TIMER_BASE + 0x8)
#define TIMER_INTCLEAR RTI_REGISTER(TIMER_BASE + 0xC)

#define TIMER_CTRL_ENABLE    0x1u
#define TIMER_CTRL_INTERRUPT 0x8u

/* Even the first step shall come after sweep_arm has returned. */
#define COUNTS_MIN 12u

#define PLACES_MAX 1024

static void (*volatile on_interrupt)(void);
static volatile uint32_t pc;
static volatile bool has_come;
static uint32_t places[PLACES_MAX];
static uint32_t place_count;

void Interrupt_Handler(void);

static __attribute__((used)) void sweep_interrupted(const uint32_t *frame)
{
    TIMER_CTRL = 0;
    TIMER_INTCLEAR = 1;
    pc = frame[6];
    has_come = true;
    on_interrupt();
}

__attribute__((naked)) void Interrupt_Handler(void)
{
    __asm__ volatile("mrs r0, psp\n\tb sweep_interrupted");
}

void sweep_arm(uint32_t counts, void (*handler)(void))
{
    has_come = false;
    on_interrupt = handler;
    TIMER_CTRL = 0;
    TIMER_INTCLEAR = 1;
    RTI_NVIC_ISER(TIMER_INTERRUPT) = RTI_NVIC_BIT(TIMER_INTERRUPT);
    TIMER_RELOAD = counts + COUNTS_MIN;
    TIMER_VALUE = counts + COUNTS_MIN;
    TIMER_CTRL = TIMER_CTRL_ENABLE | TIMER_CTRL_INTERRUPT;
}

void sweep_disarm(void)
{
    TIMER_CTRL = 0;
    TIMER_INTCLEAR = 1;
}

bool sweep_has_come(void)
{
    return has_come;
}

uint32_t sweep_pc(void)
{
    return pc;
}

void sweep_note(void)
{
    if (!has_come) {
        return;
    }
    for (uint32_t i = 0; i < place_count; i++) {
        if (places[i] == pc) {
            return;
        }
    }
    if (place_count < PLACES_MAX) {
        places[place_count++] = pc;
    }
}

uint32_t sweep_places(void)
{
    return place_count;
}
