/* SPDX-License-Identifier: Apache-2.0 */
#include "actor/letterbox.h"

#include "base/compiler.h"
#include "support/test.h"

#define LETTERS 5

struct item {
    struct rti_letter letter;
    uint32_t number;
};

static struct rti_letterbox box;
static struct item items[LETTERS];

static uintptr_t origin(void)
{
    return rti_letters_origin(items);
}

static bool push(uint32_t number)
{
    items[number].number = number;
    return rti_letterbox_push(&box, origin(), &items[number].letter, rti_letterbox_look(&box));
}

/* The same by who is alone. */
static bool push_solo(uint32_t number)
{
    items[number].number = number;
    return rti_letterbox_push_solo(&box, origin(), &items[number].letter, rti_letterbox_look(&box));
}

/* The number of the next letter; LETTERS if there is none. */
static uint32_t take(void)
{
    struct rti_letter *letter = rti_letterbox_take(&box);
    if (letter == NULL && rti_letterbox_collect(&box, origin())) {
        letter = rti_letterbox_take(&box);
    }
    return letter == NULL ? LETTERS : RTI_CONTAINER_OF(letter, struct item, letter)->number;
}

static bool is_kept(uint32_t number)
{
    return rti_letterbox_keeps(&box, origin(), &items[number].letter);
}

TEST(letterbox_gives_letters_in_the_order_they_came)
{
    rti_letterbox_init(&box);
    CHECK_EQ(take(), LETTERS);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(!push(i)); /* the receiver is at work */
        CHECK_EQ(rti_letterbox_audit(&box, origin()), i + 1);
    }
    CHECK_EQ(take(), 0);
    CHECK(!push(3));
    CHECK_EQ(rti_letterbox_audit(&box, origin()), 3);
    CHECK_EQ(take(), 1);
    CHECK_EQ(take(), 2);
    CHECK_EQ(take(), 3);
    CHECK_EQ(take(), LETTERS);
    CHECK_EQ(rti_letterbox_audit(&box, origin()), 0);
}

TEST(letterbox_that_is_idle_says_so_to_one_push)
{
    rti_letterbox_init(&box);
    CHECK(rti_letterbox_try_idle(&box, false));
    CHECK_EQ(rti_letterbox_audit(&box, origin()), 0);
    CHECK(push(0));
    CHECK(!push(1));
    CHECK(!rti_letterbox_try_idle(&box, false));
    CHECK_EQ(take(), 0);
    CHECK_EQ(take(), 1);
    CHECK(rti_letterbox_try_idle(&box, false));
    CHECK(push(0));
}

TEST(letterbox_keeps_the_last_letter_until_another_comes_or_it_lets_go)
{
    rti_letterbox_init(&box);
    (void)push(0);
    (void)push(1);
    CHECK_EQ(take(), 0);
    CHECK(!is_kept(0));
    CHECK_EQ(take(), 1);
    CHECK(is_kept(1));
    (void)push(0);
    CHECK_EQ(take(), 0);
    CHECK(!is_kept(1) && is_kept(0));
    rti_letterbox_let_go(&box, origin());
    CHECK(!is_kept(0));
    (void)push(0); /* it is free: it may come again at once */
    CHECK_EQ(take(), 0);
    (void)push(2);
    rti_letterbox_let_go(&box, origin()); /* by taking over what has come */
    CHECK(!is_kept(0));
    (void)push(0);
    CHECK_EQ(take(), 2);
    CHECK_EQ(take(), 0);
    CHECK_EQ(take(), LETTERS);
}

