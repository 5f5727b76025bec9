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

/* ---- Muting: a sender announces itself and looks again, the receiver counts and looks ---- */

enum { LOW = 1 };

static struct rti_gate gate;
static rti_atomic_u32 lock;
static rti_atomic_u32 is_released[2];
static bool is_listed[2]; /* under the lock */

static void setup_gate(void)
{
    rti_gate_init(&gate);
    explore_name(&gate.depth, "depth");
    explore_name(&gate.is_announced, "is_announced");
    rti_u32_init(&lock, 0);
    explore_name(&lock, "lock");
    for (unsigned i = 0; i < 2; i++) {
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

/* Sends one message too many and waits if that is right. */
static void flood_and_wait(void)
{
    unsigned self = explore_self();
    (void)rti_gate_enter(&gate, false);
    take_lock();
    bool is_muted = rti_gate_announce(&gate, LOW, false);
    RTI_PLAIN_WRITE(&is_listed[self], sizeof is_listed[self]);
    is_listed[self] = is_muted;
    give_lock();
    while (is_muted && rti_u32_load_acquire(&is_released[self]) == 0) {
        rti_spin_hint();
    }
}

static void release_all(void)
{
    take_lock();
    rti_gate_withdraw(&gate);
    for (unsigned i = 0; i < 2; i++) {
        RTI_PLAIN_WRITE(&is_listed[i], sizeof is_listed[i]);
        if (is_listed[i]) {
            is_listed[i] = false;
            rti_u32_store_release(&is_released[i], 1);
        }
    }
    give_lock();
}

/* Takes what both send, and what was there before. */
static void drain_all(void)
{
    for (unsigned left = 4; left > 0; left--) {
        while (rti_gate_depth(&gate) == 0) {
            rti_spin_hint();
        }
        if (rti_gate_leave(&gate, LOW, false)) {
            release_all();
        }
    }
}

static void setup_two_waiting(void)
{
    setup_gate();
    rti_u32_init(&gate.depth, 2);
}

static void check_gate(void)
{
    EXPLORE_ASSERT(rti_gate_depth(&gate) == 0);
    EXPLORE_ASSERT(!is_listed[0] && !is_listed[1]);
}

MODEL(gate_lets_no_muted_sender_sleep_for_ever){
    .about = "two senders are muted while the receiver drains; both go on",
    .setup = setup_two_waiting,
    .threads = {flood_and_wait, flood_and_wait, drain_all},
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
