/* SPDX-License-Identifier: Apache-2.0 */
/* The short way on one worker of the crew, where it is known who runs when. What several do at once
 * is in channels_crew_test.c, passing_model.c and pair_sim_test.c. */
#define _GNU_SOURCE
#define RTI_MODULE "channel_short_test"
#include "sync/channel_short.h"

#include <string.h>

#include "base/text.h"
#include "sched/preempt.h"
#include "support/crew.h"
#include "support/test.h"

#include <orrery/rt.h>

static struct rti_channels channels;
static rt_channel_sender *tx;
static rt_channel_receiver *rx;
static struct rti_fiber *receiver;
static struct rti_fiber *second;
static rt_status_code ended; /* what the receiver's call came to */
static uint64_t got[2];
static int received;
static rt_cx context;
static unsigned destroyed;

static void count_destroyed(void *value, void *arg)
{
    (void)value;
    (void)arg;
    destroyed++;
}

static struct rti_channel *channel(void)
{
    return rti_channel_end_channel(rti_channels_sender(&channels, tx));
}

static void open_world(size_t capacity, void (*destroy)(void *, void *))
{
    crew_world_open(1);
    CHECK_OK(rti_channels_init(&channels, &crew_world.sched));
    rt_channel_config config = {.elem_size = 8, .capacity = capacity, .destroy = destroy};
    CHECK_OK(capacity == 0 ? rt_channel_create_rendezvous(&config, &tx, &rx)
                           : rt_channel_create(&config, &tx, &rx));
}

static void close_world(void)
{
    CHECK_OK(rti_sched_run(&crew_world.sched));
    if (tx != NULL) {
        rti_channel_audit(channel());
        CHECK_OK(rt_channel_close_sender(tx));
        CHECK_OK(rt_channel_close_receiver(rx));
    }
    CHECK_EQ(rti_channels_audit(&channels), 0);
    rti_channels_deinit(&channels);
    crew_world_close();
}

static void receive(void *arg)
{
    uint64_t value = 0;
    ended = RT_ERR_WOULDBLOCK;
    ended = rt_channel_recv(rx, NULL, &value).code;
    if (ended == RT_OK) {
        got[received++] = value + (uint64_t)(uintptr_t)arg;
    }
}

/* Lets the others run until they wait. */
static void settle(void)
{
    for (int i = 0; i < 4; i++) {
        rt_yield();
    }
}

static void serve_a_lone_one(void *arg)
{
    uint64_t value = 7;
    (void)arg;
    settle();
    CHECK(channel()->lone == &rti_channel_berth_of(receiver, NULL)->waiter);
    CHECK(channel()->gates.send == RTI_GATE_MEET && channel()->waits == 1);
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    CHECK(channel()->lone == NULL && channel()->waits == 0 && channel()->handed == 1);
    CHECK_EQ(received, 0);
    settle();
    CHECK(received == 1 && got[0] == 7 && ended == RT_OK);
}

TEST(channel_short_way_serves_one_who_waits_alone_at_a_rendezvous)
{
    open_world(0, NULL);
    receiver = crew_world_go(receive, NULL, 2);
    crew_world_go(serve_a_lone_one, NULL, 2);
    close_world();
}

TEST(channel_short_way_serves_one_who_waits_alone_at_an_empty_queue)
{
    open_world(3, NULL);
    receiver = crew_world_go(receive, NULL, 2);
    crew_world_go(serve_a_lone_one, NULL, 2);
    close_world();
}

static void call_seven_times(void *arg)
{
    const rti_atomic_u64 *calls = &rti_worker_here()->station->messages;
    uint64_t value = (uintptr_t)arg;
    uint64_t before = rti_u64_load_relaxed(calls);
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    CHECK_OK(rt_channel_send_timeout(tx, NULL, &value, 1));
    CHECK_OK(rt_channel_try_send(tx, &value));
    CHECK_EQ(rt_channel_try_send(tx, &value).code, RT_ERR_FULL);
    CHECK_OK(rt_channel_recv(rx, NULL, &value));
    CHECK_OK(rt_channel_recv_timeout(rx, NULL, &value, 1));
    CHECK_OK(rt_channel_try_recv(rx, &value));
    CHECK_EQ(rti_u64_load_relaxed(calls) - before, 7);
    ended = RT_OK;
}

