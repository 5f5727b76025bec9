/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "ipc_test"
#include <orrery/rt/ipc.h>

#include "actor/ipc.h"
#include "support/actors.h"
#include "support/test.h"
#include "support/world.h"

static struct actors_world *world;
static actor_id peer;

static void pong(void *arg)
{
    (void)arg;
    rt_message msg;
    for (int i = 0; i < 1000; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(*(const int *)msg.data, i);
        CHECK_OK(rt_ipc_send(msg.sender, &i, sizeof(i), IPC_ASYNC));
    }
    rt_exit();
}

static void ping(void *arg)
{
    (void)arg;
    rt_message msg;
    for (int i = 0; i < 1000; i++) {
        CHECK_OK(rt_ipc_send(peer, &i, sizeof(i), IPC_ASYNC));
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(*(const int *)msg.data, i);
        CHECK_EQ(msg.sender, peer);
    }
    rt_exit();
}

TEST(ipc_two_actors_exchange_a_thousand_messages)
{
    for (int is_observed = 0; is_observed < 2; is_observed++) {
        world = actors_start();
        if (!is_observed) {
            actors_unobserved(world);
        }
        peer = actors_spawn(pong, NULL, RT_PRIO_NORMAL, "pong");
        actors_spawn(ping, NULL, RT_PRIO_NORMAL, "ping");
        actors_finish(world);
    }
}

static void receive_from_main(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_EQ(msg.sender, ACTOR_ID_INVALID);
    CHECK_STR(msg.data, "from main");
    rt_exit();
}

TEST(ipc_main_may_send_async_before_the_run)
{
    world = actors_start();
    actor_id id = actors_spawn(receive_from_main, NULL, RT_PRIO_NORMAL, NULL);
    CHECK_OK(rt_ipc_send(id, "from main", 10, IPC_ASYNC));
    CHECK_STATUS(rt_ipc_send(id, "from main", 10, IPC_SYNC), RT_ERR_THREAD);
    actors_finish(world);
}

TEST(ipc_outside_of_an_actor_is_refused)
{
    rt_message msg = {.sender = 5};
    CHECK_STATUS(rt_ipc_send(1, "x", 1, IPC_ASYNC), RT_ERR_THREAD);
    for (int has_runtime = 0; has_runtime < 2; has_runtime++) {
        CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_THREAD);
        CHECK_STATUS(rt_ipc_recv_match(NULL, &msg, 0), RT_ERR_THREAD);
        CHECK(!rt_ipc_pending());
        CHECK_EQ(rt_ipc_count(), 0);
        rt_ipc_release(&msg);
        rt_ipc_release(NULL);
        CHECK_EQ(msg.sender, 5);
        if (!has_runtime) {
            world = actors_start();
        }
    }
}

