/* SPDX-License-Identifier: Apache-2.0 */
/* What opens and shuts the shortest way of a send and a receive on the fixed engine: nobody is
 * hindered, and the slots lie in the order of the ring. */
#define RTI_MODULE "channel_clear_test"
#include <orrery/rt.h>

#include "sched/worker_local.h"
#include "support/test.h"
#include "sync/channels.h"

static rt_channel_sender *tx;
static rt_channel_receiver *rx;

static void open_channel(size_t capacity)
{
    rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = capacity};
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
}

static void send_and_receive(uint64_t number)
{
    uint64_t value = 0;
    CHECK_OK(rt_channel_send(tx, NULL, &number));
    CHECK_OK(rt_channel_recv(rx, NULL, &value));
    CHECK_EQ(value, number);
}

static bool is_clear(void)
{
    struct rti_worker *worker = rti_worker_current();
    CHECK(rti_clear_here() == rti_clear_current());
    CHECK((rti_clear_here() != NULL) == (worker->sched->hindered == 0));
    return rti_clear_here() == rti_channels_of(worker);
}

/* Sends as often as it may, which every call asks anew. */
static void *may_send_twice(void *arg)
{
    rt_budget_scope scope;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    uint64_t value = 1;
    budget.poll_quota = 2;
    CHECK_OK(rt_cx_push_budget(NULL, budget, &scope));
    rt_yield();
    CHECK(!is_clear());
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    CHECK_OK(rt_channel_send(tx, rt_cx_current(), &value));
    CHECK(RT_FAILED(rt_channel_send(tx, NULL, &value)));
    return arg;
}

static void *is_cancelled(void *arg)
{
    uint64_t value = 1;
    CHECK_STATUS(rt_sleep(RT_NS_PER_S), RT_ERR_CANCELLED);
    CHECK(!is_clear());
    CHECK_STATUS(rt_channel_send(tx, NULL, &value), RT_ERR_CANCELLED);
    return arg;
}

static void *is_nested(void *arg)
{
    rt_cx inner;
    rt_budget_scope scope;
    rt_budget budget = RT_BUDGET_UNLIMITED;
    budget.deadline = RT_TIME_NEVER - 1;
    CHECK_OK(rt_cx_init(&inner));
    CHECK(is_clear());
    CHECK_OK(rt_cx_push_budget(&inner, budget, &scope));
    CHECK(!is_clear());
    CHECK_OK(rt_cx_pop_budget(&inner, &scope));
    CHECK(is_clear());
    CHECK_OK(rt_cx_push_budget(&inner, budget, &scope));
    CHECK_OK(rt_cx_deinit(&inner));
    CHECK(is_clear());
    return arg;
}

static void *meets_the_hindered(void *arg)
{
    open_channel(8);
    CHECK(is_clear());
    send_and_receive(1);
    rt_task *limited = rt_go(may_send_twice, NULL);
    rt_yield();
    CHECK(!is_clear());
    send_and_receive(2);
    (void)rt_join(limited, NULL);
    CHECK(is_clear());
    CHECK_STATUS(rt_cancel(rt_go(is_cancelled, NULL), NULL), RT_ERR_CANCELLED);
    CHECK(is_clear());
    CHECK_OK(rt_join(rt_go(is_nested, NULL), NULL));
    CHECK(is_clear());
    uint64_t value = 0;
    CHECK_OK(rt_channel_recv(rx, rt_cx_current(), &value));
    CHECK_OK(rt_channel_recv(rx, NULL, &value));
    CHECK_STATUS(rt_channel_try_recv(rx, &value), RT_ERR_EMPTY);
    return arg;
}

TEST(channel_shortest_way_is_shut_while_anybody_is_hindered)
{
    CHECK(rti_clear_here() == NULL);
    CHECK_OK(rt_run_main(NULL, meets_the_hindered, NULL));
    CHECK(rti_clear_here() == NULL);
}

static struct rti_channel *channel_of(const rt_channel_sender *sender)
{
    struct rti_channels *channels = rti_channels_of(rti_worker_current());
    return rti_channel_end_channel(rti_channels_sender(channels, sender));
}

static void stream(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = i;
        CHECK_OK(rt_channel_send(tx, NULL, &value));
        value = i + count;
        CHECK_OK(rt_channel_send(tx, NULL, &value));
        CHECK_OK(rt_channel_recv(rx, NULL, &value));
        CHECK_EQ(value, i);
        CHECK_OK(rt_channel_recv(rx, NULL, &value));
        CHECK_EQ(value, i + count);
    }
    rti_channel_audit(channel_of(tx));
}

static void *mixes_the_slots(void *arg)
{
    rt_send_permit first;
    rt_send_permit second;
    uint64_t value = 7;
    open_channel(3);
    CHECK_OK(rt_channel_reserve(tx, NULL, &first));
    CHECK_OK(rt_channel_reserve(tx, NULL, &second));
    CHECK_OK(rt_send_permit_send(&first, &value));
    CHECK_OK(rt_send_permit_abort(&second));
    CHECK_OK(rt_channel_recv(rx, NULL, &value));
    CHECK_EQ(channel_of(tx)->gates.send, sizeof(value)); /* in order all the time */
    stream(10);
    CHECK_OK(rt_channel_reserve(tx, NULL, &first));
    CHECK_OK(rt_channel_reserve(tx, NULL, &second));
    value = 8;
    CHECK_OK(rt_send_permit_send(&second, &value));
    value = 9;
    CHECK_OK(rt_send_permit_send(&first, &value));
    CHECK_EQ(channel_of(tx)->gates.send, sizeof(value) | RTI_GATE_MIXED);
    CHECK_OK(rt_channel_recv(rx, NULL, &value));
    CHECK_EQ(value, 8);
    CHECK_OK(rt_channel_recv(rx, NULL, &value));
    CHECK_EQ(value, 9);
    stream(10);
    return arg;
}

TEST(channel_slots_that_permits_mixed_are_found_by_their_order)
{
    CHECK_OK(rt_run_main(NULL, mixes_the_slots, NULL));
}
