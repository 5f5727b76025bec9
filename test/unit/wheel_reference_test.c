/* SPDX-License-Identifier: Apache-2.0 */
/* The public wheel beside a sorted list: random registrations, cancels, updates and collects, each
 * answer compared. Time jumps by up to 8 days, handles wrap round 2^64 again and again, and stale
 * handles are tried all along. ORRERY_WHEEL_OPS sets the number of operations, ORRERY_WHEEL_SEED
 * the seed. */
#define RTI_MODULE "wheel_reference_test"
#include <orrery/rt/wheel.h>

#include <stdlib.h>

#include "base/rng.h"
#include "support/test.h"
#include "time/wheel_api.h"

#define DAY     (86400 * RT_NS_PER_S)
#define NODES   150u
#define INDICES 256u /* a power of two, the least that has room for NODES */
#define ROUND   5000 /* operations between two new wheels */

TEST_TIMEOUT(300);

struct entry {
    rt_time deadline;
    unsigned number;
};

static rt_wheel wheel;
static rt_wheel_node nodes[NODES];
static struct entry entries[NODES]; /* the reference, in the order of firing */
static size_t entry_count;
static rt_wheel_handle handles[NODES]; /* the latest of each number */
static bool is_live[NODES];
static rt_wheel_handle stale; /* one that was collected or cancelled */
static struct rti_rng rng;
static rt_time now;
static uint64_t collects;   /* of 100 operations in this round */
static char numbers[NODES]; /* a waker's argument is an address in here */

enum deed { REFUSED_FAR, REFUSED_FULL, CANCELLED, UPDATED, JUMPED, WRAPPED, LEFT_DUE, DEEDS };
static uint64_t deeds[DEEDS]; /* how often it happened */

static void never_called(void *arg)
{
    (void)arg;
    test_fail(__FILE__, __LINE__, "the wheel calls no waker itself");
}

static rt_waker waker_of(unsigned number)
{
    return (rt_waker){never_called, &numbers[number]};
}

static void reference_add(unsigned number, rt_time deadline)
{
    size_t at = entry_count;
    while (at > 0 && entries[at - 1].deadline > deadline) {
        at--;
    }
    memmove(&entries[at + 1], &entries[at], (entry_count - at) * sizeof(entries[0]));
    entries[at] = (struct entry){deadline, number};
    entry_count++;
    is_live[number] = true;
}

static void reference_remove(unsigned number)
{
    size_t at = 0;
    while (entries[at].number != number) {
        at++;
    }
    entry_count--;
    memmove(&entries[at], &entries[at + 1], (entry_count - at) * sizeof(entries[0]));
    is_live[number] = false;
    stale = handles[number];
}

/* Near or far, or past, in steps that make equal deadlines common. */
static rt_time draw_deadline(rt_time span_max)
{
    static const rt_time spans[] = {
        1000, RT_NS_PER_MS, 300 * RT_NS_PER_MS, 70 * RT_NS_PER_S, 5 * 3600 * RT_NS_PER_S,
        DAY,  8 * DAY};
    rt_time span = spans[rti_rng_below(&rng, RTI_COUNT_OF(spans))];
    span = span < span_max ? span : span_max;
    rt_time distance = rti_rng_below(&rng, 16) * (span / 15);
    if (rti_rng_below(&rng, 20) == 0) {
        return distance < now ? now - distance : 0;
    }
    return now + distance;
}

/* Handles only ever change: a new one is none that is known. */
static void keep_handle(unsigned number, rt_wheel_handle handle)
{
    deeds[WRAPPED] += handle.id < handles[number].id;
    CHECK(handle.id != stale.id || handle.generation != stale.generation);
    handles[number] = handle;
}

static void do_register(void)
{
    unsigned number = (unsigned)rti_rng_below(&rng, NODES);
    rt_time deadline = draw_deadline(8 * DAY);
    rt_wheel_handle handle = {0, 0};
    while (is_live[number] && entry_count < NODES) {
        number = (number + 1) % NODES;
    }
    rt_status status = rt_wheel_register(&wheel, deadline, waker_of(number), &handle);
    if (deadline > now && deadline - now > 7 * DAY) {
        CHECK_EQ(status.code, RT_ERR_TIMER_DURATION_EXCEEDED);
        deeds[REFUSED_FAR]++;
    } else if (entry_count == NODES) {
        CHECK_EQ(status.code, RT_ERR_RESOURCE_EXHAUSTED);
        deeds[REFUSED_FULL]++;
    } else {
        CHECK_OK(status);
        keep_handle(number, handle);
        reference_add(number, deadline);
    }
}

