/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "processor"
#include "sched/processor.h"

void rti_processor_init(struct rti_processor *processor)
{
    *processor = (struct rti_processor){.levels_ready = RTI_PROCESSOR_NOTHING};
}

#if RTI_ONE_WORKER
void rti_processor_queue(struct rti_processor *processor, struct rti_runnable *runnable)
{
    rti_processor_queue_at(processor, runnable, runnable->priority);
}
#endif

/* Takes out what follows `before`, or the head if that is NULL. */
static struct rti_runnable *processor_take_after(struct rti_processor *processor, uint32_t priority,
                                                 struct rti_runnable *before)
{
    struct rti_runqueue *level = &processor->levels[priority];
    struct rti_runnable *taken = before == NULL ? level->head : before->next;
    RT_ASSERT(taken != NULL && taken->priority == priority);
    if (before == NULL) {
        level->head = taken->next;
    } else {
        before->next = taken->next;
    }
    if (level->tail == taken) {
        level->tail = before;
    }
    if (level->head == NULL) {
        processor->levels_ready &= ~(1U << priority);
    }
    return taken;
}

struct rti_runnable *rti_processor_choose(struct rti_processor *processor,
                                          struct rti_chooser *chooser)
{
    if (rti_processor_is_empty(processor)) {
        return NULL;
    }
    uint32_t priority = (uint32_t)__builtin_ctz(processor->levels_ready);
    struct rti_runqueue *level = &processor->levels[priority];
    size_t count = 0;
    for (struct rti_runnable *at = level->head; at != NULL; at = at->next) {
        count++;
    }
    size_t place = chooser->choose(chooser, level, count);
    RT_ASSERT(place < count);
    struct rti_runnable *before = NULL;
    for (size_t i = 0; i < place; i++) {
        before = before == NULL ? level->head : before->next;
    }
    return processor_take_after(processor, priority, before);
}

void rti_processor_remove(struct rti_processor *processor, struct rti_runnable *runnable)
{
    struct rti_runnable *before = NULL;
    struct rti_runnable *at = processor->levels[runnable->priority].head;
    while (at != runnable) {
        RT_ASSERT(at != NULL);
        before = at;
        at = at->next;
    }
    processor_take_after(processor, runnable->priority, before);
}

size_t rti_processor_audit(const struct rti_processor *processor)
{
    size_t total = 0;
    for (uint32_t i = 0; i < RTI_PRIORITY_LEVELS; i++) {
        const struct rti_runqueue *level = &processor->levels[i];
        RT_ASSERT(((processor->levels_ready >> i) & 1U) == (level->head != NULL));
        for (const struct rti_runnable *at = level->head; at != NULL; at = at->next) {
            RT_ASSERT(at->priority == i);
            RT_ASSERT(rti_runnable_state(at) == RTI_RUNNABLE_READY);
            RT_ASSERT((at->next == NULL) == (at == level->tail));
            total++;
        }
    }
    return total;
}
