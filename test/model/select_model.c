/* SPDX-License-Identifier: Apache-2.0 */

/* Selects on several workers: two rounds over two channels, each under a lock of its own. The
 * channel's core is the library's own (src/sync/channel.c), and so are the claim of one wait, the
 * claim of two and the parker; the model does what src/sync/select.c and select_channel.c do around
 * them.
 *
 * What is shown: a select does one operation; two selects that offer each other two exchanges do
 * one of them, both the same, and neither sleeps for ever nor spins for ever; a close, a timeout
 * and a value that race for one select leave one winner, and what the others had stays theirs;
 * nothing of a select is linked anywhere when it is over. And of pairs alone: three of them in a
 * circle come to an end. */

#include "base/assert.h"
#include "sync/channel.h"

#include "port/explore/port.h"
#include "sched/parker.h"
#include "sync/permit.h"

enum { PARTIES = 4, ARMS = 2, SOURCES = 2, NOBODY = 9 };

struct source {
    struct rti_channel channel;
    _Alignas(16) unsigned char memory[RT_CHANNEL_BYTES(8, 1)];
    rti_atomic_u32 lock;
};

/* What a select offers at one source. */
struct offer {
    unsigned source;
    enum rti_channel_waiter_kind kind; /* SEND or RECV */
};

struct party {
    struct rti_parker parker;
    struct rti_wait wait;
    struct rti_channel_waiter waiters[ARMS];
    uint64_t values[ARMS]; /* sent or received: plain, ordered by lock or wake */
    uint32_t chosen;       /* which arm; NOBODY: none */
    rt_status_code result; /* of that arm, or why there is none */
};

static struct source sources[SOURCES];
static struct party parties[PARTIES];

/* The wheel: who wants to be told of the time, and whether it has come, under its lock. */
static rti_atomic_u32 wheel_lock;
static struct party *sleeper;
static bool is_time;

static struct party *self(void)
{
    return &parties[explore_self()];
}

static void lock(rti_atomic_u32 *word)
{
    uint32_t unlocked = 0;
    /* Pairs with the release in unlock. */
    while (!rti_u32_cas_acqrel(word, &unlocked, 1)) {
        rti_spin_hint();
        unlocked = 0;
    }
}

static void unlock(rti_atomic_u32 *word)
{
    /* Pairs with the acquire in lock. */
    rti_u32_store_release(word, 0);
}

static struct rti_channel *enter(unsigned source)
{
    lock(&sources[source].lock);
    RTI_PLAIN_WRITE(&sources[source].channel, sizeof(struct rti_channel));
    return &sources[source].channel;
}

/* Leaves, then wakes. */
static void leave(unsigned source, struct rti_list *wakes)
{
    rti_channel_audit(&sources[source].channel);
    RTI_PLAIN_WRITE(&sources[source].channel, sizeof(struct rti_channel));
    unlock(&sources[source].lock);
    rti_channel_wake_all(wakes);
}

static unsigned source_of(const struct rti_channel *channel)
{
    return channel == &sources[0].channel ? 0 : 1;
}

static void unpark(struct rti_wait *ended)
{
    struct party *party = ended->target;
    rti_parker_unpark(&party->parker, explore_port());
}

/* The unlink of an arm: the chosen one has what it was given, the others give it back. */
static void take_out(struct rti_waiter *base)
{
    struct party *party = self();
    struct rti_channel_waiter *waiter = rti_channel_waiter_of(base);
    unsigned source = source_of(waiter->channel);
    struct rti_list wakes;
    rti_list_init(&wakes);
    (void)enter(source);
    if (waiter == &party->waiters[party->chosen % ARMS] && party->chosen != NOBODY) {
        waiter->channel->waits--;
    } else {
        EXPLORE_ASSERT(!rti_channel_leave(waiter->channel, waiter, true, &wakes));
    }
    leave(source, &wakes);
}

/* The first round, for one arm. True: it is done. */
static bool attempt(struct party *party, const struct offer *offer, uint32_t arm)
{
    struct rti_list wakes;
    rti_list_init(&wakes);
    struct rti_channel *channel = enter(offer->source);
    enum rti_channel_try tried = offer->kind == RTI_CHANNEL_SEND
                                     ? rti_channel_put(channel, &party->values[arm], &wakes)
                                     : rti_channel_take(channel, &party->values[arm], &wakes);
    leave(offer->source, &wakes);
    if (tried == RTI_CHANNEL_MUST_WAIT) {
        return false;
    }
    party->chosen = arm;
    party->result = tried == RTI_CHANNEL_DONE ? RT_OK : RT_ERR_DISCONNECTED;
    return true;
}

