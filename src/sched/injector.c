/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "injector"
#include "sched/injector.h"

#include "sched/station.h"

void rti_injector_init(struct rti_injector *injector, struct rti_sched *sched)
{
    rti_lock_init(&injector->lock, sched, RTI_LOCK_QUEUE);
    injector->sched = sched;
    rti_processor_init(&injector->lists);
    rti_u32_init(&injector->count, 0);
}

static void injector_count(struct rti_injector *injector, uint32_t change)
{
    uint32_t count = rti_u32_load_relaxed(&injector->count);
    /* Release pairs with the acquire in rti_injector_is_empty. */
    rti_u32_store_release(&injector->count, count + change);
}

void rti_injector_push_all(struct rti_injector *injector, struct rti_runnable **runnables,
                           size_t count)
{
    rti_lock_acquire(&injector->lock, injector->sched);
    for (size_t i = 0; i < count; i++) {
        rti_processor_queue(&injector->lists, runnables[i]);
    }
    injector_count(injector, (uint32_t)count);
    rti_lock_release(&injector->lock);
    /* The pusher looks for sleepers next: its store must be seen before. */
    rti_fence_seqcst();
}

void rti_injector_push(struct rti_injector *injector, struct rti_runnable *runnable)
{
    rti_injector_push_all(injector, &runnable, 1);
}

struct rti_runnable *rti_injector_take(struct rti_injector *injector, struct rti_station *station,
                                       uint32_t share_max)
{
    if (rti_injector_is_empty(injector)) {
        return NULL;
    }
    RT_ASSERT(share_max > 0 && share_max <= RTI_RING_CAPACITY / 2);
    struct rti_runnable *taken[RTI_RING_CAPACITY / 2];
    uint32_t count = 0;
    rti_lock_acquire(&injector->lock, injector->sched);
    while (count < share_max) {
        struct rti_runnable *runnable = rti_processor_pick(&injector->lists);
        if (runnable == NULL) {
            break;
        }
        taken[count] = runnable;
        count++;
    }
    injector_count(injector, 0U - count);
    rti_lock_release(&injector->lock);
    for (uint32_t i = 1; i < count; i++) {
        rti_station_queue(station, taken[i], injector);
        station->is_stocked = true;
    }
    return count > 0 ? taken[0] : NULL;
}

size_t rti_injector_audit(struct rti_injector *injector)
{
    rti_lock_acquire(&injector->lock, injector->sched);
    size_t count = rti_processor_audit(&injector->lists);
    RT_ASSERT(count == rti_u32_load_relaxed(&injector->count));
    rti_lock_release(&injector->lock);
    return count;
}
