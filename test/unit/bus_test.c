/* SPDX-License-Identifier: Apache-2.0 */
/* Buses among actors: waiting, waking, death, misuse. What a bus keeps is tried in
 * bus_entries_test.c, the specification's rules in bus_conform_test.c. */
#define _GNU_SOURCE
#define RTI_MODULE "bus_test"
#include "actor/bus.h"

#include <pthread.h>

#include <orrery/rt.h>

#include "base/rng.h"
#include "support/actors.h"
#include "support/test.h"
#include "support/world.h"

static struct actors_world *world;
static struct rti_buses buses;
static bus_id bus;

static const rt_bus_config plain = {.max_subscribers = 8, .max_entries = 4, .max_entry_size = 8};

/* A world with one bus, `bus`. */
static void start(const rt_bus_config *config)
{
    world = actors_start();
    rti_buses_init(&buses, &world->actors);
    CHECK_OK(rt_bus_create(config, &bus));
}

/* Runs to the end and takes the world apart, with whatever the bus still keeps. */
static void finish(void)
{
    CHECK_OK(actors_run(world));
    CHECK_EQ(rti_buses_audit(&buses), rti_ipc_pools_data_in_use(&world->actors.ipc));
    rti_buses_deinit(&buses);
    actors_finish(world);
}

static void spawn(actor_fn fn, void *arg)
{
    actors_spawn(fn, arg, RT_PRIO_NORMAL, NULL);
}

static void publish(char c)
{
    CHECK_OK(rt_bus_publish(bus, &c, 1));
    (void)rti_buses_audit(&buses);
}

static char read_now(void)
{
    char c = '?';
    size_t len = 99;
    CHECK_OK(rt_bus_read(bus, &c, 1, &len));
    CHECK_EQ(len, 1);
    return c;
}

static void expect_nothing(void)
{
    char c;
    size_t len;
    CHECK_STATUS(rt_bus_read(bus, &c, 1, &len), RT_ERR_WOULDBLOCK);
}

/* Subscribes, then waits `arg` milliseconds for each entry and says it; ends with its time. */
static void reader(void *arg)
{
    CHECK_OK(rt_bus_subscribe(bus));
    rt_status status;
    char c;
    size_t len;
    while ((status = rt_bus_read_wait(bus, &c, 1, &len, *(int32_t *)arg)).code == RT_OK) {
        actors_say(c);
    }
    CHECK_STATUS(status, RT_ERR_TIMEOUT);
    rt_exit();
}

static void publishes_later(void *arg)
{
    (void)arg;
    actors_sleep_ms(5);
    publish('a');
    publish('b');
    actors_sleep_ms(5);
    publish('c');
    rt_exit();
}

TEST(bus_read_wait_gives_each_entry_as_it_comes_and_times_out_after_the_last)
{
    world_needs_virtual_clock();
    static int32_t wait_ms = 20;
    start(&plain);
    spawn(reader, &wait_ms);
    spawn(publishes_later, NULL);
    CHECK_OK(actors_run(world));
    CHECK_STR(actors_said(), "abc");
    CHECK_EQ(actors_now_ms(world), 30);
    finish();
}

/* Waits for ever, says its letter and the entry. */
static void waits_and_says(void *arg)
{
    char c;
    size_t len;
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_OK(rt_bus_read_wait(bus, &c, 1, &len, -1));
    actors_say(*(const char *)arg);
    rt_exit();
}

static void publishes_one(void *arg)
{
    (void)arg;
    publish('a');
    rt_exit();
}

TEST(bus_publish_wakes_all_who_wait_and_the_longest_first)
{
    start(&plain);
    spawn(waits_and_says, "1");
    spawn(waits_and_says, "2");
    spawn(waits_and_says, "3");
    spawn(publishes_one, NULL);
    finish();
    CHECK_STR(actors_said(), "123");
}

static void reads_one(void *arg)
{
    int32_t timeout_ms = *(const int32_t *)arg;
    char c = '-';
    size_t len;
    CHECK_OK(rt_bus_subscribe(bus));
    rt_status status = rt_bus_read_wait(bus, &c, 1, &len, timeout_ms);
    actors_say(RT_FAILED(status) ? '!' : c);
    CHECK(!RT_FAILED(status) || status.code == RT_ERR_TIMEOUT);
    CHECK(!RT_FAILED(status) || actors_now_ms(world) == 50);
    rt_exit();
}

