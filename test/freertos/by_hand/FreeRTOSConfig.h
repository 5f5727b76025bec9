/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

/* The kernel under freertos_try.c: preemptive, static memory only, 1 ms ticks, 25 MHz. */

#include <stdint.h>

void freertos_try_failed(const char *file, int line);

#define configCPU_CLOCK_HZ                      25000000
#define configTICK_RATE_HZ                      1000
#define configTICK_TYPE_WIDTH_IN_BITS           TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION                    1
#define configUSE_TIME_SLICING                  1
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1
#define configMAX_PRIORITIES                    5
#define configMINIMAL_STACK_SIZE                256
#define configMAX_TASK_NAME_LEN                 12
#define configIDLE_SHOULD_YIELD                 1
#define configSUPPORT_STATIC_ALLOCATION         1
#define configSUPPORT_DYNAMIC_ALLOCATION        0
#define configKERNEL_PROVIDED_STATIC_MEMORY     1
#define configUSE_TIMERS                        0
#define configTIMER_TASK_STACK_DEPTH            128 /* named even where there are none */
#define configUSE_IDLE_HOOK                     0
#define configUSE_TICK_HOOK                     1
#define configUSE_MUTEXES                       1
#define configCHECK_FOR_STACK_OVERFLOW          2
#define configPRIO_BITS                         3
#define configKERNEL_INTERRUPT_PRIORITY         (7 << 5)
#define configMAX_SYSCALL_INTERRUPT_PRIORITY    (2 << 5)

#define INCLUDE_vTaskDelay  1
#define INCLUDE_vTaskDelete 1

#define configASSERT(c)                                                                            \
    do {                                                                                           \
        if (!(c)) {                                                                                \
            freertos_try_failed(__FILE__, __LINE__);                                               \
        }                                                                                          \
    } while (0)

/* The names in the vector table of port/cortex_m/startup.c. */
#define vPortSVCHandler     SVC_Handler
#define xPortPendSVHandler  PendSV_Handler
#define xPortSysTickHandler SysTick_Handler

#endif
