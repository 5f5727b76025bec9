/* SPDX-License-Identifier: Apache-2.0 */
/* The channel itself, without handles, contexts or fibers: places, values, lines. */
#define RTI_MODULE "channel_test"
#include "sync/channel.h"

#include "support/test.h"
#include "sync/permit.h"

#define MAX 8

static _Alignas(max_align_t) unsigned char memory[RT_CHANNEL_BYTES(sizeof(int), MAX)];
static struct rti_channel channel;
static struct rti_list wakes;
static struct rti_permit permits[MAX];
static const struct rti_channel_end *const end_a = (const void *)&memory[0];
static const struct rti_channel_end *const end_b = (const void *)&memory[1];

/* One who waits as a fiber or as a poll context does, with nothing behind it. */
struct someone {
    struct rti_wait wait;
    struct rti_channel_waiter waiter;
    int value;
    int woken;
};

static struct someone people[MAX];

static void start(uint32_t capacity, bool is_rendezvous)
{
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = capacity};
    rti_channel_init(&channel, &config, memory, is_rendezvous);
    rti_list_init(&wakes);
    for (int i = 0; i < MAX; i++) {
        permits[i] = (struct rti_permit){.serial = (uint64_t)i + 1};
    }
    rti_channel_audit(&channel);
}

/* What a newcomer may still send. */
static uint32_t room(void)
{
    return channel.capacity - rti_channel_queued(&channel) - channel.reserved;
}

static void note_wake(struct rti_wait *wait)
{
    ((struct someone *)wait->target)->woken++;
}

static void nothing(struct rti_waiter *waiter)
{
    (void)waiter;
}

static struct someone *join(int i, enum rti_channel_waiter_kind kind, int value)
{
    struct someone *someone = &people[i];
    *someone = (struct someone){.value = value};
    rti_wait_begin(&someone->wait, note_wake, someone, true);
    rti_wait_add(&someone->wait, &someone->waiter.waiter, RTI_EVENT_SOURCE, nothing);
    someone->waiter.waiter.slot = &someone->value;
    someone->waiter.end = end_a;
    someone->waiter.permit = kind == RTI_CHANNEL_RESERVE ? &permits[i] : NULL;
    if (someone->waiter.permit != NULL) {
        permits[i].waiter = &someone->waiter;
    }
    rti_channel_join(&channel, &someone->waiter, kind, &wakes);
    rti_channel_audit(&channel);
    return someone;
}

static void settle_wakes(void)
{
    rti_channel_audit(&channel);
    rti_channel_wake_all(&wakes);
}

static enum rti_channel_try put(int value)
{
    enum rti_channel_try result = rti_channel_put(&channel, &value, &wakes);
    settle_wakes();
    return result;
}

static int take(void)
{
    int value = -1;
    enum rti_channel_try result = rti_channel_take(&channel, &value, &wakes);
    settle_wakes();
    return result == RTI_CHANNEL_DONE ? value : -(int)result;
}

static bool leave(struct someone *someone, bool is_abandoned)
{
    bool is_lost = rti_channel_leave(&channel, &someone->waiter, is_abandoned, &wakes);
    settle_wakes();
    return is_lost;
}

static void claim_by(struct someone *someone, uint32_t event)
{
    CHECK(rti_wait_claim(&someone->wait, event));
}

TEST(channel_is_a_queue_of_its_capacity_through_many_turns_of_the_ring)
{
    for (uint32_t capacity = 1; capacity <= MAX; capacity++) {
        start(capacity, false);
        int next_in = 0;
        int next_out = 0;
        for (int round = 0; round < 20; round++) {
            while (put(next_in) == RTI_CHANNEL_DONE) {
                next_in++;
            }
            CHECK_EQ(next_in - next_out, capacity);
            CHECK_EQ(room(), 0);
            for (int i = 0; i <= round % (int)capacity; i++) {
                CHECK_EQ(take(), next_out);
                next_out++;
            }
        }
    }
}