static void do_cancel(void)
{
    unsigned number = (unsigned)rti_rng_below(&rng, NODES);
    CHECK(!rt_wheel_cancel(&wheel, &stale));
    CHECK_EQ(rt_wheel_cancel(&wheel, &handles[number]), is_live[number]);
    if (is_live[number]) {
        reference_remove(number);
        deeds[CANCELLED]++;
    }
}

static void do_update(void)
{
    unsigned number = (unsigned)rti_rng_below(&rng, NODES);
    rt_time deadline = draw_deadline(7 * DAY);
    rt_wheel_handle handle = {0, 0};
    if (!is_live[number]) {
        return;
    }
    CHECK_OK(rt_wheel_update(&wheel, &handles[number], deadline, waker_of(number), &handle));
    reference_remove(number);
    keep_handle(number, handle);
    reference_add(number, deadline);
    deeds[UPDATED]++;
}

static void do_collect(void)
{
    static rt_waker due[NODES];
    rt_time jump = draw_deadline(8 * DAY);
    size_t max = rti_rng_below(&rng, 4) == 0 ? 1 + rti_rng_below(&rng, 5) : NODES;
    if (jump > now) {
        deeds[JUMPED] += jump - now > 7 * DAY;
        now = jump;
    }
    size_t count = rt_wheel_collect_expired(&wheel, now, due, max);
    for (size_t i = 0; i < count; i++) {
        CHECK(entry_count > 0 && entries[0].deadline <= now);
        CHECK(due[i].arg == &numbers[entries[0].number]);
        reference_remove(entries[0].number);
    }
    bool is_due_left = entry_count > 0 && entries[0].deadline <= now;
    CHECK(!is_due_left || count == max);
    deeds[LEFT_DUE] += is_due_left;
}

static void start_round(void)
{
    rt_wheel_config config = {.nodes = nodes, .max_timer_nodes = NODES};
    now = rti_rng_below(&rng, 100 * DAY);
    collects = rti_rng_below(&rng, 11);
    CHECK_OK(rt_wheel_init(&wheel, &config, now));
    /* A number wraps within the round: the generation, or the id, which is the generation moved up
     * by the bits of an index. */
    uint64_t last = rti_rng_below(&rng, 2) == 0 ? UINT64_MAX : UINT64_MAX / INDICES;
    rti_wheel_api_start_at(&wheel, last - rti_rng_below(&rng, 500));
    memset(is_live, 0, sizeof(is_live));
    memset(handles, 0, sizeof(handles));
    stale = (rt_wheel_handle){0, 0};
    entry_count = 0;
}

static void do_one(void)
{
    uint64_t choice = rti_rng_below(&rng, 100);
    if (choice < 55) {
        do_register();
    } else if (choice < 75) {
        do_cancel();
    } else if (choice < 90) {
        do_update();
    } else if (choice < 90 + collects) {
        do_collect();
    }
    CHECK_EQ(rt_wheel_count(&wheel), entry_count);
    rt_time next = entry_count == 0 ? RT_TIME_NEVER : entries[0].deadline;
    CHECK(rt_wheel_next_deadline(&wheel) == next);
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

TEST(wheel_with_handles_equals_a_sorted_reference_over_jumps_and_wraps)
{
    uint64_t operations = number_from("ORRERY_WHEEL_OPS", 1000000);
    uint64_t seed = number_from("ORRERY_WHEEL_SEED", 1);
    printf("repeat with ORRERY_WHEEL_SEED=%" PRIu64 " ORRERY_WHEEL_OPS=%" PRIu64 "\n", seed,
           operations);
    fflush(stdout);
    rti_rng_init(&rng, seed);
    for (uint64_t i = 0; i < operations; i++) {
        if (i % ROUND == 0) {
            start_round();
        }
        do_one();
        if (i % 256 == 0) {
            CHECK_EQ(rti_wheel_api_audit(&wheel), entry_count);
        }
    }
    for (size_t i = 0; i < DEEDS && operations >= 100000; i++) {
        if (deeds[i] == 0) {
            test_fail(__FILE__, __LINE__, "deed %zu never happened", i);
        }
    }
}
