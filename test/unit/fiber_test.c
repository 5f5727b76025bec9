/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "fiber_test"
#include "sched/fiber.h"

#include <errno.h>

#include "support/fibers.h"
#include "support/test.h"

static struct fibers fibers;
static char order[256];
static size_t order_length;

static void say(char c)
{
    CHECK(order_length < sizeof(order) - 1);
    order[order_length++] = c;
}

static void start(void)
{
    order_length = 0;
    memset(order, 0, sizeof(order));
    fibers_init(&fibers);
}

static struct rti_worker *here(void)
{
    return rti_worker_current();
}

static void say_thrice(void *arg)
{
    for (int i = 0; i < 3; i++) {
        say(*(const char *)arg);
        rti_fiber_yield(here());
    }
}

TEST(fiber_runs_to_its_end_and_is_settled_once)
{
    start();
    fibers_go(&fibers, 2, say_thrice, "a");
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "aaa");
    CHECK_EQ(fibers.done_count, 1);
    CHECK_EQ(fibers.ends[0], RTI_FIBER_RETURNED);
    CHECK_EQ(fibers.sched.live, 0);
    fibers_deinit(&fibers);
}

TEST(fibers_of_one_priority_take_turns)
{
    start();
    fibers_go(&fibers, 2, say_thrice, "a");
    fibers_go(&fibers, 2, say_thrice, "b");
    fibers_go(&fibers, 2, say_thrice, "c");
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "abcabcabc");
}

TEST(fibers_take_the_same_turns_when_nothing_observes_them)
{
    start();
    fibers_unobserved(&fibers);
    fibers_go(&fibers, 2, say_thrice, "a");
    fibers_go(&fibers, 2, say_thrice, "b");
    fibers_go(&fibers, 2, say_thrice, "c");
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "abcabcabc");
}

TEST(fiber_of_a_more_urgent_level_runs_first_and_to_its_end)
{
    start();
    fibers_go(&fibers, 3, say_thrice, "l");
    fibers_go(&fibers, 2, say_thrice, "n");
    fibers_go(&fibers, 1, say_thrice, "h");
    fibers_go(&fibers, 0, say_thrice, "c");
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "ccchhhnnnlll");
}

static void set_errno_and_yield(void *arg)
{
    errno = *(const int *)arg;
    for (int i = 0; i < 50; i++) {
        rti_fiber_yield(here());
        CHECK_EQ(errno, *(const int *)arg);
    }
}

TEST(fiber_keeps_its_own_errno)
{
    static const int numbers[] = {EAGAIN, ENOENT, 0};
    start();
    fibers_unobserved(&fibers);
    for (size_t i = 0; i < 3; i++) {
        fibers_go(&fibers, 2, set_errno_and_yield, (void *)(uintptr_t)&numbers[i]);
    }
    CHECK_OK(fibers_run(&fibers));
}

/* A mailbox of one wait list: what the tests of parking use as an event source. */
static struct rti_waitlist line;
static int taken;

static void take_one(void *arg)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    int value = 0;
    rti_fiber_wait_begin(here(), &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_waitlist_unlink);
    waiter.slot = &value;
    rti_waitlist_add(&line, &waiter);
    CHECK_EQ(rti_fiber_park(here(), &wait), RTI_EVENT_SOURCE);
    taken += value;
    say(*(const char *)arg);
}

static bool give(int value)
{
    struct rti_waiter *waiter = rti_waitlist_claim(&line);
    if (waiter == NULL) {
        return false;
    }
    *(int *)waiter->slot = value;
    rti_waiter_wake(waiter);
    return true;
}

static void give_three(void *arg)
{
    (void)arg;
    for (int i = 1; i <= 3; i++) {
        CHECK(give(i));
    }
    CHECK(!give(9));
}

