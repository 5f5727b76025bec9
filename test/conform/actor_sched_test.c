/* SPDX-License-Identifier: Apache-2.0 */
/* The actor specification, "Scheduling": cooperative model, blocking, determinism, priorities. */
#define RTI_MODULE "actor_sched_test"
#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"
#include "support/world.h"

static struct actors_world *world;
static actor_id other;

static rt_actor_state state_of(actor_id id)
{
    struct rt_actor_stats stats;
    CHECK_OK(rt_actor_stats(id, &stats));
    return stats.state;
}

static void say_and_exit(void *arg)
{
    actors_say(*(const char *)arg);
    rt_exit();
}

static void wakes_the_urgent(void *arg)
{
    (void)arg;
    actors_say('1');
    CHECK_OK(rt_ipc_send(other, NULL, 0, IPC_ASYNC));
    actors_spawn(say_and_exit, "s", RT_PRIO_CRITICAL, NULL);
    actors_say('2');
    rt_ipc_pending();
    rt_actor_alive(other);
    actors_say('3');
    rt_yield();
    actors_say('4');
    rt_exit();
}

static void waits_then_says(void *arg)
{
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    actors_say(*(const char *)arg);
    rt_exit();
}

TEST(actor_runs_on_until_it_waits_yields_or_exits)
{
    world = actors_start();
    other = actors_spawn(waits_then_says, "u", RT_PRIO_CRITICAL, NULL);
    actors_spawn(wakes_the_urgent, NULL, RT_PRIO_LOW, NULL);
    actors_finish(world);
    /* Nothing more urgent comes between 1, 2 and 3. */
    CHECK_STR(actors_said(), "123us4");
}

static void spins(void *arg)
{
    for (int i = 0; i < 100; i++) {
        actors_say(*(const char *)arg);
    }
    rt_exit();
}

TEST(actor_is_never_preempted_by_its_equals)
{
    world = actors_start();
    actors_unobserved(world);
    actors_spawn(spins, "a", RT_PRIO_NORMAL, NULL);
    actors_spawn(spins, "b", RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_EQ(actors_said()[99], 'a');
    CHECK_EQ(actors_said()[100], 'b');
}

/* Blocking. */

static void receives(void *arg)
{
    rt_message msg;
    (void)rt_ipc_recv(&msg, *(const int32_t *)arg);
    rt_exit();
}

static void sends_sync(void *arg)
{
    (void)arg;
    actors_say(rt_ipc_send(other, NULL, 0, IPC_SYNC).code == RT_OK ? 'o' : 'c');
    rt_exit();
}

static void sleeps(void *arg)
{
    (void)arg;
    actors_sleep_ms(1000);
    rt_exit();
}

TEST(actor_that_waits_is_blocked_and_not_scheduled)
{
    world_needs_virtual_clock();
    static int32_t for_ever = -1;
    static int32_t for_long = 500;
    world = actors_start();
    actor_id first = actors_spawn(receives, &for_ever, RT_PRIO_NORMAL, NULL);
    actor_id second = actors_spawn(receives, &for_long, RT_PRIO_NORMAL, NULL);
    other = actors_spawn(sleeps, NULL, RT_PRIO_NORMAL, NULL);
    actor_id third = actors_spawn(sends_sync, NULL, RT_PRIO_NORMAL, NULL);
    CHECK_EQ(state_of(first), ACTOR_STATE_READY);
    /* Four turns: each ran once. Nobody runs a fifth time before the first deadline. */
    world->sched.steps_max = 4;
    CHECK_STATUS(actors_run(world), RT_ERR_LIMIT);
    CHECK_EQ(actors_now_ms(world), 500);
    CHECK_EQ(state_of(first), ACTOR_STATE_BLOCKED);
    CHECK_EQ(state_of(second), ACTOR_STATE_READY);
    CHECK_EQ(state_of(third), ACTOR_STATE_BLOCKED);
    world->sched.steps_max = 0;
    actors_abandon(world);
}

static void sleeps_long(void *arg)
{
    (void)arg;
    actors_sleep_ms(3600000);
    rt_exit();
}

static void looks_at_the_blocked(void *arg)
{
    const actor_id *blocked = arg;
    actors_sleep_ms(10);
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(state_of(blocked[i]), ACTOR_STATE_BLOCKED);
        CHECK_EQ(rti_runnable_state(&rti_actor_lookup(blocked[i])->fiber.run), RTI_RUNNABLE_PARKED);
    }
    actors_say('x');
    CHECK_OK(rt_actor_kill(other));
    CHECK_OK(rt_actor_kill(blocked[1]));
    rt_exit();
}

