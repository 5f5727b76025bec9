/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_FREERTOS_SERVANT_H
#define RTI_FREERTOS_SERVANT_H

/* A servant: a task that does one kind of thing for the runtime's task, over two SPSC queues.
 *
 *     runtime's task                              servant
 *     --------------                              -------
 *     push `asked`, give `work`  -------------->  takes `work`, pops `asked`
 *     pops `answered`            <--------------  push `answered`, give `news`
 *
 * `news` is the runtime's one binary semaphore and every servant's; `work` is the servant's own.
 * Whoever has something puts it into its queue first and gives then, so neither side misses it.
 *
 * Entries are words: the address of an op, or a time. The one who asks counts those that are with
 * the servant, so that neither queue is ever full.
 *
 * I1  At most RTI_FREERTOS_ASKED_MAX entries are with the servant.    (rti_servant_ask)
 * I2  `asked` is pushed by the runtime's task and popped by the servant, `answered` the reverse. */

#include <FreeRTOS.h>
#include <semphr.h>
#include <task.h>

#include <stdbool.h>

#include <orrery/rt/spsc.h>

#include "base/compiler.h"
#include "port/port.h"

#define RTI_FREERTOS_ASKED_MAX 8u /* a power of two */

struct rti_servant {
    rt_spsc_queue asked;
    rt_spsc_queue answered;
    uintptr_t asked_slots[RTI_FREERTOS_ASKED_MAX];
    uintptr_t answered_slots[RTI_FREERTOS_ASKED_MAX];
    size_t with_it;         /* runtime's task: asked and not yet answered */
    struct rti_port *port;  /* the runtime's: an answer raises its attention */
    SemaphoreHandle_t news; /* the runtime's */
    SemaphoreHandle_t work;
    TaskHandle_t task;
    StaticSemaphore_t work_memory;
    StaticTask_t task_memory;
};

struct rti_servant_config {
    const char *name;
    TaskFunction_t serve; /* its argument is `arg` */
    void *arg;
    UBaseType_t priority;
    StackType_t *stack;
    uint32_t stack_words;
    struct rti_port *port;
    SemaphoreHandle_t news;
};

void rti_servant_start(struct rti_servant *servant, const struct rti_servant_config *config);
/* Nothing is with it. */
void rti_servant_stop(struct rti_servant *servant);

/* The runtime's task: asks, false if too much is with the servant already; takes an answer. */
bool rti_servant_ask(struct rti_servant *servant, uintptr_t entry);
bool rti_servant_take(struct rti_servant *servant, uintptr_t *entry);

/* The servant: the next entry, false if there is none; and an answer. */
bool rti_servant_next(struct rti_servant *servant, uintptr_t *entry);
void rti_servant_answer(struct rti_servant *servant, uintptr_t entry);

/* The servant sleeps until it is asked, poked, or so many ticks have passed. */
void rti_servant_sleep(struct rti_servant *servant, TickType_t ticks);
/* Any task, an interrupt. */
void rti_servant_poke(struct rti_servant *servant);

/* Gives a semaphore from a task or an interrupt. */
void rti_freertos_give(SemaphoreHandle_t semaphore);

#endif
