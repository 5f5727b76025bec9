/* SPDX-License-Identifier: Apache-2.0 */
/* The Bus API of actor-runtime.md against the public functions in the simulated world:
 * configuration, functions, the pool that it shares, death. The three rules are in
 * bus_rules_test.c. */
#include "support/puppets.h"
#include "support/test.h"
#include "support/world.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Configuration. */

static void config_fields(void *arg)
{
    (void)arg;
    rt_bus_config config = {.max_subscribers = 255,
                            .max_readers = 255,
                            .max_age_ms = UINT32_MAX,
                            .max_entries = SIZE_MAX,
                            .max_entry_size = SIZE_MAX};
    CHECK_EQ(sizeof(config.max_subscribers), sizeof(uint8_t));
    CHECK_EQ(sizeof(config.max_readers), sizeof(uint8_t));
    CHECK_EQ(sizeof(config.max_age_ms), sizeof(uint32_t));
    CHECK_EQ(sizeof(config.max_entries), sizeof(size_t));
    CHECK_EQ(sizeof(config.max_entry_size), sizeof(size_t));
    bus_id bus = 7;
    CHECK_STATUS(rt_bus_create(&config, &bus), RT_ERR_INVALID);
    CHECK_EQ(bus, 7);
    puppets_done();
}

TEST(bus_config_has_the_five_fields_and_refuses_what_is_too_large)
{
    puppets_run(config_fields);
}

static void subscriber_limits(void *arg)
{
    (void)arg;
    CHECK_EQ(RT_MAX_BUS_SUBSCRIBERS, 32);
    for (int n = 0; n <= UINT8_MAX; n++) {
        rt_bus_config config = puppets_plain_bus;
        config.max_subscribers = (uint8_t)n;
        bus_id bus;
        rt_status status = rt_bus_create(&config, &bus);
        CHECK_EQ(status.code, n >= 1 && n <= 32 ? RT_OK : RT_ERR_INVALID);
        CHECK(RT_FAILED(status) || rt_bus_destroy(bus).code == RT_OK);
    }
    puppets_done();
}

TEST(bus_max_subscribers_is_one_to_thirty_two)
{
    puppets_run(subscriber_limits);
}

static void reader_limits(void *arg)
{
    (void)arg;
    for (uint8_t subscribers = 1; subscribers <= 32; subscribers++) {
        for (uint8_t readers = 0; readers <= 40; readers++) {
            rt_bus_config config = puppets_plain_bus;
            config.max_subscribers = subscribers;
            config.max_readers = readers;
            bus_id bus;
            rt_status status = rt_bus_create(&config, &bus);
            CHECK_EQ(status.code, readers <= subscribers ? RT_OK : RT_ERR_INVALID);
            CHECK(RT_FAILED(status) || rt_bus_destroy(bus).code == RT_OK);
        }
    }
    puppets_done();
}

TEST(bus_max_readers_is_zero_to_max_subscribers)
{
    puppets_run(reader_limits);
}

static void stable_index(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(8, 3, 0);
    actor_id first = puppet_subscriber(bus);
    actor_id second = puppet_subscriber(bus);
    actor_id third = puppet_subscriber(bus);
    puppets_publish(bus, 1);
    CHECK_EQ(puppet_read(second, bus), 1);
    CHECK_EQ(puppet_unsubscribe(first, bus), RT_OK);
    CHECK_EQ(puppet_read(second, bus), PUPPET_NOTHING); /* what it has read stays read */
    CHECK_EQ(puppet_read(third, bus), 1);
    actor_id heir = puppet_subscriber(bus); /* gets the place of the first */
    puppets_publish(bus, 2);
    CHECK_EQ(puppet_read(heir, bus), 2);
    CHECK_EQ(puppet_read(third, bus), 2);
    CHECK_EQ(rt_bus_entry_count(bus), 2);
    CHECK_EQ(puppet_read(second, bus), 2);
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    puppets_done();
}

TEST(bus_subscriber_keeps_its_place_while_others_come_and_go)
{
    puppets_run(stable_index);
}

/* Functions. */