/* The second round, for one arm. False: the wait has ended already. */
static bool join(struct party *party, const struct offer *offer, uint32_t arm)
{
    struct rti_list wakes;
    struct rti_channel_waiter *waiter = &party->waiters[arm];
    rti_list_init(&wakes);
    rti_wait_add(&party->wait, &waiter->waiter, RTI_EVENT_SOURCE + arm, take_out);
    waiter->waiter.slot = &party->values[arm];
    waiter->end = NULL;
    waiter->permit = NULL;
    rti_channel_join(enter(offer->source), waiter, offer->kind, &wakes);
    leave(offer->source, &wakes);
    return rti_wait_event(&party->wait) == RTI_EVENT_NONE;
}

/* A timer whose time has come fires at once. */
static void set_timer(struct party *party)
{
    lock(&wheel_lock);
    RTI_PLAIN_WRITE(&sleeper, sizeof sleeper);
    sleeper = party;
    if (is_time && party != NULL && rti_wait_claim(&party->wait, RTI_EVENT_TIMEOUT)) {
        unpark(&party->wait);
    }
    unlock(&wheel_lock);
}

/* Joins, sleeps, and takes itself out. */
static void await(const struct offer *offers, uint32_t count, bool has_timeout)
{
    struct party *party = self();
    rti_wait_begin(&party->wait, unpark, party, false);
    if (has_timeout) {
        set_timer(party);
    }
    for (uint32_t i = 0; i < count && join(party, &offers[i], i); i++) {
    }
    EXPLORE_ASSERT(rti_parker_park(&party->parker, explore_port(), RTI_TIME_NEVER));
    uint32_t event = rti_wait_event(&party->wait);
    EXPLORE_ASSERT(event != RTI_EVENT_NONE);
    if (event >= RTI_EVENT_SOURCE) {
        party->chosen = event - RTI_EVENT_SOURCE;
        party->result = party->waiters[party->chosen].result;
    } else {
        party->result = RT_ERR_TIMEOUT;
    }
    if (has_timeout) {
        set_timer(NULL);
    }
    rti_wait_finish(&party->wait);
    /* The memory is ours again: whoever still touched it would be seen. */
    rti_u32_init(&party->wait.claimed, RTI_EVENT_NONE);
}

static void select_among(const struct offer *offers, uint32_t count, bool has_timeout)
{
    for (uint32_t i = 0; i < count; i++) {
        if (attempt(self(), &offers[i], i)) {
            return;
        }
    }
    await(offers, count, has_timeout);
}

static void setup_with(bool is_first_rendezvous, bool is_second_rendezvous)
{
    rt_channel_config config = {.elem_size = 8, .capacity = 1};
    for (unsigned i = 0; i < SOURCES; i++) {
        rti_channel_init(&sources[i].channel, &config, sources[i].memory,
                         i == 0 ? is_first_rendezvous : is_second_rendezvous);
        rti_channel_share(&sources[i].channel);
        rti_u32_init(&sources[i].lock, 0);
    }
    rti_u32_init(&wheel_lock, 0);
    sleeper = NULL;
    is_time = false;
    explore_name(&sources[0].lock, "lock0");
    explore_name(&sources[1].lock, "lock1");
    for (unsigned i = 0; i < PARTIES; i++) {
        rti_parker_init(&parties[i].parker);
        parties[i].chosen = NOBODY;
        parties[i].result = RT_ERR_WOULDBLOCK;
        parties[i].values[0] = 10 * i + 1;
        parties[i].values[1] = 10 * i + 2;
    }
}

static void setup_rendezvous(void)
{
    setup_with(true, true);
}

static void setup_buffered(void)
{
    setup_with(false, false);
}

static void check_nobody_waits(void)
{
    for (unsigned i = 0; i < SOURCES; i++) {
        const struct rti_channel *channel = &sources[i].channel;
        rti_channel_audit(channel);
        EXPLORE_ASSERT(channel->waits == 0 && channel->reserved == 0);
        EXPLORE_ASSERT(rti_waitlist_is_empty(&channel->sender_line));
        EXPLORE_ASSERT(rti_waitlist_is_empty(&channel->receiver_line));
    }
}

/* Sends to the first channel or receives from the second. */
static void cross_here(void)
{
    static const struct offer offers[ARMS] = {{0, RTI_CHANNEL_SEND}, {1, RTI_CHANNEL_RECV}};
    select_among(offers, ARMS, false);
}

