/* SPDX-License-Identifier: Apache-2.0 */

/* The channel under a lock, as on an engine with several workers: threads that send, receive,
 * reserve, abort, close and are cancelled while they wait. The core is the library's own
 * (src/sync/channel.c), and so are the claim of a waiter and the parker; the model adds the lock
 * and wakes when it has left it.
 *
 * What is shown: every value is received, found in the queue, or was never sent, exactly once; the
 * values of one sender arrive in their order; nobody sleeps for ever; a cancelled wait has lost
 * nothing and taken nothing; what is copied from hand to hand is ordered by the wake. The audit of
 * the channel holds whenever the lock is free. */

#include "channel_party.h"

/* How often a value is among those received or queued. */
static int count_of(uint64_t value)
{
    int count = 0;
    for (int i = 0; i < 4; i++) {
        count += received[i] == value;
    }
    for (uint64_t at = channel.head; at != channel.tail; at++) {
        count += *(uint64_t *)(void *)rti_channel_slot(&channel, at) == value;
    }
    return count;
}

static void check_channel(void)
{
    rti_channel_audit(&channel);
    EXPLORE_ASSERT(channel.waits == 0 && channel.reserved == 0);
    EXPLORE_ASSERT(rti_waitlist_is_empty(&channel.sender_line));
    EXPLORE_ASSERT(rti_waitlist_is_empty(&channel.receiver_line));
}

static void send_own(void)
{
    send(explore_self() + 1);
}

static void send_two(void)
{
    send(1);
    EXPLORE_ASSERT(self()->result == RT_OK);
    send(2);
}

static void recv_one(void)
{
    received[explore_self() - 2] = recv();
}

static void recv_two(void)
{
    received[0] = recv();
    received[1] = recv();
}

static void check_two_and_two(void)
{
    check_channel();
    EXPLORE_ASSERT(count_of(1) == 1 && count_of(2) == 1);
    EXPLORE_ASSERT(received[0] + received[1] == 3);
    explore_outcome(received[0]);
}

MODEL(channel_two_senders_meet_two_receivers){
    .about = "two values through one place reach two receivers, each once",
    .setup = setup_buffered,
    .threads = {send_own, send_own, recv_one, recv_one},
    .check = check_two_and_two,
    .bound = {EXPLORE_BOUND(2)},
    .executions_max = 500000,
};

MODEL(channel_rendezvous_of_two_senders_and_two_receivers){
    .about = "two values go from hand to hand to two receivers, each once",
    .setup = setup_rendezvous,
    .threads = {send_own, send_own, recv_one, recv_one},
    .check = check_two_and_two,
    .bound = {EXPLORE_BOUND(2)},
    .executions_max = 500000,
};

static void check_order(void)
{
    check_channel();
    EXPLORE_ASSERT(received[0] == 1 && received[1] == 2);
    explore_outcome(channel.handed);
}

MODEL(channel_keeps_the_order_of_a_sender){
    .about = "a sender that waits between its values has them received in order",
    .setup = setup_buffered,
    .threads = {send_two, recv_two},
    .check = check_order,
};

MODEL(channel_rendezvous_keeps_the_order_of_a_sender){
    .about = "the same from hand to hand",
    .setup = setup_rendezvous,
    .threads = {send_two, recv_two},
    .check = check_order,
};

/* Cancels the party that runs as thread 0, if it waits by now. */
static void cancel(void)
{
    struct party *victim = &parties[0];
    struct rti_list wakes;
    rti_list_init(&wakes);
    enter();
    bool is_cancelled = victim->is_armed && rti_wait_claim(&victim->wait, RTI_EVENT_CANCEL);
    leave(&wakes);
    if (is_cancelled) {
        unpark(&victim->wait);
    }
}

static void recv_to_second(void)
{
    received[1] = recv();
}

/* Thread 0 sends 1 into a full channel, a receiver makes a place, a cancellation races with it. */
static void check_cancelled_sender(void)
{
    check_channel();
    bool is_sent = parties[0].result == RT_OK;
    EXPLORE_ASSERT(is_sent || parties[0].result == RT_ERR_CANCELLED);
    EXPLORE_ASSERT(count_of(1) == (is_sent ? 1 : 0));
    EXPLORE_ASSERT(received[1] == 9);
    explore_outcome(is_sent);
}

