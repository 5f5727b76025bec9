/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs: shared, counted, freed once, whoever dies. */
#define RTI_MODULE "blob_test"
#include "actor/blob.h"

#include <orrery/rt.h>

#include "support/test.h"
#include "support/world.h"

static const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};

static struct rti_blobs *module(void)
{
    return rti_blobs_at(rti_worker_current()->sched);
}

static size_t blob_count(void)
{
    rti_blobs_audit(module());
    return module()->names.used_count;
}

static size_t hold_count(void)
{
    return rti_pool_in_use(&module()->holds);
}

static void settle(void)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 1), RT_ERR_TIMEOUT);
}

static void writes(void *arg)
{
    rt_blob *blob;
    rt_blob *part;
    rt_blob *rest;
    (void)arg;
    CHECK_OK(rt_blob_create(1000, &blob));
    CHECK_EQ(rt_blob_size(blob), 1000);
    memset(rt_blob_bytes(blob), 'w', 1000);
    memcpy((char *)rt_blob_bytes(blob) + 500, "middle", 6);
    CHECK_OK(rt_blob_slice(blob, 500, 6, &part));
    CHECK(rt_blob_bytes(blob) == NULL); /* shared from here on */
    CHECK_EQ(memcmp(rt_blob_data(part), "middle", 6), 0);
    CHECK(rt_blob_data(part) == (const char *)rt_blob_data(blob) + 500);
    rt_blob_release(blob);
    CHECK_EQ(blob_count(), 1);
    CHECK_OK(rt_blob_slice(part, 3, 3, &rest));
    CHECK_EQ(memcmp(rt_blob_data(rest), "dle", 3), 0);
    CHECK_STATUS(rt_blob_slice(part, 4, 3, &rest), RT_ERR_INVALID);
    CHECK_STATUS(rt_blob_slice(part, 7, 0, &rest), RT_ERR_INVALID);
    rt_blob_release(part);
    CHECK_EQ(blob_count(), 1);
    rt_blob_release(rest);
    CHECK_EQ(blob_count(), 0);
    rt_blob_release(NULL);
    /* Exported, and sent: shared too. */
    CHECK_OK(rt_blob_create(10, &blob));
    rt_blob_token token = rt_blob_export(blob);
    CHECK(rt_blob_bytes(blob) == NULL);
    CHECK_OK(rt_blob_discard(token));
    CHECK(rt_blob_bytes(blob) == NULL);
    rt_blob_release(blob);
    CHECK_OK(rt_blob_create(10, &blob));
    CHECK_OK(rt_blob_send(rt_self(), 0, blob));
    CHECK(rt_blob_bytes(blob) == NULL);
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rt_blob_release(blob);
    CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_WOULDBLOCK); /* the message goes, with its hold */
    CHECK_EQ(blob_count(), 0);
    CHECK_STATUS(rt_blob_create(0, &blob), RT_ERR_INVALID);
    CHECK_STATUS(rt_blob_copy(NULL, 5, &blob), RT_ERR_INVALID);
    CHECK_STATUS(rt_blob_create(RT_BLOB_MEMORY_SIZE + 1, &blob), RT_ERR_NOMEM);
    rt_exit();
}

TEST(blob_is_written_until_it_is_shared_and_sliced_without_copying)
{
    world_run(writes, NULL);
}

static void limits(void *arg)
{
    rt_blob *blobs[RT_MAX_BLOBS];
    rt_blob *extra;
    (void)arg;
    for (size_t i = 0; i < RT_MAX_BLOBS; i++) {
        CHECK_OK(rt_blob_create(10, &blobs[i]));
    }
    CHECK_STATUS(rt_blob_create(10, &extra), RT_ERR_NOMEM);
    rt_blob_release(blobs[5]);
    CHECK_OK(rt_blob_create(10, &blobs[5]));
    size_t holds = RT_MAX_BLOBS;
    while (!RT_FAILED(rt_blob_slice(blobs[0], 0, 1, &extra))) {
        holds++;
    }
    CHECK_EQ(holds, RT_MAX_BLOB_HOLDS);
    rt_exit(); /* everything goes with the actor */
}

