/* SPDX-License-Identifier: Apache-2.0 */
/* What counts as a reduction of a behaviour: each message that it handles and each one that it
 * sends, whatever way it is sent, on every engine. */
#define RTI_MODULE "behaviour_reductions_test"
#include <orrery/rt.h>

#include "actor/behaviour.h"
#include "support/test.h"
#include "support/world.h"

/* What a handler counts itself. With the message and one that is sent two of them use up a turn;
 * without either, three. */
#define OWN (RT_REDUCTIONS / 2 - 2)

enum way { WAY_SEND_0, WAY_SEND_8, WAY_SEND_16, WAY_SEND_LONG, WAY_FORWARD, WAY_BLOB, WAY_FIBER };
#define WAYS (WAY_FIBER + 1)

static actor_id sink_id;
static actor_id fiber_id;
static unsigned handled;
static unsigned seen; /* by the one whose turn comes next */

static void send_somehow(enum way way)
{
    static const char bytes[64] = "payload";
    rt_blob *blob;
    switch (way) {
    case WAY_SEND_0:
        CHECK_OK(rt_behaviour_send(sink_id, 0, NULL, 0));
        break;
    case WAY_SEND_8:
        CHECK_OK(rt_behaviour_send(sink_id, 0, bytes, 8));
        break;
    case WAY_SEND_16:
        CHECK_OK(rt_behaviour_send(sink_id, 0, bytes, 16));
        break;
    case WAY_SEND_LONG:
        CHECK_OK(rt_behaviour_send(sink_id, 0, bytes, sizeof(bytes)));
        break;
    case WAY_FORWARD:
        CHECK_OK(rt_behaviour_forward(sink_id, 0));
        break;
    case WAY_BLOB:
        CHECK_OK(rt_blob_create(8, &blob));
        CHECK_OK(rt_blob_send(sink_id, 0, blob));
        rt_blob_release(blob);
        break;
    case WAY_FIBER:
        CHECK_OK(rt_behaviour_send(fiber_id, 0, bytes, 8));
        break;
    }
}

static void work(void *state, const rt_behaviour_message *msg)
{
    (void)msg;
    handled++;
    rt_reductions_add(OWN);
    send_somehow(*(const enum way *)state);
}

static void swallow(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
}

static void look(void *state, void *arg)
{
    (void)state;
    (void)arg;
    seen = handled;
    rt_shutdown();
}

static const rt_behaviour_fn work_handlers[] = {work};
static const rt_behaviour_fn other_handlers[] = {swallow};
static const rt_behaviour_type worker = {
    .handlers = work_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};
static const rt_behaviour_type other = {
    .handlers = other_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};
static const rt_behaviour_type looker = {
    .handlers = other_handlers, .handler_count = 1, .start = look, .priority = RT_PRIO_NORMAL};

static void sleeper(void *arg)
{
    rt_message msg;
    (void)arg;
    for (;;) {
        CHECK_OK(rt_ipc_recv(&msg, -1));
    }
}

/* One that has six messages, and behind it one that looks how far it came. */
static void begin(enum way *way)
{
    handled = seen = 0;
    fiber_id = rt_spawn(sleeper, NULL);
    actor_id id = rt_behaviour_spawn(&worker, way);
    sink_id = rt_behaviour_spawn(&other, NULL);
    for (unsigned i = 0; i < 6; i++) {
        CHECK_OK(rt_behaviour_send(id, 0, "message", 8));
    }
    CHECK(rt_behaviour_spawn(&looker, NULL) != ACTOR_ID_INVALID);
}

static void in_a_world(void *arg)
{
    begin(arg);
    rt_message msg;
    (void)rt_ipc_recv(&msg, -1);
}

TEST(behaviour_sends_count_in_the_simulator)
{
    for (enum way way = 0; way < WAYS; way++) {
        world_run(in_a_world, &way);
        CHECK_EQ(seen, 2);
    }
}

TEST(behaviour_sends_count_with_one_worker)
{
    for (enum way way = 0; way < WAYS; way++) {
        CHECK_OK(rt_init());
        begin(&way);
        rt_run();
        CHECK_EQ(seen, 2);
        rt_cleanup();
    }
}

TEST(behaviour_sends_count_on_the_engine_of_several_workers)
{
    for (enum way way = 0; way < WAYS; way++) {
        rt_status status = rt_init_ex(&(rt_config){.workers = 1});
        if (status.code == RT_ERR_UNSUPPORTED) {
            test_skip("no parallel engine here");
        }
        CHECK_OK(status);
        begin(&way);
        rt_run();
        CHECK_EQ(seen, 2);
        rt_cleanup();
    }
}