TEST(fiber_parked_on_a_wait_list_is_woken_in_order_with_its_value)
{
    start();
    rti_waitlist_init(&line);
    taken = 0;
    fibers_go(&fibers, 1, take_one, "a");
    fibers_go(&fibers, 1, take_one, "b");
    fibers_go(&fibers, 1, take_one, "c");
    fibers_go(&fibers, 2, give_three, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "abc");
    CHECK_EQ(taken, 6);
}

TEST(run_reports_when_every_fiber_waits_for_ever)
{
    start();
    rti_waitlist_init(&line);
    fibers_go(&fibers, 1, take_one, "a");
    CHECK_STATUS(fibers_run(&fibers), RT_ERR_DEADLOCK);
    CHECK_EQ(fibers.sched.live, 1);
}

/* What a send to oneself does: the event comes between the arming and the parking. */
static void wake_before_park(void *arg)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    int value = 0;
    (void)arg;
    rti_fiber_wait_begin(here(), &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_waitlist_unlink);
    waiter.slot = &value;
    rti_waitlist_add(&line, &waiter);
    CHECK(give(7));
    CHECK_EQ(rti_fiber_park(here(), &wait), RTI_EVENT_SOURCE);
    CHECK_EQ(value, 7);
    say('w');
}

TEST(wake_that_comes_before_the_park_is_not_lost)
{
    start();
    fibers_unobserved(&fibers);
    rti_waitlist_init(&line);
    fibers_go(&fibers, 2, wake_before_park, NULL);
    fibers_go(&fibers, 2, say_thrice, "a");
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "awaa");
}

static void take_or_time_out(void *arg)
{
    struct rti_wait wait;
    struct rti_waiter waiter;
    struct rti_deadline deadline;
    int value = 0;
    rti_fiber_wait_begin(here(), &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, rti_waitlist_unlink);
    waiter.slot = &value;
    rti_waitlist_add(&line, &waiter);
    rti_deadline_add(&deadline, here()->sched, &wait, *(const uint64_t *)arg);
    uint32_t event = rti_fiber_park(here(), &wait);
    say(event == RTI_EVENT_TIMEOUT ? 't' : 'v');
    CHECK(!rti_timer_is_armed(&deadline.timer));
    CHECK(!rti_link_is_linked(&waiter.link));
}

static void give_at(void *arg)
{
    rti_fiber_sleep_until(here(), *(const uint64_t *)arg);
    say(give(1) ? 'g' : '-');
}

TEST(wait_is_ended_by_its_deadline_and_leaves_the_list)
{
    static const uint64_t ten = 10 * RTI_NS_PER_MS;
    static const uint64_t twenty = 20 * RTI_NS_PER_MS;
    start();
    rti_waitlist_init(&line);
    fibers_go(&fibers, 1, take_or_time_out, (void *)(uintptr_t)&ten);
    fibers_go(&fibers, 1, give_at, (void *)(uintptr_t)&twenty);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "t-");
    CHECK(rti_waitlist_is_empty(&line));
    CHECK_EQ(fibers.port.now_ns, twenty);
}

TEST(wait_is_ended_by_its_event_and_the_deadline_is_disarmed)
{
    static const uint64_t ten = 10 * RTI_NS_PER_MS;
    static const uint64_t twenty = 20 * RTI_NS_PER_MS;
    start();
    rti_waitlist_init(&line);
    fibers_go(&fibers, 1, take_or_time_out, (void *)(uintptr_t)&twenty);
    fibers_go(&fibers, 1, give_at, (void *)(uintptr_t)&ten);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "gv");
    CHECK_EQ(rti_wheel_count(&fibers.clockwork.wheel), 0);
    CHECK_EQ(fibers.port.now_ns, ten);
}

TEST(wait_with_a_deadline_in_the_past_ends_in_the_next_turn)
{
    static const uint64_t zero = 0;
    start();
    fibers_unobserved(&fibers);
    rti_waitlist_init(&line);
    fibers_go(&fibers, 1, take_or_time_out, (void *)(uintptr_t)&zero);
    fibers_go(&fibers, 1, say_thrice, "y");
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "ytyy");
    CHECK_EQ(fibers.port.now_ns, 0);
}

