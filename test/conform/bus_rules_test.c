/* SPDX-License-Identifier: Apache-2.0 */
/* The three rules of the bus and its ways to retain entries, as actor-runtime.md has them, against
 * the public functions in the simulated world. */
#include "support/puppets.h"
#include "support/test.h"
#include "support/world.h"

/* Rule 1. */

static void start_position(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus(&puppets_plain_bus);
    puppets_publish(bus, 1);
    puppets_publish(bus, 2);
    puppets_publish(bus, 3);
    actor_id late = puppet_subscriber(bus);
    CHECK_EQ(rt_bus_entry_count(bus), 3);
    CHECK_EQ(puppet_read(late, bus), PUPPET_NOTHING);
    puppets_publish(bus, 4);
    CHECK_EQ(puppet_read(late, bus), 4);
    CHECK_EQ(puppet_read(late, bus), PUPPET_NOTHING);
    puppets_done();
}

TEST(bus_rule_1_a_subscriber_sees_only_what_is_published_after_it_subscribed)
{
    puppets_run(start_position);
}

static void subscribed_before(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus(&puppets_plain_bus);
    actor_id early = puppet_subscriber(bus);
    for (int i = 1; i <= 8; i++) {
        puppets_publish(bus, i);
    }
    for (int i = 1; i <= 8; i++) {
        CHECK_EQ(puppet_read(early, bus), i);
    }
    puppets_done();
}

TEST(bus_rule_1_who_subscribes_before_reads_everything_retained)
{
    puppets_run(subscribed_before);
}

static void subscribes_again(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus(&puppets_plain_bus);
    actor_id a = puppet_subscriber(bus);
    puppets_publish(bus, 1);
    CHECK_EQ(puppet_unsubscribe(a, bus), RT_OK);
    CHECK_EQ(puppet_subscribe(a, bus), RT_OK);
    CHECK_EQ(puppet_read(a, bus), PUPPET_NOTHING);
    puppets_publish(bus, 2);
    CHECK_EQ(puppet_read(a, bus), 2);
    actor_id heir = puppet_make();
    CHECK_EQ(puppet_unsubscribe(a, bus), RT_OK);
    CHECK_EQ(puppet_subscribe(heir, bus), RT_OK); /* with the number that a had */
    CHECK_EQ(puppet_read(heir, bus), PUPPET_NOTHING);
    puppets_publish(bus, 3);
    CHECK_EQ(puppet_read(heir, bus), 3); /* and without what a had read */
    puppets_done();
}

TEST(bus_rule_1_holds_for_a_second_subscription_and_for_a_number_taken_over)
{
    puppets_run(subscribes_again);
}

/* Rule 2. */

static void own_pace(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus(&puppets_plain_bus);
    actor_id fast = puppet_subscriber(bus);
    actor_id slow = puppet_subscriber(bus);
    for (int i = 1; i <= 8; i++) {
        puppets_publish(bus, i);
        CHECK_EQ(puppet_read(fast, bus), i);
    }
    CHECK_EQ(puppet_read(fast, bus), PUPPET_NOTHING);
    for (int i = 1; i <= 8; i++) {
        CHECK_EQ(puppet_read(slow, bus), i);
    }
    CHECK_EQ(puppet_read(slow, bus), PUPPET_NOTHING);
    puppets_done();
}

TEST(bus_rule_2_each_subscriber_reads_at_its_own_pace)
{
    puppets_run(own_pace);
}

static void thirty_two(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(4, 32, 0);
    actor_id ids[33];
    for (size_t i = 0; i < 32; i++) {
        ids[i] = puppet_subscriber(bus);
    }
    ids[32] = puppet_make();
    CHECK_EQ(puppet_subscribe(ids[32], bus), RT_ERR_NOMEM);
    puppets_publish(bus, 7);
    for (size_t i = 0; i < 32; i++) {
        CHECK_EQ(rt_bus_entry_count(bus), 1);
        CHECK_EQ(puppet_read(ids[i], bus), 7);
    }
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    CHECK_EQ(puppet_unsubscribe(ids[13], bus), RT_OK);
    CHECK_EQ(puppet_subscribe(ids[32], bus), RT_OK);
    puppets_done();
}

