/* SPDX-License-Identifier: Apache-2.0 */

/* A fiber that parks with a lock which is passed on (src/sched/passing.h): who serves it finds it
 * parked whenever the lock is free, whoever kills or cancels it finds it or is seen by it, and what
 * it has saved is complete for who goes on with it.
 *
 * The model is the switch: the thread of the fiber writes what a switch saves, and then does what
 * the next fiber on that thread does first. */

#include "sched/passing.h"

#include "port/explore/port.h"
#include "sync/channel_berth.h"

/* A place to wait at, as a channel is: a lock, and who waits there. */
struct place {
    struct rti_lock lock;
    struct rti_fiber *lone;
};

static struct rti_sched sched;
static struct rti_worker worker;
static struct rti_fiber fiber;
static struct rti_cancel cancel;
static struct place places[2];
static uint64_t saved;   /* plain: what the switch writes, and who goes on reads */
static unsigned goes_on; /* how often it was made to; plain: once, and the lock orders it */
static bool is_ended;    /* it saw a flag and did not park */

/* Nobody is a worker here: locks keep no account. */
struct rti_worker *rti_worker_current(void)
{
    return NULL;
}

void rti_crew_show(struct rti_worker *of, struct rti_fiber *left)
{
    (void)of, (void)left;
    explore_assert_failed("nobody leaves without a lock", EXPLORE_SITE);
}

static void setup_at(struct place *place)
{
    sched = (struct rti_sched){.port = explore_port(), .is_local = false};
    worker = (struct rti_worker){.sched = &sched};
    rti_u32_init(&fiber.killed, 0);
    rti_u32_init(&fiber.run.state, RTI_RUNNABLE_RUNNING);
    rti_ptr_init(&fiber.alone_at, place);
    rti_cancel_init(&cancel, &sched);
    fiber.cancel = &cancel;
    for (int i = 0; i < 2; i++) {
        rti_lock_init(&places[i].lock, &sched, RTI_LOCK_CHANNEL);
        places[i].lone = NULL;
        explore_name(&places[i].lock.is_taken, i == 0 ? "lock0" : "lock1");
    }
    explore_name(&fiber.killed, "killed");
    explore_name(&cancel.is_requested, "requested");
    explore_name(&fiber.run.state, "state");
    explore_name(&fiber.alone_at, "alone_at");
    saved = 0;
    goes_on = 0;
    is_ended = false;
}

static void setup_new(void)
{
    setup_at(NULL);
}

static void setup_same(void)
{
    setup_at(&places[0]);
}

static void setup_other(void)
{
    setup_at(&places[1]);
}

static void park_at(struct place *place)
{
    rti_lock_acquire(&place->lock, &sched);
    if (!rti_fiber_settle_at(&fiber, place)) {
        is_ended = true;
        rti_lock_release(&place->lock);
        return;
    }
    place->lone = &fiber;
    rti_lock_pass(&place->lock);
    worker.leaving = &fiber;
    worker.passed = &place->lock;
    RTI_PLAIN_WRITE(&saved, sizeof saved);
    saved++;
    rti_worker_arrive(&worker);
}

static void park(void)
{
    park_at(&places[0]);
}

/* Makes the fiber go on, on this thread. */
static void go_on(void)
{
    RTI_PLAIN_WRITE(&saved, sizeof saved);
    saved++;
    RTI_PLAIN_WRITE(&goes_on, sizeof goes_on);
    goes_on++;
    EXPLORE_ASSERT(rti_runnable_state(&fiber.run) == RTI_RUNNABLE_READY);
}

/* Ends its wait at a place, if it is there. */
static void end_at(struct place *place)
{
    rti_lock_acquire(&place->lock, &sched);
    bool is_there = place->lone == &fiber;
    if (is_there) {
        EXPLORE_ASSERT(rti_runnable_state(&fiber.run) == RTI_RUNNABLE_PARKED);
        place->lone = NULL;
        rti_fiber_take_alone(&fiber);
    }
    rti_lock_release(&place->lock);
    if (is_there) {
        go_on();
    }
}

static void serve(void)
{
    end_at(&places[0]);
}

static void find_it(void)
{
    struct place *place = rti_ptr_load_relaxed(&fiber.alone_at);
    if (place != NULL) {
        end_at(place);
    }
}

/* As rti_fiber_kill does it. */
static void kill_it(void)
{
    (void)rti_u32_exchange_acqrel(&fiber.killed, 1);
    rti_fence_after_rmw();
    find_it();
}

/* And as rti_cx_cancel does. */
static void cancel_it(void)
{
    rti_u8_store_relaxed(&cancel.is_requested, 1);
    rti_fence_seqcst();
    find_it();
}

