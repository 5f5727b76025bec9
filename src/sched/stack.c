/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "stack"
#include "sched/stack.h"

#include "base/memcheck.h"

/* Memcheck takes what lies below a stack pointer for nobody's; who measures reads it. */
#if RTI_MEMCHECK
#define STACK_MEASURE_BEGIN()   VALGRIND_DISABLE_ERROR_REPORTING
#define STACK_MEASURE_END()     VALGRIND_ENABLE_ERROR_REPORTING
#define STACK_UNUSED(low, size) ((void)VALGRIND_MAKE_MEM_UNDEFINED(low, size))
#else
#define STACK_MEASURE_BEGIN()   ((void)0)
#define STACK_MEASURE_END()     ((void)0)
#define STACK_UNUSED(low, size) ((void)(low))
#endif

#define STACK_PAINT UINT64_C(0x5AFE57AC5AFE57AC)

void rti_stack_refuse(void)
{
    rti_panic(RTI_MODULE, __LINE__, "memory that cannot be a stack");
}

size_t rti_stack_own_size(const struct rti_stack *stack)
{
    size_t usable = rti_stack_usable_size(stack);
    return rti_stack_limit(stack) != NULL ? usable - RTI_STACK_RESERVE : usable;
}

void rti_stack_paint(struct rti_stack *stack)
{
    uint64_t *word = rti_stack_usable(stack);
    size_t count = rti_stack_usable_size(stack) / sizeof(uint64_t);
    STACK_UNUSED(word, count * sizeof(uint64_t));
    for (size_t i = 0; i < count; i++) {
        word[i] = STACK_PAINT;
    }
}

size_t rti_stack_high_water(const struct rti_stack *stack)
{
    const uint64_t *word = rti_stack_usable(stack);
    size_t count = rti_stack_usable_size(stack) / sizeof(uint64_t);
    size_t untouched = RTI_STACK_FORBIDDEN / sizeof(uint64_t);
    STACK_MEASURE_BEGIN();
    while (untouched < count && word[untouched] == STACK_PAINT) {
        untouched++;
    }
    STACK_MEASURE_END();
    RTI_MEMCHECK_DEFINED(untouched);
    return (count - untouched) * sizeof(uint64_t);
}
