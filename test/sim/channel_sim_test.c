/* SPDX-License-Identifier: Apache-2.0 */
/* Senders, receivers and poll contexts on one channel of a random capacity, while chaos cancels,
 * kills, closes and lets time pass; the order of all is drawn from the seed.
 *
 * Conservation: each value has a number and a fate. A send that succeeded is received, destroyed or
 * found in the queue at the end, exactly once; one that failed is never seen; one whose sender was
 * killed in the middle is seen at most once. No permit, timer, waiter or channel is left. Everybody
 * comes to an end. Without kills each receiver sees each sender's values in their order.
 *
 * A process plays WORLDS worlds, each from a seed of its own, one after the other; two cases of
 * 1,000 processes, which run side by side, make 100,000 worlds.
 *
 * Seeds: 1000 */
#define RTI_MODULE "channel_sim_test"
#include <orrery/rt/channel.h>

#include "support/kernel.h"

#if defined(__arm__)
#define WORLDS 2 /* an emulated board is slow */
#else
#define WORLDS 50 /* of a process */
#endif
#define HALF          UINT64_C(1000000000000)
#define SENDERS_MAX   5
#define RECEIVERS_MAX 4
#define POLLERS       3
#define VALUES_MAX    4096
#define PEOPLE_MAX    (SENDERS_MAX + RECEIVERS_MAX)

enum fate { NOT_SENT, MAYBE, SENT, REFUSED };

/* A value says who sent it and the how-manieth of that sender it is. It is as long as a word. */
struct value {
    uint32_t id;
    uint16_t sender;
    uint16_t serial;
};

static struct {
    struct rti_rng rng;
    enum fate fates[VALUES_MAX];
    uint8_t seen[VALUES_MAX];
    uint32_t value_count;
    bool has_kills;
    size_t sender_count;
    size_t receiver_count;
    rt_channel_sender *sender_tx[SENDERS_MAX];
    rt_channel_receiver *receiver_rx[RECEIVERS_MAX];
    struct rti_fiber *fibers[PEOPLE_MAX];
    rt_cx contexts[PEOPLE_MAX];
    bool has_context[PEOPLE_MAX];
    uint16_t next_serial[SENDERS_MAX + POLLERS];
    struct poller pollers[POLLERS];
    struct value poll_values[POLLERS]; /* what a poller is about to send */
    bool is_sending[POLLERS];
} world;

static uint64_t below(uint64_t n)
{
    return rti_rng_below(&world.rng, n);
}

static struct value new_value(size_t sender)
{
    CHECK(world.value_count < VALUES_MAX);
    struct value value = {.id = world.value_count++,
                          .sender = (uint16_t)sender,
                          .serial = world.next_serial[sender]++};
    world.fates[value.id] = MAYBE;
    return value;
}

static void settle_fate(const struct value *value, rt_status_code code)
{
    world.fates[value->id] = code == RT_OK ? SENT : REFUSED;
}

static void see(const struct value *value)
{
    CHECK(value->id < world.value_count);
    world.seen[value->id]++;
    CHECK_EQ(world.seen[value->id], 1);
}

static void see_destroyed(void *value, void *arg)
{
    (void)arg;
    see(value);
}

static void maybe_rest(void)
{
    if (below(3) == 0) {
        kernel_yield();
    } else if (below(8) == 0) {
        rti_fiber_sleep_until(rti_worker_current(),
                              kernel.fibers.port.now_ns + below(3 * RT_NS_PER_MS));
    }
}

static rt_status send_with_a_permit(rt_channel_sender *tx, const struct value *value)
{
    rt_send_permit permit;
    rt_status status = below(2) == 0 ? rt_channel_reserve(tx, NULL, &permit)
                                     : rt_channel_try_reserve(tx, NULL, &permit);
    if (RT_FAILED(status)) {
        return status;
    }
    maybe_rest();
    switch (below(4)) {
    case 0:
        CHECK_OK(rt_send_permit_abort(&permit));
        return (rt_status){RT_ERR_STATE, "aborted"};
    case 1:
        /* Forgotten: aborted when the fiber ends. */
        return (rt_status){RT_ERR_STATE, "forgotten"};
    default:
        *(struct value *)rt_send_permit_slot(&permit) = *value;
        return rt_send_permit_send(&permit, NULL);
    }
}

static rt_status send_somehow(rt_channel_sender *tx, const struct value *value)
{
    switch (below(5)) {
    case 0:
        return rt_channel_try_send(tx, value);
    case 1:
        return rt_channel_send_timeout(tx, NULL, value, below(2 * RT_NS_PER_MS));
    case 2:
        return send_with_a_permit(tx, value);
    default:
        return rt_channel_send(tx, NULL, value);
    }
}

/* Does the status say that there is no point in going on? */
static bool is_final(rt_status_code code)
{
    return code == RT_ERR_DISCONNECTED || code == RT_ERR_CANCELLED || code == RT_ERR_INVALID ||
           code == RT_ERR_CLOSED;
}