/* By what is counted the width of a crew is weighed: such a turn has few ends, and much traffic. */
TEST(channel_calls_are_counted_at_the_station_of_the_caller)
{
    open_world(3, NULL);
    ended = RT_ERR_WOULDBLOCK;
    crew_world_go(call_seven_times, NULL, 2);
    close_world();
    CHECK_EQ(ended, RT_OK);
}

/* From its first frame on, a stack has no call of the runtime that has not returned. */
static bool is_first_frame_outside(void)
{
    const struct rti_frame first = {.sp = (uintptr_t)rti_channel_berth_of(receiver, NULL)};
    return rti_preempt_is_outside(receiver, &first);
}

static void wait_alone_and_compute(void *arg)
{
    uintptr_t address = (uintptr_t)rti_preempt_is_outside + 1;
    /* What an earlier fiber may have left there. */
    memcpy(rti_channel_berth_of(receiver, NULL), &address, sizeof(address));
    CHECK(is_first_frame_outside());
    receive(arg);
    CHECK(is_first_frame_outside());
}

/* The berth holds addresses of the runtime's functions, and none of them is a call. */
TEST(channel_short_way_leaves_a_fiber_whose_worker_can_be_taken_from_it)
{
    if (!rti_text_is_known()) {
        test_skip("the library's code is not told from the program's here");
    }
    open_world(0, NULL);
    receiver = crew_world_go(wait_alone_and_compute, NULL, 2);
    crew_world_go(serve_a_lone_one, NULL, 2);
    close_world();
}

/* The second has waited alone and ended, and had its berth where the receiver has its own now. */
static void cancel_who_had_the_stack_before(void *arg)
{
    uint64_t value = 7;
    struct rti_waiter *waiter;
    (void)arg;
    settle();
    CHECK(channel()->lone == &rti_channel_berth_of(second, NULL)->waiter);
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    settle();
    CHECK(received == 1);
    receiver = crew_world_go(receive, NULL, 2);
    settle();
    struct rti_channel_berth *berth = rti_channel_berth_of(receiver, NULL);
    CHECK(channel()->lone == &berth->waiter && rti_channel_berth_fiber(berth) == receiver);
    second->stack.high_guard = receiver->stack.high_guard;
    CHECK(!rti_channel_cancel_alone(&crew_world.sched, second, &waiter));
    CHECK(channel()->lone == &berth->waiter);
    /* Nor is it taken for the one that stands in the line. */
    rti_channel_unfold_fiber(&crew_world.sched, receiver);
    CHECK(channel()->lone == NULL && rti_channel_waiting(channel(), false) == 1);
    CHECK(!rti_channel_cancel_alone(&crew_world.sched, second, &waiter));
    CHECK_EQ(rti_wait_event(&berth->wait), RTI_EVENT_NONE);
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    settle();
    CHECK(received == 2 && got[0] == 7 && ended == RT_OK);
}

TEST(channel_short_way_does_not_take_a_berth_for_that_of_the_last_fiber_on_its_stack)
{
    open_world(0, NULL);
    second = crew_world_go(receive, NULL, 2);
    crew_world_go(cancel_who_had_the_stack_before, NULL, 2);
    close_world();
}

/* The lock that somebody has, as it seems to who waits for it. Other threads wait for others. */
static rti_atomic_ptr awaited;

/* Meanwhile the second comes to its end, and its stack is the receiver's. */
static bool end_meanwhile(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                          uint64_t deadline_ns)
{
    if (word != rti_ptr_load_relaxed(&awaited)) {
        return rti_linux_futex_wait(port, word, expected, deadline_ns);
    }
    rti_ptr_store_relaxed(&awaited, NULL);
    rti_fiber_settle_nowhere(second);
    /* Release pairs with who takes it. */
    rti_u32_store_release(word, 0);
    return true;
}

static void cancel_who_ends_meanwhile(void *arg)
{
    uint64_t value = 7;
    struct rti_waiter *waiter;
    (void)arg;
    settle();
    struct rti_channel_berth *berth = rti_channel_berth_of(receiver, NULL);
    struct rti_channel_lock *beside = rti_ptr_load_relaxed(&receiver->alone_at);
    CHECK(channel()->lone == &berth->waiter);
    rti_ptr_store_relaxed(&second->alone_at, beside);
    second->stack.high_guard = receiver->stack.high_guard;
    rti_ptr_store_relaxed(&awaited, &beside->lock.is_taken);
    rti_u32_store_relaxed(&beside->lock.is_taken, 1);
    CHECK(!rti_channel_cancel_alone(&crew_world.sched, second, &waiter));
    CHECK(rti_ptr_load_relaxed(&awaited) == NULL && channel()->lone == &berth->waiter);
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    settle();
    CHECK(received == 1 && ended == RT_OK);
}

