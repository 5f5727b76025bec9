/* SPDX-License-Identifier: Apache-2.0 */
/* Sending between actors of both kinds: order, lengths, forwarding, limits. */
#define RTI_MODULE "behaviour_send_test"
#include <orrery/rt.h>

#include "actor/behaviour.h"
#include "support/test.h"
#include "support/world.h"

static void settle(void)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
}

static uint32_t lens[16];
static size_t len_count;
static uint32_t next_number;
static actor_id first_sender;
static actor_id ends[2];

static void note_len(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    CHECK(len_count < 16);
    CHECK((msg->data == NULL) == (msg->len == 0));
    CHECK_EQ((uintptr_t)msg->data % 8, 0);
    for (uint32_t i = 0; i < msg->len; i++) {
        CHECK_EQ(((const unsigned char *)msg->data)[i], (unsigned char)i);
    }
    lens[len_count++] = msg->len;
}

static void note_order(void *state, const rt_behaviour_message *msg)
{
    uint32_t number;
    (void)state;
    memcpy(&number, msg->data, sizeof(number));
    CHECK_EQ(number, next_number);
    next_number++;
}

static void pass_on(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    CHECK_EQ(msg->sender, first_sender);
    CHECK_STATUS(rt_behaviour_forward(ACTOR_ID_INVALID, 1), RT_ERR_INVALID);
    CHECK_OK(rt_behaviour_forward(ends[0], 3));
    CHECK_STATUS(rt_behaviour_forward(ends[0], 3), RT_ERR_STATE);
}

static const void *forwarded_data;

static void take_forwarded(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    CHECK_EQ(msg->sender, first_sender);
    forwarded_data = msg->data;
    CHECK_EQ(*(const char *)msg->data, 'f');
    /* To an actor with a stack it is copied, and stays. */
    CHECK_OK(rt_behaviour_forward(ends[1], 4));
}

static const rt_behaviour_fn handlers[] = {note_len, note_order, pass_on, take_forwarded};
static const rt_behaviour_type type = {
    .handlers = handlers, .handler_count = 4, .priority = RT_PRIO_NORMAL};

