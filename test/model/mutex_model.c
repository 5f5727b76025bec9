/* SPDX-License-Identifier: Apache-2.0 */

/* The mutex on several workers: the library's own (src/sync/mutex.c, line.c, sched/lock.c) between
 * threads of the model, each of which stands for a worker with a fiber. The model is the fiber: it
 * parks, wakes, is out of time and dies.
 *
 * What is shown: there is one holder at a time, and what it wrote the next one sees; who waits is
 * given the mutex or its time is over, never both and never neither; a mutex that was given to one
 * who dies before it knows passes on; at the end it is free and nobody is in line. */

#include "base/assert.h"
#include "sync/mutex.h"

#include <setjmp.h>

#include "port/explore/port.h"
#include "sched/parker.h"

enum { PARTIES = 4 };

struct party {
    struct rti_parker parker;
    rti_atomic_u32 wakes; /* of its one wait */
    struct rti_worker worker;
    struct rti_fiber fiber;
    jmp_buf end;    /* where it goes when it dies */
    bool is_mortal; /* dies as soon as it is woken */
    bool has_died;
    rt_status_code result;
};

static struct rti_sched sched;
static struct party parties[PARTIES];
static rt_mutex storage;
static uint64_t guarded; /* plain: the mutex orders it */

/* The wheel: whose wait ends when the time comes, and whether it has come, under its lock. */
static rti_atomic_u32 wheel_lock;
static struct rti_wait *sleeper;
static bool is_time;

static struct party *self(void)
{
    return &parties[explore_self()];
}

static struct rti_mutex *mutex(void)
{
    return (struct rti_mutex *)(void *)&storage;
}

static void wheel_enter(void)
{
    uint32_t unlocked = 0;
    /* Pairs with the release in wheel_leave. */
    while (!rti_u32_cas_acqrel(&wheel_lock, &unlocked, 1)) {
        rti_spin_hint();
        unlocked = 0;
    }
    RTI_PLAIN_WRITE(&sleeper, sizeof sleeper);
}

static void wheel_leave(void)
{
    /* Pairs with the acquire in wheel_enter. */
    rti_u32_store_release(&wheel_lock, 0);
}

/* What the library asks of the world around it. */

extern _Thread_local struct rti_worker *rti_worker_local;
_Thread_local struct rti_worker *rti_worker_local;

struct rti_worker *rti_worker_current(void)
{
    return &self()->worker;
}

struct rti_fiber *rti_fiber_current(void)
{
    return &self()->fiber;
}

void rti_fiber_wake(struct rti_wait *wait)
{
    struct rti_fiber *fiber = wait->target;
    struct party *party = RTI_CONTAINER_OF(fiber, struct party, fiber);
    EXPLORE_ASSERT(rti_u32_add_relaxed(&party->wakes, 1) == 0);
    rti_parker_unpark(&party->parker, explore_port());
}

uint32_t rti_fiber_park_open(struct rti_worker *worker, struct rti_wait *wait)
{
    struct party *party = self();
    EXPLORE_ASSERT(worker == &party->worker);
    EXPLORE_ASSERT(rti_parker_park(&party->parker, explore_port(), RTI_TIME_NEVER));
    if (party->is_mortal) {
        rti_wait_finish(wait);
        longjmp(party->end, 1);
    }
    return rti_wait_event(wait);
}

static void unlink_timer(struct rti_waiter *waiter)
{
    wheel_enter();
    if (sleeper == waiter->wait) {
        sleeper = NULL;
    }
    wheel_leave();
}

void rti_cx_events_add(struct rti_cx_events *events, struct rti_cx *cx, struct rti_sched *of,
                       struct rti_wait *wait, rt_time deadline)
{
    (void)cx;
    (void)of;
    if (deadline == RT_TIME_NEVER) {
        return;
    }
    rti_wait_add(wait, &events->cancel, RTI_EVENT_TIMEOUT, unlink_timer);
    wheel_enter();
    sleeper = wait;
    if (is_time && rti_wait_claim(wait, RTI_EVENT_TIMEOUT)) {
        rti_fiber_wake(wait);
    }
    wheel_leave();
}

rt_status rti_cx_events_status(const struct rti_cx_events *events, struct rti_cx *cx,
                               uint32_t event)
{
    (void)events;
    (void)cx;
    EXPLORE_ASSERT(event == RTI_EVENT_TIMEOUT);
    return (rt_status){RT_ERR_TIMEOUT, NULL};
}

/* Never called here: the threads have no contexts and no stacks. */
#define NOT_HERE EXPLORE_ASSERT(false)

_Noreturn void rti_fiber_overflow(struct rti_worker *worker)
{
    (void)worker;
    explore_assert_failed("no stack is used up", EXPLORE_SITE);
}