static struct rti_fiber *victim;

static void kill_victim(void *arg)
{
    (void)arg;
    CHECK(rti_fiber_kill(here()->sched, victim));
    CHECK(!rti_fiber_kill(here()->sched, victim));
    say('k');
}

TEST(kill_of_a_parked_fiber_unlinks_its_waiters_and_timers)
{
    static const uint64_t hour = 3600 * RTI_NS_PER_S;
    start();
    rti_waitlist_init(&line);
    victim = fibers_go(&fibers, 1, take_or_time_out, (void *)(uintptr_t)&hour);
    fibers_go(&fibers, 1, kill_victim, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "k");
    CHECK_EQ(fibers.ends[0], RTI_FIBER_KILLED);
    CHECK(rti_waitlist_is_empty(&line));
    CHECK_EQ(rti_wheel_count(&fibers.clockwork.wheel), 0);
    CHECK_EQ(fibers.port.now_ns, 0);
}

TEST(kill_of_a_fiber_that_has_not_run_never_enters_it)
{
    start();
    victim = fibers_go(&fibers, 3, say_thrice, "x");
    fibers_go(&fibers, 1, kill_victim, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "k");
    CHECK_EQ(fibers.ends[0], RTI_FIBER_KILLED);
}

TEST(kill_of_a_ready_fiber_ends_it_at_its_next_turn)
{
    start();
    victim = fibers_go(&fibers, 2, say_thrice, "x");
    fibers_go(&fibers, 2, kill_victim, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "xk");
    CHECK_EQ(fibers.ends[0], RTI_FIBER_KILLED);
}

static void kill_self(void *arg)
{
    (void)arg;
    rti_fiber_kill(here()->sched, rti_fiber_current());
    say('!');
}

TEST(kill_of_oneself_does_not_return)
{
    start();
    fibers_go(&fibers, 2, kill_self, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "");
    CHECK_EQ(fibers.ends[0], RTI_FIBER_KILLED);
}

static void give_then_kill(void *arg)
{
    (void)arg;
    CHECK(give(5));
    CHECK(rti_fiber_kill(here()->sched, victim));
}

TEST(kill_after_the_wait_was_claimed_wins_and_wakes_once)
{
    start();
    rti_waitlist_init(&line);
    taken = 0;
    victim = fibers_go(&fibers, 1, take_one, "a");
    fibers_go(&fibers, 1, give_then_kill, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "");
    CHECK_EQ(taken, 0);
    CHECK_EQ(fibers.ends[0], RTI_FIBER_KILLED);
}

static void exit_early(void *arg)
{
    (void)arg;
    say('e');
    rti_fiber_exit(here());
}

TEST(fiber_exit_does_not_return)
{
    start();
    fibers_go(&fibers, 2, exit_early, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "e");
    CHECK_EQ(fibers.ends[0], RTI_FIBER_EXITED);
}

/* Writes over the low guard word as a deep call chain would. */
static void smash_guard(void)
{
    struct rti_fiber *self = rti_fiber_current();
    *(volatile uint64_t *)(void *)rti_stack_low(&self->stack) = 0;
}

static void overflow_and_yield(void *arg)
{
    (void)arg;
    smash_guard();
    rti_fiber_yield(here());
    say('!');
}

TEST(overflowed_fiber_ends_at_its_next_suspension_and_the_others_go_on)
{
    start();
    fibers_go(&fibers, 2, overflow_and_yield, NULL);
    fibers_go(&fibers, 2, say_thrice, "a");
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "aaa");
    CHECK_EQ(fibers.ends[0], RTI_FIBER_OVERFLOWED);
}

static void overflow_and_wait(void *arg)
{
    smash_guard();
    take_or_time_out(arg);
}

