/* SPDX-License-Identifier: Apache-2.0 */

/* The claim of a waiter: of several events that race for one wait exactly one wins, wakes exactly
 * once, and what it delivered is seen by the waiter; after rti_wait_finish nobody touches the wait
 * any more. */

#include "base/assert.h"
#include "sched/wait.h"

#include "port/explore/port.h"
#include "sched/parker.h"

enum { EVENTS = 4, SOURCES = 2 };

static struct rti_wait wait;
static struct rti_waiter waiters[EVENTS];
static struct rti_parker parker;
static uint64_t delivered; /* plain: written by the winner, read by the waiter */
static uint32_t win_count;
static rti_atomic_u32 wake_count;
static uint32_t event_seen;

static void wake_by_parker(struct rti_wait *ended)
{
    struct rti_parker *target = ended->target;
    (void)rti_u32_add_relaxed(&wake_count, 1);
    rti_parker_unpark(target, explore_port());
}

static void unlink_nothing(struct rti_waiter *waiter)
{
    (void)waiter;
}

static void setup(void)
{
    rti_parker_init(&parker);
    rti_u32_init(&wake_count, 0);
    explore_name(&parker.state, "parker");
    explore_name(&wake_count, "wake_count");
    explore_name(&wait.claimed, "claimed");
    rti_wait_begin(&wait, wake_by_parker, &parker, false);
    for (uint32_t i = 0; i < EVENTS; i++) {
        rti_wait_add(&wait, &waiters[i], RTI_EVENT_TIMEOUT + i, unlink_nothing);
    }
    delivered = 0;
    win_count = 0;
    event_seen = 0;
}

/* One of the events: thread 1 is the deadline, 2 the cancellation, others are sources. */
static void claim(void)
{
    struct rti_waiter *waiter = &waiters[explore_self() - 1];
    if (!rti_wait_claim(waiter->wait, waiter->event)) {
        return;
    }
    RTI_PLAIN_WRITE(&win_count, sizeof win_count);
    win_count++;
    RTI_PLAIN_WRITE(&delivered, sizeof delivered);
    delivered = waiter->event;
    rti_waiter_wake(waiter);
}

static void await(void)
{
    EXPLORE_ASSERT(rti_parker_park(&parker, explore_port(), RTI_TIME_NEVER));
    event_seen = rti_wait_event(&wait);
    EXPLORE_ASSERT(event_seen != RTI_EVENT_NONE);
    RTI_PLAIN_READ(&delivered, sizeof delivered);
    EXPLORE_ASSERT(delivered == event_seen);
    rti_wait_finish(&wait);
    EXPLORE_ASSERT(wait.waiters == NULL);
}

static void check(void)
{
    EXPLORE_ASSERT(win_count == 1);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&wake_count) == 1);
    EXPLORE_ASSERT(event_seen == rti_wait_event(&wait));
    explore_outcome(event_seen);
}

MODEL(wait_is_claimed_by_one_of_two_events){
    .about = "a deadline and a cancellation race for one waiter",
    .setup = setup,
    .threads = {await, claim, claim},
    .check = check,
    .spurious_wakes_max = 1,
    .outcomes = {{2, {1, 2}}, {2, {1, 2}}},
};

MODEL(wait_is_claimed_by_one_of_four_events){
    .about = "two sources, the deadline and a cancellation race for one waiter",
    .setup = setup,
    .threads = {await, claim, claim, claim, claim},
    .check = check,
    .outcomes = {{4, {1, 2, 3, 4}}, {4, {1, 2, 3, 4}}},
};

/* A wait on two sources, each a value or a line of waiters under a lock, as on an engine with
 * several workers. The wait lives on the waiter's stack: after rti_wait_finish its memory is used
 * for something else at once, and whoever still touched it would be seen. */
struct source {
    rti_atomic_u32 lock;
    struct rti_waitlist line; /* under the lock, as is all below */
    bool has_value;
};

static struct source sources[SOURCES];
static uint64_t slot;
static bool took_at_once;