static void end_at_once(void *arg)
{
    (void)arg;
}

TEST(channel_short_way_asks_again_with_the_lock_whether_a_fiber_has_ended)
{
    static struct rti_port_ops ops;
    rti_ptr_init(&awaited, NULL);
    open_world(0, NULL);
    ops = *crew_world.port.port.ops;
    ops.futex_wait = end_meanwhile;
    crew_world.port.port.ops = &ops;
    receiver = crew_world_go(receive, NULL, 2);
    second = crew_world_go(end_at_once, NULL, 2);
    crew_world_go(cancel_who_ends_meanwhile, NULL, 2);
    close_world();
}

/* Who comes second joins the line behind the lone one. */
static void send_to_both(void *arg)
{
    (void)arg;
    settle();
    CHECK(channel()->lone == NULL && channel()->waits == 2);
    CHECK_EQ(rti_channel_waiting(channel(), false), 2);
    for (uint64_t i = 10; i <= 20; i += 10) {
        CHECK_OK(rt_channel_send(tx, NULL, &i));
    }
    settle();
    /* The first of those who wait got the first value. */
    CHECK(got[0] + got[1] == 33 && (got[0] == 11 || got[1] == 11));
}

TEST(channel_short_way_keeps_the_order_of_those_who_wait)
{
    open_world(0, NULL);
    receiver = crew_world_go(receive, (void *)1, 2);
    second = crew_world_go(receive, (void *)2, 2);
    crew_world_go(send_to_both, NULL, 2);
    close_world();
}

static void receive_with_context(void *arg)
{
    uint64_t value;
    (void)arg;
    CHECK_OK(rt_cx_init(&context));
    ended = rt_channel_recv(rx, &context, &value).code;
    CHECK_OK(rt_cx_deinit(&context));
}

static void cancel_it(void *arg)
{
    (void)arg;
    settle();
    CHECK(channel()->lone != NULL);
    CHECK_OK(rt_cx_cancel(&context));
    CHECK(channel()->lone == NULL);
    settle();
    CHECK_EQ(ended, RT_ERR_CANCELLED);
    CHECK_EQ(channel()->waits, 0);
    CHECK(channel()->gates.send == channel()->rest.send);
}

TEST(channel_short_way_is_left_by_a_lone_one_that_is_cancelled)
{
    open_world(0, NULL);
    receiver = crew_world_go(receive_with_context, NULL, 2);
    crew_world_go(cancel_it, NULL, 2);
    close_world();
}

static void kill_it(void *arg)
{
    (void)arg;
    settle();
    CHECK(channel()->lone != NULL);
    CHECK(rti_fiber_kill(&crew_world.sched, receiver));
    settle();
    CHECK(channel()->lone == NULL && channel()->waits == 0);
    CHECK_EQ(rti_u32_load_relaxed(&crew_world.ended[RTI_FIBER_KILLED]), 1);
}

TEST(channel_short_way_is_left_by_a_lone_one_that_is_killed)
{
    open_world(2, NULL);
    receiver = crew_world_go(receive, NULL, 2);
    crew_world_go(kill_it, NULL, 2);
    close_world();
}

/* It was given a value, and dies before it runs. */
static void serve_and_kill(void *arg)
{
    uint64_t value = 5;
    (void)arg;
    settle();
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    CHECK(rti_fiber_kill(&crew_world.sched, receiver));
    settle();
    CHECK(received == 0 && rti_channel_queued(channel()) == 1 && channel()->waits == 0);
    CHECK_OK(rt_channel_recv(rx, NULL, &value));
    CHECK_EQ(value, 5);
}

TEST(channel_short_way_gives_the_value_of_the_dead_back)
{
    open_world(0, NULL);
    receiver = crew_world_go(receive, NULL, 2);
    crew_world_go(serve_and_kill, NULL, 2);
    close_world();
}

