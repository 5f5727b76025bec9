/* SPDX-License-Identifier: Apache-2.0 */
/* Fibers and poll contexts that select among channels, ticks and a mutex's line, while chaos
 * cancels, kills, closes and lets time pass; the order of all is drawn from the seed.
 *
 * Conservation: each value has a number and a fate. A send that a select chose is received,
 * destroyed or found in a queue at the end, exactly once; one that was not chosen is never seen;
 * one whose sender was killed or gave up in the middle is seen at most once. A select does one
 * operation or none. The units of the semaphore and the mutex are with somebody or at home. No
 * waiter, timer, permit or channel is left.
 *
 * Seeds: 100000 */
#define RTI_MODULE "select_sim_test"
#include <orrery/rt/condition.h>
#include <orrery/rt/interval.h>
#include <orrery/rt/select.h>
#include <orrery/rt/semaphore.h>

#include "support/kernel.h"
#include "sync/mutex.h"

#define LINES      4
#define PEOPLE_MAX 6
#define POLLERS    2
#define VALUES_MAX 4096
#define UNITS      2

enum fate { NOT_SENT, MAYBE, SENT, REFUSED };

/* One who selects: a fiber or a poll context. */
struct person {
    struct rti_fiber *fiber;
    rt_cx cx;
    bool has_context;
    rt_select_arm arms[LINES + 2];
    uint64_t out[LINES]; /* numbers of the values it offers */
    uint64_t in[LINES];
    uint64_t ticks;
    size_t arm_count;
    bool is_sending[LINES];
    uint32_t units; /* of the semaphore, that it has */
};

static struct {
    struct rti_rng rng;
    uint8_t fates[VALUES_MAX];
    uint8_t seen[VALUES_MAX];
    uint64_t value_count;
    rt_channel_sender *tx[LINES];
    rt_channel_receiver *rx[LINES];
    rt_interval interval;
    bool is_interval_open;
    rt_mutex mutex;
    rt_condition condition;
    rt_semaphore semaphore;
    uint64_t guarded; /* changes only under the mutex */
    struct person people[PEOPLE_MAX];
    size_t people_count;
    struct person pollers[POLLERS];
    struct poller poller[POLLERS];
    bool is_polling[POLLERS];
    uint64_t units_lost; /* with those who were killed */
} world;

static uint64_t below(uint64_t n)
{
    return rti_rng_below(&world.rng, n);
}

static void see(uint64_t value)
{
    CHECK(value < world.value_count);
    world.seen[value]++;
    CHECK_EQ(world.seen[value], 1);
}

static void see_destroyed(void *value, void *arg)
{
    (void)arg;
    see(*(uint64_t *)value);
}

static void maybe_rest(void)
{
    if (below(3) == 0) {
        kernel_yield();
    } else if (below(8) == 0) {
        (void)rti_fiber_sleep_until(rti_worker_current(),
                                    kernel.fibers.port.now_ns + below(3 * RT_NS_PER_MS));
    }
}

/* Makes arms at random; each rendezvous at most once, so each line at most once. */
static void make_arms(struct person *person)
{
    person->arm_count = 0;
    for (size_t i = 0; i < LINES; i++) {
        rt_select_arm *arm = &person->arms[i];
        person->is_sending[i] = below(2) == 0;
        bool is_closed = person->is_sending[i]
                             ? rti_channels_sender(&kernel.channels, world.tx[i]) == NULL
                             : rti_channels_receiver(&kernel.channels, world.rx[i]) == NULL;
        if (is_closed || below(4) == 0) {
            rt_arm_none(arm);
            person->is_sending[i] = false;
        } else if (person->is_sending[i]) {
            CHECK(world.value_count < VALUES_MAX);
            person->out[i] = world.value_count++;
            world.fates[person->out[i]] = MAYBE;
            rt_arm_send(arm, world.tx[i], &person->out[i]);
        } else {
            rt_arm_recv(arm, world.rx[i], &person->in[i]);
        }
        person->arm_count++;
    }
    if (below(2) == 0) {
        rt_arm_tick(&person->arms[person->arm_count++],
                    world.is_interval_open ? &world.interval : NULL, &person->ticks);
    }
    if (below(6) == 0) {
        rt_arm_default(&person->arms[person->arm_count++]);
    }
}

/* What the select came to: the chosen arm alone has done something. */
static void settle(struct person *person, rt_status status, const rt_selected *chosen)
{
    for (size_t i = 0; i < LINES; i++) {
        bool is_chosen = !RT_FAILED(status) && chosen->index == i;
        bool is_done = is_chosen && !RT_FAILED(chosen->status);
        if (person->is_sending[i]) {
            world.fates[person->out[i]] = is_done ? SENT : REFUSED;
        } else if (is_done) {
            see(person->in[i]);
        }
    }
}

