/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "stack_slots_test"
#include "sched/stack_slots.h"

#include "support/test.h"

#define COUNT 3
#define SLOT  RTI_STACK_SLOT_SIZE(RTI_STACK_SIZE_MIN + 1)

static unsigned char memory[COUNT * SLOT] RTI_ALIGNED(RTI_STACK_SLOT_UNIT);
static struct rti_stack_slots slots;
static struct rti_stack stacks[COUNT + 1];

TEST(stack_slots_give_everybody_a_slot_of_its_own)
{
    rti_stack_slots_init(&slots, memory, SLOT, COUNT);
    CHECK_EQ(rti_stack_slots_audit(&slots), 0);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(rti_stack_slots_take(&slots, &stacks[i]));
        CHECK_EQ(rti_stack_slots_audit(&slots), i + 1);
        memset(rti_stack_usable(&stacks[i]), 0xFF, rti_stack_usable_size(&stacks[i]));
    }
    for (size_t i = 0; i < COUNT; i++) {
        CHECK((unsigned char *)rti_stack_low(&stacks[i]) == memory + i * SLOT);
        CHECK_EQ(rti_stack_usable_size(&stacks[i]), SLOT - 2 * RTI_STACK_GUARD_ROOM);
        CHECK(rti_stack_is_intact(&stacks[i]));
    }
}

TEST(stack_slots_give_the_same_one_in_the_next_life)
{
    rti_stack_slots_init(&slots, memory, SLOT, COUNT);
    CHECK(rti_stack_slots_take(&slots, &stacks[0]));
    CHECK(rti_stack_slots_take(&slots, &stacks[1]));
    char *low = rti_stack_low(&stacks[0]);
    for (int life = 0; life < COUNT + 1; life++) {
        CHECK(rti_stack_slots_take(&slots, &stacks[0]));
        CHECK(rti_stack_low(&stacks[0]) == low);
    }
    CHECK_EQ(rti_stack_slots_audit(&slots), 2);
}

TEST(stack_slots_refuse_one_more_than_there_are)
{
    rti_stack_slots_init(&slots, memory, SLOT, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(rti_stack_slots_take(&slots, &stacks[i]));
    }
    CHECK(!rti_stack_slots_take(&slots, &stacks[COUNT]));
    CHECK(rti_stack_is_none(&stacks[COUNT]));
    CHECK_EQ(rti_stack_slots_audit(&slots), COUNT);
    CHECK(rti_stack_slots_take(&slots, &stacks[COUNT - 1]));
}

TEST(stack_slots_of_none_refuse_everybody)
{
    rti_stack_slots_init(&slots, memory, SLOT, 0);
    CHECK(!rti_stack_slots_take(&slots, &stacks[0]));
    CHECK(rti_stack_is_none(&stacks[0]));
}

static void take_a_foreign_one(void *arg)
{
    static unsigned char foreign[SLOT] RTI_ALIGNED(RTI_STACK_SLOT_UNIT);
    (void)arg;
    rti_stack_init(&stacks[0], foreign, SLOT);
    (void)rti_stack_slots_take(&slots, &stacks[0]);
}

TEST(stack_slots_panic_at_a_stack_that_is_not_theirs)
{
    if (!RT_CHECKS) {
        test_skip("only a build with checks asks whose it is");
    }
    rti_stack_slots_init(&slots, memory, SLOT, COUNT);
    CHECK_PANICS("stack_slots", take_a_foreign_one, NULL);
}
