/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "freertos/kernel_on_threads.h"

#include <pthread.h>
#include <sched.h>

#include "semphr.h"
#include "support/test.h"
#include "task.h"

struct QueueDefinition {
    bool is_given;
};

struct tskTaskControlBlock {
    struct tskTaskControlBlock *next;
    pthread_t thread;
    TaskFunction_t code;
    void *arg;
    const struct QueueDefinition *waits_for; /* NULL with is_waiting: for time alone */
    UBaseType_t priority;
    TickType_t since; /* is_waiting: from when */
    TickType_t ticks; /* and how long; portMAX_DELAY: for ever */
    bool is_waiting;
    bool is_deleted;
};

_Static_assert(sizeof(struct QueueDefinition) <= sizeof(StaticSemaphore_t), "it lies there");
_Static_assert(sizeof(struct tskTaskControlBlock) <= sizeof(StaticTask_t), "it lies there");

/* All of it under the lock, but for what is a thread's own. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct tskTaskControlBlock *tasks; /* all, the test's own included */
    struct tskTaskControlBlock test;
    TickType_t ticks;
    size_t made;
    size_t interrupt_gives;
} kernel = {.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};

static _Thread_local struct tskTaskControlBlock *self;
static _Thread_local bool is_in_interrupt;

static void kernel_enter(void)
{
    pthread_mutex_lock(&kernel.lock);
    if (self == NULL) {
        CHECK(kernel.test.next == NULL && kernel.tasks != &kernel.test);
        self = &kernel.test;
        self->next = kernel.tasks;
        kernel.tasks = self;
    }
}

static void kernel_leave(void)
{
    pthread_mutex_unlock(&kernel.lock);
}

/* Ticks until the task goes on by itself; 0: it goes on, or need not wait any longer. */
static TickType_t task_ticks_left(const struct tskTaskControlBlock *task)
{
    if (!task->is_waiting || task->is_deleted ||
        (task->waits_for != NULL && task->waits_for->is_given)) {
        return 0;
    }
    TickType_t passed = kernel.ticks - task->since;
    if (task->ticks == portMAX_DELAY) {
        return portMAX_DELAY;
    }
    return passed >= task->ticks ? 0 : task->ticks - passed;
}

/* If everybody waits, time goes on to the first who waits no longer. */
static void kernel_pass_time(void)
{
    TickType_t least = portMAX_DELAY;
    for (const struct tskTaskControlBlock *at = kernel.tasks; at != NULL; at = at->next) {
        TickType_t left = task_ticks_left(at);
        least = left < least ? left : least;
    }
    if (least != 0 && least != portMAX_DELAY) {
        kernel.ticks += least;
        pthread_cond_broadcast(&kernel.news);
    }
}

/* Waits for a semaphore, or with NULL for time alone. */
static void kernel_wait(const struct QueueDefinition *semaphore, TickType_t ticks)
{
    CHECK(!is_in_interrupt);
    self->waits_for = semaphore;
    self->since = kernel.ticks;
    self->ticks = ticks;
    self->is_waiting = true;
    while (task_ticks_left(self) != 0) {
        kernel_pass_time();
        if (task_ticks_left(self) != 0) {
            pthread_cond_wait(&kernel.news, &kernel.lock);
        }
    }
    self->is_waiting = false;
    if (self->is_deleted) {
        kernel_leave();
        pthread_exit(NULL);
    }
}

static void *task_main(void *arg)
{
    self = arg;
    self->code(self->arg);
    test_fail(__FILE__, __LINE__, "a task has returned");
}

TaskHandle_t xTaskCreateStatic(TaskFunction_t code, const char *name, uint32_t depth, void *arg,
                               UBaseType_t priority, StackType_t *stack, StaticTask_t *memory)
{
    struct tskTaskControlBlock *task = (void *)memory;
    CHECK(name != NULL && depth > 0 && stack != NULL);
    kernel_enter();
    *task = (struct tskTaskControlBlock){
        .next = kernel.tasks, .code = code, .arg = arg, .priority = priority};
    kernel.tasks = task;
    kernel.made++;
    CHECK_EQ(pthread_create(&task->thread, NULL, task_main, task), 0);
    kernel_leave();
    return task;
}