TEST(actor_state_is_blocked_in_every_blocking_call)
{
    static int32_t for_ever = -1;
    static int32_t for_long = 3600000;
    static actor_id blocked[3];
    world = actors_start();
    other = actors_spawn(sleeps_long, NULL, RT_PRIO_NORMAL, NULL);
    blocked[0] = actors_spawn(receives, &for_ever, RT_PRIO_NORMAL, NULL);
    blocked[1] = actors_spawn(receives, &for_long, RT_PRIO_NORMAL, NULL);
    blocked[2] = actors_spawn(sends_sync, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(looks_at_the_blocked, blocked, RT_PRIO_NORMAL, NULL);
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    actors_abandon(world);
    CHECK_STR(actors_said(), "xc");
}

static void looks_without_waiting(void *arg)
{
    (void)arg;
    rt_message msg;
    for (int i = 0; i < 5; i++) {
        CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_WOULDBLOCK);
        actors_say('n');
    }
    rt_exit();
}

TEST(actor_receive_with_timeout_0_gives_nobody_else_a_turn)
{
    world = actors_start();
    actors_spawn(looks_without_waiting, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(say_and_exit, "b", RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "nnnnnb");
}

static void sync_then_count(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_send(other, NULL, 0, IPC_SYNC));
    CHECK_EQ(actors_now_ms(world), 30);
    /* The mail that came meanwhile did not end the send, and is here now. */
    CHECK_EQ(rt_ipc_count(), 2);
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_EQ(*(const char *)msg.data, '1');
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_EQ(*(const char *)msg.data, '2');
    actors_say('m');
    rt_exit();
}

static void releases_after_30ms(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    actors_sleep_ms(30);
    rt_ipc_release(&msg);
    rt_exit();
}