TEST(channel_take_of_nothing_must_wait)
{
    start(2, false);
    CHECK_EQ(take(), -RTI_CHANNEL_MUST_WAIT);
    CHECK_EQ(put(1), RTI_CHANNEL_DONE);
    CHECK_EQ(take(), 1);
    CHECK_EQ(take(), -RTI_CHANNEL_MUST_WAIT);
}

TEST(channel_values_come_in_the_order_of_commits_not_of_reserves)
{
    start(3, false);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(rti_channel_reserve(&channel, &permits[i]), RTI_CHANNEL_DONE);
        *(int *)(void *)(channel.slots + permits[i].offset) = 10 + i;
    }
    CHECK(rti_channel_commit(&channel, &permits[2], NULL, &wakes));
    rti_channel_audit(&channel);
    CHECK_EQ(take(), 12);
    CHECK(rti_channel_commit(&channel, &permits[0], NULL, &wakes));
    int other = 99;
    CHECK(rti_channel_commit(&channel, &permits[1], &other, &wakes));
    rti_channel_audit(&channel);
    CHECK_EQ(take(), 10);
    CHECK_EQ(take(), 99);
    CHECK_EQ(room(), 3);
}

TEST(channel_permit_memory_stays_put_while_others_send_and_receive)
{
    start(3, false);
    CHECK_EQ(rti_channel_reserve(&channel, &permits[0]), RTI_CHANNEL_DONE);
    int *slot = (int *)(void *)(channel.slots + permits[0].offset);
    *slot = 1234;
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(put(i), RTI_CHANNEL_DONE);
        CHECK_EQ(put(-i - 10), RTI_CHANNEL_DONE);
        CHECK_EQ(put(7), RTI_CHANNEL_MUST_WAIT);
        CHECK_EQ(take(), i);
        CHECK_EQ(take(), -i - 10);
        CHECK_EQ(*slot, 1234);
    }
    CHECK(rti_channel_commit(&channel, &permits[0], NULL, &wakes));
    CHECK_EQ(take(), 1234);
}

TEST(channel_aborts_in_any_order_restore_all_places)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int o = 0; o < 6; o++) {
        start(4, false);
        CHECK_EQ(put(5), RTI_CHANNEL_DONE);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(rti_channel_reserve(&channel, &permits[i]), RTI_CHANNEL_DONE);
        }
        CHECK_EQ(room(), 0);
        for (int i = 0; i < 3; i++) {
            rti_channel_abort(&channel, &permits[orders[o][i]], &wakes);
            rti_channel_audit(&channel);
            CHECK_EQ(room(), (uint32_t)i + 1);
        }
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(put(i), RTI_CHANNEL_DONE);
        }
        CHECK_EQ(take(), 5);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(take(), i);
        }
    }
}

TEST(channel_gives_a_value_from_hand_to_hand_to_the_first_receiver_in_line)
{
    start(2, false);
    struct someone *first = join(0, RTI_CHANNEL_RECV, -1);
    struct someone *second = join(1, RTI_CHANNEL_RECV, -1);
    CHECK_EQ(put(7), RTI_CHANNEL_DONE);
    CHECK_EQ(first->value, 7);
    CHECK_EQ(first->woken, 1);
    CHECK_EQ(first->waiter.result, RT_OK);
    CHECK_EQ(second->woken, 0);
    CHECK_EQ(rti_channel_queued(&channel), 0);
    CHECK_EQ(rti_channel_sent(&channel), 1);
    leave(first, false);
    leave(second, false);
    CHECK_EQ(channel.waits, 0);
}

TEST(channel_keeps_a_value_for_a_poll_receiver_and_nobody_takes_it)
{
    start(2, false);
    struct someone *poller = join(0, RTI_CHANNEL_POLL, -1);
    CHECK_EQ(put(7), RTI_CHANNEL_DONE);
    CHECK_EQ(poller->woken, 1);
    CHECK(poller->waiter.is_promised);
    CHECK_EQ(take(), -RTI_CHANNEL_MUST_WAIT);
    CHECK_EQ(put(8), RTI_CHANNEL_DONE);
    CHECK_EQ(put(9), RTI_CHANNEL_MUST_WAIT);
    int value = -1;
    rti_channel_take_promised(&channel, &poller->waiter, &value, &wakes);
    settle_wakes();
    CHECK_EQ(value, 7);
    leave(poller, true);
    CHECK_EQ(take(), 8);
}

