/* SPDX-License-Identifier: Apache-2.0 */
#include "support/puppets.h"

#include "support/test.h"
#include "support/world.h"

const rt_bus_config puppets_plain_bus = {
    .max_subscribers = 32, .max_entries = 8, .max_entry_size = sizeof(int)};

void puppets_run(actor_fn fn)
{
    world_run(fn, NULL);
}

static rt_status puppet_obey(const struct puppet_command *command, int *value)
{
    size_t len = 0;
    rt_status status = RT_SUCCESS;
    switch (command->verb) {
    case PUPPET_SUBSCRIBE:
        return rt_bus_subscribe(command->bus);
    case PUPPET_UNSUBSCRIBE:
        return rt_bus_unsubscribe(command->bus);
    case PUPPET_READ:
        status = rt_bus_read(command->bus, value, sizeof(*value), &len);
        break;
    case PUPPET_WAIT:
        status = rt_bus_read_wait(command->bus, value, sizeof(*value), &len, command->timeout_ms);
        break;
    case PUPPET_END:
        return RT_SUCCESS;
    }
    CHECK(RT_FAILED(status) || len == sizeof(*value));
    return status;
}

static void puppet_main(void *arg)
{
    (void)arg;
    struct puppet_command command = {.verb = PUPPET_READ};
    while (command.verb != PUPPET_END) {
        rt_message msg;
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_EQ(msg.len, sizeof(command));
        memcpy(&command, msg.data, sizeof(command));
        rt_call_id call = rt_call_ref(&msg);
        struct puppet_answer answer = {.value = PUPPET_NOTHING};
        answer.code = puppet_obey(&command, &answer.value).code;
        answer.at = rt_clock();
        if (call != 0) {
            CHECK_OK(rt_reply_to(call, &answer, sizeof(answer)));
        }
    }
    rt_exit();
}

actor_id puppet_make(void)
{
    actor_config config = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    actor_id id = rt_spawn_ex(puppet_main, NULL, &config);
    CHECK(id != ACTOR_ID_INVALID);
    return id;
}

struct puppet_answer puppet_tell(actor_id who, struct puppet_command command)
{
    rt_message reply;
    struct puppet_answer answer;
    CHECK_OK(rt_call(who, &command, sizeof(command), &reply, -1));
    CHECK_EQ(reply.len, sizeof(answer));
    memcpy(&answer, reply.data, sizeof(answer));
    return answer;
}

rt_status_code puppet_subscribe(actor_id who, bus_id bus)
{
    return puppet_tell(who, (struct puppet_command){.verb = PUPPET_SUBSCRIBE, .bus = bus}).code;
}

rt_status_code puppet_unsubscribe(actor_id who, bus_id bus)
{
    return puppet_tell(who, (struct puppet_command){.verb = PUPPET_UNSUBSCRIBE, .bus = bus}).code;
}

int puppet_read(actor_id who, bus_id bus)
{
    struct puppet_answer answer =
        puppet_tell(who, (struct puppet_command){.verb = PUPPET_READ, .bus = bus});
    CHECK(answer.code == RT_OK || answer.code == RT_ERR_WOULDBLOCK);
    CHECK_EQ(answer.code == RT_ERR_WOULDBLOCK, answer.value == PUPPET_NOTHING);
    return answer.value;
}

void puppet_end(actor_id who)
{
    CHECK_EQ(puppet_tell(who, (struct puppet_command){.verb = PUPPET_END}).code, RT_OK);
}

actor_id puppet_subscriber(bus_id bus)
{
    actor_id id = puppet_make();
    CHECK_EQ(puppet_subscribe(id, bus), RT_OK);
    return id;
}

bus_id puppets_bus(const rt_bus_config *config)
{
    bus_id bus = BUS_ID_INVALID;
    CHECK_OK(rt_bus_create(config, &bus));
    CHECK(bus != BUS_ID_INVALID);
    return bus;
}

bus_id puppets_bus_with(size_t max_entries, uint8_t max_readers, uint32_t max_age_ms)
{
    rt_bus_config config = puppets_plain_bus;
    config.max_entries = max_entries;
    config.max_readers = max_readers;
    config.max_age_ms = max_age_ms;
    return puppets_bus(&config);
}

void puppets_publish(bus_id bus, int value)
{
    CHECK_OK(rt_bus_publish(bus, &value, sizeof(value)));
}

void puppets_nap(int32_t ms)
{
    world_needs_virtual_clock();
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, ms), RT_ERR_TIMEOUT);
}

_Noreturn void puppets_done(void)
{
    rt_shutdown();
    rt_exit();
}
