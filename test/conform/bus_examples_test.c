/* SPDX-License-Identifier: Apache-2.0 */
/* The code of the Bus and Timer sections of actor-runtime.md, as it stands there, compiled and run.
 *
 * What lies between the two format marks of a function is the specification's text, comments
 * included. Around it is what the text takes for granted: who subscribes, what was published
 * before, and what must be true afterwards. Two lines of it are no C and are written out here: a
 * call with `...` for its arguments, and 72 * 60 * 1000000, which overflows an int. */
#include <orrery/rt.h>

#include "support/test.h"
#include "support/world.h"

/* The declarations: a second declaration that differs from the header's does not compile. */

// clang-format off
// Create bus
rt_status rt_bus_create(const rt_bus_config *cfg, bus_id *out);

// Destroy bus (fails if subscribers exist)
rt_status rt_bus_destroy(bus_id bus);

// Publish data
rt_status rt_bus_publish(bus_id bus, const void *data, size_t len);

// Subscribe/unsubscribe current actor
rt_status rt_bus_subscribe(bus_id bus);
rt_status rt_bus_unsubscribe(bus_id bus);

// Read entry (non-blocking)
// Returns RT_ERR_WOULDBLOCK if no data available
rt_status rt_bus_read(bus_id bus, void *buf, size_t max_len, size_t *actual_len);

// Read with blocking
rt_status rt_bus_read_wait(bus_id bus, void *buf, size_t max_len,
                           size_t *actual_len, int32_t timeout_ms);

// Query bus state
size_t rt_bus_entry_count(bus_id bus);

// One-shot: wake current actor after delay
rt_status rt_timer_after(uint32_t delay_us, timer_id *out);

// Periodic: wake current actor every interval
rt_status rt_timer_every(uint32_t interval_us, timer_id *out);

// Cancel timer
rt_status rt_timer_cancel(timer_id id);

// Check if message is from timer
bool rt_timer_is_tick(const rt_message *msg);
// clang-format on

/* The configuration, field by field and in its order. */
struct spec_bus_config {
    uint8_t max_subscribers;
    uint8_t max_readers;
    uint32_t max_age_ms;
    size_t max_entries;
    size_t max_entry_size;
};

#define SAME_FIELD(field)                                                                          \
    _Static_assert(offsetof(rt_bus_config, field) == offsetof(struct spec_bus_config, field) &&    \
                       sizeof(((rt_bus_config *)0)->field) ==                                      \
                           sizeof(((struct spec_bus_config *)0)->field),                           \
                   "rt_bus_config is the specification's")

SAME_FIELD(max_subscribers);
SAME_FIELD(max_readers);
SAME_FIELD(max_age_ms);
SAME_FIELD(max_entries);
SAME_FIELD(max_entry_size);
_Static_assert(sizeof(rt_bus_config) == sizeof(struct spec_bus_config), "and has no other field");

static void in_world(actor_fn fn)
{
    world_run(fn, NULL);
}

static bus_id make_bus(size_t max_entries, uint8_t max_readers, uint32_t max_age_ms)
{
    rt_bus_config config = {.max_subscribers = 8,
                            .max_readers = max_readers,
                            .max_age_ms = max_age_ms,
                            .max_entries = max_entries,
                            .max_entry_size = sizeof(int)};
    bus_id bus = BUS_ID_INVALID;
    CHECK_OK(rt_bus_create(&config, &bus));
    return bus;
}

static void publish(bus_id bus, int value)
{
    CHECK_OK(rt_bus_publish(bus, &value, sizeof(value)));
}

/* Reads and demands this value; 0: nothing to read. */
static void expect(bus_id bus, int wanted)
{
    int value = 0;
    size_t actual;
    rt_status status = rt_bus_read(bus, &value, sizeof(value), &actual);
    CHECK_EQ(status.code, wanted == 0 ? RT_ERR_WOULDBLOCK : RT_OK);
    CHECK_EQ(value, wanted);
}

static void late_subscriber(void *arg)
{
    (void)arg;
    bus_id bus = make_bus(8, 0, 0);
    int value = 0;
    void *buf = &value;
    size_t len = sizeof(value);
    size_t actual = 0;
    publish(bus, 1);
    publish(bus, 2);
    publish(bus, 3);
    // clang-format off
// Bus has retained entries [E1, E2, E3] with head=3
rt_bus_subscribe(bus);
//   → subscriber.next_read_idx = 3 (next write position)

rt_bus_read(bus, buf, len, &actual);
//   → Returns RT_ERR_WOULDBLOCK (no new data)
//   → E1, E2, E3 are invisible (behind cursor)
    // clang-format on
    CHECK_EQ(value, 0);
    CHECK_STATUS(rt_bus_read(bus, buf, len, &actual), RT_ERR_WOULDBLOCK);
    publish(bus, 4);
    // clang-format off
// Publisher publishes E4 (head advances to 4)
rt_bus_read(bus, buf, len, &actual);
//   → Returns E4 (first entry after subscription)
    // clang-format on
    CHECK_EQ(value, 4);
    CHECK_EQ(actual, sizeof(value));
    rt_exit();
}