/* No hold is left: what is refused is as it was, and goes exactly once all the same. */
static void no_holds(void *arg)
{
    rt_blob *blob;
    rt_blob *slices[RT_MAX_BLOB_HOLDS];
    rt_blob *extra;
    rt_message msg;
    size_t count = 0;
    (void)arg;
    CHECK_OK(rt_blob_copy("bytes", 5, &blob));
    rt_blob_token token = rt_blob_export(blob);
    CHECK_OK(rt_blob_send(rt_self(), 3, blob));
    while (!RT_FAILED(rt_blob_slice(blob, 0, 1, &slices[count]))) {
        count++;
    }
    CHECK_EQ(count, RT_MAX_BLOB_HOLDS - 1);
    CHECK_STATUS(rt_blob_peek(token, &extra), RT_ERR_NOMEM);
    CHECK_STATUS(rt_blob_import(token, &extra), RT_ERR_NOMEM);
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_STATUS(rt_blob_take(&msg, &extra), RT_ERR_NOMEM);
    while (count > 0) {
        rt_blob_release(slices[--count]);
    }
    rt_blob_release(blob);
    /* The token and the message have their holds still, and nothing else is left. */
    CHECK_OK(rt_blob_import(token, &blob));
    CHECK_EQ(memcmp(rt_blob_data(blob), "bytes", 5), 0);
    rt_blob_release(blob);
    CHECK_EQ(blob_count(), 1);
    CHECK_OK(rt_blob_take(&msg, &extra));
    CHECK_STATUS(rt_blob_take(&msg, &blob), RT_ERR_NOT_FOUND);
    CHECK_EQ(memcmp(rt_blob_data(extra), "bytes", 5), 0);
    rt_blob_release(extra);
    CHECK_EQ(blob_count(), 0);
    CHECK_EQ(hold_count(), 0);
    rt_exit();
}

TEST(blob_that_cannot_be_held_stays_where_it_is)
{
    world_run(no_holds, NULL);
}

static void after_limits(void *arg)
{
    (void)arg;
    CHECK(rt_spawn_ex(limits, NULL, &small) != ACTOR_ID_INVALID);
    settle();
    CHECK_EQ(blob_count(), 0);
    CHECK_EQ(hold_count(), 0);
    rt_exit();
}

TEST(blob_limits_are_reached_and_a_death_gives_all_back)
{
    world_run(after_limits, NULL);
}

/* Two receivers, one with a stack and one without, get the same bytes. */
static const void *seen[2];

static void keeper(void *arg)
{
    rt_message msg;
    rt_blob *blob;
    (void)arg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_EQ(rt_behaviour_id(&msg), 7);
    CHECK_OK(rt_blob_take(&msg, &blob));
    CHECK_STATUS(rt_blob_take(&msg, &blob), RT_ERR_NOT_FOUND);
    seen[0] = rt_blob_data(blob);
    CHECK_EQ(rt_blob_size(blob), 300);
    CHECK_OK(rt_ipc_recv(&msg, -1)); /* waits to be killed */
}

static void take(void *state, const rt_behaviour_message *msg)
{
    rt_blob *blob;
    (void)state;
    CHECK_OK(rt_blob_take_from(msg, &blob));
    seen[1] = rt_blob_data(blob);
}

