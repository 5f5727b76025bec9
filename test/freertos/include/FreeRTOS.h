/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FREERTOS_H
#define FREERTOS_H

/* Declarations of what src/port/freertos uses of the kernel, written after its manual, so that the
 * port can be compiled where there is no kernel. Nothing here can be linked. */

#include <stddef.h>
#include <stdint.h>

typedef uint32_t TickType_t;
typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t StackType_t;

typedef struct {
    uint32_t opaque[32];
} StaticTask_t;

#define pdFALSE            ((BaseType_t)0)
#define pdTRUE             ((BaseType_t)1)
#define portMAX_DELAY      ((TickType_t)0xffffffffUL)
#define configTICK_RATE_HZ ((TickType_t)1000)

void vPortYieldFromISR(BaseType_t is_switch_due);
#define portYIELD_FROM_ISR(x) vPortYieldFromISR(x)

BaseType_t xPortIsInsideInterrupt(void);

#endif
