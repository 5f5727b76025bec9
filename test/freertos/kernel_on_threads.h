/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNEL_ON_THREADS_H
#define KERNEL_ON_THREADS_H

/* What src/port/freertos uses of a kernel, on threads of the host, so that the port runs in the
 * tests without one: tasks are threads, semaphores are flags under one mutex.
 *
 * Its time is a count of ticks that stands still as long as any task has something to do, and jumps
 * to the next timeout when all of them wait. So no case depends on the clock of the machine.
 *
 * The thread of the test is a task from its first call on. What differs from a kernel: nobody
 * preempts, priorities are noted and not obeyed. */

#include <stdbool.h>
#include <stddef.h>

#include "FreeRTOS.h"

/* Where the ticks stand; before the first task exists. */
void kernel_set_ticks(TickType_t ticks);

/* Tasks that xTaskCreateStatic made and that were not deleted, and the highest of their priorities.
 */
size_t kernel_task_count(void);
UBaseType_t kernel_priority_max(void);

/* Is the calling thread one of those? */
bool kernel_is_in_a_task(void);

/* Calls fn(arg) as an interrupt would: no call may wait meanwhile. */
void kernel_interrupt(void (*fn)(void *arg), void *arg);

/* How often a semaphore was given by an interrupt. */
size_t kernel_gives_from_interrupts(void);

/* Comes back when every other task waits and has nothing to take. */
void kernel_let_others_finish(void);

#endif
