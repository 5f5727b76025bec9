/* SPDX-License-Identifier: Apache-2.0 */
/* Trace contexts on their way: in messages of every kind, between actors of both kinds and tasks.
 */
#define RTI_MODULE "trace_test"
#include "sched/trace.h"

#include <orrery/rt.h>
#include <orrery/rt/behaviour.h>
#include <orrery/rt/blob.h>

#include "actor/behaviour.h"
#include "support/tasks.h"
#include "support/test.h"

static const char field[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

static struct rt_trace wanted;
static uint32_t seen; /* messages that came with the context */
static uint32_t bare; /* messages that came without one */

static void look(void)
{
    struct rt_trace here = rt_trace_get();
    if (memcmp(&here, &wanted, sizeof(here)) == 0) {
        seen++;
    } else {
        CHECK(!rti_trace_is_set(&here));
        bare++;
    }
}

static void begin(void)
{
    memset(&wanted, 0, sizeof(wanted));
    CHECK_OK(rt_trace_parse(field, strlen(field), &wanted));
    seen = bare = 0;
}

/* Counts what comes, answers calls, and ends with an empty message. */
static void listens(void *arg)
{
    rt_message msg;
    if (arg != NULL) {
        look(); /* what it was born with */
    }
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
        look();
        if (msg.len == 0) {
            rt_exit();
        }
        rt_ipc_release(&msg);
        rt_status status = rt_reply(&msg, "a", 1); /* if it is a call */
        CHECK(status.code != RT_ERR_NOMEM);
    }
}

static void await_end(actor_id id)
{
    while (rt_actor_alive(id)) {
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
    }
}

