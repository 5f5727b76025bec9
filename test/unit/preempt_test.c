/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "preempt_test"
#include "sched/preempt.h"

#include "base/text.h"
#include "support/test.h"

#define WORDS 16

/* What lies above the frames. */
#define ABOVE ((RTI_STACK_TOP_ROOM + RTI_STACK_GUARD_ROOM) / sizeof(uintptr_t))

/* The stack of a fiber that is not there. */
static _Alignas(16) uintptr_t words[WORDS - 1 + ABOVE];
static struct rti_fiber fiber;

static void be_a_fiber(void)
{
    if (!rti_text_is_known()) {
        test_skip("the library's code is not told from the program's here");
    }
    rti_stack_set_bounds(&fiber.stack, (char *)words, sizeof(words), false);
}

/* A place in a function of the library, and one in a function of the program. */
#define INSIDE  ((uintptr_t)rti_text_holds + 1)
#define OUTSIDE ((uintptr_t)be_a_fiber + 1)

static bool is_outside(uintptr_t pc, unsigned depth, uintptr_t link)
{
    const struct rti_frame frame = {.pc = pc, .sp = (uintptr_t)&words[depth], .link = link};
    return rti_preempt_is_outside(&fiber, &frame);
}

TEST(preempt_asks_the_instruction_and_the_stack_above_it)
{
    be_a_fiber();
    CHECK(is_outside(OUTSIDE, 4, 0));
    CHECK(!is_outside(INSIDE, 4, 0));
    words[3] = INSIDE; /* of a call that has returned */
    CHECK(is_outside(OUTSIDE, 4, 0));
    words[WORDS - 2] = INSIDE;
    CHECK(!is_outside(OUTSIDE, 4, 0));
    words[WORDS - 2] = OUTSIDE;
    CHECK(is_outside(OUTSIDE, 4, 0));
}

TEST(preempt_asks_the_register_of_the_return_address)
{
    be_a_fiber();
    CHECK(is_outside(OUTSIDE, 4, OUTSIDE));
    CHECK(!is_outside(OUTSIDE, 4, INSIDE));
}

TEST(preempt_is_not_outside_on_another_stack)
{
    uintptr_t elsewhere = 0;
    const struct rti_frame frame = {.pc = OUTSIDE, .sp = (uintptr_t)&elsewhere};
    be_a_fiber();
    CHECK(!rti_preempt_is_outside(&fiber, &frame));
}