/* The opposite, asked in the opposite order. */
static void cross_there(void)
{
    static const struct offer offers[ARMS] = {{1, RTI_CHANNEL_SEND}, {0, RTI_CHANNEL_RECV}};
    select_among(offers, ARMS, false);
}

/* The same, asked in the same order: each stands in the line that the other looks at next. */
static void cross_back(void)
{
    static const struct offer offers[ARMS] = {{0, RTI_CHANNEL_RECV}, {1, RTI_CHANNEL_SEND}};
    select_among(offers, ARMS, false);
}

static void check_crossed(void)
{
    const struct party *here = &parties[0];
    const struct party *there = &parties[1];
    check_nobody_waits();
    EXPLORE_ASSERT(here->result == RT_OK && there->result == RT_OK);
    /* `there` sends with arm 0 or, if it is cross_back, with arm 1. */
    bool is_here_sender = here->chosen == 0;
    uint64_t taken = is_here_sender ? there->values[there->chosen] : here->values[1];
    uint64_t given = is_here_sender ? here->values[0] : there->values[there->chosen];
    EXPLORE_ASSERT(taken == given);
    EXPLORE_ASSERT(sources[0].channel.handed + sources[1].channel.handed == 1);
    EXPLORE_ASSERT(rti_channel_queued(&sources[0].channel) == 0);
    EXPLORE_ASSERT(rti_channel_queued(&sources[1].channel) == 0);
    explore_outcome(here->chosen);
}

MODEL(select_two_that_cross_do_one_exchange){
    .about = "each offers the other two exchanges, at two rendezvous, in opposite orders",
    .setup = setup_rendezvous,
    .threads = {cross_here, cross_there},
    .check = check_crossed,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
    .executions_max = 100000,
};

MODEL(select_two_that_cross_in_step_do_one_exchange){
    .about = "the same, in the same order",
    .setup = setup_rendezvous,
    .threads = {cross_here, cross_back},
    .check = check_crossed,
    .bound = {0, EXPLORE_BOUND(1)},
    .executions_max = 200000,
};

static void recv_both_until(void)
{
    static const struct offer offers[ARMS] = {{0, RTI_CHANNEL_RECV}, {1, RTI_CHANNEL_RECV}};
    select_among(offers, ARMS, true);
}

static void close_first(void)
{
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_channel_close_sender(enter(0), NULL, &wakes);
    leave(0, &wakes);
}

/* The time comes: with the wheel's lock held, as a clockwork does it. */
static void time_comes(void)
{
    lock(&wheel_lock);
    RTI_PLAIN_WRITE(&sleeper, sizeof sleeper);
    is_time = true;
    if (sleeper != NULL && rti_wait_claim(&sleeper->wait, RTI_EVENT_TIMEOUT)) {
        unpark(&sleeper->wait);
    }
    unlock(&wheel_lock);
}

/* A value for the second channel: it is received, or it lies there. */
static void send_second(void)
{
    struct party *party = self();
    struct rti_list wakes;
    rti_list_init(&wakes);
    EXPLORE_ASSERT(rti_channel_put(enter(1), &party->values[0], &wakes) == RTI_CHANNEL_DONE);
    leave(1, &wakes);
}

static void check_one_winner(void)
{
    const struct party *party = &parties[0];
    const struct rti_channel *second = &sources[1].channel;
    check_nobody_waits();
    bool is_received = party->result == RT_OK;
    EXPLORE_ASSERT(is_received || party->result == RT_ERR_DISCONNECTED ||
                   party->result == RT_ERR_TIMEOUT);
    EXPLORE_ASSERT(!is_received || (party->chosen == 1 && party->values[1] == 11));
    EXPLORE_ASSERT(party->result != RT_ERR_DISCONNECTED || party->chosen == 0);
    EXPLORE_ASSERT(rti_channel_queued(second) == (is_received ? 0 : 1));
    explore_outcome(is_received ? 0 : party->result == RT_ERR_TIMEOUT ? 1 : 2);
}

MODEL(select_is_ended_by_a_value_a_close_or_the_time){
    .about = "a value, the end of a side and a timeout race for one select",
    .setup = setup_buffered,
    .threads = {recv_both_until, send_second, close_first, time_comes},
    .check = check_one_winner,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .outcomes = {{3, {0, 1, 2}}, {3, {0, 1, 2}}},
    .executions_max = 100000,
};

static void setup_mixed(void)
{
    setup_with(true, false);
}

/* Sends to a rendezvous or receives from a buffered channel. */
static void send_or_recv(void)
{
    static const struct offer offers[ARMS] = {{0, RTI_CHANNEL_SEND}, {1, RTI_CHANNEL_RECV}};
    select_among(offers, ARMS, false);
}

