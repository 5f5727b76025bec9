/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PROCESSOR_H
#define RTI_PROCESSOR_H

/* A processor (P) holds what is ready to run: four priority levels, each a FIFO queue.
 *
 * A bit per level says which queues are not empty, so that picking the most urgent runnable is one
 * count of trailing zeros, however many there are. Within a level the order is the order of
 * queueing: that is the round robin of the specification, and it is what makes a run repeatable.
 *
 * A chooser, if there is one, takes a runnable of the most urgent level in its own order; the
 * simulator's draws from its seed. It may not reach into a less urgent level.
 *
 * I1  Bit n of `levels_ready` is set iff levels[n] is not empty; NOTHING is always set.
 *                                                                            (rti_processor_audit)
 * I2  Each queued runnable is READY, of its queue's priority, and the last one is `tail`.
 *                                                                            (rti_processor_audit)
 *
 * Costs: queue and pick are O(1) and write one link each; the queues are singly linked because this
 * is the hottest path there is. Taking one out of the middle, for a choice or an overflowed stack,
 * walks its level. */

#include "sched/runnable.h"

struct rti_runqueue {
    struct rti_runnable *head; /* NULL when empty */
    struct rti_runnable *tail; /* meaningful unless empty */
};

struct rti_chooser {
    /* Gives the place, below `count`, of the runnable to take from a level of `count` > 0. */
    size_t (*choose)(struct rti_chooser *chooser, const struct rti_runqueue *level, size_t count);
};

/* Stands in `levels_ready` for "nothing": always set, less urgent than every level, so that
 * counting zeros is defined and needs no question first. */
#define RTI_PROCESSOR_NOTHING 0x80000000U

struct rti_processor {
    uint32_t levels_ready;
    struct rti_runqueue levels[RTI_PRIORITY_LEVELS];
};

void rti_processor_init(struct rti_processor *processor);

/* Takes one of the most urgent level, picked by the chooser. NULL if nothing is ready. */
struct rti_runnable *rti_processor_choose(struct rti_processor *processor,
                                          struct rti_chooser *chooser);

/* Takes out a runnable that is queued here. */
void rti_processor_remove(struct rti_processor *processor, struct rti_runnable *runnable);

/* Checks I1 and I2 and returns how many are ready. */
size_t rti_processor_audit(const struct rti_processor *processor);

static inline bool rti_processor_is_empty(const struct rti_processor *processor)
{
    return processor->levels_ready == RTI_PROCESSOR_NOTHING;
}

/* Appends a READY runnable to its level, which the caller knows. */
static RTI_ALWAYSINLINE void rti_processor_queue_at(struct rti_processor *processor,
                                                    struct rti_runnable *runnable,
                                                    uint32_t priority)
{
    RT_DCHECK(rti_runnable_state(runnable) == RTI_RUNNABLE_READY);
    RT_DCHECK(runnable->priority == priority);
    struct rti_runqueue *level = &processor->levels[priority];
    runnable->next = NULL;
    /* Here and in rti_processor_take a guess breaks a chain: without the branch a park would wait
     * for the words that the last one wrote, one after the other. The level is more often empty
     * than not where that matters, among few that wake each other. */
    if (RTI_LIKELY(level->head == NULL)) {
        level->head = runnable;
        processor->levels_ready |= 1U << priority;
    } else {
        level->tail->next = runnable;
    }
    level->tail = runnable;
}

/* Appends a READY runnable to its level. Where flash is scarce it is there once, in processor.c. */
#if RTI_ONE_WORKER
void rti_processor_queue(struct rti_processor *processor, struct rti_runnable *runnable);
#else
static inline void rti_processor_queue(struct rti_processor *processor,
                                       struct rti_runnable *runnable)
{
    rti_processor_queue_at(processor, runnable, runnable->priority);
}
#endif

/* Puts READY runnables of one level, linked from `first` to `last`, before all others of it: not
 * for the round robin, for who keeps a stack here, or begins before them. */