TEST(channel_passes_an_abandoned_promise_to_the_next_in_line)
{
    start(2, false);
    struct someone *first = join(0, RTI_CHANNEL_POLL, -1);
    struct someone *fiber = join(1, RTI_CHANNEL_RECV, -1);
    struct someone *third = join(2, RTI_CHANNEL_POLL, -1);
    CHECK_EQ(put(7), RTI_CHANNEL_DONE);
    CHECK(!leave(first, true));
    CHECK_EQ(fiber->value, 7);
    CHECK_EQ(fiber->woken, 1);
    CHECK_EQ(channel.promised, 0);
    CHECK_EQ(put(8), RTI_CHANNEL_DONE);
    CHECK(third->waiter.is_promised);
    leave(third, true);
    CHECK_EQ(take(), 8);
    leave(fiber, false);
}

TEST(channel_gives_freed_places_to_senders_in_line_before_anybody_else)
{
    start(1, false);
    CHECK_EQ(put(1), RTI_CHANNEL_DONE);
    struct someone *fiber = join(0, RTI_CHANNEL_SEND, 2);
    struct someone *reserver = join(1, RTI_CHANNEL_RESERVE, 0);
    CHECK_EQ(take(), 1);
    CHECK_EQ(fiber->woken, 1);
    CHECK_EQ(rti_channel_queued(&channel), 1);
    CHECK_EQ(put(9), RTI_CHANNEL_MUST_WAIT);
    CHECK_EQ(reserver->woken, 0);
    CHECK_EQ(take(), 2);
    CHECK_EQ(reserver->woken, 1);
    CHECK(rti_permit_channel(&permits[1]) == &channel);
    CHECK_EQ(channel.reserved, 1);
    CHECK_EQ(put(9), RTI_CHANNEL_MUST_WAIT);
    /* It never comes back for its place. */
    leave(reserver, true);
    CHECK(rti_permit_channel(&permits[1]) == NULL);
    CHECK_EQ(room(), 1);
    leave(fiber, false);
}

TEST(channel_passes_over_waiters_that_another_event_has_claimed)
{
    start(1, false);
    CHECK_EQ(put(1), RTI_CHANNEL_DONE);
    struct someone *cancelled = join(0, RTI_CHANNEL_SEND, 2);
    struct someone *waiting = join(1, RTI_CHANNEL_SEND, 3);
    claim_by(cancelled, RTI_EVENT_CANCEL);
    CHECK_EQ(rti_channel_waiting(&channel, true), 1);
    CHECK_EQ(take(), 1);
    CHECK_EQ(waiting->woken, 1);
    CHECK_EQ(cancelled->woken, 0);
    CHECK_EQ(take(), 3);
    leave(cancelled, false);
    leave(waiting, false);
    struct someone *timed_out = join(2, RTI_CHANNEL_RECV, -1);
    claim_by(timed_out, RTI_EVENT_TIMEOUT);
    CHECK_EQ(put(4), RTI_CHANNEL_DONE);
    CHECK_EQ(timed_out->value, -1);
    CHECK_EQ(take(), 4);
    leave(timed_out, false);
}

TEST(channel_takes_back_a_value_whose_receiver_never_looked)
{
    start(2, false);
    struct someone *killed = join(0, RTI_CHANNEL_RECV, -1);
    CHECK_EQ(put(1), RTI_CHANNEL_DONE);
    CHECK_EQ(put(2), RTI_CHANNEL_DONE);
    CHECK(!leave(killed, true));
    CHECK_EQ(take(), 1);
    CHECK_EQ(take(), 2);
}

TEST(channel_gives_back_a_value_only_if_there_is_room_else_it_is_lost_and_counted)
{
    start(1, false);
    struct someone *killed = join(0, RTI_CHANNEL_RECV, -1);
    CHECK_EQ(put(1), RTI_CHANNEL_DONE);
    CHECK_EQ(put(2), RTI_CHANNEL_DONE);
    CHECK(leave(killed, true));
    CHECK_EQ(channel.destroyed, 1);
    CHECK_EQ(take(), 2);
}