static void recv_or_send(void)
{
    static const struct offer offers[ARMS] = {{1, RTI_CHANNEL_RECV}, {0, RTI_CHANNEL_SEND}};
    select_among(offers, ARMS, false);
}

/* The one that it may meet, which may be out of time at that very moment. It has found nothing
 * before the model begins. */
static void recv_first_until(void)
{
    static const struct offer offer = {0, RTI_CHANNEL_RECV};
    await(&offer, 1, true);
}

/* Whoever is woken by a partner that turns out to be gone must not have lost its other places. */
static void check_partner(void)
{
    const struct party *chooser = &parties[0];
    const struct party *partner = &parties[1];
    const struct rti_channel *second = &sources[1].channel;
    check_nobody_waits();
    EXPLORE_ASSERT(chooser->result == RT_OK);
    bool have_met = partner->result == RT_OK;
    EXPLORE_ASSERT(have_met || partner->result == RT_ERR_TIMEOUT);
    EXPLORE_ASSERT(sources[0].channel.handed == (have_met ? 1 : 0));
    EXPLORE_ASSERT(rti_channel_queued(second) == (have_met ? 1 : 0));
    explore_outcome(have_met);
}

MODEL(select_whose_partner_is_gone_goes_on_joining){
    .about = "a pair is tried and given up while the select has its next arm to join",
    .setup = setup_mixed,
    .threads = {send_or_recv, recv_first_until, send_second, time_comes},
    .check = check_partner,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 200000,
};

MODEL(select_whose_partner_is_gone_keeps_its_other_places){
    .about = "a pair is tried and given up while a value comes for the other arm",
    .setup = setup_mixed,
    .threads = {recv_or_send, recv_first_until, send_second, time_comes},
    .check = check_partner,
    .bound = {EXPLORE_BOUND(2), EXPLORE_BOUND(1)},
    .executions_max = 200000,
};

/* Pairs alone: three waits, and three threads that each want two of them. */
enum { CIRCLE = 3 };

static struct rti_wait circle[CIRCLE];
static uint32_t claimed_by[CIRCLE]; /* plain: written by who claimed it */
static enum rti_wait_pair circle_results[CIRCLE];

static void setup_circle(void)
{
    for (uint32_t i = 0; i < CIRCLE; i++) {
        rti_wait_begin(&circle[i], unpark, NULL, false);
        claimed_by[i] = NOBODY;
        circle_results[i] = RTI_PAIR_FIRST_GONE;
    }
    explore_name(&circle[0].claimed, "wait0");
    explore_name(&circle[1].claimed, "wait1");
    explore_name(&circle[2].claimed, "wait2");
}

static void claim_two(void)
{
    uint32_t first = explore_self();
    uint32_t second = (first + 1) % CIRCLE;
    uint32_t event = RTI_EVENT_SOURCE + first;
    circle_results[first] = rti_wait_claim_pair(&circle[first], event, &circle[second], event);
    if (circle_results[first] == RTI_PAIR_CLAIMED) {
        RTI_PLAIN_WRITE(&claimed_by[first], sizeof claimed_by[first]);
        claimed_by[first] = first;
        RTI_PLAIN_WRITE(&claimed_by[second], sizeof claimed_by[second]);
        claimed_by[second] = first;
    }
}

static void check_circle(void)
{
    uint32_t winners = 0;
    uint32_t winner = NOBODY;
    for (uint32_t i = 0; i < CIRCLE; i++) {
        if (circle_results[i] == RTI_PAIR_CLAIMED) {
            winners++;
            winner = i;
        }
    }
    /* Two pairs of three have one in common: one pair wins, and it wins both. */
    EXPLORE_ASSERT(winners == 1);
    for (uint32_t i = 0; i < CIRCLE; i++) {
        bool is_in = i == winner || i == (winner + 1) % CIRCLE;
        EXPLORE_ASSERT(rti_wait_event(&circle[i]) ==
                       (is_in ? RTI_EVENT_SOURCE + winner : RTI_EVENT_NONE));
        EXPLORE_ASSERT(claimed_by[i] == (is_in ? winner : NOBODY));
    }
    explore_outcome(winner);
}

MODEL(select_pairs_in_a_circle_have_one_winner){
    .about = "three pairs of three waits: one is claimed, wholly, and the others come to an end",
    .setup = setup_circle,
    .threads = {claim_two, claim_two, claim_two},
    .check = check_circle,
    .outcomes = {{3, {0, 1, 2}}, {3, {0, 1, 2}}},
};
