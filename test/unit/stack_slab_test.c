/* SPDX-License-Identifier: Apache-2.0 */
/* Slabs of stacks, over the machine's memory. */
#define _GNU_SOURCE
#define RTI_MODULE "stack_slab_test"
#include "sched/stack_slab.h"

#include <unistd.h>

#include "port/linux/port_linux.h"
#include "port/sim/port_sim.h"
#include "support/test.h"

#define BAYS 4

static struct rti_port_linux machine;
static struct rti_port_sim port;
static struct rti_sched sched;
static struct rti_stack_slab slab;

static void start(void)
{
    rti_port_linux_init_bare(&machine);
    rti_port_sim_init(&port, 1, 0, &machine.port);
    CHECK_OK(rti_sched_init(&sched, &port.port, NULL));
    rti_stack_slab_init(&slab, &sched);
}

static void finish(void)
{
    rti_stack_slab_deinit(&slab);
    rti_sched_deinit(&sched);
}

/* Can the kernel read here on our behalf? */
static bool is_readable(const void *address)
{
    int fds[2];
    CHECK(pipe(fds) == 0);
    bool is_read = write(fds[1], address, 1) == 1;
    close(fds[0]);
    close(fds[1]);
    return is_read;
}

TEST(slab_without_bays_is_nothing_to_take_apart)
{
    start();
    finish();
}

TEST(slab_stack_has_its_size_a_reserve_and_a_guard_page)
{
    struct rti_stack stack;
    start();
    CHECK_OK(rti_stack_slab_map(&slab, BAYS, 16384));
    rti_bay bay = rti_stack_slab_take(&slab, &stack);
    CHECK_EQ(rti_stack_slab_audit(&slab), 1);
    CHECK(rti_stack_is_intact(&stack));
    CHECK(rti_stack_own_size(&stack) + 64 >= 16384);
    CHECK_EQ(rti_stack_low(&stack) - rti_stack_guard(&stack), RT_STACK_GUARD_SIZE);
    CHECK(!is_readable(rti_stack_guard(&stack)) && !is_readable(rti_stack_low(&stack) - 1));
    CHECK(is_readable(rti_stack_low(&stack)) && is_readable(stack.high_guard + 7));
    /* Its lower word would cost a page more and find nothing that the guard does not. */
    CHECK(rti_stack_is_single(&stack));
    rti_stack_slab_give(&slab, bay);
    finish();
}

TEST(slab_bay_that_was_given_back_last_is_taken_first)
{
    struct rti_stack stacks[BAYS];
    rti_bay bays[BAYS];
    struct rti_stack again;
    start();
    CHECK_OK(rti_stack_slab_map(&slab, BAYS, 4096));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BAYS; i++) {
            bays[i] = rti_stack_slab_take(&slab, &stacks[i]);
            for (int j = 0; j < i; j++) {
                CHECK(stacks[j].high_guard < rti_stack_low(&stacks[i]) ||
                      stacks[i].high_guard < rti_stack_low(&stacks[j]));
            }
        }
        CHECK_EQ(rti_stack_slab_audit(&slab), BAYS);
        CHECK_EQ(slab.fresh, BAYS);
        rti_stack_slab_give(&slab, bays[1]);
        rti_stack_slab_give(&slab, bays[3]);
        CHECK_EQ(rti_stack_slab_take(&slab, &again), bays[3]);
        CHECK(rti_stack_low(&again) == rti_stack_low(&stacks[3]) && rti_stack_is_intact(&again));
        rti_stack_slab_give(&slab, bays[3]);
        rti_stack_slab_give(&slab, bays[0]);
        rti_stack_slab_give(&slab, bays[2]);
        CHECK_EQ(rti_stack_slab_audit(&slab), 0);
        const rti_bay order[BAYS] = {bays[2], bays[0], bays[3], bays[1]};
        for (int i = 0; i < BAYS; i++) {
            bays[i] = rti_stack_slab_take(&slab, &again);
            CHECK_EQ(bays[i], order[i]);
        }
        for (int i = 0; i < BAYS; i++) {
            rti_stack_slab_give(&slab, bays[i]);
            CHECK_EQ(rti_stack_slab_audit(&slab), BAYS - 1 - i);
        }
    }
    finish();
}

static rt_status guard_refused(struct rti_port *self, void *memory, size_t size)
{
    (void)self;
    (void)memory;
    (void)size;
    return (rt_status){RT_ERR_NOMEM, "the system has no more mappings"};
}

TEST(slab_stack_without_a_guard_page_has_both_guard_words)
{
    struct rti_stack stack;
    start();
    struct rti_port_ops ops = *port.port.ops;
    ops.memory_guard = guard_refused;
    port.port.ops = &ops;
    CHECK_OK(rti_stack_slab_map(&slab, BAYS, 4096));
    rti_bay bay = rti_stack_slab_take(&slab, &stack);
    CHECK(rti_stack_guard(&stack) == NULL && stack.limit == NULL && !rti_stack_is_single(&stack));
    CHECK(rti_stack_is_intact(&stack));
    *(uint64_t *)(void *)rti_stack_low(&stack) = 0;
    CHECK(!rti_stack_is_intact(&stack));
    rti_stack_mend(&stack);
    rti_stack_slab_give(&slab, bay);
    finish();
}

TEST(slab_that_no_address_space_holds_is_refused)
{
    start();
    CHECK_STATUS(rti_stack_slab_map(&slab, UINT32_MAX / 2, (size_t)PTRDIFF_MAX / 8), RT_ERR_NOMEM);
    CHECK_STATUS(rti_stack_slab_map(&slab, 1, (size_t)PTRDIFF_MAX / 8), RT_ERR_NOMEM);
    CHECK(slab.memory == NULL);
    CHECK_OK(rti_stack_slab_map(&slab, 1, 4096));
    finish();
}