static inline void rti_processor_stack_all(struct rti_processor *processor,
                                           struct rti_runnable *first, struct rti_runnable *last)
{
    RT_DCHECK(rti_runnable_state(first) == RTI_RUNNABLE_READY);
    uint32_t priority = first->priority;
    struct rti_runqueue *level = &processor->levels[priority];
    last->next = level->head;
    if (level->head == NULL) {
        level->tail = last;
        processor->levels_ready |= 1U << priority;
    }
    level->head = first;
}

/* The same of one. */
static inline void rti_processor_stack(struct rti_processor *processor,
                                       struct rti_runnable *runnable)
{
    rti_processor_stack_all(processor, runnable, runnable);
}

/* The most urgent level that has anybody ready; NULL if there is none. */
static inline struct rti_runqueue *rti_processor_urgent(struct rti_processor *processor)
{
    uint32_t ready = processor->levels_ready;
    return rti_processor_is_empty(processor) ? NULL
                                             : &processor->levels[(unsigned)__builtin_ctz(ready)];
}

/* Takes the first of that level, which is the one that has waited longest. */
static inline struct rti_runnable *rti_processor_take(struct rti_processor *processor,
                                                      struct rti_runqueue *level)
{
    struct rti_runnable *runnable = level->head;
    struct rti_runnable *after = runnable->next;
    uint32_t ready = processor->levels_ready;
    level->head = after;
    if (RTI_LIKELY(after == NULL)) {
        processor->levels_ready = ready & (ready - 1);
    }
    return runnable;
}

/* Both. NULL if nothing is ready. */
static inline struct rti_runnable *rti_processor_pick(struct rti_processor *processor)
{
    struct rti_runqueue *level = rti_processor_urgent(processor);
    return level == NULL ? NULL : rti_processor_take(processor, level);
}

/* Takes at most `max` of the most urgent level, those who have waited longest, and gives how many.
 */
static inline size_t rti_processor_take_many(struct rti_processor *processor,
                                             struct rti_runnable **out, size_t max)
{
    struct rti_runqueue *level = rti_processor_urgent(processor);
    struct rti_runnable *runnable = level == NULL ? NULL : level->head;
    size_t count = 0;
    for (; runnable != NULL && count < max; count++) {
        out[count] = runnable;
        runnable = runnable->next;
    }
    if (count > 0) {
        level->head = runnable;
        processor->levels_ready &= runnable == NULL ? processor->levels_ready - 1 : UINT32_MAX;
    }
    return count;
}

/* The same for who guesses the level: it is compared and not looked up, so that what follows does
 * not wait for it. */
static RTI_ALWAYSINLINE struct rti_runnable *
rti_processor_pick_guessed(struct rti_processor *processor, uint32_t priority)
{
    uint32_t level = UINT32_C(1) << priority;
    /* Anybody at this level, and nobody at a more urgent one. */
    if (RTI_LIKELY((processor->levels_ready & (2 * level - 1)) == level)) {
        return rti_processor_take(processor, &processor->levels[priority]);
    }
    return rti_processor_pick(processor);
}

/* Queues a READY runnable behind those of its level and takes the first of them, which is another:
 * a queue and a pick in one step, for yields. NULL, and nothing is done, if its level is not the
 * most urgent that has anybody ready. */
static inline struct rti_runnable *rti_processor_rotate(struct rti_processor *processor,
                                                        struct rti_runnable *runnable)
{
    if (RTI_UNLIKELY((unsigned)__builtin_ctz(processor->levels_ready) != runnable->priority)) {
        return NULL;
    }
    struct rti_runqueue *level = &processor->levels[runnable->priority];
    struct rti_runnable *next = level->head;
#if defined(__arm__)
    /* Without a branch: the link is read back, for `tail` may be `next`. */
    level->tail->next = runnable;
    level->head = next->next;
    runnable->next = NULL;
#else
    struct rti_runnable *after = next->next;
    runnable->next = NULL;
    /* A branch and not a link that is read back: the next yield waits for what `head` is. */
    if (after == NULL) {
        level->head = runnable;
    } else {
        level->tail->next = runnable;
        level->head = after;
    }
#endif
    level->tail = runnable;
    return next;
}

#endif