TEST(bus_rule_2_thirty_two_subscribers_are_the_most_and_all_count)
{
    puppets_run(thirty_two);
}

static void eviction(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(3, 0, 0);
    actor_id fast = puppet_subscriber(bus);
    actor_id slow = puppet_subscriber(bus);
    for (int i = 1; i <= 3; i++) {
        puppets_publish(bus, i);
        CHECK_EQ(puppet_read(fast, bus), i);
    }
    puppets_publish(bus, 4); /* evicts 1, which the slow one has not read */
    CHECK_EQ(rt_bus_entry_count(bus), 3);
    CHECK_EQ(puppet_read(slow, bus), 2); /* RT_OK, as if nothing had been lost */
    CHECK_EQ(puppet_read(slow, bus), 3);
    CHECK_EQ(puppet_read(slow, bus), 4);
    CHECK_EQ(puppet_read(slow, bus), PUPPET_NOTHING);
    CHECK_EQ(puppet_read(fast, bus), 4);
    CHECK_EQ(puppet_read(fast, bus), PUPPET_NOTHING);
    puppets_done();
}

TEST(bus_rule_2_a_slow_subscriber_skips_silently_to_the_oldest_entry_left)
{
    puppets_run(eviction);
}

static void evicted_though_unread(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(1, 2, 0);
    actor_id a = puppet_subscriber(bus);
    for (int i = 1; i <= 100; i++) {
        puppets_publish(bus, i);
    }
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    CHECK_EQ(puppet_read(a, bus), 100);
    CHECK_EQ(puppet_read(a, bus), PUPPET_NOTHING);
    puppets_done();
}

TEST(bus_rule_2_eviction_does_not_ask_who_has_read)
{
    puppets_run(evicted_though_unread);
}

static void never_loses(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(2, 0, 0);
    actor_id fast = puppet_subscriber(bus);
    for (int i = 1; i <= 500; i++) {
        puppets_publish(bus, i);
        CHECK_EQ(puppet_read(fast, bus), i);
    }
    puppets_done();
}

TEST(bus_rule_2_a_fast_subscriber_loses_nothing_over_many_wraps)
{
    puppets_run(never_loses);
}

static void told_by_nobody(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(1, 0, 0);
    int value;
    size_t len;
    CHECK_OK(rt_bus_subscribe(bus));
    puppets_publish(bus, 1);
    puppets_publish(bus, 2);
    CHECK(!rt_ipc_pending()); /* no message says so */
    CHECK_OK(rt_bus_read(bus, &value, sizeof(value), &len));
    CHECK_EQ(value, 2);
    uint64_t dropped = 0;
    CHECK_OK(rt_bus_dropped(bus, &dropped)); /* who wants to know asks */
    CHECK_EQ(dropped, 1);
    puppets_done();
}

TEST(bus_rule_2_data_loss_is_not_signalled)
{
    puppets_run(told_by_nobody);
}

/* Rule 3. */

static void unique_readers(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(8, 2, 0);
    actor_id a = puppet_subscriber(bus);
    actor_id b = puppet_subscriber(bus);
    actor_id c = puppet_subscriber(bus);
    puppets_publish(bus, 1);
    CHECK_EQ(puppet_read(a, bus), 1);
    CHECK_EQ(puppet_read(a, bus), PUPPET_NOTHING);
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    CHECK_EQ(puppet_read(b, bus), 1);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    CHECK_EQ(puppet_read(c, bus), PUPPET_NOTHING);
    puppets_done();
}

TEST(bus_rule_3_max_readers_counts_different_subscribers)
{
    puppets_run(unique_readers);
}

static void resubscribed_reader(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(8, 2, 0);
    actor_id a = puppet_subscriber(bus);
    actor_id b = puppet_subscriber(bus);
    puppets_publish(bus, 1);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(puppet_read(a, bus), i == 0 ? 1 : PUPPET_NOTHING);
        CHECK_EQ(puppet_unsubscribe(a, bus), RT_OK);
        CHECK_EQ(puppet_subscribe(a, bus), RT_OK);
    }
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    puppet_end(a); /* its read counts also after its end */
    CHECK_EQ(puppet_read(b, bus), 1);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    puppets_done();
}