static void destroy_rules(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus(&puppets_plain_bus);
    actor_id a = puppet_subscriber(bus);
    actor_id b = puppet_subscriber(bus);
    puppets_publish(bus, 1);
    CHECK_STATUS(rt_bus_destroy(bus), RT_ERR_INVALID);
    CHECK_EQ(puppet_unsubscribe(a, bus), RT_OK);
    CHECK_STATUS(rt_bus_destroy(bus), RT_ERR_INVALID);
    CHECK_EQ(puppet_read(b, bus), 1); /* the failed calls changed nothing */
    puppet_end(b);
    CHECK_OK(rt_bus_destroy(bus));
    CHECK_STATUS(rt_bus_publish(bus, NULL, 0), RT_ERR_INVALID);
    CHECK_EQ(puppet_subscribe(a, bus), RT_ERR_INVALID);
    puppets_done();
}

TEST(bus_destroy_fails_while_subscribers_exist)
{
    puppets_run(destroy_rules);
}

static void only_subscribers(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus(&puppets_plain_bus);
    bus_id other = puppets_bus(&puppets_plain_bus);
    actor_id a = puppet_subscriber(bus);
    actor_id b = puppet_subscriber(other);
    puppets_publish(bus, 1);
    CHECK_EQ(puppet_tell(b, (struct puppet_command){.verb = PUPPET_READ, .bus = bus}).code,
             RT_ERR_INVALID);
    CHECK_EQ(puppet_read(a, bus), 1);
    CHECK_EQ(puppet_read(b, other), PUPPET_NOTHING);
    CHECK_EQ(puppet_unsubscribe(a, bus), RT_OK);
    puppets_publish(bus, 2);
    CHECK_EQ(puppet_tell(a, (struct puppet_command){.verb = PUPPET_READ, .bus = bus}).code,
             RT_ERR_INVALID);
    CHECK_EQ(puppet_unsubscribe(a, bus), RT_ERR_INVALID);
    puppets_done();
}

TEST(bus_subscription_is_the_calling_actors_own)
{
    puppets_run(only_subscribers);
}

static void own_entries(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus(&puppets_plain_bus);
    int value = 0;
    size_t len = 0;
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_STATUS(rt_bus_read(bus, &value, sizeof(value), &len), RT_ERR_WOULDBLOCK);
    puppets_publish(bus, 41);
    CHECK_OK(rt_bus_read(bus, &value, sizeof(value), &len));
    CHECK_EQ(value, 41);
    CHECK_EQ(len, sizeof(value));
    CHECK_STATUS(rt_bus_read(bus, &value, sizeof(value), &len), RT_ERR_WOULDBLOCK);
    puppets_done();
}

TEST(bus_read_never_blocks_and_says_wouldblock_without_data)
{
    puppets_run(own_entries);
}

static void small_buffer(void *arg)
{
    (void)arg;
    rt_bus_config config = puppets_plain_bus;
    config.max_entry_size = 8;
    bus_id bus = puppets_bus(&config);
    char buf[8] = "........";
    size_t len = 0;
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_STATUS(rt_bus_publish(bus, "123456789", 9), RT_ERR_INVALID);
    CHECK_OK(rt_bus_publish(bus, "12345678", 8));
    CHECK_OK(rt_bus_publish(bus, "ab", 2));
    CHECK_OK(rt_bus_read(bus, buf, 3, &len));
    CHECK_EQ(len, 3);
    CHECK(memcmp(buf, "123.....", 8) == 0);
    CHECK_OK(rt_bus_read(bus, buf, sizeof(buf), &len));
    CHECK_EQ(len, 2);
    CHECK(memcmp(buf, "ab3.....", 8) == 0);
    puppets_done();
}

TEST(bus_read_copies_what_fits_and_reports_that_length)
{
    puppets_run(small_buffer);
}

static void waiting(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus(&puppets_plain_bus);
    int value = 0;
    size_t len = 0;
    CHECK_OK(rt_bus_subscribe(bus));
    rt_time start = rt_clock();
    CHECK_STATUS(rt_bus_read_wait(bus, &value, sizeof(value), &len, 0), RT_ERR_WOULDBLOCK);
    CHECK_EQ(rt_clock(), start);
    CHECK_STATUS(rt_bus_read_wait(bus, &value, sizeof(value), &len, 7), RT_ERR_TIMEOUT);
    CHECK_EQ(rt_clock() - start, 7 * RT_NS_PER_MS);
    puppets_publish(bus, 5);
    CHECK_OK(rt_bus_read_wait(bus, &value, sizeof(value), &len, -1));
    CHECK_EQ(value, 5);
    CHECK_EQ(rt_clock() - start, 7 * RT_NS_PER_MS);
    puppets_done();
}

TEST(bus_read_wait_takes_the_three_kinds_of_timeout)
{
    world_needs_virtual_clock();
    puppets_run(waiting);
}