TEST(rendezvous_has_a_place_only_for_a_receiver_in_line)
{
    start(1, true);
    CHECK_EQ(put(1), RTI_CHANNEL_MUST_WAIT);
    CHECK_EQ(rti_channel_reserve(&channel, &permits[0]), RTI_CHANNEL_MUST_WAIT);
    struct someone *receiver = join(0, RTI_CHANNEL_RECV, -1);
    CHECK_EQ(put(1), RTI_CHANNEL_DONE);
    CHECK_EQ(receiver->value, 1);
    CHECK_EQ(put(2), RTI_CHANNEL_MUST_WAIT);
    leave(receiver, false);
}

TEST(rendezvous_takes_from_the_hand_of_the_first_sender_in_line)
{
    start(1, true);
    struct someone *first = join(0, RTI_CHANNEL_SEND, 5);
    struct someone *second = join(1, RTI_CHANNEL_SEND, 6);
    CHECK_EQ(take(), 5);
    CHECK_EQ(first->woken, 1);
    CHECK_EQ(second->woken, 0);
    CHECK_EQ(take(), 6);
    CHECK_EQ(take(), -RTI_CHANNEL_MUST_WAIT);
    leave(first, false);
    leave(second, false);
}

TEST(rendezvous_permit_has_a_claim_on_a_receiver_that_newcomers_respect)
{
    start(2, true);
    struct someone *receiver = join(0, RTI_CHANNEL_RECV, -1);
    CHECK_EQ(rti_channel_reserve(&channel, &permits[0]), RTI_CHANNEL_DONE);
    CHECK_EQ(put(8), RTI_CHANNEL_MUST_WAIT);
    int value = 9;
    CHECK(rti_channel_commit(&channel, &permits[0], &value, &wakes));
    settle_wakes();
    CHECK_EQ(receiver->value, 9);
    leave(receiver, false);
}

TEST(rendezvous_permit_whose_receiver_left_keeps_its_value_for_the_next)
{
    start(1, true);
    struct someone *receiver = join(0, RTI_CHANNEL_RECV, -1);
    CHECK_EQ(rti_channel_reserve(&channel, &permits[0]), RTI_CHANNEL_DONE);
    claim_by(receiver, RTI_EVENT_TIMEOUT);
    leave(receiver, false);
    int value = 9;
    CHECK(rti_channel_commit(&channel, &permits[0], &value, &wakes));
    settle_wakes();
    CHECK_EQ(rti_channel_queued(&channel), 1);
    CHECK_EQ(take(), 9);
}

TEST(rendezvous_newcomer_that_finds_a_claimed_sender_leaves_the_straight_path_open)
{
    start(2, true);
    struct someone *receiver = join(0, RTI_CHANNEL_RECV, 0);
    CHECK_EQ(rti_channel_reserve(&channel, &permits[1]), RTI_CHANNEL_DONE);
    claim_by(receiver, RTI_EVENT_TIMEOUT);
    leave(receiver, false);
    int value = 5;
    CHECK(rti_channel_commit(&channel, &permits[1], &value, &wakes));
    struct someone *sender = join(2, RTI_CHANNEL_SEND, 6);
    claim_by(sender, RTI_EVENT_TIMEOUT);
    CHECK_EQ(put(7), RTI_CHANNEL_MUST_WAIT);
    CHECK_EQ(channel.gates.recv, RTI_GATE_SHUT);
    CHECK(!leave(sender, false));
    CHECK_EQ(take(), 5);
}

TEST(rendezvous_of_two_who_poll_goes_through_a_place)
{
    start(1, true);
    struct someone *sender = join(0, RTI_CHANNEL_RESERVE, 0);
    CHECK_EQ(take(), -RTI_CHANNEL_MUST_WAIT);
    struct someone *receiver = join(1, RTI_CHANNEL_POLL, -1);
    settle_wakes();
    CHECK_EQ(sender->woken, 1);
    CHECK(rti_permit_channel(&permits[0]) == &channel);
    int value = 3;
    permits[0].waiter = NULL;
    sender->waiter.permit = NULL;
    leave(sender, true);
    CHECK(rti_channel_commit(&channel, &permits[0], &value, &wakes));
    settle_wakes();
    CHECK_EQ(receiver->woken, 1);
    CHECK(receiver->waiter.is_promised);
    rti_channel_take_promised(&channel, &receiver->waiter, &value, &wakes);
    leave(receiver, true);
    CHECK_EQ(value, 3);
}