TEST(overflowed_fiber_that_parks_leaves_no_waiter_behind)
{
    static const uint64_t hour = 3600 * RTI_NS_PER_S;
    start();
    fibers_unobserved(&fibers);
    rti_waitlist_init(&line);
    fibers_go(&fibers, 2, overflow_and_wait, (void *)(uintptr_t)&hour);
    fibers_go(&fibers, 2, say_thrice, "a");
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "aaa");
    CHECK_EQ(fibers.ends[0], RTI_FIBER_OVERFLOWED);
    CHECK(rti_waitlist_is_empty(&line));
    CHECK_EQ(rti_wheel_count(&fibers.clockwork.wheel), 0);
}

static void overflow_and_return(void *arg)
{
    (void)arg;
    smash_guard();
}

TEST(overflow_is_seen_also_when_the_fiber_returns)
{
    start();
    fibers_go(&fibers, 2, overflow_and_return, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK_EQ(fibers.ends[0], RTI_FIBER_OVERFLOWED);
}

TEST(journal_says_how_each_fiber_ended)
{
    static struct rti_journal_record records[32];
    static const enum rti_fiber_end ends[] = {RTI_FIBER_RETURNED, RTI_FIBER_OVERFLOWED,
                                              RTI_FIBER_OVERFLOWED};
    size_t ended = 0;
    start();
    rti_journal_init(&fibers.journal, records, RTI_COUNT_OF(records));
    fibers_go(&fibers, 0, say_thrice, "a");
    fibers_go(&fibers, 1, overflow_and_return, NULL);
    fibers_go(&fibers, 2, overflow_and_yield, NULL);
    CHECK_OK(fibers_run(&fibers));
    for (size_t i = 0; i < rti_journal_count(&fibers.journal); i++) {
        const struct rti_journal_record *record = rti_journal_at(&fibers.journal, i);
        if (record->kind == RTI_JOURNAL_END) {
            CHECK_EQ(record->task, ended + 1);
            CHECK_EQ(record->value, ends[ended]);
            ended++;
        }
    }
    CHECK_EQ(ended, RTI_COUNT_OF(ends));
}

static void spawn_chain(void *arg)
{
    int left = *(int *)arg;
    if (left > 0) {
        *(int *)arg = left - 1;
        fibers_go(&fibers, 2, spawn_chain, arg);
    }
}

TEST(fiber_started_by_a_fiber_runs_too)
{
    int left = 40;
    start();
    fibers_go(&fibers, 2, spawn_chain, &left);
    CHECK_OK(fibers_run(&fibers));
    CHECK_EQ(left, 0);
    CHECK_EQ(fibers.done_count, 41);
}

static void stop_now(void *arg)
{
    (void)arg;
    rti_sched_stop(here()->sched);
    rti_fiber_yield(here());
    say('s');
}

TEST(stop_ends_the_run_after_the_turn_and_a_second_run_goes_on)
{
    start();
    fibers_unobserved(&fibers);
    fibers_go(&fibers, 2, stop_now, NULL);
    fibers_go(&fibers, 2, say_thrice, "a");
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "");
    CHECK_EQ(fibers.sched.live, 2);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "asaa");
    CHECK_EQ(fibers.sched.live, 0);
}

static void resume_the_dead(void *arg)
{
    (void)arg;
    start();
    struct rti_fiber *fiber = fibers_go(&fibers, 2, exit_early, NULL);
    CHECK_OK(fibers_run(&fibers));
    rti_sched_start(&fibers.sched, &fiber->run);
}

TEST(start_of_a_fiber_that_is_done_panics)
{
    CHECK_PANICS("scheduler", resume_the_dead, NULL);
}

static void park_without_an_event(void *arg)
{
    struct rti_wait wait;
    (void)arg;
    rti_fiber_wait_begin(here(), &wait);
    rti_fiber_park(here(), &wait);
}

TEST(park_without_any_event_source_is_reported_as_a_deadlock)
{
    start();
    fibers_go(&fibers, 2, park_without_an_event, NULL);
    CHECK_STATUS(fibers_run(&fibers), RT_ERR_DEADLOCK);
}