TEST(bus_examples_rule_1_a_late_subscriber_reads_only_what_comes_after)
{
    in_world(late_subscriber);
}

static bus_id shared_bus;
static int next_step;

/* Waits until it is this step's turn; the others yield meanwhile. */
static void step(int number)
{
    while (next_step != number) {
        rt_yield();
    }
    next_step++;
}

static void fast_subscriber(void *arg)
{
    (void)arg;
    CHECK_OK(rt_bus_subscribe(shared_bus));
    step(2);
    expect(shared_bus, 1);
    expect(shared_bus, 2);
    expect(shared_bus, 3);
    expect(shared_bus, 0);
    step(3);
    step(5);
    expect(shared_bus, 4);
    rt_exit();
}

static void slow_subscriber(void *arg)
{
    (void)arg;
    bus_id bus = shared_bus;
    CHECK_OK(rt_bus_subscribe(bus));
    step(6);
    expect(bus, 2);
    expect(bus, 3);
    expect(bus, 4);
    expect(bus, 0);
    rt_exit();
}

static void data_loss(void *arg)
{
    (void)arg;
    int E4 = 4;
    bus_id bus = shared_bus = make_bus(3, 0, 0);
    next_step = 1;
    rt_spawn(fast_subscriber, NULL);
    rt_spawn(slow_subscriber, NULL);
    rt_yield();
    step(1);
    publish(bus, 1);
    publish(bus, 2);
    publish(bus, 3);
    step(4);
    // clang-format off
// Bus: max_entries=3, entries=[E1, E2, E3] (full), tail=0, head=0
// Fast subscriber: next_read_idx=0 (read all, awaiting E4)
// Slow subscriber: next_read_idx=0 (still at E1, hasn't read any)

rt_bus_publish(bus, &E4, sizeof(E4));
//   → Buffer full: Evict E1 at tail=0, free from pool
//   → Write E4 at index 0: entries=[E4, E2, E3]
//   → tail=1 (E2 is now oldest), head=1 (next write)

// Slow subscriber calls rt_bus_read():
//   → Search from tail=1: E2 (unread), E3 (unread), E4 (unread)
//   → Returns E2 (first unread)
//   → E1 is LOST (no error, silent skip)
    // clang-format on
    CHECK_EQ(rt_bus_entry_count(bus), 3);
    rt_exit();
}

TEST(bus_examples_rule_2_the_slow_subscriber_loses_the_entry_that_was_evicted)
{
    in_world(data_loss);
}

static void subscriber_a(void *arg)
{
    (void)arg;
    CHECK_OK(rt_bus_subscribe(shared_bus));
    step(2);
    expect(shared_bus, 1);
    CHECK_EQ(rt_bus_entry_count(shared_bus), 1);
    step(3);
    expect(shared_bus, 0);
    CHECK_EQ(rt_bus_entry_count(shared_bus), 1);
    rt_exit();
}

static void subscriber_b(void *arg)
{
    (void)arg;
    CHECK_OK(rt_bus_subscribe(shared_bus));
    step(4);
    expect(shared_bus, 1);
    CHECK_EQ(rt_bus_entry_count(shared_bus), 0);
    rt_exit();
}

static void subscriber_c(void *arg)
{
    (void)arg;
    CHECK_OK(rt_bus_subscribe(shared_bus));
    step(5);
    expect(shared_bus, 0);
    rt_exit();
}

static void unique_counting(void *arg)
{
    (void)arg;
    int E1 = 1;
    bus_id bus = shared_bus = make_bus(8, 2, 0);
    next_step = 1;
    rt_spawn(subscriber_a, NULL);
    rt_spawn(subscriber_b, NULL);
    rt_spawn(subscriber_c, NULL);
    rt_yield();
    step(1);
    // clang-format off
// Bus with max_readers=2
// Subscribers: A, B, C

rt_bus_publish(bus, &E1, sizeof(E1));
//   → E1: readers_mask=0b000, read_count=0
    // clang-format on
    CHECK_EQ(rt_bus_entry_count(bus), 1);
    rt_exit();
}

TEST(bus_examples_rule_3_the_second_different_reader_uses_the_entry_up)
{
    in_world(unique_counting);
}

static void nap(int32_t ms)
{
    rt_message msg;
    CHECK_STATUS(rt_ipc_recv(&msg, ms), RT_ERR_TIMEOUT);
}

