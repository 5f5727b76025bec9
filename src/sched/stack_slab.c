/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "stack_slab"
#include "sched/stack_slab.h"

#include <string.h>

#include "base/memcheck.h"
#include "sched/crew.h"

#if RTI_ASAN
#include <sanitizer/asan_interface.h>
#endif

/* Bays are whole pages. */
#define SLAB_UNIT ((size_t)(RT_STACK_GUARD_SIZE > 0 ? RT_STACK_GUARD_SIZE : 4096))

void rti_stack_slab_init(struct rti_stack_slab *slab, struct rti_sched *sched)
{
    *slab = (struct rti_stack_slab){.sched = sched, .top = RTI_BAY_NONE, .last_bay = RTI_BAY_NONE};
    rti_lock_init(&slab->lock, sched, RTI_LOCK_QUEUE);
}

static size_t slab_round_up(size_t size)
{
    return (size + SLAB_UNIT - 1) / SLAB_UNIT * SLAB_UNIT;
}

static uint32_t slab_stations(const struct rti_stack_slab *slab)
{
#if RTI_ONE_WORKER
    (void)slab;
    return 0;
#else
    const struct rti_crew *crew = rti_sched_crew(slab->sched);
    return crew == NULL ? 0 : crew->stations_count;
#endif
}

rt_status rti_stack_slab_map(struct rti_stack_slab *slab, uint32_t capacity, size_t size)
{
    struct rti_port *port = slab->sched->port;
    uint32_t shelves = slab_stations(slab);
    RT_ASSERT(slab->memory == NULL && capacity > 0 && size >= RTI_STACK_SIZE_MIN);
    if (port->ops->memory_map == NULL) {
        return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("this port cannot map memory")};
    }
    capacity += shelves * RTI_SLAB_SHELF_MAX;
    size_t stride = RT_STACK_GUARD_SIZE + slab_round_up(RTI_STACK_RESERVE + size);
    size_t beside = slab_round_up(capacity * sizeof(*slab->free)) +
                    slab_round_up(capacity * sizeof(*slab->valgrind_ids)) +
                    slab_round_up(shelves * sizeof(*slab->shelves));
    if (stride > (SIZE_MAX / 2 - beside) / capacity) {
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("there are no addresses for so many stacks")};
    }
    char *memory = port->ops->memory_map(port, capacity * stride + beside);
    if (memory == NULL) {
        return (rt_status){RT_ERR_NOMEM,
                           RTI_SENTENCE("the system has no addresses for so many stacks")};
    }
    slab->memory = memory;
    slab->stride = stride;
    slab->size = size;
    slab->capacity = capacity;
    slab->mapping_size = capacity * stride + beside;
    memory += capacity * stride;
    slab->free = (rti_bay *)(void *)memory;
    memory += slab_round_up(capacity * sizeof(*slab->free));
    slab->valgrind_ids = (unsigned *)(void *)memory;
    memory += slab_round_up(capacity * sizeof(*slab->valgrind_ids));
    slab->shelves = (struct rti_slab_shelf *)(void *)memory;
    slab->shelves_count = shelves;
    for (uint32_t i = 0; i < shelves; i++) {
        slab->shelves[i].last_bay = RTI_BAY_NONE;
    }
    return RT_SUCCESS;
}

/* Takes `count` bays, those that lay there longest, from a shelf. Locked. */
static void shelf_spill(struct rti_stack_slab *slab, struct rti_slab_shelf *shelf, uint32_t count)
{
    uint32_t left = shelf->count - count;
    memcpy(slab->free + slab->free_count, shelf->bays, count * sizeof(shelf->bays[0]));
    memmove(shelf->bays, shelf->bays + count, left * sizeof(shelf->bays[0]));
    slab->free_count += count;
    shelf->count = left;
}

void rti_stack_slab_deinit(struct rti_stack_slab *slab)
{
    struct rti_port *port = slab->sched->port;
    if (slab->memory == NULL) {
        return;
    }
    RT_ASSERT(rti_stack_slab_audit(slab) == 0);
    for (uint32_t i = 0; i < slab->shelves_count; i++) {
        shelf_spill(slab, &slab->shelves[i], slab->shelves[i].count);
    }
    if (slab->top != RTI_BAY_NONE) {
        slab->free[slab->free_count++] = slab->top;
    }
    for (uint32_t i = 0; i < slab->fresh; i++) {
        rti_stack_slab_show(slab, slab->free[i]);
#if RTI_MEMCHECK
        VALGRIND_STACK_DEREGISTER(slab->valgrind_ids[slab->free[i] >> 1]);
#endif
    }
    port->ops->memory_unmap(port, slab->memory, slab->mapping_size);
    slab->memory = NULL;
}

#if RTI_ASAN
void rti_stack_slab_hide(const struct rti_stack_slab *slab, rti_bay bay)
{
    __asan_poison_memory_region(slab->memory + (bay >> 1) * slab->stride, slab->stride);
}

void rti_stack_slab_show(const struct rti_stack_slab *slab, rti_bay bay)
{
    __asan_unpoison_memory_region(slab->memory + (bay >> 1) * slab->stride, slab->stride);
}
#endif

