/* SPDX-License-Identifier: Apache-2.0 */

/* A context gets its rest while another cancels it: who cancels finds nothing there, or all of it.
 * The owner, a fiber, puts a context inside its own that the cancellation does not reach. */

#include "sync/cx.h"

#include "port/explore/port.h"
#include "sync/region.h"

#define NOT_HERE EXPLORE_ASSERT(!"called by nobody here")

static struct rti_sched sched;
static struct rti_channels channels;
static struct rti_inner_cx shield;

/* A slot, and what lies apart from it. */
static struct {
    struct rti_fiber fiber;
    struct rti_cx cx;
    struct rti_cx_rest rest;
} task;

bool rti_channel_cancel_alone(struct rti_sched *of, struct rti_fiber *whose,
                              struct rti_waiter **waiter)
{
    EXPLORE_ASSERT(of == &sched && whose == &task.fiber);
    (void)waiter;
    return false;
}

/* What else a context can be asked, by nobody here. */
void rti_sched_straighten(struct rti_sched *of)
{
    (void)of;
    NOT_HERE;
}

void rti_sched_write(struct rti_sched *of, const struct rti_journal_event *event)
{
    (void)of, (void)event;
    NOT_HERE;
}

void rti_region_timer_await_context(struct rti_sched *of, const struct rti_cx *cx)
{
    (void)of, (void)cx;
    NOT_HERE;
}

void rti_region_timer_end_with_context(struct rti_waiter *waiter)
{
    (void)waiter;
    NOT_HERE;
}

void rti_region_leave(struct rti_region_member *member, struct rti_sched *of, rt_outcome outcome)
{
    (void)member, (void)of, (void)outcome;
    NOT_HERE;
}

struct rti_worker *rti_worker_current(void)
{
    return NULL;
}

static void setup(void)
{
    sched = (struct rti_sched){.port = explore_port(), .is_local = false};
    sched.modules[RTI_MODULE_CHANNEL] = &channels;
    rti_lock_init(&channels.regions, &sched, RTI_LOCK_REGION);
    task.fiber = (struct rti_fiber){.sched = &sched};
    rti_cleanups_init(&task.fiber.cleanups);
    /* What an earlier life has left there. */
    task.rest = (struct rti_cx_rest){.inner = &shield.cx};
    rti_cx_place_rest(&task.cx, &task.rest);
    rti_cx_place_fiber(&task.cx, &task.fiber);
    rti_cx_init_fiber(&task.cx, &task.fiber, &sched);
    explore_name(&channels.regions.is_taken, "regions");
    explore_name(&task.cx.has_rest, "has_rest");
    explore_name(&task.cx.cancel.is_requested, "requested");
}

static void own(void)
{
    rti_cx_begin_shield(&shield, &task.fiber, 1);
}

static void cancel(void)
{
    rti_cx_cancel(&task.cx);
}

static void check(void)
{
    EXPLORE_ASSERT(rti_cancel_is_requested(&task.cx.cancel));
    EXPLORE_ASSERT(!rti_cancel_is_requested(&shield.cx.cancel));
    EXPLORE_ASSERT(task.rest.inner == &shield.cx && shield.rest.outer == &task.cx);
    EXPLORE_ASSERT(task.rest.cx == &task.cx && task.rest.member.region == NULL);
    explore_outcome(0);
}

MODEL(cx_rest_opens_while_another_cancels){
    .about = "who cancels a context that gets its rest meanwhile finds it whole, or not at all",
    .setup = setup,
    .threads = {own, cancel},
    .check = check,
    .outcomes = {{1, {0}}, {1, {0}}},
};
