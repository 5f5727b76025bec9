/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics of 64 bits on a processor that has none: each does what its name says, both halves, and
 * leaves interrupts as they were. */
#define RTI_MODULE "atomic64_test"
#include "base/atomic.h"
#include "port/cortex_m/core.h"
#include "support/test.h"

#define HIGH UINT64_C(0x1234567800000000)

static rti_atomic_u64 word;

TEST(atomic64_loads_stores_and_changes_both_halves)
{
    rti_u64_init(&word, HIGH | 0xFFFFFFFF);
    CHECK(rti_u64_load_relaxed(&word) == (HIGH | 0xFFFFFFFF));
    CHECK(rti_u64_add_relaxed(&word, 1) == (HIGH | 0xFFFFFFFF));
    CHECK(rti_u64_load_acquire(&word) == HIGH + UINT64_C(0x100000000)); /* it carries */
    CHECK(rti_u64_sub_acqrel(&word, 1) == HIGH + UINT64_C(0x100000000));
    CHECK(rti_u64_load_relaxed(&word) == (HIGH | 0xFFFFFFFF));
    rti_u64_store_release(&word, HIGH);
    CHECK(rti_u64_or_acqrel(&word, 3) == HIGH);
    CHECK(rti_u64_and_acqrel(&word, ~UINT64_C(1)) == (HIGH | 3));
    CHECK(rti_u64_exchange_acqrel(&word, 7) == (HIGH | 2));
    CHECK(rti_u64_load_relaxed(&word) == 7);
}

TEST(atomic64_leaves_the_mask_of_interrupts_as_it_was)
{
    uint32_t before = rti_irq_mask();
    (void)rti_u64_add_relaxed(&word, 1);
    uint32_t inside = rti_irq_mask();
    rti_irq_restore(before);
    (void)rti_u64_add_relaxed(&word, 1);
    uint32_t after = rti_irq_mask();
    rti_irq_restore(after);
    CHECK(before == after && inside != after);
}
