/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of regions on virtual workers: deadlines, owners, contexts and the region's end run
 * against each other. Each timer is fired or cancelled, not both and not neither, and its storage
 * is its owner's as soon as the call that ended it has returned: it is overwritten at once.
 *
 * Seeds: 100 */
#define _GNU_SOURCE
#define RTI_MODULE "region_timer_sim_test"
#include <orrery/rt.h>

#include "base/atomic.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

#define OWNERS       4
#define TIMERS       3
#define ROUNDS       4
#define NEAR_NS      (RT_NS_PER_MS)
#define FAR_NS       (RT_NS_PER_S * 3600)
#define STORAGE_FILL 0xa5

struct owner {
    uint64_t dice;
    rti_atomic_u32 fired[TIMERS]; /* in this round */
    rt_region_timer timers[TIMERS];
    bool is_started[TIMERS];
    bool is_over[TIMERS];      /* with its context, in this round */
    uint32_t fired_by[TIMERS]; /* `fired` at that time */
};

static struct {
    struct owner owners[OWNERS];
    rt_region shared; /* closed while owners still start timers in it */
    rti_atomic_u32 fired;
    rti_atomic_u32 cancelled;
    rti_atomic_u32 refused;
    rti_atomic_u32 again; /* firings of a timer that starts itself */
} play;

static uint64_t draw(struct owner *owner, uint64_t n)
{
    owner->dice = owner->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (owner->dice >> 33) % n;
}

static void count_fire(void *arg)
{
    rti_atomic_u32 *fired = arg;
    rti_u32_add_relaxed(fired, 1);
    rti_u32_add_relaxed(&play.fired, 1);
}

static void nobody(void *arg)
{
    (void)arg;
}

/* The timer is the owner's again, who uses the memory for something else. */
static void reuse(struct owner *owner, size_t i, bool was_active)
{
    uint32_t fired = rti_u32_load_relaxed(&owner->fired[i]);
    WITNESS(fired <= 1 && !(was_active && fired != 0));
    WITNESS(!owner->is_over[i] || (!was_active && fired == owner->fired_by[i]));
    rti_u32_add_relaxed(&play.cancelled, was_active);
    memset(&owner->timers[i], STORAGE_FILL, sizeof(owner->timers[i]));
    owner->is_started[i] = false;
}

static void start(struct owner *owner, rt_region *region, rt_cx *cx, size_t i)
{
    rt_time deadline = rt_clock() + (draw(owner, 4) == 0 ? FAR_NS : draw(owner, NEAR_NS));
    rti_u32_store_relaxed(&owner->fired[i], 0);
    owner->is_over[i] = false;
    rt_status status = rt_region_timer_start(region, cx, &owner->timers[i], deadline,
                                             (rt_waker){count_fire, &owner->fired[i]});
    /* A region that is closed is none. */
    WITNESS(status.code == RT_OK || status.code == RT_ERR_STATE || status.code == RT_ERR_INVALID ||
            status.code == RT_ERR_CANCELLED);
    owner->is_started[i] = status.code == RT_OK;
    rti_u32_add_relaxed(&play.refused, status.code != RT_OK);
}

static void *cancel_context(void *arg)
{
    (void)rt_sleep(NEAR_NS / 2);
    CHECK_OK(rt_cx_cancel(arg));
    return NULL;
}

/* The context ends, and what was started with it: no waker of that is called any more. */
static void end_context(struct owner *owner, rt_cx *cx, const bool *is_with)
{
    CHECK_OK(rt_cx_deinit(cx));
    memset(cx, STORAGE_FILL, sizeof(*cx));
    for (size_t i = 0; i < TIMERS; i++) {
        owner->is_over[i] = is_with[i];
        owner->fired_by[i] = rti_u32_load_relaxed(&owner->fired[i]);
    }
}