/* No point in going on: everything is closed, or the person is cancelled. */
static bool is_final(rt_status_code code)
{
    return code == RT_ERR_CANCELLED || code == RT_ERR_BUDGET_EXHAUSTED;
}

static bool select_once(struct person *person)
{
    rt_selected chosen = {.index = 99};
    make_arms(person);
    rt_time deadline = kernel.fibers.port.now_ns + below(2 * RT_NS_PER_MS);
    rt_status status = rt_select_until(person->arms, person->arm_count, NULL, deadline, &chosen);
    settle(person, status, &chosen);
    return !is_final(status.code);
}

static bool use_the_mutex(void)
{
    rt_time deadline = kernel.fibers.port.now_ns + below(2 * RT_NS_PER_MS);
    rt_status status = rt_mutex_lock_until(&world.mutex, NULL, deadline);
    if (status.code == RT_ERR_OWNER_DIED) {
        status = rt_mutex_recover(&world.mutex, NULL);
    }
    if (RT_FAILED(status)) {
        return !is_final(status.code);
    }
    uint64_t before = world.guarded;
    maybe_rest();
    CHECK(world.guarded == before);
    if (below(3) == 0) {
        deadline = kernel.fibers.port.now_ns + below(RT_NS_PER_MS);
        status = rt_condition_wait_until(&world.condition, &world.mutex, NULL, deadline);
        if (status.code == RT_ERR_OWNER_DIED) {
            return true;
        }
    }
    world.guarded++;
    CHECK_OK(below(2) == 0 ? rt_condition_signal(&world.condition)
                           : rt_condition_broadcast(&world.condition));
    CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
    return !is_final(status.code);
}

static bool use_the_semaphore(struct person *person)
{
    uint32_t want = 1 + (uint32_t)below(UNITS);
    rt_time deadline = kernel.fibers.port.now_ns + below(2 * RT_NS_PER_MS);
    rt_status status = rt_semaphore_acquire_until(&world.semaphore, want, NULL, deadline);
    if (RT_FAILED(status)) {
        return !is_final(status.code);
    }
    person->units = want;
    maybe_rest();
    person->units = 0;
    CHECK_OK(rt_semaphore_release(&world.semaphore, want));
    return true;
}

static void person_main(void *arg)
{
    struct person *self = arg;
    if (below(2) == 0) {
        CHECK_OK(rt_cx_init(&self->cx));
        self->has_context = true;
    }
    uint64_t count = 1 + below(20);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t what = below(8);
        bool goes_on = what == 0   ? use_the_mutex()
                       : what == 1 ? use_the_semaphore(self)
                                   : select_once(self);
        if (!goes_on) {
            break;
        }
        maybe_rest();
    }
    if (self->has_context) {
        CHECK_OK(rt_cx_deinit(&self->cx));
        self->has_context = false;
    }
}

/* A poll context gives up what it waits for: what it offered may have been sent. */
static void poll_give_up(size_t i)
{
    if (world.is_polling[i]) {
        CHECK_OK(rt_cx_abandon(&world.poller[i].cx));
        world.is_polling[i] = false;
    }
}

static void poll_something(void)
{
    size_t i = (size_t)below(POLLERS);
    struct person *person = &world.pollers[i];
    rt_selected chosen = {.index = 99};
    if (below(6) == 0) {
        poll_give_up(i);
        return;
    }
    if (below(12) == 0) {
        poll_give_up(i);
        poller_deinit(&world.poller[i]);
        poller_init(&world.poller[i]);
        return;
    }
    if (below(12) == 0) {
        CHECK_OK(rt_cx_cancel(&world.poller[i].cx));
    }
    if (!world.is_polling[i]) {
        make_arms(person);
    }
    rt_status status = rt_select(person->arms, person->arm_count, &world.poller[i].cx, &chosen);
    world.is_polling[i] = status.code == RT_ERR_WOULDBLOCK;
    if (!world.is_polling[i]) {
        settle(person, status, &chosen);
    }
}

static void disturb_somebody(void)
{
    struct person *person = &world.people[below(world.people_count)];
    if (below(2) == 0) {
        if (rti_fiber_kill(&kernel.fibers.sched, person->fiber)) {
            /* Its context goes with it; units belong to nobody. */
            person->has_context = false;
            world.units_lost += person->units;
            person->units = 0;
        }
    } else if (person->has_context) {
        CHECK_OK(rt_cx_cancel(&person->cx));
    }
}