rt_status rti_cx_resolve(struct rti_worker *worker, rt_cx *given, struct rti_cx **out_cx)
{
    (void)worker;
    (void)given;
    (void)out_cx;
    NOT_HERE;
    return RT_SUCCESS;
}

rt_status rti_cx_checkpoint(struct rti_cx *cx)
{
    (void)cx;
    NOT_HERE;
    return RT_SUCCESS;
}

void rti_cx_poll_begin(struct rti_cx *cx, struct rti_cx_op op)
{
    (void)cx;
    (void)op;
    NOT_HERE;
}

void rti_cx_poll_end(struct rti_cx *cx)
{
    (void)cx;
    NOT_HERE;
}

const char *rt_status_text(rt_status_code code)
{
    (void)code;
    return NULL;
}

/* No holder ends with it here. */
static void orphan(struct rti_cleanup *cleanup)
{
    (void)cleanup;
    NOT_HERE;
}

static void setup(void)
{
    sched = (struct rti_sched){.port = explore_port(), .is_local = false};
    rti_u32_init(&wheel_lock, 0);
    sleeper = NULL;
    is_time = false;
    guarded = 0;
    *mutex() = (struct rti_mutex){.magic = UINT32_C(0x7874756d)};
    rti_line_init(&mutex()->line, &sched);
    rti_cleanup_init(&mutex()->cleanup, orphan);
    explore_name(&mutex()->line.lock.is_taken, "line");
    for (int i = 0; i < PARTIES; i++) {
        struct party *party = &parties[i];
        *party = (struct party){.result = RT_ERR_WOULDBLOCK};
        rti_parker_init(&party->parker);
        rti_u32_init(&party->wakes, 0);
        party->worker.sched = &sched;
        party->worker.fiber = &party->fiber;
        rti_cleanups_init(&party->fiber.cleanups);
    }
}

/* Takes the mutex, changes what it guards, gives it back. */
static void use_until(rt_time deadline)
{
    struct party *party = self();
    struct rti_line_call call;
    rti_mutex_call(mutex(), &call, (struct rti_cx_op){.what = &storage, .on = 0}, deadline);
    call.cx = NULL;
    call.is_served = false;
    party->result = rti_mutex_take(mutex(), &call).code;
    if (party->result == RT_OK) {
        RTI_PLAIN_WRITE(&guarded, sizeof guarded);
        guarded++;
        rti_mutex_release(mutex());
    }
}

static void use(void)
{
    use_until(RT_TIME_NEVER);
}

static void use_in_time(void)
{
    use_until(1);
}

static void use_or_die(void)
{
    struct party *party = self();
    party->is_mortal = true;
    if (setjmp(party->end) == 0) {
        use_until(RT_TIME_NEVER);
    } else {
        self()->has_died = true;
    }
}

static void time_comes(void)
{
    wheel_enter();
    is_time = true;
    if (sleeper != NULL && rti_wait_claim(sleeper, RTI_EVENT_TIMEOUT)) {
        rti_fiber_wake(sleeper);
    }
    wheel_leave();
}

static void check(void)
{
    uint64_t uses = 0;
    for (int i = 0; i < PARTIES; i++) {
        uses += parties[i].result == RT_OK && !parties[i].has_died;
        EXPLORE_ASSERT(rti_cleanups_are_none(&parties[i].fiber.cleanups));
    }
    EXPLORE_ASSERT(guarded == uses);
    EXPLORE_ASSERT(mutex()->holder == NULL && rti_line_is_empty(&mutex()->line));
    explore_outcome(uses);
}

MODEL(mutex_passes_from_hand_to_hand){
    .about = "three take it in turn, and each sees what the one before wrote",
    .setup = setup,
    .threads = {use, use, use},
    .check = check,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(2)},
    .outcomes = {{1, {3}}, {1, {3}}},
    .executions_max = 200000,
};

MODEL(mutex_is_given_or_the_time_is_over){
    .about = "one who waits until a deadline races with the unlock",
    .setup = setup,
    .threads = {use, use_in_time, time_comes},
    .check = check,
    .bound = {EXPLORE_BOUND(4), EXPLORE_BOUND(2)},
    .outcomes = {{2, {1, 2}}, {2, {1, 2}}},
    .executions_max = 200000,
};

MODEL(mutex_given_to_one_who_dies_passes_on){
    .about = "one who is woken with the mutex dies before it knows; the next one gets it",
    .setup = setup,
    .threads = {use, use_or_die, use},
    .check = check,
    .bound = {EXPLORE_BOUND(3), EXPLORE_BOUND(2)},
    .outcomes = {{2, {2, 3}}, {2, {2, 3}}},
    .executions_max = 200000,
};