static rt_time published_at;

static void publishes_after_a_while(void *arg)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, 50), RT_ERR_TIMEOUT);
    published_at = rt_clock();
    puppets_publish(*(bus_id *)arg, 9);
    rt_exit();
}

static void blocked(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus(&puppets_plain_bus);
    actor_id a = puppet_subscriber(bus);
    rt_spawn(publishes_after_a_while, &bus);
    struct puppet_command wait = {.verb = PUPPET_WAIT, .bus = bus, .timeout_ms = -1};
    CHECK_OK(rt_ipc_send(a, &wait, sizeof(wait), IPC_ASYNC));
    rt_yield();
    struct rt_actor_stats stats;
    CHECK_OK(rt_actor_stats(a, &stats));
    CHECK_EQ(stats.state, ACTOR_STATE_BLOCKED);
    puppets_nap(60);
    CHECK_EQ(puppet_read(a, bus), PUPPET_NOTHING); /* it has read 9 when it came */
    wait.timeout_ms = 100;
    rt_spawn(publishes_after_a_while, &bus);
    struct puppet_answer answer = puppet_tell(a, wait);
    CHECK_EQ(answer.code, RT_OK);
    CHECK_EQ(answer.value, 9);
    CHECK_EQ(answer.at, published_at);
    puppets_done();
}

TEST(bus_read_wait_blocks_the_actor_until_data_is_available)
{
    world_needs_virtual_clock();
    puppets_run(blocked);
}

static void mail_unblocks(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus(&puppets_plain_bus);
    actor_id a = puppet_subscriber(bus);
    struct puppet_command wait = {.verb = PUPPET_WAIT, .bus = bus, .timeout_ms = -1};
    CHECK_OK(rt_ipc_send(a, &wait, sizeof(wait), IPC_ASYNC));
    puppets_nap(5);
    struct rt_actor_stats stats;
    CHECK_OK(rt_actor_stats(a, &stats));
    CHECK_EQ(stats.state, ACTOR_STATE_BLOCKED);
    /* The command is mail. It ends the wait, then it is received and answered. */
    puppets_publish(bus, 1);
    CHECK_EQ(puppet_read(a, bus), PUPPET_NOTHING); /* the entry came first and was read */
    CHECK_OK(rt_ipc_send(a, &wait, sizeof(wait), IPC_ASYNC));
    puppets_nap(5);
    struct puppet_answer answer =
        puppet_tell(a, (struct puppet_command){.verb = PUPPET_WAIT, .bus = bus, .timeout_ms = 3});
    CHECK_EQ(answer.code, RT_ERR_TIMEOUT); /* a new wait: the old one was left */
    puppets_publish(bus, 2);
    CHECK_EQ(puppet_read(a, bus), 2); /* and it had consumed nothing */
    puppets_done();
}

TEST(bus_read_wait_is_unblocked_by_mail_which_stays_in_the_mailbox)
{
    world_needs_virtual_clock();
    puppets_run(mail_unblocks);
}

static void counting(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(3, 0, 0);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    for (int i = 1; i <= 5; i++) {
        puppets_publish(bus, i);
        CHECK_EQ(rt_bus_entry_count(bus), i < 3 ? i : 3);
    }
    CHECK_EQ(rt_bus_entry_count(BUS_ID_INVALID), 0);
    puppets_done();
}

TEST(bus_entry_count_tells_what_is_kept)
{
    puppets_run(counting);
}

/* The pool that buses and messages share. */

static size_t fill_with_mail(void)
{
    size_t sent = 0;
    while (!RT_FAILED(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC))) {
        sent++;
    }
    return sent;
}

static void drain_mail(size_t count)
{
    rt_message msg;
    while (count-- > 0) {
        CHECK_OK(rt_ipc_recv(&msg, 0));
    }
    CHECK_STATUS(rt_ipc_recv(&msg, 0), RT_ERR_WOULDBLOCK);
}