TEST(letterbox_nudge_wakes_once_and_keeps_awake)
{
    rti_letterbox_init(&box);
    CHECK(rti_letterbox_try_idle(&box, false));
    CHECK(rti_letterbox_nudge(&box));
    CHECK(!rti_letterbox_nudge(&box));
    CHECK(!push(0)); /* the nudge has woken it */
    CHECK_EQ(take(), 0);
    rti_letterbox_calm(&box);
    CHECK(!rti_letterbox_nudge(&box)); /* it is at work */
    CHECK(!rti_letterbox_try_idle(&box, false));
    rti_letterbox_calm(&box);
    CHECK(rti_letterbox_try_idle(&box, false));
    CHECK(rti_letterbox_nudge(&box));
    rti_letterbox_calm(&box);
    CHECK(!push(1)); /* calm, and yet at work */
    CHECK_EQ(take(), 1);
    CHECK(rti_letterbox_try_idle(&box, false));
}

TEST(letterbox_counts_what_waits_also_when_the_count_wraps)
{
    const uint32_t high = 2;
    uint32_t entered;
    rti_letterbox_init(&box);
    rti_letterbox_set_limit(&box, RTI_GATE_OPEN, high);
    /* One push before the count wraps. */
    rti_u64_init(&box.word, (uint64_t)(UINT32_MAX - 1) << 32);
    rti_u32_init(&box.ceiling, UINT32_MAX - 1 + 2 * high);
    CHECK_EQ(rti_letterbox_depth(&box, high), 0);
    for (uint32_t i = 0; i < high; i++) {
        CHECK(!rti_letterbox_is_full_at(&box, rti_letterbox_look(&box)));
        (void)push(i);
        CHECK_EQ(rti_letterbox_depth(&box, high), i + 1);
    }
    CHECK(rti_letterbox_is_full_at(&box, rti_letterbox_look(&box)));
    CHECK(rti_letterbox_announce(&box, rti_gate_mark(high, 0)));
    entered = rti_letterbox_entered(rti_letterbox_look(&box));
    CHECK_EQ(take(), 0);
    CHECK(!rti_letterbox_leave(&box, rti_gate_mark(high, 0), &entered));
    CHECK_EQ(take(), 1);
    CHECK(rti_letterbox_leave(&box, rti_gate_mark(high, 0), &entered));
    rti_letterbox_withdraw(&box);
    CHECK(!rti_letterbox_announce(&box, rti_gate_mark(high, 0)));
    CHECK_EQ(rti_letterbox_depth(&box, high), 0);
}

TEST(letterbox_letter_of_who_is_alone_is_taken_over_if_all_before_it_are)
{
    rti_letterbox_init(&box);
    CHECK(!push_solo(0));
    CHECK(!push_solo(1));
    CHECK(box.first == &items[0].letter && is_kept(1));
    CHECK(!push(2));
    CHECK(!push_solo(3)); /* behind one that is not taken over */
    CHECK(is_kept(1));
    CHECK_EQ(rti_letterbox_audit(&box, origin()), 4);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQ(take(), i);
    }
    CHECK(!push_solo(4));
    CHECK(box.first == &items[4].letter && is_kept(4));
    CHECK_EQ(rti_letterbox_audit(&box, origin()), 1);
    CHECK_EQ(take(), 4);
    CHECK_EQ(take(), LETTERS);
}

TEST(letterbox_letter_of_who_is_alone_ends_its_rest_once)
{
    rti_letterbox_init(&box);
    CHECK(rti_letterbox_try_idle(&box, true));
    CHECK(push_solo(0));
    CHECK(!push_solo(1));
    CHECK(!rti_letterbox_nudge(&box)); /* it is at work */
    CHECK_EQ(take(), 0);
    CHECK_EQ(take(), 1);
    CHECK(!rti_letterbox_try_idle(&box, true)); /* nudged */
    CHECK(!push_solo(2));                       /* does what a nudge does */
    CHECK_EQ(take(), 2);
    CHECK(rti_letterbox_try_idle(&box, true));
    CHECK(rti_letterbox_nudge(&box));
    CHECK(!push_solo(3)); /* who nudged makes it ready */
    CHECK_EQ(take(), 3);
    rti_letterbox_calm(&box);
    CHECK(rti_letterbox_try_idle(&box, true));
    CHECK_EQ(rti_letterbox_audit(&box, origin()), 0);
}
