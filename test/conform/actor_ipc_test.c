/* SPDX-License-Identifier: Apache-2.0 */
/* The actor specification, "IPC API": modes, lifetimes, order, exhaustion, the edge cases of SYNC.
 */
#define RTI_MODULE "actor_ipc_test"
#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"

static struct actors_world *world;
static actor_id receiver;
static actor_id sender;

static void nobody_home(void *arg)
{
    (void)arg;
    rt_message msg;
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
    }
}

/* Modes. */

static void sends_async_and_goes_on(void *arg)
{
    (void)arg;
    char text[] = "before";
    CHECK_OK(rt_ipc_send(receiver, text, sizeof(text), IPC_ASYNC));
    actors_say('s');
    memset(text, 'x', sizeof(text));
    rt_exit();
}

static void receives_text(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    actors_say('r');
    CHECK_EQ(msg.sender, sender);
    CHECK_EQ(msg.len, 7);
    CHECK_STR(msg.data, "before");
    rt_exit();
}

TEST(actor_async_send_copies_and_continues_at_once)
{
    world = actors_start();
    receiver = actors_spawn(receives_text, NULL, RT_PRIO_CRITICAL, NULL);
    sender = actors_spawn(sends_async_and_goes_on, NULL, RT_PRIO_LOW, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "sr");
}

static void sends_sync_text(void *arg)
{
    (void)arg;
    char text[] = "sync text";
    actors_say('1');
    CHECK_OK(rt_ipc_send(receiver, text, sizeof(text), IPC_SYNC));
    actors_say('4');
    rt_exit();
}

static void receives_and_releases(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    actors_say('2');
    for (int i = 0; i < 5; i++) {
        rt_yield();
        CHECK_STR(msg.data, "sync text");
    }
    actors_say('3');
    rt_ipc_release(&msg);
    rt_yield();
    rt_exit();
}

TEST(actor_sync_send_blocks_until_the_receiver_releases)
{
    world = actors_start();
    receiver = actors_spawn(receives_and_releases, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_sync_text, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "1234");
}

/* Lifetime. */

static void sends_three(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        char payload[100];
        memset(payload, 'a' + i, sizeof(payload));
        CHECK_OK(rt_ipc_send(receiver, payload, sizeof(payload), IPC_ASYNC));
    }
    rt_exit();
}

static void reads_until_next_receive(void *arg)
{
    (void)arg;
    rt_message msg;
    for (int i = 0; i < 3; i++) {
        size_t before = rti_ipc_pools_data_in_use(&world->actors.ipc);
        CHECK_OK(rt_ipc_recv(&msg, -1));
        /* One payload is readable at a time: the one before was freed. */
        if (i > 0) {
            CHECK_EQ(rti_ipc_pools_data_in_use(&world->actors.ipc), before - 1);
        }
        for (int turn = 0; turn < 3; turn++) {
            rt_yield();
            CHECK_EQ(((const char *)msg.data)[99], 'a' + i);
        }
    }
    rt_exit();
}