TEST(bus_reader_whose_entry_was_used_up_waits_on_until_its_first_deadline)
{
    world_needs_virtual_clock();
    static int32_t wait_ms = 50;
    rt_bus_config config = plain;
    config.max_readers = 1;
    start(&config);
    for (int i = 0; i < 5; i++) {
        spawn(reads_one, &wait_ms);
    }
    spawn(publishes_later, NULL);
    finish();
    /* Three entries for five readers. All wake for the first; two find nothing in the end. */
    CHECK_STR(actors_said(), "abc!!");
}

static actor_id reader_id;

static void mail_while_waiting(void *arg)
{
    (void)arg;
    char c = 'x';
    size_t len = 77;
    rt_message msg;
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_STATUS(rt_bus_read_wait(bus, &c, 1, &len, -1), RT_ERR_WOULDBLOCK);
    CHECK_EQ(len, 77);
    CHECK_EQ(c, 'x');
    CHECK_EQ(rt_ipc_count(), 1);
    CHECK_EQ(actors_now_ms(world), 5);
    /* What was there before does not end the next wait. */
    CHECK_STATUS(rt_bus_read_wait(bus, &c, 1, &len, 3), RT_ERR_TIMEOUT);
    CHECK_EQ(actors_now_ms(world), 8);
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK_EQ(msg.len, 4);
    CHECK_OK(rt_bus_read_wait(bus, &c, 1, &len, -1));
    CHECK_EQ(c, 'e');
    CHECK_EQ(actors_now_ms(world), 10);
    rt_exit();
}

static void mails_then_publishes(void *arg)
{
    (void)arg;
    actors_sleep_ms(5);
    CHECK_OK(rt_ipc_send(reader_id, "mail", 4, IPC_ASYNC));
    actors_sleep_ms(5);
    publish('e');
    rt_exit();
}

TEST(bus_read_wait_ends_with_wouldblock_when_mail_comes_and_consumes_nothing)
{
    world_needs_virtual_clock();
    start(&plain);
    reader_id = actors_spawn(mail_while_waiting, NULL, RT_PRIO_NORMAL, NULL);
    spawn(mails_then_publishes, NULL);
    finish();
}

static void mail_and_data(void *arg)
{
    (void)arg;
    char c;
    size_t len;
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_OK(rt_bus_read_wait(bus, &c, 1, &len, -1));
    actors_say(c);
    CHECK_EQ(rt_ipc_count(), 1);
    rt_exit();
}

static void mails_and_publishes(void *arg)
{
    (void)arg;
    CHECK_OK(rt_ipc_send(reader_id, NULL, 0, IPC_ASYNC));
    publish('d');
    rt_exit();
}

TEST(bus_read_wait_prefers_an_entry_to_mail_that_came_with_it)
{
    start(&plain);
    reader_id = actors_spawn(mail_and_data, NULL, RT_PRIO_NORMAL, NULL);
    spawn(mails_and_publishes, NULL);
    finish();
    CHECK_STR(actors_said(), "d");
}

static void loses_the_entry_and_gets_mail(void *arg)
{
    (void)arg;
    char c;
    size_t len;
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_STATUS(rt_bus_read_wait(bus, &c, 1, &len, -1), RT_ERR_WOULDBLOCK);
    actors_say('m');
    rt_exit();
}

static void publishes_reads_and_mails(void *arg)
{
    (void)arg;
    CHECK_OK(rt_bus_subscribe(bus));
    publish('z');
    CHECK_EQ(read_now(), 'z'); /* its only reader: the one woken finds nothing */
    CHECK_OK(rt_ipc_send(reader_id, NULL, 0, IPC_ASYNC));
    rt_exit();
}

TEST(bus_read_wait_sees_mail_that_came_between_its_wake_and_its_turn)
{
    rt_bus_config config = plain;
    config.max_readers = 1;
    start(&config);
    reader_id = actors_spawn(loses_the_entry_and_gets_mail, NULL, RT_PRIO_NORMAL, NULL);
    spawn(publishes_reads_and_mails, NULL);
    finish();
    CHECK_STR(actors_said(), "m");
}

