/* SPDX-License-Identifier: Apache-2.0 */

/* Behaviours between workers: a message is followed by a turn and a turn runs on one worker; who is
 * muted goes on; what is counted is freed once. */

#include "actor/count.h"
#include "actor/gate.h"
#include "actor/rest.h"

/* ---- The mailbox and the schedule: push, wake, turn, rest ---- */

enum { SENDERS = 3, LETTERS = 2 };

struct letter {
    struct rti_mpsc_node node;
    unsigned sender;
    unsigned number;
};

static struct rti_mpsc mailbox;
static struct rti_runnable run;
static struct letter letters[SENDERS][LETTERS];
static unsigned taken;              /* the behaviour's */
static unsigned next_from[SENDERS]; /* the behaviour's too */

static void setup_behaviour(void)
{
    rti_mpsc_init(&mailbox);
    run = (struct rti_runnable){.is_shared = true};
    rti_u32_init(&run.state, RTI_RUNNABLE_PARKED);
    explore_name(&mailbox.tail, "tail");
    explore_name(&mailbox.resting.next, "resting.next");
    explore_name(&run.state, "state");
    taken = 0;
    for (unsigned i = 0; i < SENDERS; i++) {
        next_from[i] = 0;
        for (unsigned k = 0; k < LETTERS; k++) {
            letters[i][k] = (struct letter){.sender = i, .number = k};
            rti_ptr_init(&letters[i][k].node.next, NULL);
            explore_name(&letters[i][k].node.next, "node.next");
        }
    }
}

static void handle(struct rti_mpsc_node *node)
{
    struct letter *letter = RTI_CONTAINER_OF(node, struct letter, node);
    RTI_PLAIN_WRITE(&taken, sizeof taken);
    taken++;
    EXPLORE_ASSERT(letter->number == next_from[letter->sender]);
    next_from[letter->sender]++;
}

/* Whoever has to queue it runs it: a run queue that is never longer than one. */
static void turns(void)
{
    enum rti_rest rest;
    do {
        struct rti_mpsc_node *node = NULL;
        rti_runnable_to_running(&run);
        while (rti_mpsc_pop(&mailbox, &node) == RTI_MPSC_ITEM) {
            handle(node);
        }
        rest = rti_rest_try(&run, &mailbox);
        if (rest == RTI_REST_QUEUE) {
            rti_spin_hint();
        }
    } while (rest == RTI_REST_QUEUE);
}

static void send(unsigned number)
{
    if (rti_mpsc_push(&mailbox, &letters[explore_self()][number].node)) {
        rti_rest_end(&run);
        turns();
    }
}

static void send_two(void)
{
    send(0);
    send(1);
}

static void send_one(void)
{
    send(0);
}

static void check_all_of_two(void)
{
    EXPLORE_ASSERT(taken == 2 * LETTERS);
    EXPLORE_ASSERT(rti_runnable_state(&run) == RTI_RUNNABLE_PARKED);
}

MODEL(behaviour_takes_every_message_of_two_senders){
    .about = "two senders, two messages each; whoever wakes the behaviour gives it its turns",
    .setup = setup_behaviour,
    .threads = {send_two, send_two},
    .check = check_all_of_two,
};

static void check_all_of_three(void)
{
    EXPLORE_ASSERT(taken == 3);
    EXPLORE_ASSERT(rti_runnable_state(&run) == RTI_RUNNABLE_PARKED);
}

MODEL(behaviour_takes_every_message_of_three_senders){
    .about = "three senders, a message each",
    .setup = setup_behaviour,
    .threads = {send_one, send_one, send_one},
    .check = check_all_of_three,
};

/* ---- Muting: a sender announces itself and looks again, the receiver makes room and looks ---- */

enum { HIGH = 1, LOW = 0, FLOODERS = 2 };

static struct rti_gate gate;
static rti_atomic_u32 lock;
static rti_atomic_u32 has_mail[FLOODERS];
static rti_atomic_u32 is_released[FLOODERS];
static bool is_listed[FLOODERS]; /* under the lock */

static void setup_gate(void)
{
    rti_gate_init(&gate);
    rti_gate_set_limit(&gate, RTI_GATE_OPEN, HIGH);
    explore_name(&gate.entered, "entered");
    explore_name(&gate.ceiling, "ceiling");
    rti_u32_init(&lock, 0);
    explore_name(&lock, "lock");
    for (unsigned i = 0; i < FLOODERS; i++) {
        rti_u32_init(&has_mail[i], 0);
        explore_name(&has_mail[i], "has_mail");
        rti_u32_init(&is_released[i], 0);
        explore_name(&is_released[i], "is_released");
        is_listed[i] = false;
    }
}

static void take_lock(void)
{
    while (rti_u32_exchange_acqrel(&lock, 1) != 0) {
        rti_spin_hint();
    }
}

static void give_lock(void)
{
    rti_u32_store_release(&lock, 0);
}