static void lengths(void *arg)
{
    static const uint32_t wanted[] = {0, 1, 39, 40, 41, RT_MAX_MESSAGE_SIZE};
    unsigned char bytes[RT_MAX_MESSAGE_SIZE + 1];
    (void)arg;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)i;
    }
    len_count = 0;
    actor_id id = rt_behaviour_spawn(&type, NULL);
    for (size_t i = 0; i < 6; i++) {
        CHECK_OK(rt_behaviour_send(id, 0, wanted[i] == 0 ? NULL : bytes, wanted[i]));
    }
    CHECK_STATUS(rt_behaviour_send(id, 0, bytes, RT_MAX_MESSAGE_SIZE + 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_behaviour_send(id, 0, NULL, 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_behaviour_send(ACTOR_ID_INVALID, 0, NULL, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_behaviour_send(RT_SENDER_TIMER, 0, NULL, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_behaviour_send(RT_SENDER_SUPERVISOR, 0, NULL, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_behaviour_send(0x80000000U, 0, NULL, 0), RT_ERR_INVALID);
    settle();
    CHECK_EQ(len_count, 6);
    for (size_t i = 0; i < 6; i++) {
        CHECK_EQ(lens[i], wanted[i]);
    }
    CHECK_OK(rt_actor_kill(id));
    rt_exit();
}

TEST(behaviour_send_takes_every_length_and_refuses_what_is_none)
{
    world_run(lengths, NULL);
}

static void order(void *arg)
{
    (void)arg;
    next_number = 0;
    actor_id id = rt_behaviour_spawn(&type, NULL);
    uint32_t sent = 0;
    /* Until the messages are used up, and again. */
    for (unsigned round = 0; round < 3; round++) {
        rt_status status;
        while (!RT_FAILED(status = rt_behaviour_send(id, 1, &sent, sizeof(sent)))) {
            sent++;
        }
        CHECK_EQ(status.code, RT_ERR_NOMEM);
        CHECK_EQ(sent, (round + 1) * RT_BEHAVIOUR_MESSAGE_POOL_SIZE);
        settle();
        CHECK_EQ(next_number, sent);
    }
    CHECK_OK(rt_actor_kill(id));
    rt_exit();
}

TEST(behaviour_send_keeps_the_order_and_says_when_messages_are_used_up)
{
    world_run(order, NULL);
}

static void forwards(void *arg)
{
    rt_message msg;
    (void)arg;
    first_sender = ends[1] = rt_self();
    ends[0] = rt_behaviour_spawn(&type, NULL);
    actor_id middle = rt_behaviour_spawn(&type, NULL);
    CHECK_OK(rt_behaviour_send(middle, 2, "f", 1));
    CHECK_OK(rt_ipc_recv(&msg, 10));
    CHECK_EQ(msg.sender, first_sender);
    CHECK_EQ(rt_behaviour_id(&msg), 4);
    CHECK_EQ(*(const char *)msg.data, 'f');
    CHECK(msg.data != forwarded_data);
    CHECK_STATUS(rt_behaviour_forward(middle, 1), RT_ERR_THREAD);
    CHECK_OK(rt_actor_kill(ends[0]));
    CHECK_OK(rt_actor_kill(middle));
    rt_behaviour_stats stats;
    settle();
    CHECK_OK(rt_behaviour_stats_get(&stats));
    CHECK_EQ(stats.messages, 0);
    rt_exit();
}

TEST(behaviour_forward_hands_the_message_on_with_its_first_sender)
{
    world_run(forwards, NULL);
}

/* Limits of actors with a stack. */
static const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
static unsigned got;
static char got_first;

static void slow(void *arg)
{
    rt_message msg;
    (void)arg;
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        if (msg.sender == RT_SENDER_TIMER || msg.sender == RT_SENDER_SYSTEM) {
            continue;
        }
        if (got++ == 0) {
            got_first = *(const char *)msg.data;
        }
    }
}

static void policies(void *arg)
{
    (void)arg;
    rt_mailbox_stats stats;
    rt_mailbox_config config = {.high = 3, .overflow = RT_OVERFLOW_REJECT};
    actor_id id = rt_spawn_ex(slow, NULL, &small);
    CHECK_STATUS(rt_mailbox_limit(ACTOR_ID_INVALID, &config), RT_ERR_INVALID);
    CHECK_OK(rt_mailbox_limit(id, &config));
    for (char c = '0'; c < '3'; c++) {
        CHECK_OK(rt_ipc_send(id, &c, 1, IPC_ASYNC));
    }
    CHECK_STATUS(rt_ipc_send(id, "x", 1, IPC_ASYNC), RT_ERR_FULL);
    CHECK_STATUS(rt_behaviour_send(id, 0, "x", 1), RT_ERR_FULL);
    config.overflow = RT_OVERFLOW_DROP_NEW;
    CHECK_OK(rt_mailbox_limit(id, &config));
    CHECK_OK(rt_ipc_send(id, "x", 1, IPC_ASYNC));
    config.overflow = RT_OVERFLOW_DROP_OLD;
    CHECK_OK(rt_mailbox_limit(id, &config));
    CHECK_OK(rt_ipc_send(id, "3", 1, IPC_ASYNC));
    CHECK_OK(rt_mailbox_stats_get(id, &stats));
    CHECK_EQ(stats.depth, 3);
    CHECK_EQ(stats.rejected, 2);
    CHECK_EQ(stats.dropped, 2);
    got = 0;
    settle();
    CHECK_EQ(got, 3);
    CHECK_EQ(got_first, '1'); /* 0 was the oldest */
    config.overflow = RT_OVERFLOW_KILL;
    CHECK_OK(rt_mailbox_limit(id, &config));
    for (char c = '0'; c < '3'; c++) {
        CHECK_OK(rt_ipc_send(id, &c, 1, IPC_ASYNC));
    }
    CHECK_STATUS(rt_ipc_send(id, "x", 1, IPC_ASYNC), RT_ERR_INVALID);
    CHECK(!rt_actor_alive(id));
    settle();
    rt_exit();
}

TEST(mailbox_limit_of_an_actor_does_what_its_policy_says)
{
    world_run(policies, NULL);
}

/* Notices come although the mailbox is full, and do not count. */
static unsigned notices;

static void noticing(void *arg)
{
    rt_message msg;
    rt_mailbox_config config = {.high = 1, .overflow = RT_OVERFLOW_REJECT};
    timer_id timer;
    uint32_t ref;
    actor_id *other = arg;
    CHECK_OK(rt_mailbox_limit(rt_self(), &config));
    CHECK_OK(rt_monitor(*other, &ref));
    CHECK_OK(rt_link(*other));
    CHECK_OK(rt_timer_after(0, &timer));
    CHECK_OK(rt_ipc_send(rt_self(), "m", 1, IPC_ASYNC));
    CHECK_STATUS(rt_ipc_send(rt_self(), "m", 1, IPC_ASYNC), RT_ERR_FULL);
    CHECK_OK(rt_actor_kill(*other));
    for (unsigned i = 0; i < 20 && rt_ipc_count() < 4; i++) {
        rt_yield();
    }
    CHECK_EQ(rt_ipc_count(), 4);
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_EQ(*(const char *)msg.data, 'm');
    /* Three notices wait, and there is room for a message. */
    CHECK_OK(rt_ipc_send(rt_self(), "m", 1, IPC_ASYNC));
    while (!RT_FAILED(rt_ipc_recv(&msg, 0))) {
        notices += msg.sender == RT_SENDER_TIMER || msg.sender == RT_SENDER_SYSTEM;
    }
    rt_exit();
}

static void outside(void *arg)
{
    static actor_id other;
    (void)arg;
    notices = 0;
    other = rt_spawn_ex(slow, NULL, &small);
    CHECK(rt_spawn_ex(noticing, &other, &small) != ACTOR_ID_INVALID);
    settle();
    CHECK_EQ(notices, 3);
    rt_exit();
}

TEST(mailbox_limit_does_not_count_system_notices)
{
    world_run(outside, NULL);
}

/* A filter's place in the queue survives that what it has seen is dropped. */
static bool wants_z(const rt_message *msg, void *arg)
{
    (void)arg;
    return *(const char *)msg->data == 'z';
}

static void choosy(void *arg)
{
    rt_message msg;
    rt_ipc_filter filter = {.match = wants_z};
    (void)arg;
    CHECK_OK(rt_ipc_recv_match(&filter, &msg, -1));
    CHECK_EQ(*(const char *)msg.data, 'z');
    got = (unsigned)rt_ipc_count();
    rt_exit();
}

static void drops_seen(void *arg)
{
    (void)arg;
    rt_mailbox_config config = {.high = 2, .overflow = RT_OVERFLOW_DROP_OLD};
    actor_id id = rt_spawn_ex(choosy, NULL, &small);
    CHECK_OK(rt_mailbox_limit(id, &config));
    for (char c = 'a'; c <= 'h'; c++) {
        CHECK_OK(rt_ipc_send(id, &c, 1, IPC_ASYNC));
        rt_yield();
    }
    CHECK_OK(rt_ipc_send(id, "z", 1, IPC_ASYNC));
    settle();
    CHECK(!rt_actor_alive(id));
    CHECK_EQ(got, 1);
    rt_exit();
}

TEST(mailbox_drops_the_oldest_under_a_waiting_filter)
{
    world_run(drops_seen, NULL);
}

TEST(behaviour_send_without_a_runtime_is_refused)
{
    rt_mailbox_stats stats;
    CHECK_STATUS(rt_behaviour_send(1, 0, NULL, 0), RT_ERR_THREAD);
    CHECK_STATUS(rt_mailbox_limit(1, NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_mailbox_stats_get(1, &stats), RT_ERR_THREAD);
    CHECK_STATUS(rt_behaviour_stats_get(NULL), RT_ERR_THREAD);
    rt_reductions_add(5);
}
