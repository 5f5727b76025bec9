/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "guard"
#include "runtime/cortex_m/guard.h"

#include "port/cortex_m/core.h"
#include "port/port.h"
#include "sched/fiber.h"

/* Attributes of a region: nobody may do anything, and its size is 2^n bytes. */
#define MPU_RASR_FORBIDDEN(n) (0x10000000u | (((n)-1u) << 1) | 1u)
#define MPU_RBAR_VALID        0x10u
#define MPU_CTRL_ON           0x5u /* on, and all else as without it */
#define NULL_REGION           6u

/* Back to thread mode, to the other stack, with a frame of eight words. */
#define EXC_RETURN_THREAD 0xFFFFFFFDu
#define EXC_IS_THREAD     0x8u
#define EXC_IS_PSP        0x4u
#define XPSR_THUMB        0x01000000u

/* The undefined instruction that an assertion is (base/assert.h); its low byte is free. */
#define TRAP_OPCODE 0xDE00u

#if defined(__ARM_ARCH_8M_MAIN__)

void rti_guard_start(void)
{
    /* The limit of the stack needs no turning on. Region 0: read only, for the null pointer. */
    RTI_MPU_RNR = 0;
    RTI_MPU_RBAR = 0x5u;
    RTI_MPU_RASR = 0x1u;
    RTI_MPU_CTRL = MPU_CTRL_ON;
    rti_core_barrier();
}

static bool fault_is_overflow(uint32_t cfsr)
{
    return (cfsr & RTI_CFSR_STKOF) != 0;
}

static void fault_lift_limit(void)
{
    __asm__ volatile("msr psplim, %0" ::"r"(0));
}

#else

void rti_guard_start(void)
{
    uint32_t power = 31u - (uint32_t)__builtin_clz(RTI_ARCH_GUARD_BYTES);
    RTI_MPU_RBAR = MPU_RBAR_VALID | NULL_REGION;
    RTI_MPU_RASR = MPU_RASR_FORBIDDEN(5u);
    RTI_MPU_RBAR = MPU_RBAR_VALID | RTI_ARCH_GUARD_REGION;
    RTI_MPU_RASR = MPU_RASR_FORBIDDEN(power);
    RTI_MPU_CTRL = MPU_CTRL_ON;
    rti_core_barrier();
}

static bool fault_is_overflow(uint32_t cfsr)
{
    struct rti_worker *worker = rti_worker_current();
    if (worker == NULL || worker->fiber == NULL) {
        return false;
    }
    if ((cfsr & (RTI_CFSR_MSTKERR | RTI_CFSR_MUNSTKERR | RTI_CFSR_MLSPERR)) != 0) {
        return true;
    }
    uintptr_t low = rti_arch_guard_low(rti_stack_usable(&worker->fiber->stack));
    bool is_there = RTI_SCB_MMFAR - low < RTI_ARCH_GUARD_BYTES;
    return (cfsr & RTI_CFSR_MMARVALID) != 0 && is_there;
}

static void fault_lift_limit(void)
{
}

#endif

void rti_guard_stop(void)
{
    RTI_MPU_CTRL = 0;
    rti_core_barrier();
}

/* The landings: thread mode, on the worker's stack. */

static void land_overflow(void)
{
    __asm__ volatile("cpsie i" ::: "memory");
    struct rti_worker *worker = rti_worker_current();
    worker->fiber->end = RTI_FIBER_OVERFLOWED;
    rti_fiber_abandon(worker);
}

static _Noreturn void land_fault(void)
{
    __asm__ volatile("cpsie i" ::: "memory");
    (rti_panic)(RTI_MODULE, __LINE__,
                RTI_TEXT("an actor faulted: a wild or null pointer, or no code there"));
}

/* Makes the return from this exception go to `landing`, on the worker's stack. */
static uint32_t fault_return_to(struct rti_worker *worker, void (*landing)(void))
{
    uint32_t *frame = (uint32_t *)((uintptr_t)worker->context.saved.sp & ~(uintptr_t)7) - 8;
    for (uint32_t i = 0; i < 6; i++) {
        frame[i] = 0;
    }
    frame[6] = (uint32_t)(uintptr_t)landing & ~1u;
    frame[7] = XPSR_THUMB;
    fault_lift_limit();
    __asm__ volatile("msr psp, %0" ::"r"(frame) : "memory");
    return EXC_RETURN_THREAD;
}

#if defined(RT_ASSERT_TRAP)

/* Where the program stood; 0 if the hardware could not push it. */
static uintptr_t fault_pc(uint32_t cfsr, uint32_t exc_return)
{
    if ((cfsr & (RTI_CFSR_MSTKERR | RTI_CFSR_STKOF)) != 0) {
        return 0;
    }
    const uint32_t *frame;
    if ((exc_return & EXC_IS_PSP) != 0) {
        __asm__ volatile("mrs %0, psp" : "=r"(frame));
    } else {
        /* Below it lies what this handler has pushed, which nobody knows: the frame is not found.
         */
        return 0;
    }
    return frame[6];
}

/* Gives up for an assertion: its place is the address, its number the byte in the instruction. */
static void fault_tell_trap(uint32_t cfsr, uint32_t exc_return)
{
    static const char digits[] = "0123456789abcdef";
    uintptr_t pc = fault_pc(cfsr, exc_return);
    if ((cfsr & RTI_CFSR_UNDEFINSTR) == 0 || pc == 0) {
        return;
    }
    uint16_t instruction = *(const uint16_t *)pc;
    if ((instruction & 0xFF00u) != TRAP_OPCODE) {
        return;
    }
    char place[] = "at 0x00000000";
    for (size_t i = 0; i < 8; i++) {
        place[sizeof(place) - 2 - i] = digits[(pc >> (4 * i)) & 15u];
    }
    (rti_panic)(place, instruction & 0xFF, NULL);
}

#else

static void fault_tell_trap(uint32_t cfsr, uint32_t exc_return)
{
    (void)cfsr;
    (void)exc_return;
}

#endif

/* All faults come here, with the value that returns from them; gives the one to use. */
static __attribute__((used)) uint32_t fault_handle(uint32_t exc_return)
{
    struct rti_worker *worker = rti_worker_current();
    uint32_t cfsr = RTI_SCB_CFSR;
    bool is_fiber = (exc_return & EXC_IS_THREAD) != 0 && worker != NULL && worker->fiber != NULL;
    RTI_SCB_CFSR = cfsr;
    fault_tell_trap(cfsr, exc_return);
#if defined(__ARM_FP)
    RTI_FPCCR &= ~RTI_FPCCR_LSPACT;
#endif
    if (!is_fiber) {
        (rti_panic)(RTI_MODULE, __LINE__, RTI_TEXT("a fault outside of the actors"));
    }
    return fault_return_to(worker, fault_is_overflow(cfsr) ? land_overflow : land_fault);
}

void HardFault_Handler(void);
void MemManage_Handler(void) __attribute__((alias("HardFault_Handler")));
void BusFault_Handler(void) __attribute__((alias("HardFault_Handler")));
void UsageFault_Handler(void) __attribute__((alias("HardFault_Handler")));

/* With interrupts masked every fault comes as a hard one. */
__attribute__((naked)) void HardFault_Handler(void)
{
    __asm__ volatile("mov r0, lr\n\t"
                     "bl fault_handle\n\t"
                     "bx r0");
}