static void ticks_while_waiting(void *arg)
{
    (void)arg;
    char c;
    size_t len;
    timer_id timer;
    rt_message msg;
    bus_id own;
    CHECK_OK(rt_bus_create(&plain, &own));
    CHECK_OK(rt_bus_subscribe(own));
    CHECK_OK(rt_timer_after(1000, &timer));
    CHECK_STATUS(rt_bus_read_wait(own, &c, 1, &len, 5), RT_ERR_WOULDBLOCK);
    CHECK_OK(rt_ipc_recv(&msg, 0));
    CHECK(rt_timer_is_tick(&msg));
    rt_exit();
}

TEST(bus_read_wait_is_ended_by_the_tick_of_a_timer)
{
    world_run(ticks_while_waiting, NULL);
}

static void publishes_at_the_deadline(void *arg)
{
    (void)arg;
    actors_sleep_ms(50);
    publish('d');
    rt_exit();
}

TEST(bus_entry_that_comes_with_the_deadline_is_delivered)
{
    static int32_t wait_ms = 50;
    start(&plain);
    /* Its sleep is armed first, so it runs first at that time. */
    spawn(publishes_at_the_deadline, NULL);
    spawn(reads_one, &wait_ms);
    finish();
    CHECK_STR(actors_said(), "d");
}

static void waits_for_ever(void *arg)
{
    (void)arg;
    char c;
    size_t len;
    CHECK_OK(rt_bus_subscribe(bus));
    (void)rt_bus_read_wait(bus, &c, 1, &len, -1);
    actors_say('!');
}

static void kills_the_reader(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_bus_destroy(bus), RT_ERR_INVALID);
    CHECK_OK(rt_actor_kill(reader_id));
    publish('k'); /* doomed, it is not woken a second time */
    rt_yield();
    (void)rti_buses_audit(&buses);
    publish('l');
    CHECK_OK(rt_bus_destroy(bus));
    rt_exit();
}

TEST(bus_reader_killed_while_it_waits_leaves_no_trace)
{
    start(&plain);
    reader_id = actors_spawn(waits_for_ever, NULL, RT_PRIO_NORMAL, NULL);
    spawn(kills_the_reader, NULL);
    finish();
    CHECK_STR(actors_said(), "");
}

static void publishes_then_kills_the_woken(void *arg)
{
    (void)arg;
    publish('k');
    CHECK_OK(rt_actor_kill(reader_id));
    rt_yield();
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    rt_exit();
}

TEST(bus_reader_killed_after_its_wake_consumes_nothing)
{
    rt_bus_config config = plain;
    config.max_readers = 1;
    start(&config);
    reader_id = actors_spawn(waits_for_ever, NULL, RT_PRIO_NORMAL, NULL);
    spawn(publishes_then_kills_the_woken, NULL);
    finish();
    CHECK_STR(actors_said(), "");
}

static void subscribes_to_all(void *arg)
{
    bus_id *ids = arg;
    for (int i = 0; i < RT_MAX_BUSES; i++) {
        CHECK_OK(rt_bus_subscribe(ids[i]));
    }
    CHECK_OK(rt_bus_publish(ids[7], "x", 1));
    rt_exit();
}

TEST(bus_subscriptions_of_the_dead_end_on_every_bus)
{
    static bus_id ids[RT_MAX_BUSES];
    start(&plain);
    ids[0] = bus;
    for (int i = 1; i < RT_MAX_BUSES; i++) {
        CHECK_OK(rt_bus_create(&plain, &ids[i]));
        CHECK(ids[i] != BUS_ID_INVALID && ids[i] != ids[i - 1]);
    }
    bus_id more = 123;
    CHECK_STATUS(rt_bus_create(&plain, &more), RT_ERR_NOMEM);
    CHECK_EQ(more, 123);
    spawn(subscribes_to_all, ids);
    CHECK_OK(actors_run(world));
    CHECK_EQ(rt_bus_entry_count(ids[7]), 1);
    for (int i = 0; i < RT_MAX_BUSES; i++) {
        CHECK_OK(rt_bus_destroy(ids[i]));
        CHECK_STATUS(rt_bus_destroy(ids[i]), RT_ERR_INVALID);
    }
    CHECK_OK(rt_bus_create(&plain, &more));
    for (int i = 0; i < RT_MAX_BUSES; i++) {
        CHECK(more != ids[i]);
    }
    finish();
}

