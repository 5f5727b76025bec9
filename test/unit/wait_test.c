/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "wait_test"
#include "sched/wait.h"

#include "support/test.h"

static int wakes;

static void count_wake(struct rti_wait *wait)
{
    CHECK(wait->target == &wakes);
    wakes++;
}

static void begin(struct rti_wait *wait, bool is_local)
{
    rti_wait_begin(wait, count_wake, &wakes, is_local);
}

static void claim_once(bool is_local)
{
    struct rti_wait wait;
    begin(&wait, is_local);
    CHECK_EQ(rti_wait_event(&wait), RTI_EVENT_NONE);
    CHECK(rti_wait_claim(&wait, RTI_EVENT_CANCEL));
    CHECK(!rti_wait_claim(&wait, RTI_EVENT_TIMEOUT));
    CHECK(!rti_wait_claim(&wait, RTI_EVENT_CANCEL));
    CHECK_EQ(rti_wait_event(&wait), RTI_EVENT_CANCEL);
}

TEST(wait_is_claimed_by_the_first_event_only_on_one_worker)
{
    claim_once(true);
}

TEST(wait_is_claimed_by_the_first_event_only_among_workers)
{
    claim_once(false);
}

TEST(waitlist_gives_waiters_in_the_order_they_came_with_growing_ids)
{
    struct rti_waitlist line;
    struct rti_wait waits[3];
    struct rti_waiter waiters[3];
    rti_waitlist_init(&line);
    for (size_t i = 0; i < 3; i++) {
        begin(&waits[i], true);
        rti_wait_add(&waits[i], &waiters[i], RTI_EVENT_SOURCE, rti_waitlist_unlink);
        rti_waitlist_add(&line, &waiters[i]);
        CHECK_EQ(waiters[i].id, i + 1);
    }
    wakes = 0;
    for (size_t i = 0; i < 3; i++) {
        struct rti_waiter *waiter = rti_waitlist_claim(&line);
        CHECK(waiter == &waiters[i]);
        rti_waiter_wake(waiter);
    }
    CHECK_EQ(wakes, 3);
    CHECK(rti_waitlist_claim(&line) == NULL);
    CHECK(rti_waitlist_is_empty(&line));
}

TEST(waitlist_passes_over_waits_that_another_event_has_claimed)
{
    struct rti_waitlist line;
    struct rti_wait waits[2];
    struct rti_waiter waiters[2];
    rti_waitlist_init(&line);
    for (size_t i = 0; i < 2; i++) {
        begin(&waits[i], true);
        rti_wait_add(&waits[i], &waiters[i], RTI_EVENT_SOURCE, rti_waitlist_unlink);
        rti_waitlist_add(&line, &waiters[i]);
    }
    CHECK(rti_wait_claim(&waits[0], RTI_EVENT_TIMEOUT));
    CHECK(rti_waitlist_claim(&line) == &waiters[1]);
    rti_wait_finish(&waits[0]);
    CHECK(rti_waitlist_is_empty(&line));
}

TEST(wait_on_several_lists_leaves_all_of_them_when_finished)
{
    struct rti_waitlist lines[3];
    struct rti_wait wait;
    struct rti_waiter waiters[3];
    begin(&wait, true);
    for (uint32_t i = 0; i < 3; i++) {
        rti_waitlist_init(&lines[i]);
        rti_wait_add(&wait, &waiters[i], RTI_EVENT_SOURCE + i, rti_waitlist_unlink);
        rti_waitlist_add(&lines[i], &waiters[i]);
    }
    struct rti_waiter *waiter = rti_waitlist_claim(&lines[1]);
    CHECK(waiter == &waiters[1]);
    CHECK_EQ(rti_wait_event(&wait), RTI_EVENT_SOURCE + 1);
    CHECK(rti_waitlist_claim(&lines[2]) == NULL);
    rti_wait_finish(&wait);
    for (size_t i = 0; i < 3; i++) {
        CHECK(rti_waitlist_is_empty(&lines[i]));
        CHECK(!rti_link_is_linked(&waiters[i].link));
    }
    rti_wait_finish(&wait);
}
