/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "width"
#include "sched/width.h"

#include <string.h>

#include "base/assert.h"
#include "base/marks.h"
#include "base/time.h"

void rti_width_init(struct rti_width *width, uint32_t max, uint32_t min)
{
    RT_ASSERT(min >= 1 && min <= max);
    *width =
        (struct rti_width){.max = max, .min = min, .now = max, .pause_ns = RTI_WIDTH_PAUSE_MIN_NS};
}

/* Begins to watch, to settle or to try. */
static void width_begin(struct rti_width *width, enum rti_width_phase phase,
                        const struct rti_width_sight *sight)
{
    width->phase = phase;
    width->since_ns = sight->now_ns;
    width->work = sight->work;
}

void rti_width_open(struct rti_width *width, const struct rti_width_sight *sight)
{
    width->now = width->max;
    width->is_eager = true;
    width->pause_ns = RTI_WIDTH_PAUSE_MIN_NS;
    width->again_ns = sight->now_ns + 2 * RTI_WIDTH_WINDOW_NS; /* those who are woken come first */
    memset(width->rates, 0, sizeof(width->rates));
    width_begin(width, RTI_WIDTH_WATCHING, sight);
}

static uint64_t width_length_ns(const struct rti_width *width)
{
    return width->phase == RTI_WIDTH_SETTLING ? RTI_WIDTH_SETTLE_NS : RTI_WIDTH_WINDOW_NS;
}

bool rti_width_is_due(const struct rti_width *width, uint64_t now_ns)
{
    return now_ns - width->since_ns >= width_length_ns(width);
}

uint64_t rti_width_next_ns(const struct rti_width *width)
{
    uint64_t due_ns = width->since_ns + width_length_ns(width);
    if (width->phase != RTI_WIDTH_WATCHING) {
        return due_ns;
    }
    if (width->is_eager && width->again_ns < width->since_ns + RTI_WIDTH_CARE_NS) {
        return width->again_ns > due_ns ? width->again_ns : due_ns;
    }
    return width->now < width->max ? width->since_ns + RTI_WIDTH_CARE_NS : UINT64_MAX;
}

/* What was done in the window, in a millisecond. */
static uint64_t width_rate(const struct rti_width *width, const struct rti_width_sight *sight)
{
    return (sight->work - width->work) * RTI_NS_PER_MS / (sight->now_ns - width->since_ns);
}

/* Were turns short in the window? */
static bool width_saw_short(const struct rti_width *width, const struct rti_width_sight *sight)
{
    uint64_t busy_ns = (sight->now_ns - width->since_ns) * sight->used;
    return !sight->is_uneven && busy_ns <= (sight->work - width->work) * RTI_WIDTH_SHORT_NS;
}

/* The width to try: half of what was used or double what may be, in turns where both can be. For a
 * while, and where somebody is pinned, more can be used than may be. */
static uint32_t width_choose(const struct rti_width *width, const struct rti_width_sight *sight)
{
    uint32_t most = sight->most > sight->used ? sight->most : sight->used;
    uint32_t useful = most < width->now ? most : width->now;
    bool can_narrow = useful > width->min;
    bool can_widen = width->now < width->max;
    if (can_widen && (!can_narrow || !width->was_wider)) {
        return width->now > width->max / 2 ? width->max : width->now * 2;
    }
    uint32_t half = useful / 2 > width->min ? useful / 2 : width->min;
    return can_narrow ? half : width->now;
}

static void width_remember(struct rti_width *width, uint64_t rate)
{
    memmove(&width->rates[1], &width->rates[0], sizeof(width->rates) - sizeof(rate));
    width->rates[0] = rate;
}

/* What a trial has to beat. */
static uint64_t width_best(const struct rti_width *width)
{
    uint64_t best = 0;
    for (size_t i = 0; i < RTI_WIDTH_WINDOWS; i++) {
        best = width->rates[i] > best ? width->rates[i] : best;
    }
    return best;
}

static void width_watch(struct rti_width *width, const struct rti_width_sight *sight)
{
    bool is_short = width_saw_short(width, sight);
    width_remember(width, width_rate(width, sight));
    width_begin(width, RTI_WIDTH_WATCHING, sight);
    if (!is_short) {
        rti_width_open(width, sight);
        width->is_eager = false;
        return;
    }
    uint32_t to = width_choose(width, sight);
    width->is_eager = to != width->now;
    if (to == width->now || sight->now_ns < width->again_ns) {
        return;
    }
    width->before = width->now;
    width->was_wider = to > width->now;
    width->now = to;
    width->windows = 0;
    width_begin(width, RTI_WIDTH_SETTLING, sight);
}

static void width_judge(struct rti_width *width, const struct rti_width_sight *sight)
{
    uint64_t rate = width_rate(width, sight);
    uint64_t best = width_best(width);
    bool is_better = width->was_wider ? rate * 10 >= best * 11 : rate >= best && rate > 0;
    if (sight->is_uneven) {
        rti_width_open(width, sight);
        width->is_eager = false;
        return;
    }
    if (!is_better && !width->was_wider && ++width->windows < RTI_WIDTH_WINDOWS) {
        width_begin(width, RTI_WIDTH_TRYING, sight);
        return;
    }
    if (is_better) {
        RT_SOMETIMES(true, "width: another one gets more done");
        width->pause_ns = RTI_WIDTH_PAUSE_MIN_NS;
        memset(width->rates, 0, sizeof(width->rates));
        width_remember(width, rate);
    } else {
        uint64_t longer_ns = width->pause_ns * (width->was_wider ? 4 : 2);
        width->now = width->before;
        width->pause_ns = longer_ns < RTI_WIDTH_PAUSE_MAX_NS ? longer_ns : RTI_WIDTH_PAUSE_MAX_NS;
    }
    width->again_ns = sight->now_ns + width->pause_ns;
    width_begin(width, RTI_WIDTH_WATCHING, sight);
}

void rti_width_look(struct rti_width *width, const struct rti_width_sight *sight)
{
    if (rti_width_is_due(width, sight->now_ns)) {
        switch (width->phase) {
        case RTI_WIDTH_WATCHING:
            width_watch(width, sight);
            break;
        case RTI_WIDTH_SETTLING:
            width_begin(width, RTI_WIDTH_TRYING, sight);
            break;
        case RTI_WIDTH_TRYING:
            width_judge(width, sight);
            break;
        }
    }
    RT_ASSERT(width->now >= width->min && width->now <= width->max);
}