static void buses_starve_mail(void *arg)
{
    (void)arg;
    bus_id buses[RT_MESSAGE_DATA_POOL_SIZE / RT_MAX_BUS_ENTRIES + 1];
    for (size_t i = 0; i < COUNT_OF(buses); i++) {
        buses[i] = puppets_bus_with(RT_MAX_BUS_ENTRIES, 0, 0);
    }
    for (size_t i = 0; i < RT_MESSAGE_DATA_POOL_SIZE; i++) {
        puppets_publish(buses[i / RT_MAX_BUS_ENTRIES], (int)i);
    }
    bus_id last = buses[COUNT_OF(buses) - 1];
    CHECK_STATUS(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC), RT_ERR_NOMEM);
    CHECK_STATUS(rt_bus_publish(last, NULL, 0), RT_ERR_NOMEM);
    CHECK_EQ(rt_bus_entry_count(last), 0);
    /* A full bus makes its own room. */
    puppets_publish(buses[0], 1);
    CHECK_EQ(rt_bus_entry_count(buses[0]), RT_MAX_BUS_ENTRIES);
    CHECK_STATUS(rt_ipc_send(rt_self(), NULL, 0, IPC_ASYNC), RT_ERR_NOMEM);
    CHECK_OK(rt_bus_destroy(buses[0]));
    CHECK_EQ(fill_with_mail(), RT_MAX_BUS_ENTRIES);
    drain_mail(RT_MAX_BUS_ENTRIES);
    puppets_done();
}

TEST(bus_entries_can_use_up_the_pool_of_messages)
{
    puppets_run(buses_starve_mail);
}

static void mail_starves_buses(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus_with(3, 0, 0);
    CHECK_OK(rt_bus_subscribe(bus));
    puppets_publish(bus, 1);
    puppets_publish(bus, 2);
    size_t sent = fill_with_mail();
    CHECK_EQ(sent, RT_MESSAGE_DATA_POOL_SIZE - 2);
    rt_time before = rt_clock();
    CHECK_STATUS(rt_bus_publish(bus, NULL, 0), RT_ERR_NOMEM);
    CHECK_EQ(rt_clock(), before);
    CHECK_EQ(rt_bus_entry_count(bus), 2); /* nothing was dropped for it */
    CHECK_EQ(rt_ipc_count(), sent);       /* and no message ever is */
    drain_mail(sent);
    puppets_publish(bus, 3);
    CHECK_EQ(rt_bus_entry_count(bus), 3);
    int value;
    size_t len;
    for (int i = 1; i <= 3; i++) {
        CHECK_OK(rt_bus_read(bus, &value, sizeof(value), &len));
        CHECK_EQ(value, i);
    }
    puppets_done();
}

TEST(bus_publish_reports_nomem_at_once_and_drops_nothing_when_the_pool_is_used_up)
{
    world_needs_virtual_clock();
    puppets_run(mail_starves_buses);
}

static void full_table(void *arg)
{
    (void)arg;
    rt_bus_config config = puppets_plain_bus;
    config.max_subscribers = 2;
    bus_id bus = puppets_bus(&config);
    actor_id a = puppet_subscriber(bus);
    (void)puppet_subscriber(bus);
    actor_id c = puppet_make();
    CHECK_EQ(puppet_subscribe(c, bus), RT_ERR_NOMEM);
    puppet_end(a);
    CHECK_EQ(puppet_subscribe(c, bus), RT_OK);
    puppets_done();
}

TEST(bus_subscribe_reports_nomem_when_the_table_is_full)
{
    puppets_run(full_table);
}

static void all_buses(void *arg)
{
    (void)arg;
    bus_id bus = BUS_ID_INVALID;
    for (int i = 0; i < RT_MAX_BUSES; i++) {
        bus = puppets_bus(&puppets_plain_bus);
    }
    bus_id more;
    CHECK_STATUS(rt_bus_create(&puppets_plain_bus, &more), RT_ERR_NOMEM);
    CHECK_OK(rt_bus_destroy(bus));
    CHECK_OK(rt_bus_create(&puppets_plain_bus, &more));
    CHECK(more != bus);
    puppets_done();
}

TEST(bus_create_reports_nomem_when_all_buses_exist)
{
    puppets_run(all_buses);
}

/* Death. */

static void dies_subscribed(void *arg)
{
    (void)arg;
    bus_id bus = puppets_bus(&puppets_plain_bus);
    bus_id other = puppets_bus(&puppets_plain_bus);
    actor_id a = puppet_subscriber(bus);
    CHECK_EQ(puppet_subscribe(a, other), RT_OK);
    CHECK_STATUS(rt_bus_destroy(bus), RT_ERR_INVALID);
    CHECK_OK(rt_actor_kill(a));
    rt_yield();
    CHECK(!rt_actor_alive(a));
    CHECK_OK(rt_bus_destroy(bus));
    CHECK_OK(rt_bus_destroy(other));
    puppets_done();
}

TEST(bus_subscriptions_end_with_their_actor)
{
    puppets_run(dies_subscribed);
}
