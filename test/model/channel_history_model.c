/* SPDX-License-Identifier: Apache-2.0 */

/* Channels are linearizable: each history of calls, whatever the schedule, has an order that
 * respects real time and that a plain bounded queue could have answered in (history.h). The other
 * models of channels show that nothing is lost; this one shows that nothing is seen too late, too
 * early or out of turn, also between threads that never met. */

#include "channel_party.h"
#include "history.h"

static void call_send(uint64_t value)
{
    struct call *call = history_begin(CALL_SEND, value);
    send(value);
    history_end(call, self()->result);
}

static uint64_t call_recv(void)
{
    struct call *call = history_begin(CALL_RECV, NOTHING);
    call->value = recv();
    history_end(call, self()->result);
    return call->value;
}

/* Neither of these waits. */
static void call_try_send(uint64_t value)
{
    struct rti_list wakes;
    rti_list_init(&wakes);
    struct call *call = history_begin(CALL_SEND, value);
    enter();
    enum rti_channel_try attempt = rti_channel_put(&channel, &value, &wakes);
    leave(&wakes);
    history_end(call, attempt == RTI_CHANNEL_DONE   ? RT_OK
                      : attempt == RTI_CHANNEL_GONE ? RT_ERR_DISCONNECTED
                                                    : RT_ERR_FULL);
}

static void call_try_recv(void)
{
    struct rti_list wakes;
    uint64_t value = NOTHING;
    rti_list_init(&wakes);
    struct call *call = history_begin(CALL_RECV, NOTHING);
    enter();
    enum rti_channel_try attempt = rti_channel_take(&channel, &value, &wakes);
    leave(&wakes);
    call->value = value;
    history_end(call, attempt == RTI_CHANNEL_DONE   ? RT_OK
                      : attempt == RTI_CHANNEL_GONE ? RT_ERR_DISCONNECTED
                                                    : RT_ERR_EMPTY);
}

static bool call_try_reserve(void)
{
    struct call *call = history_begin(CALL_RESERVE, NOTHING);
    struct rti_list wakes;
    rti_list_init(&wakes);
    enter();
    bool is_armed = rti_channel_reserve(&channel, &self()->permit) == RTI_CHANNEL_DONE;
    leave(&wakes);
    history_end(call, is_armed ? RT_OK : RT_ERR_FULL);
    return is_armed;
}

static void call_resolve(uint64_t value)
{
    bool is_sent = explore_choose(2) != 0;
    struct call *call = history_begin(is_sent ? CALL_COMMIT : CALL_ABORT, value);
    struct rti_list wakes;
    rti_list_init(&wakes);
    enter();
    if (is_sent) {
        EXPLORE_ASSERT(rti_channel_commit(&channel, &self()->permit, &value, &wakes));
    } else {
        rti_channel_abort(&channel, &self()->permit, &wakes);
    }
    leave(&wakes);
    history_end(call, RT_OK);
}

static void call_close_sender(void)
{
    struct call *call = history_begin(CALL_CLOSE_SENDER, NOTHING);
    struct rti_list wakes;
    rti_list_init(&wakes);
    enter();
    rti_channel_close_sender(&channel, NULL, &wakes);
    leave(&wakes);
    history_end(call, RT_OK);
}

static void call_close_receiver(void)
{
    struct call *call = history_begin(CALL_CLOSE_RECEIVER, NOTHING);
    struct rti_list wakes;
    rti_list_init(&wakes);
    enter();
    rti_channel_close_receiver(&channel, NULL, &wakes);
    while (rti_channel_discard(&channel) != NULL) {
    }
    leave(&wakes);
    history_end(call, RT_OK);
}

static void setup_one(void)
{
    setup_with(1, false);
    history_start();
}

static void setup_two(void)
{
    setup_with(2, false);
    history_start();
}

static void setup_meeting(void)
{
    setup_with(1, true);
    history_start();
}

static void check_one(void)
{
    rti_channel_audit(&channel);
    history_check(1);
}

static void check_two(void)
{
    rti_channel_audit(&channel);
    history_check(2);
}

static void check_meeting(void)
{
    rti_channel_audit(&channel);
    history_check(0);
}

static void send_1(void)
{
    call_send(1);
}

static void send_2(void)
{
    call_send(2);
}

static void recv_1(void)
{
    (void)call_recv();
}

static void recv_twice(void)
{
    (void)call_recv();
    (void)call_recv();
}

MODEL(channel_history_of_two_senders_and_two_receivers){
    .about = "two senders and two receivers over one place: linearizable",
    .setup = setup_one,
    .threads = {send_1, send_2, recv_1, recv_1},
    .check = check_one,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 400000,
};

MODEL(channel_history_of_two_places){
    .about = "what two senders put one after the other is received in that order",
    .setup = setup_two,
    .threads = {send_1, send_2, recv_twice},
    .check = check_two,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(1)},
    .executions_max = 400000,
};

MODEL(channel_history_of_a_rendezvous){
    .about = "a send and a receive that meet happen at one moment of both",
    .setup = setup_meeting,
    .threads = {send_1, send_2, recv_twice},
    .check = check_meeting,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(1)},
    .executions_max = 400000,
};

static void try_send_two(void)
{
    call_try_send(1);
    call_try_send(2);
}

static void try_send_3(void)
{
    call_try_send(3);
}

static void try_recv_two(void)
{
    call_try_recv();
    call_try_recv();
}

MODEL(channel_history_of_tries){
    .about = "full and empty are said only when it was so during the call",
    .setup = setup_two,
    .threads = {try_send_two, try_send_3, try_recv_two},
    .check = check_two,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(1)},
    .executions_max = 400000,
};

static void reserve_and_resolve(void)
{
    if (call_try_reserve()) {
        call_resolve(1);
    }
}

MODEL(channel_history_of_a_permit){
    .about = "a permit takes a place when it is given and a turn when it is resolved",
    .setup = setup_two,
    .threads = {reserve_and_resolve, send_2, try_recv_two},
    .check = check_two,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(1)},
    .executions_max = 400000,
};

static void send_and_close(void)
{
    call_send(1);
    call_close_sender();
}

MODEL(channel_history_of_the_last_sender){
    .about = "disconnected is said after the close, and after the last value",
    .setup = setup_one,
    .threads = {send_and_close, recv_twice, call_try_recv},
    .check = check_one,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(1)},
    .executions_max = 400000,
};

static void send_two(void)
{
    call_send(1);
    call_send(2);
}

MODEL(channel_history_of_the_last_receiver){
    .about = "no send succeeds that was made after the close had returned",
    .setup = setup_one,
    .threads = {send_two, call_close_receiver, try_send_3},
    .check = check_one,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(1)},
    .executions_max = 400000,
};

/* Cancels the wait of thread 0, if it waits by now. */
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

static void try_send_2_and_recv(void)
{
    call_try_send(2);
    (void)call_recv();
}

MODEL(channel_history_of_a_cancelled_wait){
    .about = "a sender that is cancelled in line has sent nothing, one that is not has its turn",
    .setup = setup_one,
    .threads = {send_1, try_send_2_and_recv, cancel},
    .check = check_one,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(1)},
    .executions_max = 400000,
};
