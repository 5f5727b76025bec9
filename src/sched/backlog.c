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
    rti_lock_acquire(&backlog->lock, sched);
    rti_processor_stack_all(&backlog->young, runnables[0], runnables[count - 1]);
    backlog_count(backlog, count);
    rti_lock_release(&backlog->lock);
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
        bool is_old_urgent =
            __builtin_ctz(backlog->old.levels_ready) < __builtin_ctz(backlog->young.levels_ready);
        struct rti_processor *urgent = is_old_urgent ? &backlog->old : &backlog->young;
        if ((urgent->levels_ready & ((1U << below) - 1)) == 0) {
            break;
        }
        taken += rti_processor_take_many(urgent, out + taken, max - taken);
    }
    backlog_count(backlog, 0 - taken);
    rti_lock_release(&backlog->lock);
    return taken;
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