void vTaskDelete(TaskHandle_t task)
{
    kernel_enter();
    CHECK(task != self);
    task->is_deleted = true;
    pthread_cond_broadcast(&kernel.news);
    kernel_leave();
    pthread_join(task->thread, NULL);
    kernel_enter();
    struct tskTaskControlBlock **at = &kernel.tasks;
    while (*at != task) {
        at = &(*at)->next;
    }
    *at = task->next;
    kernel.made--;
    kernel_leave();
}

void vTaskDelay(TickType_t ticks)
{
    kernel_enter();
    kernel_wait(NULL, ticks);
    kernel_leave();
}

TickType_t xTaskGetTickCount(void)
{
    kernel_enter();
    TickType_t ticks = kernel.ticks;
    kernel_leave();
    return ticks;
}

SemaphoreHandle_t xSemaphoreCreateBinaryStatic(StaticSemaphore_t *memory)
{
    struct QueueDefinition *semaphore = (void *)memory;
    semaphore->is_given = false;
    return semaphore;
}

SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t *memory)
{
    SemaphoreHandle_t mutex = xSemaphoreCreateBinaryStatic(memory);
    mutex->is_given = true;
    return mutex;
}

void vSemaphoreDelete(SemaphoreHandle_t semaphore)
{
    kernel_enter();
    for (const struct tskTaskControlBlock *at = kernel.tasks; at != NULL; at = at->next) {
        CHECK(!at->is_waiting || at->waits_for != semaphore);
    }
    kernel_leave();
}

BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks)
{
    kernel_enter();
    kernel_wait(semaphore, ticks);
    bool is_given = semaphore->is_given;
    semaphore->is_given = false;
    kernel_leave();
    return is_given ? pdTRUE : pdFALSE;
}

static BaseType_t kernel_give(SemaphoreHandle_t semaphore)
{
    bool is_new = !semaphore->is_given;
    semaphore->is_given = true;
    pthread_cond_broadcast(&kernel.news);
    return is_new ? pdTRUE : pdFALSE;
}

BaseType_t xSemaphoreGive(SemaphoreHandle_t semaphore)
{
    CHECK(!is_in_interrupt);
    kernel_enter();
    BaseType_t result = kernel_give(semaphore);
    kernel_leave();
    return result;
}

BaseType_t xSemaphoreGiveFromISR(SemaphoreHandle_t semaphore, BaseType_t *is_switch_due)
{
    CHECK(is_in_interrupt);
    pthread_mutex_lock(&kernel.lock);
    kernel.interrupt_gives++;
    BaseType_t result = kernel_give(semaphore);
    *is_switch_due = pdTRUE;
    pthread_mutex_unlock(&kernel.lock);
    return result;
}

BaseType_t xPortIsInsideInterrupt(void)
{
    return is_in_interrupt ? pdTRUE : pdFALSE;
}

void vPortYieldFromISR(BaseType_t is_switch_due)
{
    CHECK(is_in_interrupt);
    (void)is_switch_due;
}

void kernel_set_ticks(TickType_t ticks)
{
    CHECK(kernel.tasks == NULL);
    kernel.ticks = ticks;
}

size_t kernel_task_count(void)
{
    kernel_enter();
    size_t made = kernel.made;
    kernel_leave();
    return made;
}

UBaseType_t kernel_priority_max(void)
{
    UBaseType_t most = 0;
    kernel_enter();
    for (const struct tskTaskControlBlock *at = kernel.tasks; at != NULL; at = at->next) {
        most = at->priority > most ? at->priority : most;
    }
    kernel_leave();
    return most;
}

bool kernel_is_in_a_task(void)
{
    return self != NULL && self != &kernel.test;
}

void kernel_interrupt(void (*fn)(void *arg), void *arg)
{
    CHECK(!is_in_interrupt);
    is_in_interrupt = true;
    fn(arg);
    is_in_interrupt = false;
}

size_t kernel_gives_from_interrupts(void)
{
    kernel_enter();
    size_t gives = kernel.interrupt_gives;
    kernel_leave();
    return gives;
}

void kernel_let_others_finish(void)
{
    bool is_over = false;
    while (!is_over) {
        kernel_enter();
        is_over = true;
        for (const struct tskTaskControlBlock *at = kernel.tasks; at != NULL; at = at->next) {
            is_over = is_over && (at == self || task_ticks_left(at) != 0);
        }
        kernel_leave();
        sched_yield();
    }
}
