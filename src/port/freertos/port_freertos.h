/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PORT_FREERTOS_H
#define RTI_PORT_FREERTOS_H

/* The body of the seam on FreeRTOS: the runtime is one task, the one that calls rt_init.
 *
 *     runtime's task                          helper task, of lower priority
 *     --------------                          ------------------------------
 *     submit(WORK) --- SPSC `asked` --------> takes an op, calls op->work, which may block
 *     wait  <--------- SPSC `answered` ------ gives it back
 *       |
 *       `-- takes the one binary semaphore `news`: the helper, `wake` and interrupts give it
 *
 * The scheduler blocks in one place, on one semaphore, for as many ticks as are left until its next
 * deadline. A semaphore that was given before it is taken is not lost, and one given twice is taken
 * once: that is the contract of `wake`. Whoever has news puts it into its queue first.
 *
 * There is no timer task: the timeout of the semaphore is the timer. The clock counts the kernel's
 * ticks, so it is as coarse as they are, and a deadline is met at the tick that follows it: never
 * early.
 *
 * What actors are to the kernel: nothing. They run inside the one task, on stacks of their own; a
 * preempted actor is a preempted task, whose stack pointer happens to lie elsewhere. Hence
 * configCHECK_FOR_STACK_OVERFLOW must be 0 or 2, not 1, which looks at the stack pointer.
 *
 * Memory: all of it lies in the struct, no object is made of the kernel's heap.
 *
 * I1  At most RTI_FREERTOS_WORK_MAX ops are with the helper, so neither queue is ever full: more
 *     wait in `waiting`.                                                  (freertos_send)
 * I2  `asked` is pushed by the runtime's task and popped by the helper, `answered` the reverse. */

#include <FreeRTOS.h>
#include <semphr.h>
#include <task.h>

#include <orrery/rt/spsc.h>

#include "base/list.h"
#include "port/port.h"

#define RTI_FREERTOS_WORK_MAX 8u /* a power of two */

#ifndef RT_FREERTOS_HELPER_STACK
#define RT_FREERTOS_HELPER_STACK 512 /* words of the helper task's stack */
#endif

#ifndef RT_FREERTOS_HELPER_PRIORITY
#define RT_FREERTOS_HELPER_PRIORITY 1 /* below the runtime's */
#endif

struct rti_op;

struct rti_port_freertos {
    struct rti_port port;
    uint64_t ticks_high;     /* what the kernel's count has lost by wrapping; runtime's task */
    TickType_t ticks_last;   /* runtime's task */
    uint64_t random;         /* where the program's randomness stands */
    size_t with_helper;      /* ops sent and not yet back; runtime's task */
    struct rti_list waiting; /* work that the helper has no room for; runtime's task */
    struct rti_list answered_here; /* ops that the port itself has answered */
    rt_spsc_queue asked;
    rt_spsc_queue answered;
    struct rti_op *asked_slots[RTI_FREERTOS_WORK_MAX];
    struct rti_op *answered_slots[RTI_FREERTOS_WORK_MAX];
    SemaphoreHandle_t news; /* the single wake-up of the runtime's task */
    SemaphoreHandle_t work; /* the helper's */
    TaskHandle_t helper;
    StaticSemaphore_t news_memory;
    StaticSemaphore_t work_memory;
    StaticTask_t helper_memory;
    StackType_t helper_stack[RT_FREERTOS_HELPER_STACK];
};

/* Makes the semaphores and the helper task. By the runtime's task, after the kernel has started or
 * before; once in the life of the program, because the helper is never deleted while it works. */
void rti_port_freertos_init(struct rti_port_freertos *freertos, uint64_t seed);

/* Ends the helper. No work is in flight. */
void rti_port_freertos_deinit(struct rti_port_freertos *freertos);

#endif