static void check_ended(void)
{
    EXPLORE_ASSERT(places[0].lone == NULL && places[1].lone == NULL);
    EXPLORE_ASSERT(goes_on + is_ended == 1);
    EXPLORE_ASSERT(rti_u32_load_relaxed(&places[0].lock.is_taken) == 0);
    explore_outcome(is_ended);
}

MODEL(passing_kill_finds_one_who_parks_where_it_was_never){
    .about = "one parks at a place for the first time, one kills it",
    .setup = setup_new,
    .threads = {park, kill_it},
    .check = check_ended,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

MODEL(passing_cancel_finds_one_who_parks_where_it_was_before){
    .about = "one parks at the place of last time, one cancels it",
    .setup = setup_same,
    .threads = {park, cancel_it},
    .check = check_ended,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

MODEL(passing_cancel_finds_one_who_parks_elsewhere){
    .about = "one parks at another place than last time, one cancels it",
    .setup = setup_other,
    .threads = {park, cancel_it},
    .check = check_ended,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};

/* Served and killed at once: it goes on once, or does not park. */
static void check_served_or_not(void)
{
    bool is_there = places[0].lone == &fiber;
    EXPLORE_ASSERT(!is_there && goes_on + is_ended == 1);
}

MODEL(passing_serve_races_with_a_kill){
    .about = "one parks, one serves it, one kills it",
    .setup = setup_same,
    .threads = {park, serve, kill_it},
    .check = check_served_or_not,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(2)},
    .executions_max = 200000,
};

/* The berth at the top of a stack. One waits alone, is served and ends, another has its stack after
 * it and waits at the same place; who wants to end the wait of the first one takes what it finds
 * there for the first one's only as long as it is. */
static struct rti_fiber heir;
static _Alignas(RTI_STACK_GUARD_ROOM) char stack[512];
static rti_atomic_ptr bay;                   /* the stack, while nobody has it */
static const struct rti_channel_berth *lone; /* who waits at the first place */
static const struct rti_fiber *lone_owner;

static void setup_berth(void)
{
    setup_at(NULL);
    rti_u32_init(&heir.killed, 0);
    rti_ptr_init(&heir.alone_at, NULL);
    heir.cancel = NULL;
    rti_ptr_init(&bay, NULL);
    explore_name(&heir.alone_at, "alone_at of the heir");
    explore_name(&bay, "bay");
    rti_stack_clear(&fiber.stack);
    rti_stack_clear(&heir.stack);
    lone = NULL;
    lone_owner = NULL;
}

static void take_stack(struct rti_fiber *whose, char *memory)
{
    RTI_PLAIN_WRITE(&whose->stack.high_guard, sizeof whose->stack.high_guard);
    rti_stack_set_bounds(&whose->stack, memory, sizeof stack, false);
}

static void wait_at_once(struct rti_fiber *whose)
{
    rti_lock_acquire(&places[0].lock, &sched);
    if (rti_fiber_settle_at(whose, &places[0])) {
        lone = rti_channel_berth_of(whose, NULL);
        lone_owner = whose;
    }
    rti_lock_release(&places[0].lock);
}

static void live_and_end(void)
{
    take_stack(&fiber, stack);
    wait_at_once(&fiber);
    rti_lock_acquire(&places[0].lock, &sched);
    lone = NULL;
    rti_lock_release(&places[0].lock);
    rti_fiber_settle_nowhere(&fiber);
    /* Release pairs with the acquire of who has it next, as in sched/stack_slab.c. */
    rti_ptr_store_release(&bay, stack);
}

static void inherit(void)
{
    char *memory = rti_ptr_load_acquire(&bay);
    if (memory != NULL) {
        take_stack(&heir, memory);
        wait_at_once(&heir);
    }
}

static void look_for_it(void)
{
    struct place *place = rti_ptr_load_relaxed(&fiber.alone_at);
    if (place == NULL) {
        return;
    }
    rti_lock_acquire(&place->lock, &sched);
    if (rti_fiber_is_settled_at(&fiber, place) && lone == rti_channel_berth_of(&fiber, NULL)) {
        EXPLORE_ASSERT(lone_owner == &fiber);
    }
    rti_lock_release(&place->lock);
}

static void check_inherited(void)
{
    explore_outcome(lone != NULL);
}

MODEL(passing_berth_of_one_who_has_ended_is_not_taken_for_its){
    .about = "one waits and ends, one waits on its stack, one looks for the first",
    .setup = setup_berth,
    .threads = {live_and_end, inherit, look_for_it},
    .check = check_inherited,
    .outcomes = {{2, {0, 1}}, {2, {0, 1}}},
};
