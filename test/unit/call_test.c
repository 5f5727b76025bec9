/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "call_test"
#include "actor/call.h"

#include <orrery/rt/ipc.h>

#include "support/actors.h"
#include "support/test.h"
#include "support/world.h"

static actor_id server;
static struct actors_world *world;

/* Answers every call with its number doubled, until it is told to stop by an empty message. */
static void doubler(void *arg)
{
    (void)arg;
    rt_message msg;
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        if (msg.len == 0) {
            rt_exit();
        }
        int twice = *(const int *)msg.data * 2;
        CHECK_OK(rt_reply(&msg, &twice, sizeof(twice)));
        CHECK_STATUS(rt_reply(&msg, &twice, sizeof(twice)), RT_ERR_NOT_FOUND);
        /* The request is still there to read. */
        CHECK_EQ(*(const int *)msg.data * 2, twice);
    }
}

static void ask_ten_times(void *arg)
{
    (void)arg;
    rt_message reply;
    for (int i = 0; i < 10; i++) {
        CHECK_OK(rt_call(server, &i, sizeof(i), &reply, -1));
        CHECK_EQ(*(const int *)reply.data, 2 * i);
        CHECK_EQ(reply.len, sizeof(int));
        CHECK_EQ(reply.sender, server);
        CHECK_EQ(rt_ipc_count(), 0);
    }
    CHECK_OK(rt_ipc_send(server, NULL, 0, IPC_ASYNC));
    rt_exit();
}