static void misuses(void *arg)
{
    (void)arg;
    char c = 'x';
    size_t len = 5;
    uint64_t dropped = 6;
    bus_id unknown[] = {BUS_ID_INVALID, bus + 1, bus + 64, UINT32_MAX, 31};
    for (size_t i = 0; i < RTI_COUNT_OF(unknown); i++) {
        CHECK_STATUS(rt_bus_subscribe(unknown[i]), RT_ERR_INVALID);
        CHECK_STATUS(rt_bus_unsubscribe(unknown[i]), RT_ERR_INVALID);
        CHECK_STATUS(rt_bus_publish(unknown[i], &c, 1), RT_ERR_INVALID);
        CHECK_STATUS(rt_bus_read(unknown[i], &c, 1, &len), RT_ERR_INVALID);
        CHECK_STATUS(rt_bus_read_wait(unknown[i], &c, 1, &len, -1), RT_ERR_INVALID);
        CHECK_STATUS(rt_bus_destroy(unknown[i]), RT_ERR_INVALID);
        CHECK_STATUS(rt_bus_dropped(unknown[i], &dropped), RT_ERR_INVALID);
        CHECK_EQ(rt_bus_entry_count(unknown[i]), 0);
    }
    CHECK_STATUS(rt_bus_read(bus, &c, 1, &len), RT_ERR_INVALID);
    CHECK_STATUS(rt_bus_read_wait(bus, &c, 1, &len, 0), RT_ERR_INVALID);
    CHECK_STATUS(rt_bus_unsubscribe(bus), RT_ERR_INVALID);
    CHECK_STATUS(rt_bus_dropped(bus, &dropped), RT_ERR_INVALID);
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_STATUS(rt_bus_subscribe(bus), RT_ERR_INVALID);
    publish('p');
    CHECK_STATUS(rt_bus_read(bus, NULL, 1, &len), RT_ERR_INVALID);
    CHECK_STATUS(rt_bus_read(bus, &c, 1, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_bus_read_wait(bus, NULL, 1, &len, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_bus_read_wait(bus, &c, 1, NULL, -1), RT_ERR_INVALID);
    CHECK_STATUS(rt_bus_dropped(bus, NULL), RT_ERR_INVALID);
    CHECK_EQ(len, 5);
    CHECK_EQ(dropped, 6);
    CHECK_EQ(read_now(), 'p'); /* none of these consumed it */
    CHECK_STATUS(rt_bus_publish(bus, NULL, 1), RT_ERR_INVALID);
    CHECK_STATUS(rt_bus_publish(bus, "123456789", 9), RT_ERR_INVALID);
    CHECK_STATUS(rt_bus_publish(bus, &c, SIZE_MAX), RT_ERR_INVALID);
    CHECK_STATUS(rt_bus_create(NULL, &unknown[0]), RT_ERR_INVALID);
    CHECK_STATUS(rt_bus_create(&plain, NULL), RT_ERR_INVALID);
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    rt_exit();
}

TEST(bus_misuse_is_refused_and_changes_nothing)
{
    start(&plain);
    spawn(misuses, NULL);
    finish();
}

static void empty_payloads(void *arg)
{
    (void)arg;
    char c = 'x';
    size_t len = 9;
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_OK(rt_bus_publish(bus, NULL, 0));
    CHECK_OK(rt_bus_read(bus, &c, 1, &len));
    CHECK_EQ(len, 0);
    CHECK_EQ(c, 'x');
    publish('y');
    len = 9;
    CHECK_OK(rt_bus_read(bus, NULL, 0, &len));
    CHECK_EQ(len, 0);
    expect_nothing();
    rt_exit();
}

TEST(bus_payload_of_length_zero_is_an_entry_and_a_buffer_of_length_zero_takes_one)
{
    start(&plain);
    spawn(empty_payloads, NULL);
    finish();
}

static void *from_elsewhere(void *arg)
{
    (void)arg;
    char c = 0;
    size_t len;
    uint64_t dropped;
    bus_id id;
    CHECK_STATUS(rt_bus_create(&plain, &id), RT_ERR_THREAD);
    CHECK_STATUS(rt_bus_destroy(bus), RT_ERR_THREAD);
    CHECK_STATUS(rt_bus_publish(bus, &c, 1), RT_ERR_THREAD);
    CHECK_STATUS(rt_bus_subscribe(bus), RT_ERR_THREAD);
    CHECK_STATUS(rt_bus_unsubscribe(bus), RT_ERR_THREAD);
    CHECK_STATUS(rt_bus_read(bus, &c, 1, &len), RT_ERR_THREAD);
    CHECK_STATUS(rt_bus_read_wait(bus, &c, 1, &len, -1), RT_ERR_THREAD);
    CHECK_STATUS(rt_bus_dropped(bus, &dropped), RT_ERR_THREAD);
    CHECK_EQ(rt_bus_entry_count(bus), 0);
    return NULL;
}

TEST(bus_calls_from_a_thread_without_a_runtime_are_refused)
{
    pthread_t thread;
    start(&plain);
    publish('a');
    CHECK_EQ(pthread_create(&thread, NULL, from_elsewhere, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    finish();
}

TEST(bus_can_be_made_filled_and_destroyed_from_main_but_not_read)
{
    char c;
    size_t len;
    start(&plain);
    publish('a');
    publish('b');
    CHECK_EQ(rt_bus_entry_count(bus), 2);
    CHECK_STATUS(rt_bus_subscribe(bus), RT_ERR_THREAD);
    CHECK_STATUS(rt_bus_unsubscribe(bus), RT_ERR_THREAD);
    CHECK_STATUS(rt_bus_read(bus, &c, 1, &len), RT_ERR_THREAD);
    CHECK_STATUS(rt_bus_read_wait(bus, &c, 1, &len, 0), RT_ERR_THREAD);
    CHECK_OK(rt_bus_destroy(bus));
    CHECK_EQ(rti_ipc_pools_data_in_use(&world->actors.ipc), 0);
    finish();
}

TEST(bus_wakes_readers_for_what_main_publishes)
{
    static int32_t wait_ms = -1;
    start(&plain);
    spawn(reads_one, &wait_ms);
    CHECK_STATUS(actors_run(world), RT_ERR_DEADLOCK);
    publish('m');
    finish();
    CHECK_STR(actors_said(), "m");
}

static void leaves_buses(void *arg)
{
    bus_id *out = arg;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_bus_create(&plain, &out[i]));
        CHECK_OK(rt_bus_subscribe(out[i]));
        CHECK_OK(rt_bus_publish(out[i], "x", 1));
    }
    char c;
    size_t len;
    CHECK_OK(rt_bus_read(out[0], &c, 1, &len));
    rt_shutdown();
    (void)rt_bus_read_wait(out[0], &c, 1, &len, -1);
}

TEST(bus_left_at_cleanup_ends_with_the_runtime)
{
    bus_id ids[3];
    CHECK_OK(rt_init());
    CHECK(rt_spawn(leaves_buses, ids) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(rt_bus_entry_count(ids[1]), 1);
    rt_cleanup();
    CHECK_EQ(rt_bus_entry_count(ids[1]), 0);
    CHECK_OK(rt_init());
    bus_id id;
    for (int i = 0; i < RT_MAX_BUSES; i++) {
        CHECK_OK(rt_bus_create(&plain, &id));
    }
    rt_cleanup();
}

static void counts_drops(void *arg)
{
    (void)arg;
    uint64_t dropped = 99;
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_OK(rt_bus_dropped(bus, &dropped));
    CHECK_EQ(dropped, 0);
    for (char c = 'a'; c < 'k'; c++) { /* ten into four places */
        publish(c);
    }
    CHECK_OK(rt_bus_dropped(bus, &dropped));
    CHECK_EQ(dropped, 6);
    CHECK_EQ(read_now(), 'g');
    actors_sleep_ms(10); /* the other three grow too old */
    expect_nothing();
    CHECK_OK(rt_bus_dropped(bus, &dropped));
    CHECK_EQ(dropped, 9);
    CHECK_OK(rt_bus_unsubscribe(bus));
    CHECK_OK(rt_bus_subscribe(bus));
    CHECK_OK(rt_bus_dropped(bus, &dropped));
    CHECK_EQ(dropped, 0);
    rt_exit();
}

TEST(bus_counts_what_a_slow_subscriber_missed)
{
    world_needs_virtual_clock();
    rt_bus_config config = plain;
    config.max_age_ms = 10;
    start(&config);
    spawn(counts_drops, NULL);
    finish();
}

static void publishes_and_reads(void *arg)
{
    struct rt_actor_stats stats;
    (void)arg;
    CHECK_OK(rt_bus_subscribe(bus));
    publish('a');
    publish('b');
    publish('c');
    CHECK_STATUS(rt_bus_publish(bus, "too long for it", 16), RT_ERR_INVALID);
    CHECK_EQ(read_now(), 'a');
    CHECK_EQ(read_now(), 'b');
    CHECK_OK(rt_actor_stats(rt_self(), &stats));
    CHECK_EQ(stats.bus_published, 3);
    CHECK_EQ(stats.bus_read, 2);
    CHECK_EQ(stats.messages_sent + stats.messages_received, 0);
    rt_exit();
}

TEST(bus_traffic_is_in_the_statistics_of_the_actor)
{
    start(&plain);
    spawn(publishes_and_reads, NULL);
    finish();
}

/* Random actors on random buses: the audits, the ledger at the end, and that nobody sees an entry
 * twice, out of order or from before its subscription. */
#define STORM_BUSES  3
#define STORM_ACTORS 12

static struct rti_rng storm_rng;
static bus_id storm_buses[STORM_BUSES];
static uint32_t storm_published[STORM_BUSES];

static void storm_read(size_t which, uint32_t *next)
{
    uint32_t value = 0;
    size_t len = 0;
    static const int32_t timeouts_ms[] = {0, 1, 2, 100};
    int32_t timeout_ms = timeouts_ms[rti_rng_below(&storm_rng, RTI_COUNT_OF(timeouts_ms))];
    rt_status status =
        rt_bus_read_wait(storm_buses[which], &value, sizeof(value), &len, timeout_ms);
    if (!RT_FAILED(status)) {
        CHECK_EQ(len, sizeof(value));
        CHECK(value >= *next && value < storm_published[which]);
        *next = value + 1;
    }
}

static void storm_step(bool *is_subscribed, uint32_t *next)
{
    size_t which = (size_t)rti_rng_below(&storm_rng, STORM_BUSES);
    uint64_t draw = rti_rng_below(&storm_rng, 100);
    if (draw < 35) {
        uint32_t value = storm_published[which]++;
        CHECK_OK(rt_bus_publish(storm_buses[which], &value, sizeof(value)));
    } else if (draw < 75 && is_subscribed[which]) {
        storm_read(which, &next[which]);
    } else if (draw < 85) {
        CHECK_OK(is_subscribed[which] ? rt_bus_unsubscribe(storm_buses[which])
                                      : rt_bus_subscribe(storm_buses[which]));
        is_subscribed[which] = !is_subscribed[which];
        next[which] = storm_published[which];
    } else if (draw < 90) {
        actors_sleep_ms(rti_rng_below(&storm_rng, 3));
    } else {
        rt_yield();
    }
    (void)rti_buses_audit(&buses);
}

static void storm_actor(void *arg)
{
    bool is_subscribed[STORM_BUSES] = {false};
    uint32_t next[STORM_BUSES] = {0};
    (void)arg;
    for (int i = 0; i < 60; i++) {
        storm_step(is_subscribed, next);
    }
    if (rti_rng_below(&storm_rng, 2) == 0) {
        rt_exit();
    }
}

static void storm_killer(void *arg)
{
    const actor_id *ids = arg;
    for (int i = 0; i < STORM_ACTORS / 3; i++) {
        actors_sleep_ms(rti_rng_below(&storm_rng, 5));
        (void)rt_actor_kill(ids[rti_rng_below(&storm_rng, STORM_ACTORS)]);
    }
    rt_exit();
}

TEST_SEEDED(bus_survives_a_storm_of_readers_publishers_and_kills)
{
    static actor_id ids[STORM_ACTORS];
    rti_rng_init(&storm_rng, test_seed());
    start(&plain);
    actors_shuffle(world, test_seed());
    memset(storm_published, 0, sizeof(storm_published));
    for (size_t i = 0; i < STORM_BUSES; i++) {
        rt_bus_config config = {
            .max_subscribers = STORM_ACTORS,
            .max_readers = (uint8_t)rti_rng_below(&storm_rng, 4),
            .max_age_ms = (uint32_t)rti_rng_below(&storm_rng, 3) * 4,
            .max_entries = 1 + rti_rng_below(&storm_rng, 9),
            .max_entry_size = sizeof(uint32_t),
        };
        CHECK_OK(rt_bus_create(&config, &storm_buses[i]));
    }
    for (size_t i = 0; i < STORM_ACTORS; i++) {
        ids[i] = actors_spawn(storm_actor, NULL, (rt_priority)rti_rng_below(&storm_rng, 4), NULL);
    }
    spawn(storm_killer, ids);
    finish();
}
