/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CORTEX_M_CORE_H
#define RTI_CORTEX_M_CORE_H

/* The registers of a Cortex-M that the port uses, each under one name, and the few instructions
 * that C cannot say. All of it is in the architecture manuals of ARMv7-M and ARMv8-M; no vendor's
 * header is needed. */

#include <stdbool.h>

#include "base/compiler.h"

#define RTI_REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

#define RTI_SYST_CSR RTI_REGISTER(0xE000E010) /* control */
#define RTI_SYST_RVR RTI_REGISTER(0xE000E014) /* reload value, 24 bits */
#define RTI_SYST_CVR RTI_REGISTER(0xE000E018) /* current value; any write clears it */

#define RTI_SYST_CSR_ENABLE    0x1u
#define RTI_SYST_CSR_TICKINT   0x2u
#define RTI_SYST_CSR_PROCESSOR 0x4u /* counts the processor's clock */

#define RTI_NVIC_ISER(number) RTI_REGISTER(0xE000E100u + 4u * ((number) / 32u))
#define RTI_NVIC_ISPR(number) RTI_REGISTER(0xE000E200u + 4u * ((number) / 32u))
#define RTI_NVIC_BIT(number)  (1u << ((number) % 32u))

#define RTI_SCB_ICSR  RTI_REGISTER(0xE000ED04)
#define RTI_SCB_VTOR  RTI_REGISTER(0xE000ED08)
#define RTI_SCB_SHCSR RTI_REGISTER(0xE000ED24)
#define RTI_SCB_CFSR  RTI_REGISTER(0xE000ED28)
#define RTI_SCB_MMFAR RTI_REGISTER(0xE000ED34)
#define RTI_SCB_CPACR RTI_REGISTER(0xE000ED88)
#define RTI_FPCCR     RTI_REGISTER(0xE000EF34)

#define RTI_SCB_ICSR_PENDSTSET 0x04000000u
#define RTI_SCB_ICSR_PENDSTCLR 0x02000000u
#define RTI_SCB_SHCSR_FAULTS   0x00070000u /* usage, bus and memory faults have their handlers */
#define RTI_FPCCR_LSPACT       0x00000001u /* the state of the floating-point unit is still owed */

/* The fault status: its low byte is the memory fault's. */
#define RTI_CFSR_DACCVIOL   0x00000002u /* a load or store; MMFAR says where, if valid */
#define RTI_CFSR_MUNSTKERR  0x00000008u
#define RTI_CFSR_MSTKERR    0x00000010u /* the hardware's own push at an interrupt */
#define RTI_CFSR_MLSPERR    0x00000020u /* the late push of the floating-point unit */
#define RTI_CFSR_MMARVALID  0x00000080u
#define RTI_CFSR_UNDEFINSTR 0x00010000u
#define RTI_CFSR_STKOF      0x00100000u /* ARMv8-M: below the limit of the stack */

#define RTI_MPU_TYPE RTI_REGISTER(0xE000ED90)
#define RTI_MPU_CTRL RTI_REGISTER(0xE000ED94)
#define RTI_MPU_RNR  RTI_REGISTER(0xE000ED98)
#define RTI_MPU_RBAR RTI_REGISTER(0xE000ED9C)
#define RTI_MPU_RASR RTI_REGISTER(0xE000EDA0)

/* Masks every interrupt and says what the mask was; the pair of both is a critical stretch. */
static RTI_ALWAYSINLINE uint32_t rti_irq_mask(void)
{
    uint32_t before;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(before)::"memory");
    return before;
}

static RTI_ALWAYSINLINE void rti_irq_restore(uint32_t before)
{
    __asm__ volatile("msr primask, %0" ::"r"(before) : "memory");
}

/* Sleeps until an interrupt is pending, masked or not. */
static RTI_ALWAYSINLINE void rti_irq_await(void)
{
    __asm__ volatile("dsb\n\twfi" ::: "memory");
}

/* What is pending and not masked runs before the next instruction. */
static RTI_ALWAYSINLINE void rti_irq_let_run(void)
{
    __asm__ volatile("isb" ::: "memory");
}

/* The number of the exception that runs; 0 outside of any. */
static RTI_ALWAYSINLINE uint32_t rti_irq_current(void)
{
    uint32_t number;
    __asm__ volatile("mrs %0, ipsr" : "=r"(number));
    return number;
}

static RTI_ALWAYSINLINE void rti_core_barrier(void)
{
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

#endif
