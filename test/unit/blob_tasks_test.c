/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs in the hands of tasks: through a channel from one to another, and to an actor; a token that
 * nobody has received goes with its channel. On every engine. */
#define RTI_MODULE "blob_tasks_test"
#include <orrery/rt.h>

#include "actor/actors.h"
#include "actor/blob.h"
#include "support/engines.h"
#include "support/test.h"

#define SIZE  100
#define COUNT 8

static rt_channel_sender *tokens_in;
static rt_channel_receiver *tokens_out;

static rt_blob *make(void)
{
    rt_blob *blob;
    CHECK_OK(rt_blob_create(SIZE, &blob));
    memset(rt_blob_bytes(blob), 'x', SIZE);
    return blob;
}

static void look_at(rt_blob *blob)
{
    const char *bytes = rt_blob_data(blob);
    CHECK_EQ(rt_blob_size(blob), SIZE);
    for (size_t i = 0; i < SIZE; i++) {
        CHECK_EQ(bytes[i], 'x');
    }
}

static void *import_all(void *arg)
{
    (void)arg;
    for (int i = 0; i < COUNT; i++) {
        rt_blob_token token;
        rt_blob *blob;
        CHECK_OK(rt_channel_recv(tokens_out, NULL, &token));
        CHECK_OK(rt_blob_import(token, &blob));
        look_at(blob);
        rt_blob_release(blob);
    }
    return NULL;
}

static void take(void *state, const rt_behaviour_message *msg)
{
    rt_blob *blob;
    (void)state;
    CHECK_OK(rt_blob_take_from(msg, &blob));
    look_at(blob);
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL)); /* and its hold with it */
}

static void send_one(void)
{
    rt_blob *blob = make();
    rt_blob_token token = rt_blob_export(blob);
    rt_blob_release(blob);
    CHECK_OK(rt_channel_send(tokens_in, NULL, &token));
}

static void send_to_an_actor(void)
{
    static const rt_behaviour_fn handlers[] = {take};
    static const rt_behaviour_type type = {
        .handlers = handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};
    actor_id taker = rt_behaviour_spawn(&type, NULL);
    rt_blob *blob = make();
    CHECK_OK(rt_blob_send(taker, 0, blob));
    rt_blob_release(blob);
    while (rt_actor_alive(taker)) {
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
    }
}

static void *main_task(void *arg)
{
    const rt_channel_config config = {
        .elem_size = sizeof(rt_blob_token), .capacity = 2, .destroy = rt_blob_token_destroy};
    struct rti_blobs *blobs = rti_blobs_at(rti_worker_current()->sched);
    (void)arg;
    CHECK_OK(rt_channel_create(&config, &tokens_in, &tokens_out));
    rt_task *importer = rt_go(import_all, NULL);
    for (int i = 0; i < COUNT; i++) {
        send_one();
    }
    CHECK_OK(rt_join(importer, NULL));
    send_to_an_actor();
    CHECK_EQ(blobs->names.used_count, 0);
    send_one();
    CHECK_EQ(blobs->names.used_count, 1);
    CHECK_OK(rt_channel_close_sender(tokens_in));
    CHECK_OK(rt_channel_close_receiver(tokens_out));
    CHECK_EQ(blobs->names.used_count, 0);
    CHECK_EQ(rti_pool_in_use(&blobs->holds), 0);
    return NULL;
}

TEST(blob_travels_between_tasks_and_to_actors_on_every_engine)
{
    engines_run(main_task, NULL);
}