static const rt_behaviour_fn handlers[] = {take};
static const rt_behaviour_type taker = {
    .handlers = handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void shares(void *arg)
{
    rt_blob *blob;
    char bytes[300];
    (void)arg;
    memset(bytes, 's', sizeof(bytes));
    CHECK_OK(rt_blob_copy(bytes, sizeof(bytes), &blob));
    const void *data = rt_blob_data(blob);
    actor_id one = rt_spawn_ex(keeper, NULL, &small);
    actor_id two = rt_behaviour_spawn(&taker, NULL);
    CHECK_OK(rt_blob_send(one, 7, blob));
    CHECK_OK(rt_blob_send(two, 0, blob));
    CHECK_STATUS(rt_blob_send(ACTOR_ID_INVALID, 0, blob), RT_ERR_INVALID);
    CHECK_STATUS(rt_blob_send(0x80000001U, 0, blob), RT_ERR_INVALID);
    rt_blob_release(blob);
    settle();
    CHECK(seen[0] == data && seen[1] == data);
    CHECK_EQ(blob_count(), 1);
    CHECK_OK(rt_actor_kill(one));
    settle();
    CHECK_EQ(blob_count(), 1);
    CHECK_OK(rt_actor_kill(two));
    settle();
    CHECK_EQ(blob_count(), 0);
    CHECK_EQ(hold_count(), 0);
    rt_exit();
}

TEST(blob_sent_to_both_kinds_is_freed_when_the_last_of_them_is_killed)
{
    world_run(shares, NULL);
}

/* Messages that nobody takes: not received, received and passed over, dropped, killed. */
static void passes_over(void *arg)
{
    rt_message msg;
    (void)arg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK_OK(rt_ipc_recv(&msg, -1)); /* the first goes with this receive */
    actor_id other;
    memcpy(&other, msg.data, sizeof(other));
    CHECK_OK(rt_ipc_send(other, "x", 1, IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, -1));
}

static void sleeper(void *arg)
{
    (void)arg;
    for (;;) {
        rt_message msg;
        (void)rt_ipc_recv_match(&(rt_ipc_filter){.sender = 1}, &msg, -1);
    }
}

static void untaken(void *arg)
{
    rt_blob *blob;
    rt_message msg;
    (void)arg;
    CHECK_OK(rt_blob_copy("unwanted", 8, &blob));
    actor_id over = rt_spawn_ex(passes_over, NULL, &small);
    actor_id asleep = rt_spawn_ex(sleeper, NULL, &small);
    actor_id self = rt_self();
    CHECK_OK(rt_blob_send(over, 0, blob));
    CHECK_OK(rt_ipc_send(over, &self, sizeof(self), IPC_ASYNC));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    rti_blobs_audit(module());
    CHECK_EQ(rti_u32_load_relaxed(&module()->table[blob->blob->name & 63].count), 1);
    /* Each policy gives back what it does not deliver. */
    for (rt_overflow policy = RT_OVERFLOW_REJECT; policy <= RT_OVERFLOW_KILL; policy++) {
        rt_mailbox_config config = {.high = 2, .overflow = policy};
        if (policy == RT_OVERFLOW_MUTE) {
            continue;
        }
        CHECK_OK(rt_mailbox_limit(asleep, &config));
        for (unsigned i = 0; i < 4 && rt_actor_alive(asleep); i++) {
            (void)rt_blob_send(asleep, 0, blob);
        }
    }
    settle();
    CHECK(!rt_actor_alive(asleep));
    CHECK_EQ(rti_u32_load_relaxed(&blob->blob->count), 1);
    /* A behaviour without a handler, one that is killed with mail, and one with a limit. */
    static const rt_behaviour_type limited = {.handlers = handlers,
                                              .handler_count = 1,
                                              .priority = RT_PRIO_NORMAL,
                                              .mailbox = {2, 0, RT_OVERFLOW_DROP_OLD, false}};
    actor_id ids[2] = {rt_behaviour_spawn(&taker, NULL), rt_behaviour_spawn(&limited, NULL)};
    for (unsigned i = 0; i < 5; i++) {
        CHECK_OK(rt_blob_send(ids[0], 99, blob));
        CHECK_OK(rt_blob_send(ids[1], 99, blob));
    }
    CHECK_EQ(rti_u32_load_relaxed(&blob->blob->count), 1 + 5 + 2);
    settle();
    CHECK_EQ(rti_u32_load_relaxed(&blob->blob->count), 1);
    CHECK_OK(rt_blob_send(ids[0], 99, blob));
    CHECK_OK(rt_actor_kill(ids[0]));
    CHECK_OK(rt_actor_kill(ids[1]));
    settle();
    CHECK_EQ(rti_u32_load_relaxed(&blob->blob->count), 1);
    rt_blob_release(blob);
    CHECK_EQ(blob_count(), 0);
    CHECK_OK(rt_actor_kill(over));
    rt_exit();
}

TEST(blob_in_a_message_that_nobody_takes_is_given_back)
{
    world_run(untaken, NULL);
}

/* One that hands what it gets on to somebody who refuses, with the policy that it has. */
static struct {
    actor_id to;
    unsigned refusals;
} handing;

static void hands_on(void *state, const rt_behaviour_message *msg)
{
    (void)state, (void)msg;
    handing.refusals += rt_behaviour_forward(handing.to, 0).code != RT_OK;
}

static void refused(void *arg)
{
    static const rt_behaviour_fn hand[] = {hands_on};
    static const rt_behaviour_type hander = {
        .handlers = hand, .handler_count = 1, .priority = RT_PRIO_NORMAL};
    const rt_overflow policies[] = {RT_OVERFLOW_REJECT, RT_OVERFLOW_KILL};
    rt_blob *blob;
    (void)arg;
    CHECK_OK(rt_blob_copy("refused", 7, &blob));
    actor_id from = rt_behaviour_spawn(&hander, NULL);
    handing.to = rt_spawn_ex(sleeper, NULL, &small);
    for (unsigned i = 0; i < 2; i++) {
        rt_mailbox_config config = {.high = 1, .overflow = policies[i]};
        CHECK_OK(rt_mailbox_limit(handing.to, &config));
        CHECK_OK(rt_blob_send(from, 0, blob)); /* there is room for the first */
        CHECK_OK(rt_blob_send(from, 0, blob));
        settle();
        CHECK_EQ(handing.refusals, i == 0 ? 1 : 3);
        CHECK_EQ(rti_u32_load_relaxed(&blob->blob->count), rt_actor_alive(handing.to) ? 2 : 1);
    }
    CHECK(!rt_actor_alive(handing.to));
    CHECK_OK(rt_actor_kill(from));
    settle();
    rt_blob_release(blob);
    CHECK_EQ(blob_count(), 0);
    rt_exit();
}

TEST(blob_that_is_handed_on_and_refused_is_given_back_once)
{
    world_run(refused, NULL);
}

/* Killed for its mail to itself, in the middle of the send. */
static void floods_itself(void *arg)
{
    const rt_mailbox_config config = {.high = 1, .overflow = RT_OVERFLOW_KILL};
    CHECK_OK(rt_mailbox_limit(rt_self(), &config));
    CHECK_OK(rt_blob_send(rt_self(), 0, arg));
    (void)rt_blob_send(rt_self(), 0, arg);
    test_fail(__FILE__, __LINE__, "it goes on");
}

static void flooded(void *arg)
{
    rt_blob *blob;
    (void)arg;
    CHECK_OK(rt_blob_copy("too much", 8, &blob));
    actor_id id = rt_spawn_ex(floods_itself, blob, &small);
    settle();
    CHECK(!rt_actor_alive(id));
    CHECK_EQ(rti_u32_load_relaxed(&blob->blob->count), 1);
    rt_blob_release(blob);
    CHECK_EQ(blob_count(), 0);
    rt_exit();
}

TEST(blob_of_one_that_is_killed_by_its_own_send_is_given_back)
{
    world_run(flooded, NULL);
}

/* Tokens: through a channel, also one that is closed with values inside, and over a bus. */
static void tokens(void *arg)
{
    rt_blob *blob;
    rt_blob *other;
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    rt_blob_token token;
    rt_channel_config config = {
        .elem_size = sizeof(rt_blob_token), .capacity = 4, .destroy = rt_blob_token_destroy};
    (void)arg;
    CHECK_OK(rt_blob_copy("travels", 7, &blob));
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    for (unsigned i = 0; i < 3; i++) {
        token = rt_blob_export(blob);
        CHECK_OK(rt_channel_send(tx, NULL, &token));
    }
    CHECK_OK(rt_channel_recv(rx, NULL, &token));
    CHECK_OK(rt_blob_import(token, &other));
    CHECK_EQ(memcmp(rt_blob_data(other), "travels", 7), 0);
    rt_blob_release(other);
    rt_blob_release(blob);
    CHECK_EQ(blob_count(), 1); /* two tokens are in the channel */
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(rx));
    CHECK_EQ(blob_count(), 0);
    CHECK_STATUS(rt_blob_import(token, &other), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_blob_peek(token, &other), RT_ERR_NOT_FOUND);
    CHECK_STATUS(rt_blob_discard(token), RT_ERR_NOT_FOUND);
    rt_bus_config bus_config = {
        .max_subscribers = 4, .max_entries = 4, .max_entry_size = sizeof(token)};
    bus_id bus;
    size_t len;
    CHECK_OK(rt_blob_copy("published", 9, &blob));
    CHECK_OK(rt_bus_create(&bus_config, &bus));
    CHECK_OK(rt_bus_subscribe(bus));
    token = rt_blob_export(blob);
    rt_blob_release(blob);
    CHECK_OK(rt_bus_publish(bus, &token, sizeof(token)));
    rt_blob_token read;
    CHECK_OK(rt_bus_read(bus, &read, sizeof(read), &len));
    CHECK_OK(rt_blob_peek(read, &blob));
    CHECK_OK(rt_blob_peek(read, &other));
    CHECK_OK(rt_blob_discard(token)); /* the publisher's */
    CHECK_EQ(memcmp(rt_blob_data(other), "published", 9), 0);
    rt_blob_release(blob);
    rt_blob_release(other);
    CHECK_EQ(blob_count(), 0);
    CHECK_OK(rt_bus_unsubscribe(bus));
    CHECK_OK(rt_bus_destroy(bus));
    rt_exit();
}

TEST(blob_travels_through_channels_and_buses_as_a_token)
{
    world_run(tokens, NULL);
}

TEST(blob_calls_without_a_runtime_are_refused)
{
    rt_blob *blob;
    CHECK_STATUS(rt_blob_create(1, &blob), RT_ERR_THREAD);
    CHECK_STATUS(rt_blob_import((rt_blob_token){.name = 1}, &blob), RT_ERR_THREAD);
    CHECK_STATUS(rt_blob_discard((rt_blob_token){.name = 1}), RT_ERR_THREAD);
    CHECK(rt_blob_data(NULL) == NULL && rt_blob_size(NULL) == 0 && rt_blob_bytes(NULL) == NULL);
    CHECK_EQ(rt_blob_export(NULL).name, 0);
}
