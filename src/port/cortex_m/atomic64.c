/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiler calls for atomics of 64 bits on a processor that has none: there is one thread
 * and there are handlers, so the access is one stretch with interrupts masked. The orders cost
 * nothing: one processor sees its own accesses in order, and the mask is a barrier to the compiler.
 *
 * The names are the compiler's, by their symbols; as C names they are its builtins. */
#define RTI_MODULE "atomic64"
#include <stdbool.h>

#include "port/cortex_m/core.h"

#define ATOMIC64(symbol) __asm__("__atomic_" symbol "_8")

uint64_t rti_atomic64_load(const volatile uint64_t *word, int order) ATOMIC64("load");
void rti_atomic64_store(volatile uint64_t *word, uint64_t value, int order) ATOMIC64("store");
uint64_t rti_atomic64_exchange(volatile uint64_t *word, uint64_t value, int order)
    ATOMIC64("exchange");
bool rti_atomic64_compare_exchange(volatile uint64_t *word, uint64_t *expected, uint64_t value,
                                   int success, int failure) ATOMIC64("compare_exchange");

uint64_t rti_atomic64_load(const volatile uint64_t *word, int order)
{
    (void)order;
    uint32_t mask = rti_irq_mask();
    uint64_t value = *word;
    rti_irq_restore(mask);
    return value;
}

void rti_atomic64_store(volatile uint64_t *word, uint64_t value, int order)
{
    (void)order;
    uint32_t mask = rti_irq_mask();
    *word = value;
    rti_irq_restore(mask);
}

uint64_t rti_atomic64_exchange(volatile uint64_t *word, uint64_t value, int order)
{
    (void)order;
    uint32_t mask = rti_irq_mask();
    uint64_t before = *word;
    *word = value;
    rti_irq_restore(mask);
    return before;
}

bool rti_atomic64_compare_exchange(volatile uint64_t *word, uint64_t *expected, uint64_t value,
                                   int success, int failure)
{
    (void)success;
    (void)failure;
    uint32_t mask = rti_irq_mask();
    uint64_t before = *word;
    bool is_equal = before == *expected;
    if (is_equal) {
        *word = value;
    }
    rti_irq_restore(mask);
    *expected = before;
    return is_equal;
}

/* The read-modify-writes that base/atomic.h has. */
#define ATOMIC64_DEFINE(verb, operator)                                                            \
    uint64_t rti_atomic64_##verb(volatile uint64_t *word, uint64_t value, int order)               \
        ATOMIC64("fetch_" #verb);                                                                  \
    uint64_t rti_atomic64_##verb(volatile uint64_t *word, uint64_t value, int order)               \
    {                                                                                              \
        (void)order;                                                                               \
        uint32_t mask = rti_irq_mask();                                                            \
        uint64_t before = *word;                                                                   \
        *word = before operator value;                                                             \
        rti_irq_restore(mask);                                                                     \
        return before;                                                                             \
    }

ATOMIC64_DEFINE(add, +)
ATOMIC64_DEFINE(sub, -)
ATOMIC64_DEFINE(or, |)
ATOMIC64_DEFINE(and, &)
