/* SPDX-License-Identifier: Apache-2.0 */

/* Behaviours between workers: a message is followed by a turn and a turn runs on one worker; an
 * order is seen; who is muted goes on; what is counted is freed once. */

#include "actor/count.h"
#include "actor/rest.h"

/* ---- The mailbox and the schedule: push, wake, turn, rest ---- */

enum { SENDERS = 3, LETTERS = 2 };

struct letter {
    struct rti_letter letter;
    unsigned sender;
    unsigned number;
};

static struct rti_letterbox box;
static struct rti_runnable run;
static struct letter letters[SENDERS][LETTERS];
static rti_atomic_u32 is_free[SENDERS]; /* the first letter of this sender may be sent again */
static rti_atomic_u32 orders;           /* that were given and not seen */
static unsigned taken;                  /* the behaviour's */
static unsigned next_from[SENDERS];     /* the behaviour's too */

static uintptr_t origin(void)
{
    return rti_letters_origin(letters);
}

static void write_letter(unsigned sender, unsigned number)
{
    struct letter *letter = &letters[sender][number];
    RTI_PLAIN_WRITE(&letter->sender, sizeof letter->sender);
    letter->sender = sender;
    RTI_PLAIN_WRITE(&letter->number, sizeof letter->number);
    letter->number = number;
}

static void setup_active(void)
{
    rti_letterbox_init(&box);
    run = (struct rti_runnable){.is_shared = true};
    rti_u32_init(&run.state, RTI_RUNNABLE_RUNNING);
    rti_u32_init(&orders, 0);
    explore_name(&box.word, "word");
    explore_name(&run.state, "state");
    explore_name(&orders, "orders");
    taken = 0;
    for (unsigned i = 0; i < SENDERS; i++) {
        next_from[i] = 0;
        rti_u32_init(&is_free[i], 0);
        explore_name(&is_free[i], "is_free");
    }
}

static void setup_behaviour(void)
{
    setup_active();
    EXPLORE_ASSERT(rti_rest_try(&run, &box, false));
}

static bool push(unsigned sender, unsigned number)
{
    write_letter(sender, number);
    return rti_letterbox_push(&box, origin(), &letters[sender][number].letter,
                              rti_letterbox_look(&box));
}

/* Handles a letter: those of a sender come in their order. */
static void handle(const struct rti_letter *taken_letter)
{
    const struct letter *letter = RTI_CONTAINER_OF(taken_letter, const struct letter, letter);
    RTI_PLAIN_READ(&letter->sender, sizeof letter->sender);
    RTI_PLAIN_READ(&letter->number, sizeof letter->number);
    RTI_PLAIN_WRITE(&taken, sizeof taken);
    taken++;
    EXPLORE_ASSERT(letter->number == next_from[letter->sender] % LETTERS);
    next_from[letter->sender]++;
}

/* A letter is nobody's any more: its sender may write it anew. */
static void set_free(struct rti_letter *taken_letter)
{
    if (taken_letter != NULL) {
        const struct letter *letter = RTI_CONTAINER_OF(taken_letter, const struct letter, letter);
        if (letter->number == 0) {
            rti_u32_store_release(&is_free[letter->sender], 1);
        }
    }
}

static struct rti_letter *next_letter(struct rti_letter **kept)
{
    struct rti_letter *letter = rti_letterbox_take(&box);
    if (letter == NULL && rti_letterbox_collect(&box, origin())) {
        letter = rti_letterbox_take(&box);
        set_free(*kept);
        *kept = NULL;
    }
    return letter;
}

/* Whoever has to queue it runs it: a run queue that is never longer than one. */
static void turn(void)
{
    struct rti_letter *kept = NULL;
    rti_runnable_to_running(&run);
    for (;;) {
        if (rti_u32_load_relaxed(&orders) != 0) {
            (void)rti_u32_and_acqrel(&orders, 0);
        }
        struct rti_letter *letter = next_letter(&kept);
        if (letter != NULL) {
            handle(letter);
            if (rti_letterbox_keeps(&box, origin(), letter)) {
                kept = letter;
            } else {
                set_free(letter);
            }
        } else if (rti_rest_try(&run, &box, false)) {
            set_free(kept);
            return;
        } else {
            rti_letterbox_calm(&box);
        }
    }
}