MODEL(channel_cancel_of_a_waiting_sender_races_with_its_place){
    .about = "a sender in line is served or cancelled, never both and never neither",
    .setup = setup_full,
    .threads = {send_own, recv_to_second, cancel},
    .check = check_cancelled_sender,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

static void recv_first(void)
{
    received[0] = recv();
}

static void send_five(void)
{
    send(5);
}

static void check_cancelled_receiver(void)
{
    check_channel();
    EXPLORE_ASSERT(count_of(5) == 1);
    EXPLORE_ASSERT((received[0] == 5) == (parties[0].result == RT_OK));
    explore_outcome(parties[0].result == RT_OK);
}

MODEL(channel_cancel_of_a_waiting_receiver_loses_no_value){
    .about = "a receiver in line is served or cancelled; the value is received or still there",
    .setup = setup_buffered,
    .threads = {recv_first, send_five, cancel},
    .check = check_cancelled_receiver,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

/* Thread 0 waits for a place and gets a permit; what it does with it is chosen. */
static void reserve_and_resolve(void)
{
    struct party *party = self();
    struct rti_list wakes;
    rti_list_init(&wakes);
    enter();
    if (rti_channel_reserve(&channel, &party->permit) == RTI_CHANNEL_DONE) {
        party->result = RT_OK;
        leave(&wakes);
    } else {
        party->permit.waiter = &party->waiter;
        party->result = await(party, RTI_CHANNEL_RESERVE, &wakes);
    }
    if (party->result != RT_OK) {
        return;
    }
    uint64_t value = 1;
    enter();
    if (explore_choose(2) == 0) {
        rti_channel_abort(&channel, &party->permit, &wakes);
        party->result = RT_ERR_STATE;
    } else {
        EXPLORE_ASSERT(rti_channel_commit(&channel, &party->permit, &value, &wakes));
    }
    leave(&wakes);
}

static void send_three(void)
{
    send(3);
}

static void recv_both(void)
{
    received[0] = recv();
    received[1] = recv();
}

static void check_permits(void)
{
    check_channel();
    EXPLORE_ASSERT(count_of(1) == (parties[0].result == RT_OK));
    EXPLORE_ASSERT(count_of(3) == 1 && count_of(9) == 1);
    explore_outcome(parties[0].result == RT_OK);
}

MODEL(channel_permit_is_sent_or_aborted_and_its_place_passes_on){
    .about = "a permit granted in line, resolved either way, while another sender waits",
    .setup = setup_full,
    .threads = {reserve_and_resolve, send_three, recv_both},
    .check = check_permits,
    .bound = {EXPLORE_BOUND(3)},
    .executions_max = 500000,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

static void close_receiver(void)
{
    struct rti_list wakes;
    rti_list_init(&wakes);
    enter();
    rti_channel_close_receiver(&channel, NULL, &wakes);
    while (rti_channel_discard(&channel) != NULL) {
    }
    leave(&wakes);
}

static void check_closed(void)
{
    check_channel();
    EXPLORE_ASSERT(rti_channel_queued(&channel) == 0 && channel.receivers == 0);
    bool is_sent = parties[0].result == RT_OK;
    EXPLORE_ASSERT(is_sent || parties[0].result == RT_ERR_DISCONNECTED);
    EXPLORE_ASSERT(channel.destroyed == (is_sent ? 1 : 0));
    explore_outcome(is_sent);
}

static void send_into_the_close(void)
{
    send(4);
}

MODEL(channel_close_destroys_what_was_accepted_and_refuses_the_rest){
    .about = "a send races with the drop of the receiver",
    .setup = setup_buffered,
    .threads = {send_into_the_close, close_receiver},
    .check = check_closed,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

static void close_sender(void)
{
    struct rti_list wakes;
    rti_list_init(&wakes);
    enter();
    rti_channel_close_sender(&channel, NULL, &wakes);
    leave(&wakes);
}

static void send_and_close(void)
{
    send(7);
    close_sender();
}

static void recv_until_disconnected(void)
{
    received[0] = recv();
    received[1] = recv();
}

static void check_drained(void)
{
    check_channel();
    EXPLORE_ASSERT(received[0] == 7 && received[1] == NOTHING);
    EXPLORE_ASSERT(parties[1].result == RT_ERR_DISCONNECTED);
}

MODEL(channel_drop_of_the_last_sender_lets_the_receiver_drain){
    .about = "a value is received before the receiver learns that the sender is gone",
    .setup = setup_buffered,
    .threads = {send_and_close, recv_until_disconnected},
    .check = check_drained,
};