/* The same, and the channel has come to its end meanwhile, and its block is another's. */
static void serve_close_and_kill(void *arg)
{
    uint64_t value = 5;
    rt_channel_config config = {.elem_size = 8, .capacity = 1};
    (void)arg;
    settle();
    struct rti_channel *gone = channel();
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    CHECK_OK(rt_channel_close_sender(tx));
    CHECK_OK(rt_channel_close_receiver(rx));
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    CHECK(channel() == gone);
    CHECK(rti_fiber_kill(&crew_world.sched, receiver));
    settle();
    CHECK(rti_channel_queued(channel()) == 0 && channel()->waits == 0);
}

TEST(channel_short_way_gives_nothing_to_another_channel_in_the_same_place)
{
    open_world(0, NULL);
    receiver = crew_world_go(receive, NULL, 2);
    crew_world_go(serve_close_and_kill, NULL, 2);
    close_world();
}

static void close_it(void *arg)
{
    (void)arg;
    settle();
    CHECK(channel()->lone != NULL);
    CHECK_OK(rt_channel_close_sender(tx));
    settle();
    CHECK_EQ(ended, RT_ERR_DISCONNECTED);
    CHECK_OK(rt_channel_close_receiver(rx));
    tx = NULL;
}

TEST(channel_short_way_tells_a_lone_one_that_the_other_side_is_gone)
{
    open_world(0, NULL);
    receiver = crew_world_go(receive, NULL, 2);
    crew_world_go(close_it, NULL, 2);
    close_world();
}

static void find_it_in_line(void *arg)
{
    uint64_t value = 3;
    (void)arg;
    settle();
    CHECK(channel()->lone == NULL && channel()->waits == 1);
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    settle();
    CHECK(received == 1 && got[0] == 3);
}

TEST(channel_short_way_leaves_nobody_alone_where_values_are_destroyed)
{
    open_world(1, count_destroyed);
    receiver = crew_world_go(receive, NULL, 2);
    crew_world_go(find_it_in_line, NULL, 2);
    close_world();
    CHECK_EQ(destroyed, 0);
}

/* A send that waits alone, and values that are no word. */
static uint8_t byte_got;

static void receive_byte(void *arg)
{
    (void)arg;
    settle();
    CHECK(channel()->lone != NULL && channel()->gates.recv == RTI_GATE_MEET);
    CHECK_OK(rt_channel_recv(rx, NULL, &byte_got));
    CHECK(channel()->lone == NULL);
}

static void send_byte(void *arg)
{
    uint8_t byte = 200;
    (void)arg;
    ended = rt_channel_send(tx, NULL, &byte).code;
}

TEST(channel_short_way_takes_from_the_hand_of_a_lone_sender)
{
    crew_world_open(1);
    CHECK_OK(rti_channels_init(&channels, &crew_world.sched));
    rt_channel_config config = {.elem_size = 1};
    CHECK_OK(rt_channel_create_rendezvous(&config, &tx, &rx));
    crew_world_go(send_byte, NULL, 2);
    crew_world_go(receive_byte, NULL, 2);
    close_world();
    CHECK(byte_got == 200 && ended == RT_OK);
}

/* Leaves bytes that are not 0 where the frames of the next call lie. */
static RTI_NOINLINE void soil_the_stack(void)
{
    volatile unsigned char soil[2048];
    for (size_t i = 0; i < sizeof(soil); i++) {
        soil[i] = 1;
    }
}

/* The handle is closed between the look that found nothing and the joining of the line. */
static void wait_with_a_closed_handle(void *arg)
{
    struct rti_channel_call call;
    uint64_t value = 0;
    struct rti_channel_want want = {
        .kind = RTI_CHANNEL_RECV, .slot = &value, .deadline = RT_TIME_NEVER};
    (void)arg;
    CHECK_OK(rti_channel_call_init(&call, rx, false, NULL));
    CHECK_OK(rt_channel_close_receiver(rx));
    soil_the_stack();
    CHECK_EQ(rti_channel_park(&call, &want).code, RT_ERR_CLOSED);
    CHECK_OK(rt_channel_close_sender(tx));
    tx = NULL;
}

TEST(channel_short_way_takes_nobody_for_served_who_could_not_join)
{
    open_world(1, NULL);
    crew_world_go(wait_with_a_closed_handle, NULL, 2);
    close_world();
}