/* A handle may be closed by its owner or by chaos, whoever comes first. */
static void close_sender(rt_channel_sender *tx)
{
    if (rti_channels_sender(&kernel.channels, tx) != NULL) {
        CHECK_OK(rt_channel_close_sender(tx));
    }
}

static void close_receiver(rt_channel_receiver *rx)
{
    if (rti_channels_receiver(&kernel.channels, rx) != NULL) {
        CHECK_OK(rt_channel_close_receiver(rx));
    }
}

static void enter_context(size_t person)
{
    if (below(2) == 0) {
        CHECK_OK(rt_cx_init(&world.contexts[person]));
        world.has_context[person] = true;
    }
}

static void leave_context(size_t person)
{
    if (world.has_context[person]) {
        CHECK_OK(rt_cx_deinit(&world.contexts[person]));
        world.has_context[person] = false;
    }
}

static void sender_main(void *arg)
{
    size_t self = (size_t)(uintptr_t)arg;
    enter_context(self);
    uint64_t count = 1 + below(20);
    for (uint64_t i = 0; i < count; i++) {
        struct value value = new_value(self);
        rt_status status = send_somehow(world.sender_tx[self], &value);
        settle_fate(&value, status.code);
        if (is_final(status.code)) {
            break;
        }
        maybe_rest();
    }
    leave_context(self);
    close_sender(world.sender_tx[self]);
}

static rt_status recv_somehow(rt_channel_receiver *rx, struct value *value)
{
    switch (below(4)) {
    case 0:
        return rt_channel_try_recv(rx, value);
    case 1:
        return rt_channel_recv_timeout(rx, NULL, value, below(2 * RT_NS_PER_MS));
    default:
        return rt_channel_recv(rx, NULL, value);
    }
}

static void receiver_main(void *arg)
{
    size_t self = (size_t)(uintptr_t)arg;
    uint32_t next[SENDERS_MAX + POLLERS] = {0};
    enter_context(SENDERS_MAX + self);
    for (;;) {
        struct value value = {0};
        rt_status status = recv_somehow(world.receiver_rx[self], &value);
        if (!RT_FAILED(status)) {
            see(&value);
            if (!world.has_kills) {
                CHECK(value.serial >= next[value.sender]);
            }
            next[value.sender] = value.serial + 1U;
        } else if (is_final(status.code)) {
            break;
        }
        maybe_rest();
    }
    leave_context(SENDERS_MAX + self);
    close_receiver(world.receiver_rx[self]);
}

static void poll_send(size_t i)
{
    struct poller *poller = &world.pollers[i];
    if (!world.is_sending[i]) {
        world.poll_values[i] = new_value(SENDERS_MAX + i);
        world.is_sending[i] = true;
    }
    rt_status status = rt_channel_send(kernel.tx, &poller->cx, &world.poll_values[i]);
    if (status.code != RT_ERR_WOULDBLOCK) {
        settle_fate(&world.poll_values[i], status.code);
        world.is_sending[i] = false;
    }
}

static void poll_give_up(size_t i)
{
    if (world.is_sending[i]) {
        settle_fate(&world.poll_values[i], RT_ERR_CANCELLED);
        world.is_sending[i] = false;
    }
}

static void poll_recv(size_t i)
{
    struct value value;
    poll_give_up(i);
    rt_status status = rt_channel_recv(kernel.rx, &world.pollers[i].cx, &value);
    if (!RT_FAILED(status)) {
        see(&value);
    }
}

static void poll_something(void)
{
    size_t i = (size_t)below(POLLERS);
    struct poller *poller = &world.pollers[i];
    switch (below(8)) {
    case 0:
        poll_give_up(i);
        CHECK_OK(rt_cx_abandon(&poller->cx));
        break;
    case 1:
        poll_give_up(i);
        poller_deinit(poller);
        poller_init(poller);
        break;
    case 2:
        CHECK_OK(rt_cx_cancel(&poller->cx));
        break;
    case 3:
    case 4:
        poll_send(i);
        break;
    default:
        poll_recv(i);
        break;
    }
}

static void disturb_somebody(void)
{
    size_t person = (size_t)below(PEOPLE_MAX);
    struct rti_fiber *fiber = world.fibers[person];
    if (fiber == NULL) {
        return;
    }
    if (world.has_kills && below(2) == 0) {
        /* Its context goes with it. */
        if (rti_fiber_kill(&kernel.fibers.sched, fiber)) {
            world.has_context[person] = false;
        }
    } else if (world.has_context[person]) {
        CHECK_OK(rt_cx_cancel(&world.contexts[person]));
    }
}

static void close_something(void)
{
    if (below(2) == 0) {
        close_sender(world.sender_tx[below(world.sender_count)]);
    } else {
        close_receiver(world.receiver_rx[below(world.receiver_count)]);
    }
}

