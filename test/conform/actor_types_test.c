/* SPDX-License-Identifier: Apache-2.0 */
/* The names, types and numbers of the actor specification: Error Handling, Core Types, Actor API,
 * IPC API, rt_static_config.h. Most of it is checked by the compiler. */
#define RTI_MODULE "actor_types_test"
#include <orrery/rt/actor.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/link.h>
#include <orrery/rt_static_config.h>

#include "support/test.h"

/* Each function has exactly the type that the specification prints. */
static actor_id (*const spawn_type)(actor_fn, void *) = rt_spawn;
static actor_id (*const spawn_ex_type)(actor_fn, void *, const actor_config *) = rt_spawn_ex;
static void (*const exit_type)(void) = rt_exit;
static actor_id (*const self_type)(void) = rt_self;
static void (*const yield_type)(void) = rt_yield;
static bool (*const alive_type)(actor_id) = rt_actor_alive;
static rt_status (*const link_type)(actor_id) = rt_link;
static rt_status (*const unlink_type)(actor_id) = rt_unlink;
static rt_status (*const monitor_type)(actor_id, uint32_t *) = rt_monitor;
static rt_status (*const demonitor_type)(uint32_t) = rt_demonitor;
static bool (*const is_exit_type)(const rt_message *) = rt_is_exit_msg;
static rt_status (*const decode_type)(const rt_message *, rt_exit_msg *) = rt_decode_exit;
static rt_status (*const send_type)(actor_id, const void *, size_t, rt_ipc_mode) = rt_ipc_send;
static rt_status (*const recv_type)(rt_message *, int32_t) = rt_ipc_recv;
static void (*const release_type)(const rt_message *) = rt_ipc_release;
static bool (*const pending_type)(void) = rt_ipc_pending;
static size_t (*const count_type)(void) = rt_ipc_count;

TEST(actor_spec_lifecycle_functions_have_their_types)
{
    CHECK(spawn_type && spawn_ex_type && exit_type && self_type && yield_type && alive_type);
}

TEST(actor_spec_link_functions_have_their_types)
{
    CHECK(link_type && unlink_type && monitor_type && demonitor_type && is_exit_type &&
          decode_type);
}

TEST(actor_spec_ipc_functions_have_their_types)
{
    CHECK(send_type && recv_type && release_type && pending_type && count_type);
}

TEST(actor_spec_status_codes_have_their_numbers)
{
    CHECK_EQ(RT_OK, 0);
    CHECK_EQ(RT_ERR_NOMEM, 1);
    CHECK_EQ(RT_ERR_INVALID, 2);
    CHECK_EQ(RT_ERR_TIMEOUT, 3);
    CHECK_EQ(RT_ERR_CLOSED, 4);
    CHECK_EQ(RT_ERR_WOULDBLOCK, 5);
    CHECK_EQ(RT_ERR_IO, 6);
}

TEST(actor_spec_status_is_a_code_and_a_message)
{
    rt_status status = {RT_ERR_IO, "words"};
    rt_status_code code = status.code;
    const char *msg = status.msg;
    CHECK_EQ(code, RT_ERR_IO);
    CHECK_STR(msg, "words");
    CHECK(RT_FAILED(status));
    status = RT_SUCCESS;
    CHECK(!RT_FAILED(status));
    CHECK_EQ(status.code, RT_OK);
    CHECK(status.msg == NULL);
}

_Static_assert(_Generic((actor_id)0, uint32_t : 1, default : 0), "actor_id is a uint32_t");
_Static_assert(_Generic((bus_id)0, uint32_t : 1, default : 0), "bus_id is a uint32_t");
_Static_assert(_Generic((timer_id)0, uint32_t : 1, default : 0), "timer_id is a uint32_t");
_Static_assert(_Generic(ACTOR_ID_INVALID, actor_id : 1, default : 0), "an actor_id");

TEST(actor_spec_ids_and_special_senders_have_their_values)
{
    CHECK_EQ(ACTOR_ID_INVALID, 0);
    CHECK_EQ(BUS_ID_INVALID, 0);
    CHECK_EQ(TIMER_ID_INVALID, 0);
    CHECK_EQ(RT_SENDER_TIMER, 0xFFFFFFFF);
    CHECK_EQ(RT_SENDER_SYSTEM, 0xFFFFFFFE);
}

TEST(actor_spec_priorities_have_their_numbers)
{
    CHECK_EQ(RT_PRIO_CRITICAL, 0);
    CHECK_EQ(RT_PRIO_HIGH, 1);
    CHECK_EQ(RT_PRIO_NORMAL, 2);
    CHECK_EQ(RT_PRIO_LOW, 3);
}

TEST(actor_spec_config_has_its_four_fields_in_order)
{
    actor_config config = {4096, RT_PRIO_HIGH, "name", true};
    size_t *stack_size = &config.stack_size;
    rt_priority *priority = &config.priority;
    const char **name = &config.name;
    bool *malloc_stack = &config.malloc_stack;
    CHECK_EQ(*stack_size, 4096);
    CHECK_EQ(*priority, RT_PRIO_HIGH);
    CHECK_STR(*name, "name");
    CHECK(*malloc_stack);
}

TEST(actor_spec_exit_reasons_and_message_have_their_form)
{
    CHECK_EQ(RT_EXIT_NORMAL, 0);
    CHECK_EQ(RT_EXIT_CRASH, 1);
    CHECK_EQ(RT_EXIT_CRASH_STACK, 2);
    CHECK_EQ(RT_EXIT_KILLED, 3);
    rt_exit_msg msg = {(actor_id)5, RT_EXIT_KILLED};
    CHECK_EQ(msg.actor, 5);
    CHECK_EQ(msg.reason, RT_EXIT_KILLED);
}

TEST(actor_spec_message_and_modes_have_their_form)
{
    rt_message msg = {(actor_id)5, (size_t)3, "abc"};
    actor_id *sender = &msg.sender;
    size_t *len = &msg.len;
    const void **data = &msg.data;
    CHECK_EQ(*sender, 5);
    CHECK_EQ(*len, 3);
    CHECK_STR(*data, "abc");
    CHECK_EQ(IPC_ASYNC, 0);
    CHECK_EQ(IPC_SYNC, 1);
}

TEST(actor_spec_limits_have_their_defaults)
{
    CHECK_EQ(RT_MAX_ACTORS, 64);
    CHECK_EQ(RT_STACK_ARENA_SIZE, 1 * 1024 * 1024);
    CHECK_EQ(RT_MAX_BUSES, 32);
    CHECK_EQ(RT_MAILBOX_ENTRY_POOL_SIZE, 256);
    CHECK_EQ(RT_MESSAGE_DATA_POOL_SIZE, 256);
    CHECK_EQ(RT_SYNC_BUFFER_POOL_SIZE, 64);
    CHECK_EQ(RT_MAX_MESSAGE_SIZE, 256);
    CHECK_EQ(RT_LINK_ENTRY_POOL_SIZE, 128);
    CHECK_EQ(RT_MONITOR_ENTRY_POOL_SIZE, 128);
    CHECK_EQ(RT_TIMER_ENTRY_POOL_SIZE, 64);
    CHECK_EQ(RT_COMPLETION_QUEUE_SIZE, 64);
    CHECK_EQ(RT_DEFAULT_STACK_SIZE, 65536);
    CHECK_EQ(RT_MAX_BUS_ENTRIES, 64);
    CHECK_EQ(RT_MAX_BUS_SUBSCRIBERS, 32);
}
