/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "servant"
#include "port/freertos/servant.h"

#include "base/assert.h"

void rti_freertos_give(SemaphoreHandle_t semaphore)
{
    if (xPortIsInsideInterrupt() != pdFALSE) {
        BaseType_t is_switch_due = pdFALSE;
        (void)xSemaphoreGiveFromISR(semaphore, &is_switch_due);
        portYIELD_FROM_ISR(is_switch_due);
    } else {
        (void)xSemaphoreGive(semaphore);
    }
}

void rti_servant_start(struct rti_servant *servant, const struct rti_servant_config *config)
{
    rt_status status = rt_spsc_init(&servant->asked, servant->asked_slots, sizeof(uintptr_t),
                                    RTI_FREERTOS_ASKED_MAX);
    RT_ASSERT(!RT_FAILED(status));
    status = rt_spsc_init(&servant->answered, servant->answered_slots, sizeof(uintptr_t),
                          RTI_FREERTOS_ASKED_MAX);
    RT_ASSERT(!RT_FAILED(status));
    servant->with_it = 0;
    servant->port = config->port;
    servant->news = config->news;
    servant->work = xSemaphoreCreateBinaryStatic(&servant->work_memory);
    servant->task = xTaskCreateStatic(config->serve, config->name, config->stack_words, config->arg,
                                      config->priority, config->stack, &servant->task_memory);
    RT_ASSERT(servant->work != NULL && servant->task != NULL);
}

void rti_servant_stop(struct rti_servant *servant)
{
    RT_ASSERT(servant->with_it == 0);
    vTaskDelete(servant->task);
    vSemaphoreDelete(servant->work);
    rt_spsc_destroy(&servant->asked);
    rt_spsc_destroy(&servant->answered);
}

bool rti_servant_ask(struct rti_servant *servant, uintptr_t entry)
{
    if (servant->with_it == RTI_FREERTOS_ASKED_MAX) {
        return false;
    }
    bool is_pushed = rt_spsc_push(&servant->asked, &entry);
    RT_ASSERT(is_pushed);
    servant->with_it++;
    (void)xSemaphoreGive(servant->work);
    return true;
}

bool rti_servant_take(struct rti_servant *servant, uintptr_t *entry)
{
    if (!rt_spsc_pop(&servant->answered, entry)) {
        return false;
    }
    RT_ASSERT(servant->with_it > 0);
    servant->with_it--;
    return true;
}

bool rti_servant_next(struct rti_servant *servant, uintptr_t *entry)
{
    return rt_spsc_pop(&servant->asked, entry);
}

void rti_servant_answer(struct rti_servant *servant, uintptr_t entry)
{
    bool is_pushed = rt_spsc_push(&servant->answered, &entry);
    RT_ASSERT(is_pushed);
    /* Release pairs with the scheduler's exchange in its look. */
    rti_u32_store_release(&servant->port->attention, 1);
    rti_freertos_give(servant->news);
}

void rti_servant_sleep(struct rti_servant *servant, TickType_t ticks)
{
    (void)xSemaphoreTake(servant->work, ticks);
}

void rti_servant_poke(struct rti_servant *servant)
{
    rti_freertos_give(servant->work);
}