TEST(actor_async_data_is_valid_until_the_next_receive_which_frees_it)
{
    world = actors_start();
    actors_spawn(sends_three, NULL, RT_PRIO_HIGH, NULL);
    receiver = actors_spawn(reads_until_next_receive, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void fails_to_receive(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_send(rt_self(), "x", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_EQ(rti_ipc_pools_data_in_use(&world->actors.ipc), 1);
    CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_WOULDBLOCK);
    CHECK_EQ(rti_ipc_pools_data_in_use(&world->actors.ipc), 0);
    rt_exit();
}

TEST(actor_receive_that_finds_nothing_ends_the_message_before_too)
{
    world = actors_start();
    actors_spawn(fails_to_receive, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void releases_async(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_send(rt_self(), "still here", 11, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, 0));
    rt_ipc_release(&msg);
    rt_ipc_release(&msg);
    CHECK_STR(msg.data, "still here");
    CHECK_EQ(rti_pool_in_use(&world->actors.ipc.entries), 1);
    rt_exit();
}

TEST(actor_release_of_an_async_message_does_nothing)
{
    world = actors_start();
    actors_spawn(releases_async, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void sends_sync_and_says(void *arg)
{
    rt_status status = rt_ipc_send(receiver, arg, 1, IPC_SYNC);
    actors_say(status.code == RT_OK ? *(const char *)arg : '!');
    rt_exit();
}

static void receives_again_without_release(void *arg)
{
    (void)arg;
    rt_message first;
    rt_message second;
    CHECK_OK(rt_ipc_recv(&first, -1));
    CHECK_EQ(*(const char *)first.data, 'a');
    rt_yield();
    CHECK_STR(actors_said(), "");
    CHECK_STATUS(rt_ipc_recv(&second, 0), RT_OK);
    /* The first sender has been unblocked by the call, the second has not. */
    rt_yield();
    CHECK_STR(actors_said(), "a");
    CHECK_EQ(*(const char *)second.data, 'b');
    rt_ipc_release(&first);
    rt_yield();
    CHECK_STR(actors_said(), "a");
    CHECK_EQ(*(const char *)second.data, 'b');
    rt_ipc_release(&second);
    rt_yield();
    CHECK_STR(actors_said(), "ab");
    rt_exit();
}

TEST(actor_next_receive_releases_a_sync_message_by_itself)
{
    world = actors_start();
    receiver = actors_spawn(receives_again_without_release, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_sync_and_says, "a", RT_PRIO_HIGH, NULL);
    actors_spawn(sends_sync_and_says, "b", RT_PRIO_HIGH, NULL);
    actors_finish(world);
}

static void releases_by_failing_receive(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_STATUS(rt_ipc_recv(&msg, *(const int32_t *)arg),
                 *(const int32_t *)arg == 0 ? RT_ERR_WOULDBLOCK : RT_ERR_TIMEOUT);
    rt_yield();
    actors_say('x');
    rt_exit();
}

TEST(actor_receive_that_finds_nothing_releases_a_sync_message_too)
{
    static const int32_t timeouts[] = {0, 5};
    for (size_t i = 0; i < 2; i++) {
        world = actors_start();
        receiver = actors_spawn(releases_by_failing_receive, (void *)(uintptr_t)&timeouts[i],
                                RT_PRIO_NORMAL, NULL);
        actors_spawn(sends_sync_and_says, "a", RT_PRIO_NORMAL, NULL);
        actors_finish(world);
        CHECK_STR(actors_said(), "ax");
    }
}

static void releases_twice(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rt_ipc_release(&msg);
    rt_ipc_release(&msg);
    CHECK_EQ(rti_pool_in_use(&world->actors.ipc.sync), 0);
    rt_exit();
}

TEST(actor_release_twice_is_harmless)
{
    world = actors_start();
    receiver = actors_spawn(releases_twice, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_sync_and_says, "a", RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "a");
}

static rt_message stolen;

static void lends_its_message(void *arg)
{
    (void)arg;
    CHECK_OK(rt_ipc_recv(&stolen, -1));
    rt_yield();
    rt_yield();
    CHECK_STR(actors_said(), "r");
    CHECK_EQ(*(const char *)stolen.data, 'a');
    rt_exit();
}

static void releases_foreign(void *arg)
{
    (void)arg;
    rt_ipc_release(&stolen);
    actors_say('r');
    rt_exit();
}

TEST(actor_release_of_a_message_that_another_received_does_nothing)
{
    world = actors_start();
    receiver = actors_spawn(lends_its_message, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_sync_and_says, "a", RT_PRIO_HIGH, NULL);
    actors_spawn(releases_foreign, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "r!");
}

/* Exhaustion. */

struct counts {
    size_t entries;
    size_t data;
    size_t sync;
};

static struct counts counts_now(void)
{
    return (struct counts){.entries = rti_pool_in_use(&world->actors.ipc.entries),
                           .data = rti_ipc_pools_data_in_use(&world->actors.ipc),
                           .sync = rti_pool_in_use(&world->actors.ipc.sync)};
}

/* A send that must fail with NOMEM, at once, without taking or queueing anything. */
static void check_send_fails(rt_ipc_mode mode)
{
    struct counts before = counts_now();
    uint32_t queued = rti_actor_lookup(receiver)->mailbox.count;
    uint64_t turns = world->sched.worker.turns;
    char payload[RT_MAX_MESSAGE_SIZE] = {0};
    CHECK_STATUS(rt_ipc_send(receiver, payload, sizeof(payload), mode), RT_ERR_NOMEM);
    CHECK_STATUS(rt_ipc_send(receiver, NULL, 0, mode), RT_ERR_NOMEM);
    struct counts after = counts_now();
    CHECK(memcmp(&before, &after, sizeof(before)) == 0);
    CHECK_EQ(rti_actor_lookup(receiver)->mailbox.count, queued);
    CHECK_EQ(world->sched.worker.turns, turns);
}

static void exhausts_entries(void *arg)
{
    (void)arg;
    struct rti_ipc_pools *pools = &world->actors.ipc;
    rt_message msg;
    /* Hold the data pool out of the way: entries run out first. */
    void *taken[RT_MAILBOX_ENTRY_POOL_SIZE];
    for (size_t i = 0; i < RT_MAILBOX_ENTRY_POOL_SIZE - 10; i++) {
        taken[i] = rti_pool_alloc(&pools->entries);
    }
    for (int i = 0; i < 10; i++) {
        CHECK_OK(rt_ipc_send(receiver, &i, sizeof(i), IPC_ASYNC));
    }
    CHECK_EQ(rti_pool_in_use(&pools->entries), RT_MAILBOX_ENTRY_POOL_SIZE);
    check_send_fails(IPC_ASYNC);
    check_send_fails(IPC_SYNC);
    /* Recovery: the receiver takes one and the next send works. */
    actors_sleep_ms(10);
    CHECK_OK(rt_ipc_send(receiver, NULL, 0, IPC_ASYNC));
    for (size_t i = 0; i < RT_MAILBOX_ENTRY_POOL_SIZE - 10; i++) {
        rti_pool_free(&pools->entries, taken[i]);
    }
    CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_WOULDBLOCK);
    rt_exit();
}

static void drains_later(void *arg)
{
    (void)arg;
    rt_message msg;
    actors_sleep_ms(5);
    while (!RT_FAILED(rt_ipc_recv(&msg, 100))) {
    }
    rt_exit();
}

TEST(actor_send_fails_fast_when_the_mailbox_entries_are_used_up)
{
    world = actors_start();
    receiver = actors_spawn(drains_later, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(exhausts_entries, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void exhausts_data(void *arg)
{
    (void)arg;
    struct rti_ipc_pools *pools = &world->actors.ipc;
    /* Bus entries share the pool: hold some blocks as they would. */
    void *taken[RT_MESSAGE_DATA_POOL_SIZE];
    for (size_t i = 0; i < RT_MESSAGE_DATA_POOL_SIZE - 20; i++) {
        taken[i] = rti_ipc_pools_data_alloc(pools);
        CHECK(taken[i] != NULL);
    }
    /* Short and long payloads count alike. */
    char payload[RT_MAX_MESSAGE_SIZE] = {0};
    for (int i = 0; i < 20; i++) {
        CHECK_OK(rt_ipc_send(receiver, payload, i % 2 == 0 ? 1 : sizeof(payload), IPC_ASYNC));
    }
    CHECK_EQ(rti_ipc_pools_data_in_use(pools), RT_MESSAGE_DATA_POOL_SIZE);
    CHECK(rti_ipc_pools_data_alloc(pools) == NULL);
    check_send_fails(IPC_ASYNC);
    /* SYNC has a pool of its own and still works. */
    CHECK_OK(rt_ipc_send(receiver, payload, sizeof(payload), IPC_SYNC));
    CHECK_OK(rt_ipc_send(receiver, payload, sizeof(payload), IPC_ASYNC));
    for (size_t i = 0; i < RT_MESSAGE_DATA_POOL_SIZE - 20; i++) {
        rti_pool_free(&pools->data, taken[i]);
    }
    rt_exit();
}

TEST(actor_async_send_fails_fast_when_the_message_data_is_used_up_and_sync_does_not)
{
    world = actors_start();
    receiver = actors_spawn(drains_later, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(exhausts_data, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void exhausts_sync(void *arg)
{
    (void)arg;
    struct rti_ipc_pools *pools = &world->actors.ipc;
    void *taken[RT_SYNC_BUFFER_POOL_SIZE];
    for (size_t i = 0; i < RT_SYNC_BUFFER_POOL_SIZE; i++) {
        taken[i] = rti_pool_alloc(&pools->sync);
        CHECK(taken[i] != NULL);
    }
    CHECK(rti_pool_alloc(&pools->sync) == NULL);
    check_send_fails(IPC_SYNC);
    CHECK_OK(rt_ipc_send(receiver, "a", 1, IPC_ASYNC));
    rti_pool_free(&pools->sync, taken[0]);
    CHECK_OK(rt_ipc_send(receiver, "a", 1, IPC_SYNC));
    for (size_t i = 1; i < RT_SYNC_BUFFER_POOL_SIZE; i++) {
        rti_pool_free(&pools->sync, taken[i]);
    }
    rt_exit();
}

TEST(actor_sync_send_fails_fast_when_the_sync_buffers_are_used_up)
{
    world = actors_start();
    receiver = actors_spawn(drains_later, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(exhausts_sync, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void floods(void *arg)
{
    size_t *sent = arg;
    while (!RT_FAILED(rt_ipc_send(receiver, sent, sizeof(*sent), IPC_ASYNC))) {
        ++*sent;
    }
    rt_exit();
}

static void victim_of_the_flood(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_ipc_send(rt_self(), "x", 1, IPC_ASYNC), RT_ERR_NOMEM);
    actors_say('v');
    rt_exit();
}

static void drains_and_counts(void *arg)
{
    size_t *got = arg;
    rt_message msg;
    while (!RT_FAILED(rt_ipc_recv(&msg, 0))) {
        CHECK_EQ(*(const size_t *)msg.data, *got);
        ++*got;
    }
    rt_exit();
}

TEST(actor_mailbox_has_no_quota_but_the_pools)
{
    size_t sent = 0;
    size_t got = 0;
    world = actors_start();
    receiver = actors_spawn(drains_and_counts, &got, RT_PRIO_LOW, NULL);
    actors_spawn(floods, &sent, RT_PRIO_HIGH, NULL);
    actors_spawn(victim_of_the_flood, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    /* One slow receiver took all there was, others starved, and nothing was dropped. */
    CHECK_EQ(sent, RT_MAILBOX_ENTRY_POOL_SIZE);
    CHECK_EQ(got, sent);
    CHECK_STR(actors_said(), "v");
}

static void refused_then_sent(void *arg)
{
    (void)arg;
    rt_status status = rt_ipc_send(receiver, "x", 1, (rt_ipc_mode)7);
    CHECK(RT_FAILED(status) && status.msg != NULL);
    status = rt_ipc_send(receiver, "x", 1, IPC_ASYNC);
    CHECK(!RT_FAILED(status) && status.msg == NULL);
    rt_exit();
}

TEST(actor_status_message_is_a_literal_or_null)
{
    world = actors_start();
    receiver = actors_spawn(drains_later, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(refused_then_sent, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

/* Order. */

static void sends_numbers(void *arg)
{
    int base = *(const int *)arg;
    for (int i = 0; i < 10; i++) {
        int number = base + i;
        CHECK_OK(rt_ipc_send(receiver, &number, sizeof(number), IPC_ASYNC));
        if (i % 3 == 0) {
            rt_yield();
        }
    }
    rt_exit();
}

static void checks_order_per_sender(void *arg)
{
    (void)arg;
    rt_message msg;
    int next[2] = {0, 1000};
    for (int i = 0; i < 20; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        int number = *(const int *)msg.data;
        int *wanted = &next[number >= 1000];
        CHECK_EQ(number, *wanted);
        ++*wanted;
    }
    rt_exit();
}

TEST(actor_messages_of_one_sender_arrive_in_the_order_sent)
{
    static const int bases[] = {0, 1000};
    for (uint64_t seed = 0; seed < 20; seed++) {
        world = actors_start();
        if (seed > 0) {
            actors_shuffle(world, seed);
        }
        receiver = actors_spawn(checks_order_per_sender, NULL, RT_PRIO_NORMAL, NULL);
        for (size_t i = 0; i < 2; i++) {
            actors_spawn(sends_numbers, (void *)(uintptr_t)&bases[i], RT_PRIO_NORMAL, NULL);
        }
        actors_finish(world);
    }
}

static void sends_one(void *arg)
{
    CHECK_OK(rt_ipc_send(receiver, arg, 1, IPC_ASYNC));
    rt_exit();
}

static void says_two(void *arg)
{
    (void)arg;
    rt_message msg;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        actors_say(*(const char *)msg.data);
    }
    rt_exit();
}

TEST(actor_messages_of_several_senders_arrive_in_the_order_they_ran)
{
    for (int is_b_urgent = 0; is_b_urgent < 2; is_b_urgent++) {
        world = actors_start();
        receiver = actors_spawn(says_two, NULL, RT_PRIO_LOW, NULL);
        actors_spawn(sends_one, "a", RT_PRIO_NORMAL, NULL);
        actors_spawn(sends_one, "b", is_b_urgent ? RT_PRIO_HIGH : RT_PRIO_NORMAL, NULL);
        actors_finish(world);
        CHECK_STR(actors_said(), is_b_urgent ? "ba" : "ab");
    }
}

/* A notice as a timer makes it, between two messages. */
static struct rti_notice tick;

static void sends_around_a_tick(void *arg)
{
    (void)arg;
    CHECK_OK(rt_ipc_send(receiver, "1", 1, IPC_ASYNC));
    rti_notice_init(&tick, RT_SENDER_TIMER, NULL, 0);
    rti_mailbox_push_notice(rti_actor_lookup(receiver), &tick);
    CHECK_OK(rt_ipc_send(receiver, "2", 1, IPC_ASYNC));
    rt_exit();
}

static void says_with_ticks(void *arg)
{
    (void)arg;
    rt_message msg;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        actors_say(msg.sender == RT_SENDER_TIMER ? 't' : *(const char *)msg.data);
    }
    rt_exit();
}

TEST(actor_timer_messages_wait_in_line_with_the_others)
{
    world = actors_start();
    receiver = actors_spawn(says_with_ticks, NULL, RT_PRIO_LOW, NULL);
    actors_spawn(sends_around_a_tick, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "1t2");
}

static void says_with_exits(void *arg)
{
    (void)arg;
    rt_message msg;
    uint32_t ref;
    CHECK_OK(rt_monitor(sender, &ref));
    CHECK_OK(rt_ipc_send(rt_self(), "1", 1, IPC_ASYNC));
    CHECK_OK(rt_actor_kill(sender));
    rt_yield();
    CHECK_OK(rt_ipc_send(rt_self(), "2", 1, IPC_ASYNC));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        actors_say(rt_is_exit_msg(&msg) ? 'e' : *(const char *)msg.data);
    }
    rt_exit();
}

TEST(actor_exit_messages_wait_in_line_with_the_others)
{
    world = actors_start();
    sender = actors_spawn(nobody_home, NULL, RT_PRIO_NORMAL, NULL);
    receiver = actors_spawn(says_with_exits, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "1e2");
}

static void queries(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK(!rt_ipc_pending());
    CHECK_EQ(rt_ipc_count(), 0);
    for (size_t i = 1; i <= 5; i++) {
        CHECK_OK(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC));
        CHECK_EQ(rt_ipc_count(), i);
        CHECK(rt_ipc_pending());
    }
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_EQ(rt_ipc_count(), 4);
    rt_exit();
}

TEST(actor_mailbox_can_be_asked_what_waits)
{
    world = actors_start();
    actors_spawn(queries, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void sends_empty(void *arg)
{
    (void)arg;
    CHECK_OK(rt_ipc_send(receiver, NULL, 0, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(receiver, NULL, 0, IPC_SYNC));
    CHECK_OK(rt_ipc_send(receiver, "", 0, IPC_ASYNC));
    CHECK_STATUS(rt_ipc_send(receiver, NULL, 1, IPC_ASYNC), RT_ERR_INVALID);
    rt_exit();
}

static void receives_empty(void *arg)
{
    (void)arg;
    rt_message msg;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(msg.len, 0);
        rt_ipc_release(&msg);
    }
    rt_exit();
}

TEST(actor_empty_message_needs_no_payload)
{
    world = actors_start();
    receiver = actors_spawn(receives_empty, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_empty, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void sends_every_length(void *arg)
{
    (void)arg;
    unsigned char payload[RT_MAX_MESSAGE_SIZE + 1];
    for (size_t i = 0; i < sizeof(payload); i++) {
        payload[i] = (unsigned char)(i * 7 + 1);
    }
    for (size_t len = 0; len <= RT_MAX_MESSAGE_SIZE; len++) {
        CHECK_OK(rt_ipc_send(receiver, payload, len, len % 2 == 0 ? IPC_ASYNC : IPC_SYNC));
        rt_yield();
    }
    CHECK_STATUS(rt_ipc_send(receiver, payload, RT_MAX_MESSAGE_SIZE + 1, IPC_ASYNC),
                 RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_send(receiver, payload, RT_MAX_MESSAGE_SIZE + 1, IPC_SYNC), RT_ERR_INVALID);
    rt_exit();
}

static void receives_every_length(void *arg)
{
    (void)arg;
    rt_message msg;
    for (size_t len = 0; len <= RT_MAX_MESSAGE_SIZE; len++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(msg.len, len);
        CHECK_EQ((uintptr_t)msg.data % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < len; i++) {
            CHECK_EQ(((const unsigned char *)msg.data)[i], (unsigned char)(i * 7 + 1));
        }
        rt_ipc_release(&msg);
    }
    rt_yield();
    rt_exit();
}

TEST(actor_messages_of_every_length_up_to_the_limit_arrive_whole)
{
    world = actors_start();
    receiver = actors_spawn(receives_every_length, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_every_length, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}
