/* SPDX-License-Identifier: Apache-2.0 */
/* From reset to main: the vector table, the stacks, the variables, the faults, the floating-point
 * unit. An application takes it over as it is, or writes its own; the names of handlers are those
 * of the vendors' startup files, and each may be given by the application.
 *
 * Two stacks. The main one serves handlers only; thread mode runs on the other, first on main's and
 * then on the fibers'. So a fiber's stack has to hold, of any interrupt, no more than the registers
 * that the hardware pushes: 32 bytes, or 104 where floating point was used. */
#include "port/cortex_m/board.h"
#include "port/cortex_m/core.h"

int main(void);
void Reset_Handler(void);

/* From the linker script. */
extern uint32_t rti_ld_data_load[];
extern uint32_t rti_ld_data_start[];
extern uint32_t rti_ld_data_end[];
extern uint32_t rti_ld_bss_start[];
extern uint32_t rti_ld_bss_end[];
extern uint32_t rti_ld_handler_stack_top[];
extern void (*const rti_ld_init_start[])(void);
extern void (*const rti_ld_init_end[])(void);

_Noreturn static void unexpected_exception(void)
{
    static const char text[] = "orrery: an exception that nobody handles\n";
    rti_board_write(text, sizeof(text) - 1);
    rti_board_exit(135);
}

#define HANDLER(name) void name(void) __attribute__((weak, alias("unexpected_exception")))

HANDLER(NMI_Handler);
HANDLER(HardFault_Handler);
HANDLER(MemManage_Handler);
HANDLER(BusFault_Handler);
HANDLER(UsageFault_Handler);
HANDLER(SecureFault_Handler);
HANDLER(SVC_Handler);
HANDLER(DebugMon_Handler);
HANDLER(PendSV_Handler);
HANDLER(SysTick_Handler);
/* All interrupts of the board; ICSR says which. */
HANDLER(Interrupt_Handler);

#define INTERRUPTS_8                                                                               \
    Interrupt_Handler, Interrupt_Handler, Interrupt_Handler, Interrupt_Handler, Interrupt_Handler, \
        Interrupt_Handler, Interrupt_Handler, Interrupt_Handler

typedef void (*vector)(void);

extern const vector rti_vectors[];
__attribute__((section(".vectors"), used)) const vector rti_vectors[16 + 64] = {
    (vector)(uintptr_t)rti_ld_handler_stack_top,
    Reset_Handler,
    NMI_Handler,
    HardFault_Handler,
    MemManage_Handler,
    BusFault_Handler,
    UsageFault_Handler,
    SecureFault_Handler,
    NULL,
    NULL,
    NULL,
    SVC_Handler,
    DebugMon_Handler,
    NULL,
    PendSV_Handler,
    SysTick_Handler,
    INTERRUPTS_8,
    INTERRUPTS_8,
    INTERRUPTS_8,
    INTERRUPTS_8,
    INTERRUPTS_8,
    INTERRUPTS_8,
    INTERRUPTS_8,
    INTERRUPTS_8,
};

/* On main's stack, before any variable has its value. */
_Noreturn static __attribute__((used)) void start(void)
{
    const uint32_t *from = rti_ld_data_load;
    for (uint32_t *to = rti_ld_data_start; to < rti_ld_data_end; to++) {
        *to = *from++;
    }
    for (uint32_t *to = rti_ld_bss_start; to < rti_ld_bss_end; to++) {
        *to = 0;
    }
    RTI_SCB_VTOR = (uint32_t)(uintptr_t)rti_vectors;
    RTI_SCB_SHCSR |= RTI_SCB_SHCSR_FAULTS;
#if defined(__ARM_FP)
    RTI_SCB_CPACR |= 0x00F00000u;
#endif
    rti_core_barrier();
    for (void (*const *init)(void) = rti_ld_init_start; init < rti_ld_init_end; init++) {
        (*init)();
    }
    rti_board_exit(main());
}

__attribute__((naked)) void Reset_Handler(void)
{
    __asm__ volatile("ldr r0, =rti_ld_main_stack_top\n\t"
                     "msr psp, r0\n\t"
                     "movs r0, #2\n\t"
                     "msr control, r0\n\t"
                     "isb\n\t"
                     "b start\n\t"
                     ".ltorg");
}
