/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "stack_slab"
#include "sched/stack_slab.h"

#include "base/memcheck.h"

#if RTI_ASAN
#include <sanitizer/asan_interface.h>
#endif

/* Bays are whole pages. */
#define SLAB_UNIT ((size_t)(RT_STACK_GUARD_SIZE > 0 ? RT_STACK_GUARD_SIZE : 4096))

void rti_stack_slab_init(struct rti_stack_slab *slab, struct rti_sched *sched)
{
    *slab = (struct rti_stack_slab){.sched = sched, .last_bay = RTI_BAY_NONE};
    rti_lock_init(&slab->lock, sched, RTI_LOCK_QUEUE);
}

static size_t slab_round_up(size_t size)
{
    return (size + SLAB_UNIT - 1) / SLAB_UNIT * SLAB_UNIT;
}

rt_status rti_stack_slab_map(struct rti_stack_slab *slab, uint32_t capacity, size_t size)
{
    struct rti_port *port = slab->sched->port;
    RT_ASSERT(slab->memory == NULL && capacity > 0 && size >= RTI_STACK_SIZE_MIN);
    if (port->ops->memory_map == NULL) {
        return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("this port cannot map memory")};
    }
    size_t stride = RT_STACK_GUARD_SIZE + slab_round_up(RTI_STACK_RESERVE + size);
    size_t beside = slab_round_up(capacity * sizeof(*slab->free)) +
                    slab_round_up(capacity * sizeof(*slab->valgrind_ids));
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
    return RT_SUCCESS;
}

void rti_stack_slab_deinit(struct rti_stack_slab *slab)
{
    struct rti_port *port = slab->sched->port;
    if (slab->memory == NULL) {
        return;
    }
    RT_ASSERT(rti_stack_slab_audit(slab) == 0);
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

rti_bay rti_stack_slab_take_shared(struct rti_stack_slab *slab, struct rti_stack *stack)
{
    rti_lock_acquire(&slab->lock, slab->sched);
    if (slab->free_count == 0) {
        RT_ASSERT(slab->fresh < slab->capacity);
        uint32_t index = slab->fresh++;
        rti_lock_release(&slab->lock);
        return slab_make(slab, index, stack);
    }
    rti_bay bay = slab->free[--slab->free_count];
    rti_lock_release(&slab->lock);
    rti_stack_slab_show(slab, bay);
    rti_stack_slab_describe(slab, bay, stack);
    return bay;
}

void rti_stack_slab_give_shared(struct rti_stack_slab *slab, rti_bay bay)
{
    rti_stack_slab_hide(slab, bay);
    rti_lock_acquire(&slab->lock, slab->sched);
    slab->free[slab->free_count++] = bay;
    rti_lock_release(&slab->lock);
}

uint32_t rti_stack_slab_audit(const struct rti_stack_slab *slab)
{
    RT_ASSERT(slab->free_count <= slab->fresh && slab->fresh <= slab->capacity);
    for (uint32_t i = 0; i < slab->free_count; i++) {
        RT_ASSERT((slab->free[i] >> 1) < slab->fresh);
    }
    if (slab->last_bay != RTI_BAY_NONE) {
        struct rti_stack stack;
        rti_stack_slab_describe(slab, slab->last_bay, &stack);
        RT_ASSERT(stack.low == slab->last.low && stack.high_guard == slab->last.high_guard &&
                  stack.limit == slab->last.limit);
    }
    return slab->fresh - slab->free_count;
}