TEST(call_gets_its_answer_past_the_mailbox)
{
    world = actors_start();
    server = actors_spawn(doubler, NULL, RT_PRIO_NORMAL, "doubler");
    actors_spawn(ask_ten_times, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void never_answers(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    actors_sleep_ms(50);
    CHECK_STATUS(rt_reply(&msg, NULL, 0), RT_ERR_NOT_FOUND);
    actors_say('l');
    rt_exit();
}

static void ask_with_deadline(void *arg)
{
    (void)arg;
    rt_message reply = {.sender = 77};
    CHECK_STATUS(rt_call(server, NULL, 0, &reply, 20), RT_ERR_TIMEOUT);
    CHECK_EQ(actors_now_ms(world), 20);
    CHECK_EQ(reply.sender, 77);
    CHECK(rti_actor_current()->call == NULL);
    actors_say('t');
    /* The late answer disturbs no later call nor receive. */
    CHECK_STATUS(rt_ipc_recv(&reply, 100), RT_ERR_TIMEOUT);
    rt_exit();
}

TEST(call_that_times_out_refuses_the_late_answer)
{
    world_needs_virtual_clock();
    world = actors_start();
    server = actors_spawn(never_answers, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(ask_with_deadline, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "tl");
}

/* Answers the first call when the second one waits: it must not be taken for its answer. */
static void answers_the_old_call(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rt_call_id old = rt_call_ref(&msg);
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK(rt_call_ref(&msg) != old);
    CHECK_STATUS(rt_reply_to(old, "old", 4), RT_ERR_NOT_FOUND);
    CHECK_OK(rt_reply(&msg, "new", 4));
    rt_exit();
}

static void asks_again_after_a_timeout(void *arg)
{
    (void)arg;
    rt_message reply;
    CHECK_STATUS(rt_call(server, NULL, 0, &reply, 5), RT_ERR_TIMEOUT);
    CHECK_OK(rt_call(server, NULL, 0, &reply, 5));
    CHECK_STR(reply.data, "new");
    rt_exit();
}

TEST(call_takes_no_answer_that_was_for_an_older_call)
{
    world = actors_start();
    server = actors_spawn(answers_the_old_call, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(asks_again_after_a_timeout, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

static void dies_of_the_request(void *arg)
{
    rt_message msg;
    if (arg != NULL) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
    } else {
        actors_sleep_ms(5);
    }
    rt_exit();
}

static void ask_the_dying(void *arg)
{
    (void)arg;
    rt_message reply;
    CHECK_STATUS(rt_call(server, NULL, 0, &reply, -1), RT_ERR_CLOSED);
    CHECK_STATUS(rt_call(server, NULL, 0, &reply, -1), RT_ERR_INVALID);
    actors_say('c');
    rt_exit();
}

TEST(call_fails_when_the_actor_asked_ends)
{
    for (int is_received = 0; is_received < 2; is_received++) {
        world = actors_start();
        server =
            actors_spawn(dies_of_the_request, is_received ? &server : NULL, RT_PRIO_NORMAL, NULL);
        actors_spawn(ask_the_dying, NULL, RT_PRIO_NORMAL, NULL);
        actors_spawn(ask_the_dying, NULL, RT_PRIO_NORMAL, NULL);
        actors_finish(world);
        CHECK_STR(actors_said(), "cc");
    }
}

/* Takes two calls and answers them in reverse, after further receives. */
static void answers_later(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_call_id calls[2];
    int numbers[2];
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        calls[i] = rt_call_ref(&msg);
        numbers[i] = *(const int *)msg.data;
        CHECK(calls[i] != 0);
    }
    CHECK(calls[0] != calls[1]);
    CHECK_OK(rt_reply_to(calls[1], &numbers[1], sizeof(int)));
    CHECK_OK(rt_reply_to(calls[0], &numbers[0], sizeof(int)));
    CHECK_STATUS(rt_reply_to(calls[0], NULL, 0), RT_ERR_NOT_FOUND);
    rt_exit();
}

static void ask_own_number(void *arg)
{
    int number = *(const int *)arg;
    rt_message reply;
    CHECK_OK(rt_call(server, &number, sizeof(number), &reply, -1));
    CHECK_EQ(*(const int *)reply.data, number);
    actors_say((char)('0' + number));
    rt_exit();
}

TEST(call_may_be_answered_later_and_in_any_order)
{
    static int one = 1;
    static int two = 2;
    world = actors_start();
    server = actors_spawn(answers_later, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(ask_own_number, &one, RT_PRIO_NORMAL, NULL);
    actors_spawn(ask_own_number, &two, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "21");
}

static rt_call_id passed_on;

static void passes_on(void *arg)
{
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    passed_on = rt_call_ref(&msg);
    CHECK_OK(rt_ipc_send(*(const actor_id *)arg, NULL, 0, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rt_exit();
}

static void answers_for_another(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_reply_to(passed_on, "by proxy", 9));
    CHECK_OK(rt_ipc_send(server, NULL, 0, IPC_ASYNC));
    rt_exit();
}

static void ask_through_proxy(void *arg)
{
    rt_message reply;
    CHECK_OK(rt_call(server, NULL, 0, &reply, -1));
    CHECK_STR(reply.data, "by proxy");
    CHECK_EQ(reply.sender, *(const actor_id *)arg);
    rt_exit();
}

TEST(call_may_be_answered_by_another_actor)
{
    static actor_id proxy;
    world = actors_start();
    proxy = actors_spawn(answers_for_another, NULL, RT_PRIO_NORMAL, NULL);
    server = actors_spawn(passes_on, &proxy, RT_PRIO_NORMAL, NULL);
    actors_spawn(ask_through_proxy, &proxy, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}

/* Receives a SYNC message, asks another while it holds it, and reads both. */
static void asks_while_holding(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_message reply;
    int number = 21;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_call(server, &number, sizeof(number), &reply, -1));
    CHECK_STR(msg.data, "held");
    CHECK_EQ(*(const int *)reply.data, 42);
    actors_say('r');
    rt_ipc_release(&msg);
    CHECK_EQ(*(const int *)reply.data, 42);
    CHECK_OK(rt_ipc_send(server, NULL, 0, IPC_ASYNC));
    rt_exit();
}

static void sends_held(void *arg)
{
    CHECK_OK(rt_ipc_send(*(const actor_id *)arg, "held", 5, IPC_SYNC));
    actors_say('s');
    rt_exit();
}

TEST(call_leaves_the_message_received_last_valid)
{
    static actor_id middle;
    world = actors_start();
    server = actors_spawn(doubler, NULL, RT_PRIO_NORMAL, NULL);
    middle = actors_spawn(asks_while_holding, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(sends_held, &middle, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "rs");
}

static void refused_things(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_message copy;
    char big[RT_MAX_MESSAGE_SIZE + 1] = {0};
    CHECK_STATUS(rt_call(rt_self(), NULL, 0, &msg, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_call(server, NULL, 1, &msg, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_call(server, big, sizeof(big), &msg, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_call(server, NULL, 0, NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_call(ACTOR_ID_INVALID, NULL, 0, &msg, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_call(server, NULL, 0, &msg, 0), RT_ERR_WOULDBLOCK);
    CHECK_EQ(world->actors.ipc.entries.in_use, 0);
    CHECK_EQ(rt_call_ref(NULL), 0);
    CHECK_STATUS(rt_reply(NULL, NULL, 0), RT_ERR_INVALID);
    CHECK_OK(rt_ipc_send(rt_self(), "a", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_EQ(rt_call_ref(&msg), 0);
    CHECK_STATUS(rt_reply(&msg, NULL, 0), RT_ERR_INVALID);
    copy = msg;
    copy.data = big;
    CHECK_STATUS(rt_reply(&copy, NULL, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_reply_to(0, NULL, 0), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_reply_to(UINT64_MAX, NULL, 0), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_reply_to(1, NULL, 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_reply_to(1, big, sizeof(big)), RT_ERR_INVALID);
    rt_exit();
}

TEST(call_and_reply_refuse_what_makes_no_sense)
{
    rt_message msg;
    CHECK_STATUS(rt_call(1, NULL, 0, &msg, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_reply(&msg, NULL, 0), RT_ERR_THREAD);
    CHECK_STATUS(rt_reply_to(1, NULL, 0), RT_ERR_THREAD);
    CHECK_EQ(rt_call_ref(&msg), 0);
    world = actors_start();
    CHECK_STATUS(rt_call(1, NULL, 0, &msg, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_reply(&msg, NULL, 0), RT_ERR_THREAD);
    server = actors_spawn(doubler, NULL, RT_PRIO_LOW, NULL);
    actors_spawn(refused_things, NULL, RT_PRIO_NORMAL, NULL);
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    actors_abandon(world);
}

/* Holds the request, fills the pools, fails to answer, makes room and answers. */
static void answers_when_there_is_room(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    size_t count = 0;
    while (!RT_FAILED(rt_ipc_send(rt_self(), "f", 1, IPC_ASYNC))) {
        count++;
    }
    rt_call_id call = rt_call_ref(&msg);
    CHECK_STATUS(rt_reply(&msg, NULL, 0), RT_ERR_NOMEM);
    CHECK_STATUS(rt_reply(&msg, NULL, 0), RT_ERR_NOMEM);
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_OK(rt_reply_to(call, NULL, 0));
    CHECK(count > 1);
    rt_exit();
}

static void ask_once(void *arg)
{
    (void)arg;
    rt_message reply;
    CHECK_OK(rt_call(server, NULL, 0, &reply, -1));
    CHECK_EQ(reply.len, 0);
    actors_say('k');
    rt_exit();
}

TEST(call_waits_on_when_the_pools_have_no_room_for_the_answer)
{
    world = actors_start();
    server = actors_spawn(answers_when_there_is_room, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(ask_once, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "k");
}

static void fill_then_ask(void *arg)
{
    (void)arg;
    rt_message reply;
    while (!RT_FAILED(rt_ipc_send(rt_self(), "f", 1, IPC_ASYNC))) {
    }
    CHECK_STATUS(rt_call(server, NULL, 0, &reply, -1), RT_ERR_NOMEM);
    rt_exit();
}

TEST(call_without_room_for_the_request_fails_at_once)
{
    world = actors_start();
    server = actors_spawn(doubler, NULL, RT_PRIO_LOW, NULL);
    actors_spawn(fill_then_ask, NULL, RT_PRIO_NORMAL, NULL);
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    actors_abandon(world);
}

/* The answer is given, and before the caller runs it is killed: the answer must not leak. */
static void answers_and_kills(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_reply(&msg, "late", 5));
    CHECK_OK(rt_actor_kill(msg.sender));
    CHECK_STATUS(rt_reply(&msg, "late", 5), RT_ERR_NOT_FOUND);
    rt_exit();
}

TEST(call_answer_to_a_caller_killed_before_it_runs_is_not_leaked)
{
    world = actors_start();
    server = actors_spawn(answers_and_kills, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(ask_once, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
    CHECK_STR(actors_said(), "");
}

static void kills_then_answers(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_actor_kill(msg.sender));
    CHECK_STATUS(rt_reply(&msg, "late", 5), RT_ERR_NOT_FOUND);
    rt_exit();
}

TEST(call_of_a_killed_caller_takes_no_answer)
{
    world = actors_start();
    server = actors_spawn(kills_then_answers, NULL, RT_PRIO_NORMAL, NULL);
    actors_spawn(ask_once, NULL, RT_PRIO_NORMAL, NULL);
    actors_finish(world);
}