/* One round: a region and a context of the owner's own, ended in an order that is drawn. */
static void play_round(struct owner *owner)
{
    rt_region own;
    rt_cx cx;
    rt_task *canceller = NULL;
    bool is_with[TIMERS];
    bool is_shared = draw(owner, 3) == 0;
    CHECK_OK(rt_region_open(&own, NULL, NULL));
    CHECK_OK(rt_cx_init_poll(&cx, (rt_waker){nobody, NULL}));
    bool is_cancelled = draw(owner, 2) == 0;
    if (is_cancelled) {
        canceller = rt_go(cancel_context, &cx);
        WITNESS(canceller != NULL);
    }
    for (size_t i = 0; i < TIMERS; i++) {
        is_with[i] = draw(owner, 2) == 0;
        start(owner, is_shared ? &play.shared : &own, is_with[i] ? &cx : NULL, i);
    }
    if (draw(owner, 2) == 0) {
        CHECK_OK(rt_sleep(draw(owner, 2 * NEAR_NS)));
    }
    size_t first = draw(owner, 4);
    bool is_context_first = draw(owner, 2) == 0;
    if (is_context_first) {
        if (is_cancelled) {
            CHECK_OK(rt_join(canceller, NULL));
        }
        end_context(owner, &cx, is_with);
    }
    for (size_t i = is_shared ? 0 : first; i < TIMERS; i++) {
        if (owner->is_started[i]) {
            reuse(owner, i, rt_region_timer_cancel(&owner->timers[i]));
        }
    }
    CHECK_OK(rt_region_close(&own, NULL));
    for (size_t i = 0; i < TIMERS; i++) {
        if (owner->is_started[i]) {
            reuse(owner, i, false);
        }
    }
    if (!is_context_first) {
        if (is_cancelled) {
            CHECK_OK(rt_join(canceller, NULL));
        }
        CHECK_OK(rt_cx_deinit(&cx));
    }
}

static void *owner_main(void *arg)
{
    struct owner *owner = arg;
    for (int i = 0; i < ROUNDS; i++) {
        play_round(owner);
    }
    return NULL;
}

static rt_region_timer repeated;
static rt_region repeated_region;

/* May start its own timer anew, in the region that it has just left. */
static void start_again(void *arg)
{
    (void)arg;
    if (rti_u32_add_relaxed(&play.again, 1) < 3) {
        CHECK_OK(rt_region_timer_start(&repeated_region, NULL, &repeated, rt_clock() + NEAR_NS / 4,
                                       (rt_waker){start_again, NULL}));
    }
}

static void *main_task(void *arg)
{
    rt_task *owners[OWNERS];
    (void)arg;
    CHECK_OK(rt_region_open(&play.shared, NULL, NULL));
    CHECK_OK(rt_region_open(&repeated_region, NULL, NULL));
    start_again(NULL);
    for (size_t i = 0; i < OWNERS; i++) {
        owners[i] = rt_go(owner_main, &play.owners[i]);
        WITNESS(owners[i] != NULL);
    }
    CHECK_OK(rt_sleep(NEAR_NS * 2));
    CHECK_OK(rt_region_close(&play.shared, NULL));
    for (size_t i = 0; i < OWNERS; i++) {
        CHECK_OK(rt_join(owners[i], NULL));
    }
    while (rti_u32_load_relaxed(&play.again) < 4) {
        CHECK_OK(rt_sleep(NEAR_NS));
    }
    CHECK_OK(rt_region_close(&repeated_region, NULL));
    return NULL;
}

static void program(uint64_t seed)
{
    memset(&play, 0, sizeof(play));
    for (size_t i = 0; i < OWNERS; i++) {
        play.owners[i].dice = seed * 977 + i;
    }
    rt_config config = {.workers = (uint32_t)(2 + seed % 4)};
    CHECK_OK(rt_init_ex(&config));
    rt_task *task = rt_go(main_task, NULL);
    WITNESS(task != NULL);
    rt_run();
    CHECK_OK(rt_join(task, NULL));
    WITNESS(rti_u32_load_relaxed(&play.again) == 4);
}

TEST_SEEDED(region_timer_sim_ends_each_once_and_gives_its_storage_back)
{
    worlds_play(program);
}