static void source_lock(struct source *source)
{
    uint32_t unlocked = 0;
    /* Pairs with the release in source_unlock. */
    while (!rti_u32_cas_acqrel(&source->lock, &unlocked, 1)) {
        rti_spin_hint();
        unlocked = 0;
    }
    RTI_PLAIN_WRITE(&source->line, sizeof source->line);
}

static void source_unlock(struct source *source)
{
    RTI_PLAIN_WRITE(&source->line, sizeof source->line);
    /* Pairs with the acquire in source_lock. */
    rti_u32_store_release(&source->lock, 0);
}

static void unlink_from_source(struct rti_waiter *waiter)
{
    struct source *source = &sources[waiter->event - RTI_EVENT_SOURCE];
    source_lock(source);
    rti_waitlist_unlink(waiter);
    source_unlock(source);
}

static void setup_sources(void)
{
    setup();
    slot = 0;
    took_at_once = false;
    for (uint32_t i = 0; i < SOURCES; i++) {
        rti_u32_init(&sources[i].lock, 0);
        rti_waitlist_init(&sources[i].line);
        sources[i].has_value = false;
    }
    explore_name(&sources[0].lock, "lock0");
    explore_name(&sources[1].lock, "lock1");
}

/* Takes the source's value if it has one and nobody else has ended the wait; else joins its line.
 * Returns whether to look at the next source. */
static bool look_at(struct source *source, struct rti_waiter *waiter)
{
    bool goes_on = false;
    source_lock(source);
    if (!source->has_value) {
        rti_waitlist_add(&source->line, waiter);
        goes_on = true;
    } else if (rti_wait_claim(&wait, waiter->event)) {
        source->has_value = false;
        RTI_PLAIN_WRITE(&slot, sizeof slot);
        slot = waiter->event;
        took_at_once = true;
    }
    source_unlock(source);
    return goes_on;
}

static void select_on_both(void)
{
    rti_wait_begin(&wait, wake_by_parker, &parker, false);
    for (uint32_t i = 0; i < SOURCES; i++) {
        rti_wait_add(&wait, &waiters[i], RTI_EVENT_SOURCE + i, unlink_from_source);
        waiters[i].slot = &slot;
    }
    for (uint32_t i = 0; i < SOURCES && look_at(&sources[i], &waiters[i]); i++) {
    }
    if (!took_at_once) {
        EXPLORE_ASSERT(rti_parker_park(&parker, explore_port(), RTI_TIME_NEVER));
    }
    event_seen = rti_wait_event(&wait);
    rti_wait_finish(&wait);
    /* The memory is ours again. */
    rti_u32_init(&wait.claimed, RTI_EVENT_NONE);
    RTI_PLAIN_READ(&slot, sizeof slot);
    EXPLORE_ASSERT(slot == event_seen);
}

/* Hands a value to the first waiter in line that wants it, or keeps it. */
static void hand_over(void)
{
    struct source *source = &sources[explore_self() - 1];
    source_lock(source);
    struct rti_waiter *waiter = rti_waitlist_claim(&source->line);
    if (waiter != NULL) {
        RTI_PLAIN_WRITE(&slot, sizeof slot);
        *(uint64_t *)waiter->slot = waiter->event;
        rti_waiter_wake(waiter);
    } else {
        source->has_value = true;
    }
    source_unlock(source);
}

static void check_sources(void)
{
    EXPLORE_ASSERT(sources[0].has_value + sources[1].has_value == 1);
    EXPLORE_ASSERT(!sources[event_seen - RTI_EVENT_SOURCE].has_value);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&wake_count) == (took_at_once ? 0 : 1));
    EXPLORE_ASSERT(rti_waitlist_is_empty(&sources[0].line));
    EXPLORE_ASSERT(rti_waitlist_is_empty(&sources[1].line));
    explore_outcome(event_seen);
}

MODEL(wait_on_two_sources_is_ended_by_one){
    .about = "a select: one source hands over, the other keeps its value",
    .setup = setup_sources,
    .threads = {select_on_both, hand_over, hand_over},
    .check = check_sources,
    .outcomes = {{2, {4, 5}}, {2, {4, 5}}},
};