TEST(rendezvous_counts_only_receivers_that_still_wait)
{
    start(1, true);
    struct someone *cancelled = join(0, RTI_CHANNEL_RECV, -1);
    claim_by(cancelled, RTI_EVENT_CANCEL);
    CHECK_EQ(put(1), RTI_CHANNEL_MUST_WAIT);
    struct someone *receiver = join(1, RTI_CHANNEL_RECV, -1);
    CHECK_EQ(put(1), RTI_CHANNEL_DONE);
    CHECK_EQ(receiver->value, 1);
    leave(cancelled, false);
    leave(receiver, false);
}

TEST(channel_states_go_forward_only)
{
    start(1, false);
    CHECK_EQ(rti_channel_state(&channel), RT_CHANNEL_OPEN);
    rti_channel_close_sender(&channel, end_a, &wakes);
    CHECK_EQ(rti_channel_state(&channel), RT_CHANNEL_SENDER_CLOSED);
    rti_channel_close_receiver(&channel, end_b, &wakes);
    CHECK_EQ(rti_channel_state(&channel), RT_CHANNEL_FULLY_CLOSED);
    CHECK(rti_channel_is_gone(&channel));
    start(1, false);
    rti_channel_close_receiver(&channel, end_b, &wakes);
    CHECK_EQ(rti_channel_state(&channel), RT_CHANNEL_RECEIVER_CLOSED);
    rti_channel_close_sender(&channel, end_a, &wakes);
    CHECK_EQ(rti_channel_state(&channel), RT_CHANNEL_FULLY_CLOSED);
}

TEST(channel_permit_keeps_the_sender_side_open)
{
    start(1, false);
    CHECK_EQ(rti_channel_reserve(&channel, &permits[0]), RTI_CHANNEL_DONE);
    struct someone *receiver = join(0, RTI_CHANNEL_RECV, -1);
    rti_channel_close_sender(&channel, end_a, &wakes);
    settle_wakes();
    CHECK_EQ(rti_channel_state(&channel), RT_CHANNEL_OPEN);
    CHECK_EQ(receiver->woken, 0);
    int value = 6;
    CHECK(rti_channel_commit(&channel, &permits[0], &value, &wakes));
    settle_wakes();
    CHECK_EQ(receiver->value, 6);
    CHECK_EQ(rti_channel_state(&channel), RT_CHANNEL_SENDER_CLOSED);
    CHECK_EQ(take(), -RTI_CHANNEL_GONE);
    leave(receiver, false);
}

TEST(channel_abort_of_the_last_permit_tells_the_receivers_that_the_senders_are_gone)
{
    start(1, false);
    CHECK_EQ(rti_channel_reserve(&channel, &permits[0]), RTI_CHANNEL_DONE);
    struct someone *receiver = join(0, RTI_CHANNEL_RECV, -1);
    rti_channel_close_sender(&channel, end_a, &wakes);
    rti_channel_abort(&channel, &permits[0], &wakes);
    settle_wakes();
    CHECK_EQ(receiver->woken, 1);
    CHECK_EQ(receiver->waiter.result, RT_ERR_DISCONNECTED);
    leave(receiver, false);
}

TEST(channel_close_of_a_handle_ends_the_waits_that_came_with_it_and_no_others)
{
    start(1, false);
    channel.senders = 2;
    CHECK_EQ(put(1), RTI_CHANNEL_DONE);
    struct someone *own = join(0, RTI_CHANNEL_SEND, 2);
    struct someone *other = join(1, RTI_CHANNEL_SEND, 3);
    other->waiter.end = end_b;
    rti_channel_close_sender(&channel, end_a, &wakes);
    settle_wakes();
    CHECK_EQ(own->woken, 1);
    CHECK_EQ(own->waiter.result, RT_ERR_CLOSED);
    CHECK_EQ(other->woken, 0);
    CHECK_EQ(take(), 1);
    CHECK_EQ(take(), 3);
    leave(own, false);
    leave(other, false);
}

