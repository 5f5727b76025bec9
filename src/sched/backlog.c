/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "backlog"
#include "sched/backlog.h"

void rti_backlog_init(struct rti_backlog *backlog, struct rti_sched *sched)
{
    rti_lock_init(&backlog->lock, sched, RTI_LOCK_QUEUE);
    rti_u32_init(&backlog->count, 0);
    rti_processor_init(&backlog->young);
    rti_processor_init(&backlog->old);
}

/* With the lock held. */
static void backlog_count(struct rti_backlog *backlog, size_t change)
{
    uint32_t count = rti_u32_load_relaxed(&backlog->count);
    /* Release pairs with the acquire in rti_backlog_is_empty. */
    rti_u32_store_release(&backlog->count, count + (uint32_t)change);
}

void rti_backlog_push(struct rti_backlog *backlog, struct rti_sched *sched,
                      struct rti_runnable **runnables, size_t count)
{
    RT_ASSERT(count > 0);
    for (size_t i = 0; i + 1 < count; i++) {
        RT_DCHECK(runnables[i]->is_fresh &&
                  runnables[i]->priority == runnables[count - 1]->priority);
        runnables[i]->next = runnables[i + 1];
    }
    rti_backlog_push_row(backlog, sched, runnables[0], runnables[count - 1], count);
}

void rti_backlog_push_row(struct rti_backlog *backlog, struct rti_sched *sched,
                          struct rti_runnable *first, struct rti_runnable *last, size_t count)
{
    rti_lock_acquire(&backlog->lock, sched);
    rti_processor_stack_all(&backlog->young, first, last);
    backlog_count(backlog, count);
    rti_lock_release(&backlog->lock);
}

/* The most urgent of both lists, with the lock held. */
static struct rti_processor *backlog_urgent(struct rti_backlog *backlog)
{
    bool is_old_urgent =
        __builtin_ctz(backlog->old.levels_ready) < __builtin_ctz(backlog->young.levels_ready);
    return is_old_urgent ? &backlog->old : &backlog->young;
}

size_t rti_backlog_take(struct rti_backlog *backlog, struct rti_sched *sched, uint32_t below,
                        struct rti_runnable **out, size_t max)
{
    size_t taken = 0;
    if (rti_backlog_is_empty(backlog)) {
        return 0;
    }
    rti_lock_acquire(&backlog->lock, sched);
    while (taken < max) {
        struct rti_processor *urgent = backlog_urgent(backlog);
        if ((urgent->levels_ready & ((1U << below) - 1)) == 0) {
            break;
        }
        taken += rti_processor_take_many(urgent, out + taken, max - taken);
    }
    backlog_count(backlog, 0 - taken);
    rti_lock_release(&backlog->lock);
    return taken;
}

/* Lays at most `max` of those that are linked from `*row` on into a ring, and gives how many; the
 * first that is left is in `*row`. Nobody sees them yet. */
static uint32_t backlog_lay(struct rti_ring *ring, uint32_t tail, struct rti_runnable **row,
                            size_t max)
{
    struct rti_runnable *runnable = *row;
    uint32_t count = 0;
    for (; runnable != NULL && count < max; count++) {
        rti_ring_lay(ring, tail + count, runnable);
        runnable = runnable->next;
    }
    *row = runnable;
    return count;
}

struct rti_runnable *rti_backlog_take_row(struct rti_backlog *backlog, struct rti_sched *sched,
                                          struct rti_ring *rings, size_t max, size_t *count)
{
    *count = 0;
    if (rti_backlog_is_empty(backlog)) {
        return NULL;
    }
    rti_lock_acquire(&backlog->lock, sched);
    struct rti_processor *urgent = backlog_urgent(backlog);
    struct rti_runqueue *level = rti_processor_urgent(urgent);
    struct rti_runnable *first = level == NULL ? NULL : rti_processor_take(urgent, level);
    if (first != NULL) {
        struct rti_ring *ring = &rings[first->priority];
        uint32_t tail = rti_u32_load_relaxed(&ring->tail);
        RT_ASSERT(max - 1 <= rti_ring_room(ring));
        uint32_t laid = backlog_lay(ring, tail, &level->head, max - 1);
        if (level->head == NULL) {
            urgent->levels_ready &= ~(1U << first->priority);
        }
        *count = laid + 1;
        backlog_count(backlog, 0 - *count);
        rti_ring_publish(ring, tail + laid);
    }
    rti_lock_release(&backlog->lock);
    return first;
}

struct rti_runnable *rti_backlog_take_old(struct rti_backlog *backlog, struct rti_sched *sched)
{
    if (rti_backlog_is_empty(backlog)) {
        return NULL;
    }
    rti_lock_acquire(&backlog->lock, sched);
    if (rti_processor_is_empty(&backlog->old)) {
        backlog->old = backlog->young;
        rti_processor_init(&backlog->young);
    }
    struct rti_runnable *runnable = rti_processor_pick(&backlog->old);
    if (runnable != NULL) {
        backlog_count(backlog, SIZE_MAX);
    }
    rti_lock_release(&backlog->lock);
    return runnable;
}

size_t rti_backlog_audit(const struct rti_backlog *backlog)
{
    size_t count = rti_processor_audit(&backlog->young) + rti_processor_audit(&backlog->old);
    RT_ASSERT(count == rti_u32_load_relaxed(&backlog->count));
    return count;
}
