/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "stack_test"
#include "sched/stack.h"

#if !RTI_ONE_WORKER
#include <sys/mman.h>
#endif

#include "support/test.h"

#define SIZE 8192

static char memory[SIZE + 64] RTI_ALIGNED(16);
static struct rti_stack stack;

TEST(stack_usable_part_is_aligned_and_between_the_guards)
{
    for (size_t shift = 0; shift < 32; shift++) {
        rti_stack_init(&stack, memory + shift, SIZE);
        char *usable = rti_stack_usable(&stack);
        size_t size = rti_stack_usable_size(&stack);
        CHECK_EQ((uintptr_t)usable % 16, 0);
        CHECK_EQ(size % 16, 0);
        CHECK(usable >= memory + shift + sizeof(uint64_t));
        CHECK(usable + size + sizeof(uint64_t) <= memory + shift + SIZE);
        CHECK(size + 64 >= SIZE);
        memset(usable, 0xFF, size);
        CHECK(rti_stack_is_intact(&stack));
    }
}

TEST(stack_write_below_or_above_the_usable_part_breaks_a_guard)
{
    rti_stack_init(&stack, memory, SIZE);
    rti_stack_low(&stack)[0] ^= 1;
    CHECK(!rti_stack_is_intact(&stack));
    rti_stack_low(&stack)[0] ^= 1;
    CHECK(rti_stack_is_intact(&stack));
    stack.high_guard[7] ^= 1;
    CHECK(!rti_stack_is_intact(&stack));
}

TEST(stack_guard_is_the_word_of_the_specification)
{
    rti_stack_init(&stack, memory, SIZE);
    uint64_t word;
    memcpy(&word, rti_stack_low(&stack), sizeof(word));
    CHECK(word == UINT64_C(0xDEADBEEFCAFEBABE));
    memcpy(&word, stack.high_guard, sizeof(word));
    CHECK(word == UINT64_C(0xDEADBEEFCAFEBABE));
}

TEST(stack_high_water_is_the_deepest_use_of_a_painted_stack)
{
    rti_stack_init(&stack, memory, SIZE);
    rti_stack_paint(&stack);
    CHECK_EQ(rti_stack_high_water(&stack), 0);
    char *high = (char *)rti_stack_usable(&stack) + rti_stack_usable_size(&stack);
    high[-1] = 1;
    CHECK_EQ(rti_stack_high_water(&stack), 8);
    high[-1000] = 1;
    CHECK_EQ(rti_stack_high_water(&stack), 1000);
    memset(rti_stack_usable(&stack), 0, rti_stack_usable_size(&stack));
    CHECK_EQ(rti_stack_high_water(&stack), rti_stack_usable_size(&stack) - RTI_STACK_FORBIDDEN);
    CHECK(rti_stack_is_intact(&stack));
}

static void init_too_small(void *arg)
{
    (void)arg;
    rti_stack_init(&stack, memory, RTI_STACK_SIZE_MIN - 1);
}

TEST(stack_below_the_minimum_panics)
{
    CHECK_PANICS("stack", init_too_small, NULL);
}

#if !RTI_ONE_WORKER
TEST(stack_of_the_largest_size_has_its_guards_at_its_ends)
{
    size_t size = (size_t)RT_STACK_SIZE_MAX + RTI_STACK_RESERVE;
    char *large = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(large != MAP_FAILED);
    rti_stack_init(&stack, large, size);
    CHECK(rti_stack_low(&stack) == large && rti_stack_low_guard(&stack) == large);
    CHECK_EQ(rti_stack_size(&stack), size);
    CHECK(rti_stack_is_intact(&stack));
    large[0] ^= 1;
    CHECK(!rti_stack_is_intact(&stack));
    CHECK_EQ(munmap(large, size), 0);
}

static void init_too_large(void *arg)
{
    (void)arg;
    rti_stack_init(&stack, memory, RTI_STACK_SIZE_MAX + 1);
}

TEST(stack_above_the_maximum_panics)
{
    CHECK_PANICS("stack", init_too_large, NULL);
}
#endif