TEST(bus_rule_3_who_subscribes_again_is_still_one_reader)
{
    puppets_run(resubscribed_reader);
}

static void unlimited_readers(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(8, 0, 0);
    puppets_publish(bus, 0);
    for (int i = 1; i <= 5; i++) {
        actor_id reader = puppet_subscriber(bus);
        puppets_publish(bus, i);
        CHECK_EQ(puppet_read(reader, bus), i);
        CHECK_EQ(rt_bus_entry_count(bus), i + 1);
        puppet_end(reader);
    }
    puppets_nap(1000000);
    puppets_publish(bus, 6);
    CHECK_EQ(rt_bus_entry_count(bus), 7);
    puppets_done();
}

TEST(bus_rule_3_zero_readers_and_zero_age_keep_an_entry_until_the_bus_is_full)
{
    world_needs_virtual_clock();
    puppets_run(unlimited_readers);
}

/* Retention. */

static void age_on_read(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(8, 0, 100);
    actor_id a = puppet_subscriber(bus);
    puppets_publish(bus, 1);
    puppets_nap(50);
    puppets_publish(bus, 2);
    puppets_nap(49);
    CHECK_EQ(puppet_read(a, bus), 1); /* 99 ms old */
    puppets_publish(bus, 3);
    puppets_nap(1);
    CHECK_EQ(rt_bus_entry_count(bus), 3);
    CHECK_EQ(puppet_read(a, bus), 2); /* 51 ms old; the look removed 1, now 100 ms old */
    CHECK_EQ(rt_bus_entry_count(bus), 2);
    puppets_nap(100);
    CHECK_EQ(puppet_read(a, bus), PUPPET_NOTHING);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    puppets_done();
}

TEST(bus_entry_goes_when_a_read_finds_it_max_age_old)
{
    world_needs_virtual_clock();
    puppets_run(age_on_read);
}

static void age_on_publish(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(8, 0, 10);
    puppets_publish(bus, 1);
    puppets_nap(5);
    puppets_publish(bus, 2);
    CHECK_EQ(rt_bus_entry_count(bus), 2);
    puppets_nap(5);
    puppets_publish(bus, 3);
    CHECK_EQ(rt_bus_entry_count(bus), 2);
    puppets_nap(20);
    puppets_publish(bus, 4);
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    puppets_done();
}

TEST(bus_entry_goes_when_a_publication_finds_it_max_age_old)
{
    world_needs_virtual_clock();
    puppets_run(age_on_publish);
}

static void aged_while_waiting(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(8, 0, 10);
    actor_id a = puppet_subscriber(bus);
    puppets_publish(bus, 1);
    puppets_nap(10);
    struct puppet_answer answer =
        puppet_tell(a, (struct puppet_command){.verb = PUPPET_WAIT, .bus = bus, .timeout_ms = 5});
    CHECK_EQ(answer.code, RT_ERR_TIMEOUT);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    puppets_done();
}

TEST(bus_read_wait_does_not_give_what_is_too_old)
{
    world_needs_virtual_clock();
    puppets_run(aged_while_waiting);
}

static void first_condition(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(2, 2, 1000);
    actor_id a = puppet_subscriber(bus);
    actor_id b = puppet_subscriber(bus);
    puppets_publish(bus, 1);
    CHECK_EQ(puppet_read(a, bus), 1);
    CHECK_EQ(puppet_read(b, bus), 1);
    CHECK_EQ(rt_bus_entry_count(bus), 0); /* its readers, before its age */
    puppets_publish(bus, 2);
    CHECK_EQ(puppet_read(a, bus), 2);
    puppets_nap(1000);
    CHECK_EQ(puppet_read(b, bus), PUPPET_NOTHING); /* its age, before its second reader */
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    puppets_publish(bus, 3);
    puppets_publish(bus, 4);
    puppets_publish(bus, 5);
    CHECK_EQ(rt_bus_entry_count(bus), 2); /* no room, before readers and age */
    CHECK_EQ(puppet_read(a, bus), 4);
    puppets_done();
}

TEST(bus_entry_goes_by_whichever_of_the_three_conditions_is_met_first)
{
    world_needs_virtual_clock();
    puppets_run(first_condition);
}