/* Ends with every handle closed, so that everybody else comes to an end. */
static void chaos_main(void *arg)
{
    (void)arg;
    uint64_t count = 10 + below(80);
    for (uint64_t i = 0; i < count; i++) {
        switch (below(10)) {
        case 0:
            disturb_somebody();
            break;
        case 1:
            if (below(6) == 0) {
                close_something();
            }
            break;
        default:
            poll_something();
            break;
        }
        maybe_rest();
    }
    for (size_t i = 0; i < POLLERS; i++) {
        poll_give_up(i);
        poller_deinit(&world.pollers[i]);
    }
    CHECK_OK(rt_channel_close_sender(kernel.tx));
    CHECK_OK(rt_channel_close_receiver(kernel.rx));
}

/* In some runs nobody watches and nothing is shuffled: then values take the shortest ways. */
static void choose_observation(uint64_t seed)
{
    if (below(3) == 0) {
        fibers_unobserved(&kernel.fibers);
    } else {
        fibers_shuffle(&kernel.fibers, seed ^ 0x5eed);
    }
}

static void populate(void)
{
    rt_channel_config config = {
        .elem_size = sizeof(struct value), .capacity = (size_t)below(5), .destroy = see_destroyed};
    CHECK_OK(below(4) == 0 || config.capacity == 0
                 ? rt_channel_create_rendezvous(&config, &kernel.tx, &kernel.rx)
                 : rt_channel_create(&config, &kernel.tx, &kernel.rx));
    world.has_kills = below(2) == 0;
    world.sender_count = 1 + (size_t)below(SENDERS_MAX);
    world.receiver_count = 1 + (size_t)below(RECEIVERS_MAX);
    for (size_t i = 0; i < POLLERS; i++) {
        poller_init(&world.pollers[i]);
    }
    for (size_t i = 0; i < world.sender_count; i++) {
        CHECK_OK(rt_channel_clone_sender(kernel.tx, &world.sender_tx[i]));
        world.fibers[i] = kernel_go(sender_main, (void *)(uintptr_t)i);
    }
    for (size_t i = 0; i < world.receiver_count; i++) {
        CHECK_OK(rt_channel_clone_receiver(kernel.rx, &world.receiver_rx[i]));
        world.fibers[SENDERS_MAX + i] = kernel_go(receiver_main, (void *)(uintptr_t)i);
    }
    kernel_go(chaos_main, NULL);
}

/* Handles of those who were killed are still open. */
static void close_what_is_left(void)
{
    for (size_t i = 0; i < world.sender_count; i++) {
        close_sender(world.sender_tx[i]);
    }
    for (size_t i = 0; i < world.receiver_count; i++) {
        close_receiver(world.receiver_rx[i]);
    }
}

static void check_conservation(void)
{
    for (uint32_t i = 0; i < world.value_count; i++) {
        switch (world.fates[i]) {
        case SENT:
            CHECK_EQ(world.seen[i], 1);
            break;
        case MAYBE:
            CHECK(world.seen[i] <= 1);
            break;
        default:
            CHECK_EQ(world.seen[i], 0);
            break;
        }
    }
}

static void play(uint64_t seed)
{
    memset(&world, 0, sizeof(world));
    rti_rng_init(&world.rng, seed);
    kernel_start();
    choose_observation(seed);
    populate();
    rt_status status = fibers_run(&kernel.fibers);
    if (status.code == RT_ERR_DEADLOCK) {
        /* Somebody waits for one who was killed, or for a place that its own forgotten permit has.
         * A close ends every such wait. */
        close_what_is_left();
        status = fibers_run(&kernel.fibers);
    }
    CHECK_OK(status);
    close_what_is_left();
    check_conservation();
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    kernel_stop();
}

TEST_SEEDED(channel_sim_conserves_values_and_permits)
{
    for (uint64_t i = 0; i < WORLDS; i++) {
        play(test_seed() * WORLDS + i);
    }
}

TEST_SEEDED(channel_sim_conserves_values_and_permits_in_as_many_worlds_more)
{
    for (uint64_t i = 0; i < WORLDS; i++) {
        play(HALF + test_seed() * WORLDS + i);
    }
}

/* The same run, twice in one process. */
TEST_SEEDED(channel_sim_repeats_its_digest)
{
    uint64_t digests[2];
    for (int i = 0; i < 2; i++) {
        memset(&world, 0, sizeof(world));
        rti_rng_init(&world.rng, test_seed());
        kernel_start();
        fibers_shuffle(&kernel.fibers, test_seed());
        populate();
        (void)fibers_run(&kernel.fibers).code;
        digests[i] = rti_journal_digest(&kernel.fibers.journal);
        close_what_is_left();
        (void)fibers_run(&kernel.fibers).code;
        kernel_stop();
    }
    CHECK(digests[0] == digests[1]);
}