static void sends_two_at_10ms(void *arg)
{
    actors_sleep_ms(10);
    CHECK_OK(rt_ipc_send(*(const actor_id *)arg, "1", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(*(const actor_id *)arg, "2", 1, IPC_ASYNC));
    CHECK_EQ(state_of(*(const actor_id *)arg), ACTOR_STATE_BLOCKED);
    rt_exit();
}

TEST(actor_blocked_in_a_sync_send_gets_mail_and_is_not_woken_by_it)
{
    world_needs_virtual_clock();
    static actor_id sender;
    world = actors_start();
    other = actors_spawn(releases_after_30ms, NULL, RT_PRIO_NORMAL, NULL);
    sender = actors_spawn(sync_then_count, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_two_at_10ms, &sender, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "m");
}

static void counts_at_wake(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_EQ(*(const char *)msg.data, '1');
    CHECK_EQ(rt_ipc_count(), 1);
    CHECK(rt_ipc_pending());
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK(!rt_ipc_pending());
    rt_exit();
}

TEST(actor_wakes_on_the_first_of_several_messages)
{
    static actor_id receiver;
    world = actors_start();
    receiver = actors_spawn(counts_at_wake, NULL, RT_PRIO_NORMAL, NULL);
    /* It looks at the state of a receiver that the first message has made ready. */
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    CHECK_EQ(state_of(receiver), ACTOR_STATE_BLOCKED);
    CHECK_OK(rt_ipc_send(receiver, "1", 1, IPC_ASYNC));
    CHECK_EQ(state_of(receiver), ACTOR_STATE_READY);
    CHECK_OK(rt_ipc_send(receiver, "2", 1, IPC_ASYNC));
    actors_finish(world);
}

static void times_out(void *arg)
{
    (void)arg;
    rt_message msg = {.sender = 42};
    static const int32_t waits[] = {1, 10, 250, 100000};
    uint64_t at = 0;
    for (size_t i = 0; i < RTI_COUNT_OF(waits); i++) {
        CHECK_STATUS(rt_ipc_recv(&msg, waits[i]), RT_ERR_TIMEOUT);
        at += (uint64_t)waits[i];
        CHECK_EQ(actors_now_ms(world), at);
    }
    CHECK_EQ(msg.sender, 42);
    rt_exit();
}

TEST(actor_receive_times_out_after_its_time_and_not_before)
{
    world_needs_virtual_clock();
    world = actors_start();
    actors_spawn(times_out, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void waits_longest(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, INT32_MAX), RT_ERR_TIMEOUT);
    CHECK_EQ(actors_now_ms(world), INT32_MAX);
    rt_exit();
}

TEST(actor_receive_may_wait_for_the_longest_timeout)
{
    world_needs_virtual_clock();
    world = actors_start();
    actors_spawn(waits_longest, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void sends_at_20ms(void *arg)
{
    actors_sleep_ms(20);
    CHECK_OK(rt_ipc_send(*(const actor_id *)arg, "w", 1, IPC_ASYNC));
    rt_exit();
}

static actor_id receiver_of_20ms;

static void receives_for_20ms(void *arg)
{
    rt_message msg;
    if (arg != NULL) {
        actors_spawn(sends_at_20ms, &receiver_of_20ms, RT_PRIO_CRITICAL, NULL);
    }
    CHECK_OK(rt_ipc_recv(&msg, 20));
    CHECK_EQ(*(const char *)msg.data, 'w');
    CHECK_EQ(actors_now_ms(world), 20);
    actors_say('w');
    CHECK_STATUS(rt_ipc_recv(&msg, 20), RT_ERR_TIMEOUT);
    CHECK_EQ(actors_now_ms(world), 40);
    rt_exit();
}

TEST(actor_message_wins_over_a_timeout_that_came_with_it)
{
    world_needs_virtual_clock();
    static char is_later;
    /* Both wait until 20 ms. Once the message is first; once the receiver's deadline has claimed
     * its wait, but the sender, more urgent, runs before the receiver does. */
    world = actors_start();
    actors_spawn(sends_at_20ms, &receiver_of_20ms, RT_PRIO_CRITICAL, NULL);
    receiver_of_20ms = actors_spawn(receives_for_20ms, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "w");
    world = actors_start();
    receiver_of_20ms = actors_spawn(receives_for_20ms, &is_later, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "w");
}

/* The answer to an old wait never ends a new one: the first wait timed out, the second is woken by
 * what is meant for it, at its own time. */
static void waits_again(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 10), RT_ERR_TIMEOUT);
    CHECK_STATUS(rt_ipc_recv(&msg, 5), RT_ERR_TIMEOUT);
    CHECK_EQ(actors_now_ms(world), 15);
    CHECK_OK(rt_ipc_recv(&msg, 100));
    CHECK_EQ(actors_now_ms(world), 20);
    /* No timer of the waits before is left to end this one. */
    CHECK_STATUS(rt_ipc_recv(&msg, 200), RT_ERR_TIMEOUT);
    CHECK_EQ(actors_now_ms(world), 220);
    rt_exit();
}

TEST(actor_old_waits_leave_nothing_that_could_end_a_new_one)
{
    world_needs_virtual_clock();
    static actor_id receiver;
    world = actors_start();
    receiver = actors_spawn(waits_again, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_at_20ms, &receiver, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

/* Determinism. */

static void chatters(void *arg)
{
    const actor_id *all = arg;
    rt_message msg;
    for (int i = 0; i < 20; i++) {
        (void)rt_ipc_send(all[i % 4], &i, sizeof(i), IPC_ASYNC);
        if (i % 3 == 0) {
            rt_yield();
        }
        while (!RT_FAILED(rt_ipc_recv(&msg, i % 5))) {
        }
    }
    rt_exit();
}

static uint64_t digest_of_chatter(uint64_t seed)
{
    static actor_id all[4];
    world = actors_start();
    if (seed != 0) {
        actors_shuffle(world, seed);
    }
    for (size_t i = 0; i < 4; i++) {
        all[i] = actors_spawn(chatters, all, i < 2 ? RT_PRIO_NORMAL : RT_PRIO_LOW, NULL);
    }
    actors_finish(world);
    return rti_journal_digest(&world->journal);
}

TEST(actor_same_events_give_the_same_decisions)
{
    world_needs_virtual_clock();
    uint64_t first = digest_of_chatter(0);
    CHECK(first == digest_of_chatter(0));
    uint64_t shuffled = digest_of_chatter(7);
    CHECK(shuffled == digest_of_chatter(7));
    CHECK(shuffled != first);
}

static void wakes_three(void *arg)
{
    const actor_id *sleepers = arg;
    static const size_t order[] = {2, 0, 1};
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(rt_ipc_send(sleepers[order[i]], NULL, 0, IPC_ASYNC));
    }
    rt_exit();
}

TEST(actor_woken_in_one_phase_run_in_the_order_of_their_wakes)
{
    static actor_id sleepers[3];
    static const char *const names[] = {"a", "b", "c"};
    world = actors_start();
    for (size_t i = 0; i < 3; i++) {
        sleepers[i] =
            actors_spawn(waits_then_says, (void *)(uintptr_t)names[i], RT_PRIO_NORMAL, NULL);
    }
    actors_spawn(wakes_three, sleepers, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "cab");
}

static void counts_wakes(void *arg)
{
    (void)arg;
    rt_message msg;
    for (int i = 0; i < 100; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(*(const int *)msg.data, i);
    }
    rt_exit();
}

static void sends_hundred(void *arg)
{
    for (int i = 0; i < 100; i++) {
        CHECK_OK(rt_ipc_send(*(const actor_id *)arg, &i, sizeof(i), IPC_ASYNC));
        if (i % 7 == 0) {
            actors_sleep_ms(1);
        }
        rt_yield();
    }
    rt_exit();
}

TEST(actor_is_woken_only_by_what_it_waits_for)
{
    static actor_id receiver;
    world = actors_start();
    receiver = actors_spawn(counts_wakes, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_hundred, &receiver, RT_PRIO_LOW, NULL);
    actors_finish(world);
}

/* Priorities. */

TEST(actor_of_a_higher_priority_always_runs_first)
{
    world = actors_start();
    actors_spawn(say_and_exit, "l", RT_PRIO_LOW, NULL);
    actors_spawn(say_and_exit, "n", RT_PRIO_NORMAL, NULL);
    actors_spawn(say_and_exit, "h", RT_PRIO_HIGH, NULL);
    actors_spawn(say_and_exit, "c", RT_PRIO_CRITICAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "chnl");
}

static void says_thrice(void *arg)
{
    for (int i = 0; i < 3; i++) {
        actors_say(*(const char *)arg);
        rt_yield();
    }
    rt_exit();
}

TEST(actor_priority_level_is_round_robin)
{
    for (int is_observed = 0; is_observed < 2; is_observed++) {
        world = actors_start();
        if (!is_observed) {
            actors_unobserved(world);
        }
        actors_spawn(says_thrice, "a", RT_PRIO_HIGH, NULL);
        actors_spawn(says_thrice, "b", RT_PRIO_HIGH, NULL);
        actors_spawn(says_thrice, "c", RT_PRIO_HIGH, NULL);
        actors_finish(world);
        CHECK_STR(actors_said(), "abcabcabc");
    }
}

TEST(actor_that_is_always_ready_starves_the_less_urgent)
{
    world = actors_start();
    actors_spawn(say_and_exit, "l", RT_PRIO_LOW, NULL);
    actors_spawn(says_thrice, "h", RT_PRIO_HIGH, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "hhhl");
}

TEST(actor_spawned_by_default_has_normal_priority)
{
    world = actors_start();
    actors_spawn(say_and_exit, "l", RT_PRIO_LOW, NULL);
    CHECK(rt_spawn(say_and_exit, "d") != ACTOR_ID_INVALID);
    actors_spawn(say_and_exit, "h", RT_PRIO_HIGH, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "hdl");
}

static double kept_across_a_yield(double x)
{
    double a = x * 1.5;
    double b = x * 2.5;
    rt_yield();
    return a + b;
}

static void computes(void *arg)
{
    int seed = *(const int *)arg;
    volatile int locals[8];
    for (int i = 0; i < 8; i++) {
        locals[i] = seed * i;
    }
    for (int i = 0; i < 50; i++) {
        CHECK(kept_across_a_yield(seed) > 3.99 * seed && kept_across_a_yield(seed) < 4.01 * seed);
    }
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(locals[i], seed * i);
    }
    rt_exit();
}

TEST(actor_switch_keeps_registers_and_stack)
{
    static const int seeds[] = {1, 20, 300};
    world = actors_start();
    actors_unobserved(world);
    for (size_t i = 0; i < 3; i++) {
        actors_spawn(computes, (void *)(uintptr_t)&seeds[i], RT_PRIO_NORMAL, NULL);
    }
    actors_finish(world);
}