static void close_side(size_t line, bool is_sender)
{
    if (is_sender && rti_channels_sender(&kernel.channels, world.tx[line]) != NULL) {
        CHECK_OK(rt_channel_close_sender(world.tx[line]));
    }
    if (!is_sender && rti_channels_receiver(&kernel.channels, world.rx[line]) != NULL) {
        CHECK_OK(rt_channel_close_receiver(world.rx[line]));
    }
}

static void chaos_main(void *arg)
{
    (void)arg;
    uint64_t count = 10 + below(60);
    for (uint64_t i = 0; i < count; i++) {
        switch (below(10)) {
        case 0:
            disturb_somebody();
            break;
        case 1:
            if (below(4) == 0) {
                close_side((size_t)below(LINES), below(2) == 0);
            }
            break;
        case 2:
            if (below(8) == 0 && world.is_interval_open) {
                world.is_interval_open = false;
                CHECK_OK(rt_interval_close(&world.interval));
            }
            break;
        default:
            poll_something();
            break;
        }
        maybe_rest();
    }
    for (size_t i = 0; i < POLLERS; i++) {
        poll_give_up(i);
        poller_deinit(&world.poller[i]);
    }
}

static void populate(void)
{
    for (size_t i = 0; i < LINES; i++) {
        rt_channel_config config = {
            .elem_size = sizeof(uint64_t), .capacity = (size_t)below(3), .destroy = see_destroyed};
        CHECK_OK(config.capacity == 0
                     ? rt_channel_create_rendezvous(&config, &world.tx[i], &world.rx[i])
                     : rt_channel_create(&config, &world.tx[i], &world.rx[i]));
    }
    CHECK_OK(rt_interval_open(&world.interval, 1 + below(RT_NS_PER_MS), (rt_missed)below(3)));
    world.is_interval_open = true;
    CHECK_OK(rt_mutex_init(&world.mutex));
    CHECK_OK(rt_condition_init(&world.condition));
    CHECK_OK(rt_semaphore_init(&world.semaphore, UNITS));
    for (size_t i = 0; i < POLLERS; i++) {
        poller_init(&world.poller[i]);
    }
    world.people_count = 2 + (size_t)below(PEOPLE_MAX - 1);
    for (size_t i = 0; i < world.people_count; i++) {
        world.people[i].fiber = kernel_go(person_main, &world.people[i]);
    }
    kernel_go(chaos_main, NULL);
}

static void check_conservation(void)
{
    for (uint64_t i = 0; i < world.value_count; i++) {
        switch (world.fates[i]) {
        case SENT:
            CHECK_EQ(world.seen[i], 1);
            break;
        case MAYBE:
            CHECK(world.seen[i] <= 1);
            break;
        default:
            CHECK_EQ(world.seen[i], 0);
            break;
        }
    }
    CHECK_EQ(rt_semaphore_count(&world.semaphore) + world.units_lost, UNITS);
    CHECK_OK(rt_semaphore_deinit(&world.semaphore));
    CHECK_OK(rt_condition_deinit(&world.condition));
    rti_mutex_audit(rti_mutex_of(&world.mutex));
    CHECK_OK(rt_mutex_deinit(&world.mutex));
}

static void play(bool is_observed)
{
    memset(&world, 0, sizeof(world));
    rti_rng_init(&world.rng, test_seed());
    kernel_start();
    if (is_observed) {
        fibers_shuffle(&kernel.fibers, test_seed() ^ 0x5eed);
    } else {
        fibers_unobserved(&kernel.fibers);
    }
    populate();
    /* Every wait has a deadline: all come to their end. */
    CHECK_OK(fibers_run(&kernel.fibers));
}

static void finish(void)
{
    for (size_t i = 0; i < LINES; i++) {
        close_side(i, true);
        close_side(i, false);
    }
    if (world.is_interval_open) {
        CHECK_OK(rt_interval_close(&world.interval));
    }
    check_conservation();
    CHECK_EQ(rti_channels_audit(&kernel.channels), 0);
    kernel_stop();
}

/* Some runs are not watched, and take the shortest ways; some are played twice, and must be the
 * same. */
TEST_SEEDED(select_sim_conserves_values_units_and_places)
{
    bool is_observed = test_seed() % 3 != 0;
    play(is_observed);
    uint64_t digest = rti_journal_digest(&kernel.fibers.journal);
    finish();
    if (is_observed && test_seed() % 64 == 1) {
        play(true);
        CHECK(rti_journal_digest(&kernel.fibers.journal) == digest);
        finish();
    }
}