static void rouse(bool was_idle)
{
    if (was_idle) {
        rti_rest_end(&run);
        turn();
    }
}

static void send(unsigned number)
{
    rouse(push(explore_self(), number));
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

static void check_rests(unsigned count)
{
    EXPLORE_ASSERT(taken == count);
    EXPLORE_ASSERT(rti_runnable_state(&run) == RTI_RUNNABLE_PARKED);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&orders) == 0);
    EXPLORE_ASSERT(rti_letterbox_is_idle(rti_letterbox_look(&box)));
    EXPLORE_ASSERT(rti_letterbox_audit(&box, origin()) == 0);
    EXPLORE_ASSERT(rti_letterbox_entered(rti_letterbox_look(&box)) == 2 * count);
}

static void check_all_of_two(void)
{
    check_rests(2 * LETTERS);
}

MODEL(behaviour_takes_every_message_of_two_senders){
    .about = "two senders, two messages each; whoever wakes the behaviour gives it its turns",
    .setup = setup_behaviour,
    .threads = {send_two, send_two},
    .check = check_all_of_two,
};

static void check_three(void)
{
    check_rests(3);
}

MODEL(behaviour_takes_every_message_of_three_senders){
    .about = "three senders, a message each",
    .setup = setup_behaviour,
    .threads = {send_one, send_one, send_one},
    .check = check_three,
};

static void check_five(void)
{
    check_rests(2 * LETTERS + 1);
}

MODEL(behaviour_takes_every_message_of_many_senders){
    .about = "five messages of three senders",
    .setup = setup_behaviour,
    .threads = {send_two, send_two, send_one},
    .check = check_five,
};

/* The same cell is sent again as soon as it is free, behind another one. */
static void send_one_again(void)
{
    send(0);
    while (rti_u32_load_acquire(&is_free[explore_self()]) == 0) {
        rti_spin_hint();
    }
    next_from[explore_self()] = 0; /* nobody else has anything of this sender */
    send(0);
}

MODEL(behaviour_takes_a_message_whose_memory_comes_again){
    .about = "a sender uses the memory of its message again while another sends",
    .setup = setup_behaviour,
    .threads = {send_one_again, send_one},
    .check = check_three,
};

static void check_all_of_three(void)
{
    check_rests(2 * LETTERS);
}

MODEL(behaviour_takes_a_message_whose_memory_comes_again_among_three){
    .about = "the same beside two others",
    .setup = setup_behaviour,
    .threads = {send_one_again, send_one, send_one},
    .check = check_all_of_three,
};

/* Somebody orders: a kill or a stop. */
static void order(void)
{
    (void)rti_u32_or_acqrel(&orders, 1);
    rouse(rti_letterbox_nudge(&box));
}

static void order_twice(void)
{
    order();
    order();
}

static void check_one(void)
{
    check_rests(1);
}

MODEL(behaviour_sees_orders_beside_a_message){
    .about = "two orders and a message reach one that rests; who wakes it gives it its turns",
    .setup = setup_behaviour,
    .threads = {order_twice, send_one},
    .check = check_one,
};

static void check_none(void)
{
    check_rests(0);
}

MODEL(behaviour_sees_the_orders_of_two){
    .about = "two who order, one of them twice",
    .setup = setup_behaviour,
    .threads = {order_twice, order},
    .check = check_none,
};

/* The receiver hands a letter on that the word may name: it writes it anew, into the same box. */
static void push_first(void)
{
    (void)push(explore_self(), 0);
}

static void hand_on_and_take_three(void)
{
    struct rti_letter *kept = NULL;
    bool is_handed_on = false;
    while (taken < 3) {
        struct rti_letter *letter = next_letter(&kept);
        if (letter == NULL) {
            rti_spin_hint();
            continue;
        }
        struct letter *held = RTI_CONTAINER_OF(letter, struct letter, letter);
        handle(letter);
        if (rti_letterbox_keeps(&box, origin(), letter)) {
            rti_letterbox_let_go(&box, origin());
        }
        if (!is_handed_on) {
            is_handed_on = true;
            next_from[held->sender] = 0;
            (void)push(held->sender, 0);
        }
    }
}