/* Counts a message in, and then lets the receiver have it: the mailbox. */
static void deliver(void)
{
    rti_gate_enter(&gate, false);
    rti_u32_store_release(&has_mail[explore_self()], 1);
}

/* Who has sent one message too many waits if that is right. */
static void announce_and_wait(void)
{
    unsigned self = explore_self();
    take_lock();
    bool is_muted = rti_gate_announce(&gate, rti_gate_mark(HIGH, LOW), false);
    RTI_PLAIN_WRITE(&is_listed[self], sizeof is_listed[self]);
    is_listed[self] = is_muted;
    give_lock();
    while (is_muted && rti_u32_load_acquire(&is_released[self]) == 0) {
        rti_spin_hint();
    }
}

static void flood_and_wait(void)
{
    deliver();
    announce_and_wait();
}

static void release_all(void)
{
    take_lock();
    rti_gate_withdraw(&gate);
    for (unsigned i = 0; i < FLOODERS; i++) {
        RTI_PLAIN_WRITE(&is_listed[i], sizeof is_listed[i]);
        if (is_listed[i]) {
            is_listed[i] = false;
            rti_u32_store_release(&is_released[i], 1);
        }
    }
    give_lock();
}

static void leave(void)
{
    if (rti_gate_leave(&gate, rti_gate_mark(HIGH, LOW), false)) {
        release_all();
    }
}

/* Takes the message of one sender. */
static void take_from(unsigned sender)
{
    while (rti_u32_load_acquire(&has_mail[sender]) == 0) {
        rti_spin_hint();
    }
    leave();
}

static void check_gate(void)
{
    /* All the room is there again, and no more: no count was lost. */
    uint32_t entered = rti_gate_look(&gate) / 2;
    EXPLORE_ASSERT(rti_u32_load_relaxed(&gate.ceiling) / 2 == entered + HIGH);
    EXPLORE_ASSERT(!is_listed[0] && !is_listed[1]);
}

static void setup_one_waiting(void)
{
    setup_gate();
    rti_gate_enter(&gate, true);
}

static void drain_two(void)
{
    leave();
    take_from(0);
}

MODEL(gate_lets_no_muted_sender_sleep_for_ever){
    .about = "a sender is muted while the receiver takes its message and one before; it goes on",
    .setup = setup_one_waiting,
    .threads = {flood_and_wait, drain_two},
    .check = check_gate,
};

static void drain_both(void)
{
    take_from(0);
    take_from(1);
}

MODEL(gate_counts_beside_a_muted_sender){
    .about = "a sender is muted while another sends and the receiver takes a message of each",
    .setup = setup_gate,
    .threads = {flood_and_wait, deliver, drain_both},
    .check = check_gate,
};

static void setup_two_waiting(void)
{
    setup_one_waiting();
    rti_gate_enter(&gate, true);
}

static void leave_twice(void)
{
    leave();
    leave();
}

MODEL(gate_lets_both_muted_senders_go){
    .about = "two senders are muted while the receiver takes a message of each; both go on",
    .setup = setup_two_waiting,
    .threads = {announce_and_wait, announce_and_wait, leave_twice},
    .check = check_gate,
};

/* ---- Counted things: holders release, one of them because it is killed ---- */

static rti_atomic_u32 holds;
static rti_atomic_u32 frees;
static unsigned bytes; /* what is shared */

static void setup_count(void)
{
    rti_u32_init(&holds, 2);
    rti_u32_init(&frees, 0);
    explore_name(&holds, "holds");
    explore_name(&frees, "frees");
    bytes = 1;
}

static void give_back(void)
{
    RTI_PLAIN_READ(&bytes, sizeof bytes);
    EXPLORE_ASSERT(bytes == 1);
    if (rti_count_release(&holds, false)) {
        RTI_PLAIN_WRITE(&bytes, sizeof bytes);
        bytes = 0;
        (void)rti_u32_add_relaxed(&frees, 1);
    }
}

/* Sends it on, which takes another hold, and is killed. */
static void share_and_die(void)
{
    rti_count_retain(&holds, false);
    give_back();
    give_back();
}

static void check_count(void)
{
    EXPLORE_ASSERT(rti_u32_load_relaxed(&frees) == 1);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&holds) == 0);
}

MODEL(count_frees_once_when_holders_share_and_die){
    .about = "two holders; one makes another hold and loses both, the other loses its own",
    .setup = setup_count,
    .threads = {share_and_die, give_back},
    .check = check_count,
};

/* Somebody who only knows its name tries to get hold of it. */
static void peek(void)
{
    if (rti_count_try_retain(&holds, false)) {
        give_back();
    }
}

MODEL(count_is_not_revived_by_a_name){
    .about = "two holders give it back while a third tries to take hold by name",
    .setup = setup_count,
    .threads = {give_back, give_back, peek},
    .check = check_count,
};