static void *sends_everything(void *arg)
{
    char large[RT_MAX_MESSAGE_SIZE] = "large";
    begin();
    actor_id id = rt_spawn(listens, NULL);
    CHECK_OK(rt_ipc_send(id, "x", 1, IPC_ASYNC)); /* before anybody has a context */
    CHECK_OK(rt_trace_set(&wanted));
    CHECK_OK(rt_ipc_send(id, "x", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(id, large, sizeof(large), IPC_ASYNC));
    CHECK_OK(rt_behaviour_send(id, 3, "typed", 5));
    CHECK_OK(rt_trace_set(NULL));
    CHECK_OK(rt_ipc_send(id, "x", 1, IPC_ASYNC));
    CHECK_OK(rt_trace_set(&wanted));
    CHECK_OK(rt_ipc_send(id, "", 0, IPC_ASYNC));
    await_end(id);
    CHECK_EQ(seen, 4);
    CHECK_EQ(bare, 2);
    return arg;
}

TEST(trace_context_goes_from_a_task_to_an_actor)
{
    tasks_run_everywhere(sends_everything, NULL);
}

static actor_id last;

/* Works for what it is told of, and tells the next. */
static void hands_on(void *arg)
{
    rt_message msg;
    actor_id next = rt_spawn(listens, arg);
    CHECK_OK(rt_ipc_recv(&msg, -1));
    look();
    CHECK_OK(rt_ipc_send(next, "sync", 4, IPC_SYNC));
    CHECK_OK(rt_call(next, "call", 4, &msg, -1));
    look(); /* an answer changes nothing */
    /* A notice is the system's: it belongs to no request. */
    timer_id timer;
    CHECK_OK(rt_timer_after(1, &timer));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    look();
    CHECK_OK(rt_ipc_send(next, "", 0, IPC_ASYNC));
    rt_exit();
}

static void *tells_a_chain(void *arg)
{
    begin();
    last = rt_spawn(hands_on, NULL);
    CHECK_OK(rt_trace_set(&wanted));
    actor_id heir = rt_spawn(listens, TASKS_NUMBER(1));
    CHECK_OK(rt_ipc_send(last, "x", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_send(heir, "", 0, IPC_ASYNC));
    await_end(last);
    await_end(heir);
    while (seen + bare < 8) {
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
    }
    CHECK_EQ(seen, 8);
    CHECK_EQ(bare, 0);
    return arg;
}

TEST(trace_context_goes_along_a_chain_of_actors_and_to_those_they_start)
{
    tasks_run_everywhere(tells_a_chain, NULL);
}

/* ---- behaviours ---- */

enum { TELL, FORWARD, TURN, GIVE_BACK };

static actor_id second;
static actor_id stacked;

static void on_tell(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    look();
    CHECK(msg->len == 0 || msg->data != NULL);
    CHECK_OK(rt_behaviour_send(stacked, TELL, "s", 1));
}

static void on_forward(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    look();
    CHECK_OK(rt_behaviour_forward(second, TELL));
    look(); /* the message is gone, what it is about is not */
}

/* The first one to have a context at all may be a behaviour. */
static void on_turn(void *state, const rt_behaviour_message *msg)
{
    struct rt_trace before;
    (void)state;
    (void)msg;
    look();
    CHECK_OK(rt_trace_begin_span(&before));
    wanted = rt_trace_get();
    CHECK(rti_trace_is_set(&wanted));
    CHECK_OK(rt_behaviour_send(second, TELL, NULL, 0));
}

static void on_give_back(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    look();
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
}

static const rt_behaviour_fn handlers[] = {on_tell, on_forward, on_turn, on_give_back};
static const rt_behaviour_type type = {.name = "tracer", .handlers = handlers, .handler_count = 4};

static void await_sum(uint32_t sum)
{
    while (seen + bare < sum) {
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
    }
}

static void *tells_behaviours(void *arg)
{
    char large[RT_MAX_MESSAGE_SIZE] = "large";
    begin();
    stacked = rt_spawn(listens, NULL);
    actor_id first = rt_behaviour_spawn(&type, NULL);
    second = rt_behaviour_spawn(&type, NULL);
    CHECK_OK(rt_trace_set(&wanted));
    CHECK_OK(rt_behaviour_send(first, TELL, "x", 1));
    await_sum(2); /* the behaviour, and whom it tells */
    CHECK_OK(rt_behaviour_send(first, TELL, large, sizeof(large)));
    await_sum(4);
    CHECK_OK(rt_behaviour_send(first, TELL, NULL, 0));
    await_sum(6);
    CHECK_OK(rt_behaviour_send(first, FORWARD, large, 40)); /* small without, large with it */
    await_sum(10);
    CHECK_EQ(seen, 10);
    CHECK_OK(rt_trace_set(NULL));
    CHECK_OK(rt_behaviour_send(first, GIVE_BACK, NULL, 0));
    CHECK_OK(rt_behaviour_send(second, GIVE_BACK, NULL, 0));
    await_sum(12);
    CHECK_EQ(bare, 2);
    CHECK_OK(rt_ipc_send(stacked, "", 0, IPC_ASYNC));
    await_end(stacked);
    return arg;
}

TEST(trace_context_goes_through_behaviours_and_is_forwarded)
{
    tasks_run_everywhere(tells_behaviours, NULL);
}

static void *lets_a_behaviour_begin(void *arg)
{
    uint32_t before = (uint32_t)(uintptr_t)arg; /* messages that come first */
    begin();
    memset(&wanted, 0, sizeof(wanted));
    stacked = rt_spawn(listens, NULL);
    actor_id first = rt_behaviour_spawn(&type, NULL);
    second = rt_behaviour_spawn(&type, NULL);
    for (uint32_t i = 0; i < before; i++) {
        CHECK_OK(rt_behaviour_send(first, TELL, "x", 1));
    }
    await_sum(2 * before); /* the behaviour, and whom it tells */
    CHECK_OK(rt_behaviour_send(first, TURN, NULL, 0));
    await_sum(2 * before + 3);
    CHECK_EQ(seen, 2 * before + 3);
    struct rt_trace begun = wanted;
    memset(&wanted, 0, sizeof(wanted));
    CHECK(rti_trace_is_set(&begun));
    CHECK(!rti_trace_is_set(&wanted));
    CHECK_OK(rt_behaviour_send(first, GIVE_BACK, NULL, 0));
    CHECK_OK(rt_behaviour_send(second, GIVE_BACK, NULL, 0));
    await_sum(2 * before + 5);
    CHECK_OK(rt_ipc_send(stacked, "", 0, IPC_ASYNC));
    await_end(stacked);
    return arg;
}

TEST(trace_context_may_begin_in_a_behaviour)
{
    tasks_run_everywhere(lets_a_behaviour_begin, TASKS_NUMBER(0));
}

/* With cells at hand a message goes the shortest way, unless it has a context. */
TEST(trace_context_goes_along_when_a_message_would_go_straight)
{
    tasks_run_everywhere(lets_a_behaviour_begin, TASKS_NUMBER(3));
}

/* What a behaviour does because it is asked to stop, or is killed, belongs to no message: not to
 * one that another has handled before on the same worker either. */
static void tells_of_its_stop(void *state)
{
    (void)state;
    look();
    CHECK_OK(rt_behaviour_send(stacked, TELL, "s", 1));
}

static void tells_of_its_end(void *state, rt_exit_reason reason)
{
    (void)state;
    (void)reason;
    look();
    CHECK_OK(rt_behaviour_send(stacked, TELL, "e", 1));
}

static const rt_behaviour_type ordered = {
    .handlers = handlers, .handler_count = 4, .stop = tells_of_its_stop, .end = tells_of_its_end};

static void *orders_behaviours(void *arg)
{
    begin();
    stacked = rt_spawn(listens, NULL);
    actor_id first = rt_behaviour_spawn(&type, NULL);
    actor_id other = rt_behaviour_spawn(&ordered, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_OK(rt_trace_set(&wanted));
        CHECK_OK(rt_behaviour_send(first, TELL, "x", 1));
        await_sum(4 * i + 2);
        CHECK_OK(rt_trace_set(NULL));
        if (i == 0) {
            rti_behaviour_ask_to_stop(rti_actors_of(rti_worker_current()), other);
        } else {
            CHECK_OK(rt_actor_kill(other));
        }
        await_sum(4 * i + 4);
        CHECK_EQ(bare, 2 * i + 2);
    }
    CHECK_OK(rt_actor_kill(first));
    CHECK_OK(rt_ipc_send(stacked, "", 0, IPC_ASYNC));
    await_end(stacked);
    return arg;
}

TEST(trace_context_of_a_message_is_not_that_of_an_order)
{
    tasks_run_everywhere(orders_behaviours, NULL);
}

static void *finds_none(void *arg)
{
    begin();
    actor_id id = rt_spawn(listens, TASKS_NUMBER(1));
    CHECK_OK(rt_ipc_send(id, "", 0, IPC_ASYNC));
    await_end(id);
    CHECK_EQ(bare, 2);
    return arg;
}

TEST(trace_context_does_not_outlive_its_runtime)
{
    tasks_run_everywhere(tells_a_chain, NULL);
    tasks_run_everywhere(finds_none, NULL);
}

/* The same on several workers. */
static void on_workers(rt_task_fn fn)
{
    const rt_config parallel = {.workers = 2};
    CHECK_OK(rt_run_main(&(rt_main_config){.parallel = &parallel}, fn, NULL));
}

static void *tells_many(void *arg)
{
    begin();
    CHECK_OK(rt_trace_set(&wanted));
    actor_id id = rt_spawn(listens, TASKS_NUMBER(1));
    for (int i = 0; i < 200; i++) {
        while (RT_FAILED(rt_ipc_send(id, "x", 1, IPC_ASYNC))) {
            CHECK_OK(rt_sleep(RT_NS_PER_MS));
        }
    }
    CHECK_OK(rt_ipc_send(id, "", 0, IPC_ASYNC));
    await_end(id);
    CHECK_EQ(seen, 202);
    return arg;
}

TEST(trace_context_goes_from_worker_to_worker)
{
    on_workers(tells_many);
}