static void check_handed_on(void)
{
    EXPLORE_ASSERT(taken == 3 && rti_letterbox_audit(&box, origin()) == 0);
}

MODEL(behaviour_hands_on_what_its_mailbox_names){
    .about = "a receiver sends what it has just taken while two others send",
    .setup = setup_active,
    .threads = {push_first, push_first, hand_on_and_take_three},
    .check = check_handed_on,
};

/* ---- Muting: a sender announces itself and looks again, the receiver makes room and looks ---- */

enum { HIGH = 1, LOW = 0, FLOODERS = 2 };

static rti_atomic_u32 lock;
static rti_atomic_u32 is_released[FLOODERS];
static bool is_listed[FLOODERS]; /* under the lock */

static void setup_gate(void)
{
    setup_active();
    rti_letterbox_set_limit(&box, RTI_GATE_OPEN, HIGH);
    explore_name(&box.ceiling, "ceiling");
    rti_u32_init(&lock, 0);
    explore_name(&lock, "lock");
    for (unsigned i = 0; i < FLOODERS; i++) {
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

/* Who has sent one message too many waits if that is right. */
static void announce_and_wait(void)
{
    unsigned self = explore_self();
    take_lock();
    bool is_muted = rti_letterbox_announce(&box, rti_gate_mark(HIGH, LOW));
    RTI_PLAIN_WRITE(&is_listed[self], sizeof is_listed[self]);
    is_listed[self] = is_muted;
    give_lock();
    while (is_muted && rti_u32_load_acquire(&is_released[self]) == 0) {
        rti_spin_hint();
    }
}

static void flood_and_wait(void)
{
    push_first();
    announce_and_wait();
}

static void release_all(void)
{
    take_lock();
    rti_letterbox_withdraw(&box);
    for (unsigned i = 0; i < FLOODERS; i++) {
        RTI_PLAIN_WRITE(&is_listed[i], sizeof is_listed[i]);
        if (is_listed[i]) {
            is_listed[i] = false;
            rti_u32_store_release(&is_released[i], 1);
        }
    }
    give_lock();
}

/* The receiver takes two messages. */
static void drain_two(void)
{
    uint32_t entered = rti_letterbox_entered(rti_letterbox_look(&box));
    for (unsigned i = 0; i < 2;) {
        struct rti_letter *letter = rti_letterbox_take(&box);
        if (letter == NULL) {
            if (!rti_letterbox_collect(&box, origin())) {
                rti_spin_hint();
            }
            continue;
        }
        i++;
        if (rti_letterbox_leave(&box, rti_gate_mark(HIGH, LOW), &entered) &&
            rti_letterbox_is_awaited(&box, false)) {
            release_all();
        }
    }
}

static void check_gate(void)
{
    /* All the room is there again, and no more: no count was lost. */
    uint32_t entered = rti_letterbox_entered(rti_letterbox_look(&box)) / 2;
    EXPLORE_ASSERT(rti_u32_load_relaxed(&box.ceiling) / 2 == entered + HIGH);
    EXPLORE_ASSERT(rti_letterbox_depth(&box, HIGH) == 0);
    EXPLORE_ASSERT(!is_listed[0] && !is_listed[1]);
}

static void setup_one_waiting(void)
{
    setup_gate();
    (void)push(2, 0);
}

MODEL(gate_lets_no_muted_sender_sleep_for_ever){
    .about = "a sender is muted while the receiver takes its message and one before; it goes on",
    .setup = setup_one_waiting,
    .threads = {flood_and_wait, drain_two},
    .check = check_gate,
};

MODEL(gate_counts_beside_a_muted_sender){
    .about = "a sender is muted while another sends and the receiver takes a message of each",
    .setup = setup_gate,
    .threads = {flood_and_wait, push_first, drain_two},
    .check = check_gate,
};

static void setup_two_waiting(void)
{
    setup_one_waiting();
    (void)push(2, 1);
}

MODEL(gate_lets_both_muted_senders_go){
    .about = "two senders are muted while the receiver takes a message of each; both go on",
    .setup = setup_two_waiting,
    .threads = {announce_and_wait, announce_and_wait, drain_two},
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