/* Makes the stack of a bay that was never used. */
static rti_bay slab_make(struct rti_stack_slab *slab, uint32_t index, struct rti_stack *stack)
{
    struct rti_port *port = slab->sched->port;
    char *guard = slab->memory + (size_t)index * slab->stride;
    rti_bay bay = index << 1;
    if (RT_STACK_GUARD_SIZE > 0 &&
        !RT_FAILED(port->ops->memory_guard(port, guard, RT_STACK_GUARD_SIZE))) {
        bay |= 1;
    }
    rti_stack_slab_describe(slab, bay, stack);
    rti_stack_mend(stack);
#if RTI_MEMCHECK
    if (RUNNING_ON_VALGRIND) {
        char *low = rti_stack_usable(stack);
        slab->valgrind_ids[index] =
            VALGRIND_STACK_REGISTER(low, low + rti_stack_usable_size(stack));
    }
#endif
    return bay;
}

rti_bay rti_stack_slab_take_fresh(struct rti_stack_slab *slab, struct rti_stack *stack)
{
    RT_ASSERT(slab->fresh < slab->capacity);
    return slab_make(slab, slab->fresh++, stack);
}

/* Fills a shelf, which is empty, from the free list, and takes one bay more. RTI_BAY_NONE: none was
 * ever given back; *index is that of a bay that was never used. */
static rti_bay slab_refill(struct rti_stack_slab *slab, struct rti_slab_shelf *shelf,
                           uint32_t *index)
{
    rti_bay bay = RTI_BAY_NONE;
    rti_lock_acquire(&slab->lock, slab->sched);
    if (slab->free_count == 0) {
        RT_ASSERT(slab->fresh < slab->capacity);
        *index = slab->fresh++;
    } else {
        bay = slab->free[--slab->free_count];
        if (shelf != NULL) {
            uint32_t there = slab->free_count;
            uint32_t count = there < RTI_SLAB_SHELF_ROW ? there : RTI_SLAB_SHELF_ROW;
            memcpy(shelf->bays, slab->free + there - count, count * sizeof(shelf->bays[0]));
            shelf->count = count;
            slab->free_count = there - count;
        }
    }
    rti_lock_release(&slab->lock);
    return bay;
}

rti_bay rti_stack_slab_take_shared(struct rti_stack_slab *slab, struct rti_stack *stack)
{
    struct rti_slab_shelf *shelf = rti_stack_slab_shelf(slab, rti_worker_here());
    rti_bay bay;
    if (RTI_LIKELY(shelf != NULL) && RTI_LIKELY(shelf->count > 0)) {
        bay = shelf->bays[--shelf->count];
    } else {
        uint32_t index = 0;
        bay = slab_refill(slab, shelf, &index);
        if (bay == RTI_BAY_NONE) {
            return slab_make(slab, index, stack);
        }
    }
    rti_stack_slab_show(slab, bay);
    if (RTI_UNLIKELY(shelf == NULL)) {
        rti_stack_slab_describe(slab, bay, stack);
        return bay;
    }
    if (RTI_UNLIKELY(bay != shelf->last_bay)) {
        rti_stack_slab_describe(slab, bay, &shelf->last);
        shelf->last_bay = bay;
    }
    *stack = shelf->last;
    return bay;
}

void rti_stack_slab_give_shared(struct rti_stack_slab *slab, rti_bay bay)
{
    struct rti_slab_shelf *shelf = rti_stack_slab_shelf(slab, rti_worker_here());
    rti_stack_slab_hide(slab, bay);
    if (RTI_UNLIKELY(shelf == NULL) || RTI_UNLIKELY(shelf->count == RTI_SLAB_SHELF_MAX)) {
        rti_lock_acquire(&slab->lock, slab->sched);
        if (shelf != NULL) {
            shelf_spill(slab, shelf, RTI_SLAB_SHELF_ROW);
        } else {
            slab->free[slab->free_count++] = bay;
        }
        rti_lock_release(&slab->lock);
    }
    if (RTI_LIKELY(shelf != NULL)) {
        shelf->bays[shelf->count++] = bay;
    }
}

/* Does this describe the stack of the bay? */
static bool slab_describes(const struct rti_stack_slab *slab, rti_bay bay,
                           const struct rti_stack *last)
{
    struct rti_stack stack;
    rti_stack_slab_describe(slab, bay, &stack);
    return stack.high_guard == last->high_guard && stack.limit == last->limit &&
           rti_stack_size(&stack) == rti_stack_size(last) &&
           rti_stack_is_single(&stack) == rti_stack_is_single(last);
}

uint32_t rti_stack_slab_audit(const struct rti_stack_slab *slab)
{
    uint32_t idle = slab->free_count + (slab->top != RTI_BAY_NONE);
    RT_ASSERT(idle <= slab->fresh && slab->fresh <= slab->capacity);
    RT_ASSERT(slab->top == RTI_BAY_NONE || (slab->top >> 1) < slab->fresh);
    for (uint32_t i = 0; i < slab->free_count; i++) {
        RT_ASSERT((slab->free[i] >> 1) < slab->fresh);
    }
    RT_ASSERT(slab->last_bay == RTI_BAY_NONE || slab_describes(slab, slab->last_bay, &slab->last));
    for (uint32_t i = 0; i < slab->shelves_count; i++) {
        const struct rti_slab_shelf *shelf = &slab->shelves[i];
        RT_ASSERT(shelf->count <= RTI_SLAB_SHELF_MAX);
        RT_ASSERT(shelf->last_bay == RTI_BAY_NONE ||
                  slab_describes(slab, shelf->last_bay, &shelf->last));
        for (uint32_t at = 0; at < shelf->count; at++) {
            RT_ASSERT((shelf->bays[at] >> 1) < slab->fresh);
        }
        idle += shelf->count;
    }
    return slab->fresh - idle;
}