/* Subscribes, and when it is told to reads the entry that it must find. */
static void reads_when_told(void *arg)
{
    rt_message msg;
    CHECK_OK(rt_bus_subscribe(shared_bus));
    CHECK_OK(rt_ipc_recv(&msg, -1));
    expect(shared_bus, *(int *)arg);
    rt_exit();
}

static void read_at_age(bus_id bus, int value, int32_t age_ms, int wanted)
{
    shared_bus = bus;
    actor_id reader = rt_spawn(reads_when_told, &wanted);
    rt_yield();
    publish(bus, value);
    if (age_ms > 0) {
        nap(age_ms);
    }
    CHECK_OK(rt_ipc_send(reader, NULL, 0, IPC_ASYNC));
    rt_yield();
    CHECK(!rt_actor_alive(reader));
}

/* One subscriber reads entry 1 when it is so old, another one entry 2 at once; gives how many
 * entries are left then. */
static size_t read_by_two(bus_id bus, int32_t age_ms, int first)
{
    read_at_age(bus, 1, age_ms, first);
    read_at_age(bus, 2, 0, 2);
    return rt_bus_entry_count(bus);
}

static void typical(void *arg)
{
    (void)arg;
    /* Sensor data: several readers, stale after 100 ms. */
    CHECK_EQ(read_by_two(make_bus(4, 0, 100), 99, 1), 2);
    CHECK_EQ(read_by_two(make_bus(4, 0, 100), 100, 0), 1);
    /* Configuration: there until the buffer wraps. */
    bus_id config = make_bus(4, 0, 0);
    CHECK_EQ(read_by_two(config, 1000000, 1), 2);
    for (int i = 3; i < 10; i++) {
        publish(config, i);
    }
    CHECK_EQ(rt_bus_entry_count(config), 4);
    /* Events: consumed after N subscribers read them, whatever their age. */
    CHECK_EQ(read_by_two(make_bus(4, 1, 0), 1000000, 1), 0);
    CHECK_EQ(read_by_two(make_bus(4, 2, 0), 1000000, 1), 2);
    /* Recent history: five seconds of it. */
    CHECK_EQ(read_by_two(make_bus(4, 0, 5000), 4999, 1), 2);
    CHECK_EQ(read_by_two(make_bus(4, 0, 5000), 5000, 0), 1);
    rt_exit();
}

TEST(bus_examples_typical_configurations_behave_as_the_table_says)
{
    world_needs_virtual_clock();
    in_world(typical);
}

static void await_tick(timer_id wanted)
{
    rt_message msg;
    timer_id id;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    CHECK(rt_timer_is_tick(&msg));
    memcpy(&id, msg.data, sizeof(id));
    CHECK_EQ(id, wanted);
}

static void longest_one_shot(void *arg)
{
    (void)arg;
    timer_id timer;
    rt_time start = rt_clock();
    // clang-format off
// Maximum safe one-shot timer: ~71 minutes
uint32_t max_interval = UINT32_MAX;  // 4,294,967,295 us
rt_timer_after(max_interval, &timer);  // OK, fires after ~71.6 minutes
    // clang-format on
    await_tick(timer);
    CHECK_EQ(rt_clock() - start, UINT64_C(4294967295) * RT_NS_PER_US);
    rt_exit();
}

TEST(timer_examples_the_largest_delay_is_seventy_one_minutes)
{
    world_needs_virtual_clock();
    in_world(longest_one_shot);
}

static void too_long(void *arg)
{
    (void)arg;
    timer_id timer;
    rt_time start = rt_clock();
    // clang-format off
// For longer intervals, use periodic timer with counter
uint32_t seventy_two_min_us = 72u * 60 * 1000000;  // 4.32 billion us
// ERROR: Exceeds UINT32_MAX (4.29 billion), wraps to ~25 seconds
    // clang-format on
    CHECK_OK(rt_timer_after(seventy_two_min_us, &timer));
    await_tick(timer);
    CHECK_EQ((rt_clock() - start) / RT_NS_PER_S, 25);
    rt_exit();
}

TEST(timer_examples_a_longer_delay_wraps_in_its_32_bits)
{
    world_needs_virtual_clock();
    in_world(too_long);
}

static void counted_minutes(void *arg)
{
    (void)arg;
    timer_id timer;
    rt_time start = rt_clock();
    // clang-format off
// Correct approach for long intervals:
uint32_t tick_interval = 60 * 1000000;  // 1 minute
rt_timer_every(tick_interval, &timer);
// Count ticks in actor to reach 60 minutes
    // clang-format on
    for (int minute = 0; minute < 120; minute++) {
        await_tick(timer);
    }
    CHECK_EQ(rt_clock() - start, 2 * 3600 * RT_NS_PER_S);
    rt_exit();
}

TEST(timer_examples_counted_ticks_reach_any_interval)
{
    world_needs_virtual_clock();
    in_world(counted_minutes);
}