static void bad_sends(void *arg)
{
    (void)arg;
    static char big[RT_MAX_MESSAGE_SIZE + 1];
    rt_message msg = {.sender = 5};
    CHECK_STATUS(rt_ipc_send(peer, NULL, 1, IPC_ASYNC), RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_send(peer, NULL, SIZE_MAX, IPC_SYNC), RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_send(peer, big, RT_MAX_MESSAGE_SIZE + 1, IPC_ASYNC), RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_send(peer, big, SIZE_MAX, IPC_SYNC), RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_send(peer, big, 1, (rt_ipc_mode)2), RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_send(ACTOR_ID_INVALID, big, 1, IPC_ASYNC), RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_send(RT_SENDER_TIMER, big, 1, IPC_ASYNC), RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_send(RT_SENDER_SYSTEM, big, 1, IPC_SYNC), RT_ERR_INVALID);
    CHECK_EQ(rti_pool_in_use(&world->actors.ipc.entries), 0);
    CHECK_OK(rt_ipc_send(rt_self(), "kept", 5, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_STATUS(rt_ipc_recv(NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_ipc_recv_match(NULL, NULL, -1), RT_ERR_INVALID);
    CHECK_STR(msg.data, "kept");
    CHECK_OK(rt_ipc_send(peer, big, RT_MAX_MESSAGE_SIZE, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(peer, NULL, 0, IPC_ASYNC));
    rt_exit();
}

static void receive_two(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_EQ(msg.len, RT_MAX_MESSAGE_SIZE);
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_EQ(msg.len, 0);
    rt_exit();
}

TEST(ipc_bad_arguments_are_refused_and_change_nothing)
{
    world = actors_start();
    peer = actors_spawn(receive_two, NULL, RT_PRIO_LOW, NULL);
    actors_spawn(bad_sends, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

/* Selective receive. */

static bool is_even(const rt_message *msg, void *arg)
{
    (*(int *)arg)++;
    return msg->len == sizeof(int) && *(const int *)msg->data % 2 == 0;
}

static void send_numbers_to_oneself(int count)
{
    for (int i = 1; i <= count; i++) {
        CHECK_OK(rt_ipc_send(rt_self(), &i, sizeof(i), IPC_ASYNC));
    }
}

static void matches_even(void *arg)
{
    (void)arg;
    rt_message msg;
    int shown = 0;
    rt_ipc_filter filter = {.match = is_even, .arg = &shown};
    send_numbers_to_oneself(5);
    CHECK_OK(rt_ipc_recv_match(&filter, &msg, -1));
    CHECK_EQ(*(const int *)msg.data, 2);
    CHECK_EQ(shown, 2);
    CHECK_OK(rt_ipc_recv_match(&filter, &msg, 0));
    CHECK_EQ(*(const int *)msg.data, 4);
    CHECK_STATUS(rt_ipc_recv_match(&filter, &msg, 0), RT_ERR_WOULDBLOCK);
    CHECK_EQ(rt_ipc_count(), 3);
    static const int rest[] = {1, 3, 5};
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(i == 1 ? rt_ipc_recv_match(NULL, &msg, 0) : rt_ipc_recv(&msg, 0));
        CHECK_EQ(*(const int *)msg.data, rest[i]);
    }
    rt_exit();
}

TEST(ipc_match_takes_the_first_that_passes_and_keeps_the_order_of_the_rest)
{
    world = actors_start();
    actors_spawn(matches_even, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void trickle(void *arg)
{
    actor_id to = *(const actor_id *)arg;
    static const int numbers[] = {1, 3, 5, 6};
    for (size_t i = 0; i < 4; i++) {
        actors_sleep_ms(10);
        CHECK_OK(rt_ipc_send(to, &numbers[i], sizeof(int), IPC_ASYNC));
    }
    rt_exit();
}

static void matches_while_waiting(void *arg)
{
    (void)arg;
    rt_message msg;
    int shown = 0;
    rt_ipc_filter filter = {.match = is_even, .arg = &shown};
    CHECK_STATUS(rt_ipc_recv_match(&filter, &msg, 25), RT_ERR_TIMEOUT);
    CHECK_EQ(actors_now_ms(world), 25);
    CHECK_EQ(shown, 2);
    CHECK_EQ(rt_ipc_count(), 2);
    CHECK_OK(rt_ipc_recv_match(&filter, &msg, -1));
    CHECK_EQ(*(const int *)msg.data, 6);
    /* Two that waited, then each new one once. */
    CHECK_EQ(shown, 2 + 4);
    CHECK_EQ(actors_now_ms(world), 40);
    filter = (rt_ipc_filter){.sender = peer};
    CHECK_OK(rt_ipc_recv_match(&filter, &msg, -1));
    CHECK_EQ(*(const int *)msg.data, 1);
    rt_exit();
}

TEST(ipc_match_waits_and_looks_at_each_message_once)
{
    world_needs_virtual_clock();
    static actor_id receiver;
    world = actors_start();
    receiver = actors_spawn(matches_while_waiting, NULL, RT_PRIO_NORMAL, NULL);
    peer = actors_spawn(trickle, &receiver, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void matches_by_sender(void *arg)
{
    (void)arg;
    rt_message msg;
    uint32_t ref;
    CHECK_OK(rt_monitor(peer, &ref));
    int one = 1;
    CHECK_OK(rt_ipc_send(rt_self(), &one, sizeof(one), IPC_ASYNC));
    rt_ipc_filter exits = {.sender = RT_SENDER_SYSTEM};
    CHECK_STATUS(rt_ipc_recv_match(&exits, &msg, 0), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_actor_kill(peer));
    CHECK_OK(rt_ipc_recv_match(&exits, &msg, -1));
    CHECK(rt_is_exit_msg(&msg));
    rt_ipc_filter own = {.sender = rt_self()};
    CHECK_OK(rt_ipc_recv_match(&own, &msg, 0));
    CHECK_EQ(*(const int *)msg.data, 1);
    rt_exit();
}

TEST(ipc_match_by_sender_finds_system_messages_too)
{
    world = actors_start();
    peer = actors_spawn(receive_two, NULL, RT_PRIO_LOW, NULL);
    actors_spawn(matches_by_sender, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static bool receives_inside(const rt_message *msg, void *arg)
{
    (void)arg;
    rt_message other;
    (void)msg;
    (void)rt_ipc_recv(&other, 0);
    return false;
}

static void matches_wrongly(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_ipc_filter filter = {.match = receives_inside};
    send_numbers_to_oneself(1);
    (void)rt_ipc_recv_match(&filter, &msg, 0);
    rt_exit();
}

/* All in the child: ThreadSanitizer does not carry the order between fibers over a fork. */
static void run_matches_wrongly(void *arg)
{
    (void)arg;
    world = actors_start();
    actors_spawn(matches_wrongly, NULL, RT_PRIO_NORMAL, NULL);
    (void)rti_sched_run(&world->sched);
}

TEST(ipc_match_whose_filter_receives_panics)
{
    CHECK_PANICS("ipc", run_matches_wrongly, NULL);
}

/* A late release must not end another message, though that one has the same buffer. */

static void sends_sync_thrice(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_ipc_send(peer, &i, sizeof(i), IPC_SYNC));
        actors_say((char)('0' + i));
    }
    rt_exit();
}

static void releases_late(void *arg)
{
    (void)arg;
    rt_message first;
    rt_message second;
    rt_message third;
    CHECK_OK(rt_ipc_recv(&first, -1));
    CHECK_OK(rt_ipc_recv(&second, -1));
    CHECK_EQ(world->actors.ipc.sync.in_use, 1);
    rt_ipc_release(&first);
    rt_yield();
    actors_say('a');
    CHECK_EQ(*(const int *)second.data, 1);
    rt_message copy = second;
    rt_ipc_release(&copy);
    rt_ipc_release(&second);
    CHECK_OK(rt_ipc_recv(&third, -1));
    rt_ipc_release(&first);
    rt_ipc_release(&second);
    rt_yield();
    actors_say('b');
    CHECK_EQ(*(const int *)third.data, 2);
    rt_ipc_release(&third);
    rt_exit();
}

TEST(ipc_late_release_ends_no_other_message)
{
    world = actors_start();
    peer = actors_spawn(releases_late, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_sync_thrice, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "0a1b2");
}

static void receive_from_journal(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rt_exit();
}

static struct rti_journal_record records[64];

TEST(ipc_send_and_receive_are_in_the_journal)
{
    world = actors_start();
    rti_journal_init(&world->journal, records, RTI_COUNT_OF(records));
    actors_observed(world);
    actor_id id = actors_spawn(receive_from_journal, NULL, RT_PRIO_NORMAL, NULL);
    CHECK_OK(rt_ipc_send(id, NULL, 0, IPC_ASYNC));
    actors_finish(world);
    size_t sends = 0;
    size_t receives = 0;
    for (size_t i = 0; i < rti_journal_count(&world->journal); i++) {
        const struct rti_journal_record *record = rti_journal_at(&world->journal, i);
        sends += record->kind == RTI_JOURNAL_SEND && record->task == 0 && record->value == id;
        receives += record->kind == RTI_JOURNAL_RECV && record->task == id && record->value == 0;
    }
    CHECK_EQ(sends, 1);
    CHECK_EQ(receives, 1);
}

static uint64_t clock_reads;
static uint64_t (*sim_clock)(struct rti_port *port);

static uint64_t count_clock(struct rti_port *port)
{
    clock_reads++;
    return sim_clock(port);
}

static void receives_without_clock(void *arg)
{
    (void)arg;
    rt_message msg;
    clock_reads = 0;
    CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, 1000));
    CHECK_EQ(clock_reads, 0);
    rt_exit();
}

TEST(ipc_reads_the_clock_only_to_wait_with_a_timeout)
{
    world = actors_start();
    actors_unobserved(world);
    static struct rti_port_ops ops;
    ops = *world->port->ops;
    sim_clock = ops.clock_ns;
    ops.clock_ns = count_clock;
    world->port->ops = &ops;
    actors_spawn(receives_without_clock, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static actor_id low;
static rt_status_code sync_end;

static void waits_in_vain(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    (void)rt_ipc_recv(&msg, -1);
    actors_say('r');
    rt_exit();
}

static void sends_to_low(void *arg)
{
    rt_ipc_mode mode = arg == NULL ? IPC_ASYNC : IPC_SYNC;
    rt_status status = rt_ipc_send(low, "small", 6, mode);
    sync_end = status.code;
    if (mode == IPC_ASYNC) {
        CHECK_OK(rt_ipc_send(low, "second", 7, mode));
    }
    rt_exit();
}

static void kills_low(void *arg)
{
    struct rt_actor_stats stats;
    (void)arg;
    CHECK_OK(rt_actor_stats(low, &stats));
    CHECK_EQ(stats.messages_received, 2);
    CHECK(stats.mailbox_depth_max >= 1);
    CHECK_OK(rt_actor_kill(low));
    rt_exit();
}

/* The receiver waits, gets the message into its hand, and is killed before it runs. */
static void kill_with_a_message_in_hand(void *mode)
{
    world = actors_start();
    actors_unobserved(world);
    low = actors_spawn(waits_in_vain, NULL, RT_PRIO_LOW, NULL);
    /* Memory that was used before goes the quick way. */
    CHECK_OK(rt_ipc_send(low, "first", 6, IPC_ASYNC));
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    actors_spawn(sends_to_low, mode, RT_PRIO_HIGH, NULL);
    actors_spawn(kills_low, NULL, RT_PRIO_HIGH, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "");
}

TEST(ipc_receiver_killed_with_a_message_in_its_hand_gives_it_back)
{
    kill_with_a_message_in_hand(NULL);
    CHECK_EQ(sync_end, RT_OK);
}

TEST(ipc_sync_sender_goes_on_when_its_message_was_in_the_hand_of_the_killed)
{
    static int sync;
    kill_with_a_message_in_hand(&sync);
    CHECK_EQ(sync_end, RT_ERR_CLOSED);
}