TEST(channel_close_of_a_handle_takes_back_what_was_granted_or_promised_to_it)
{
    start(1, false);
    channel.senders = 2;
    CHECK_EQ(put(1), RTI_CHANNEL_DONE);
    struct someone *reserver = join(0, RTI_CHANNEL_RESERVE, 0);
    CHECK_EQ(take(), 1);
    CHECK_EQ(channel.reserved, 1);
    rti_channel_close_sender(&channel, end_a, &wakes);
    settle_wakes();
    CHECK_EQ(channel.reserved, 0);
    CHECK_EQ(room(), 1);
    CHECK_EQ(reserver->waiter.result, RT_ERR_CLOSED);
    leave(reserver, true);

    channel.receivers = 2;
    struct someone *poller = join(1, RTI_CHANNEL_POLL, -1);
    CHECK_EQ(put(4), RTI_CHANNEL_DONE);
    rti_channel_close_receiver(&channel, end_a, &wakes);
    settle_wakes();
    CHECK_EQ(poller->waiter.result, RT_ERR_CLOSED);
    CHECK_EQ(channel.promised, 0);
    leave(poller, true);
    CHECK_EQ(take(), 4);
}

TEST(channel_without_a_receiver_refuses_and_lets_its_values_be_discarded_in_order)
{
    start(3, false);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(put(i), RTI_CHANNEL_DONE);
    }
    CHECK_EQ(rti_channel_reserve(&channel, &permits[0]), RTI_CHANNEL_DONE);
    rti_channel_close_receiver(&channel, end_a, &wakes);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(*(int *)rti_channel_discard(&channel), i);
        rti_channel_audit(&channel);
    }
    CHECK(rti_channel_discard(&channel) == NULL);
    CHECK_EQ(put(5), RTI_CHANNEL_GONE);
    CHECK_EQ(rti_channel_reserve(&channel, &permits[1]), RTI_CHANNEL_GONE);
    int value = 1;
    CHECK(!rti_channel_commit(&channel, &permits[0], &value, &wakes));
    CHECK_EQ(channel.reserved, 0);
    CHECK_EQ(rti_channel_queued(&channel), 0);
    CHECK_EQ(channel.destroyed, 2);
    rti_channel_audit(&channel);
}

TEST(channel_copies_values_of_every_size)
{
    unsigned char from[64];
    unsigned char to[64];
    for (uint32_t size = 0; size <= 64; size++) {
        memset(to, 0, sizeof(to));
        for (size_t i = 0; i < sizeof(from); i++) {
            from[i] = (unsigned char)(i + 1);
        }
        rti_channel_copy(to, from, size);
        CHECK(memcmp(to, from, size) == 0);
        CHECK(size == 64 || to[size] == 0);
    }
}

TEST(channel_waiter_ids_only_grow)
{
    start(1, false);
    struct someone *a = join(0, RTI_CHANNEL_RECV, 0);
    struct someone *b = join(1, RTI_CHANNEL_RECV, 0);
    uint64_t last = b->waiter.waiter.id;
    CHECK(last > a->waiter.waiter.id);
    leave(b, false);
    struct someone *c = join(1, RTI_CHANNEL_RECV, 0);
    CHECK(c->waiter.waiter.id > last);
    leave(a, false);
    leave(c, false);
}

static void commit_twice(void *arg)
{
    int value = 1;
    (void)arg;
    start(1, false);
    CHECK_EQ(rti_channel_reserve(&channel, &permits[0]), RTI_CHANNEL_DONE);
    (void)rti_channel_commit(&channel, &permits[0], &value, &wakes);
    (void)rti_channel_commit(&channel, &permits[0], &value, &wakes);
}

TEST(channel_commit_of_a_record_that_is_not_armed_panics)
{
    CHECK_PANICS("channel", commit_twice, NULL);
}
