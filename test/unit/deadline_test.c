/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "deadline_test"
#include "time/deadline.h"

#include "support/fibers.h"
#include "support/test.h"

static struct fibers fibers;
static uint64_t woken_at[FIBERS_MAX];
static size_t woken_count;

struct nap {
    uint64_t ns;
    size_t place; /* in the order of waking */
};

static void nap(void *arg)
{
    struct nap *self = arg;
    struct rti_worker *worker = rti_worker_current();
    uint64_t deadline_ns = rti_deadline_after(worker->sched, self->ns);
    rti_fiber_sleep_until(worker, deadline_ns);
    CHECK_EQ(rti_sched_clock(worker->sched), deadline_ns);
    self->place = woken_count;
    woken_at[woken_count++] = self->ns;
}

TEST(sleepers_wake_at_their_own_nanosecond_in_the_order_of_their_deadlines)
{
    static struct nap naps[] = {
        {.ns = 1500000},   {.ns = 1},         {.ns = 1499999}, {.ns = 86400 * RTI_NS_PER_S},
        {.ns = 255999999}, {.ns = 256000001}, {.ns = 1000},
    };
    woken_count = 0;
    fibers_init(&fibers);
    for (size_t i = 0; i < RTI_COUNT_OF(naps); i++) {
        fibers_go(&fibers, 2, nap, &naps[i]);
    }
    CHECK_OK(fibers_run(&fibers));
    CHECK_EQ(woken_count, RTI_COUNT_OF(naps));
    for (size_t i = 1; i < woken_count; i++) {
        CHECK(woken_at[i - 1] < woken_at[i]);
    }
}

TEST(sleepers_with_one_deadline_wake_in_the_order_they_went_to_sleep)
{
    static struct nap naps[20];
    woken_count = 0;
    fibers_init(&fibers);
    for (size_t i = 0; i < RTI_COUNT_OF(naps); i++) {
        naps[i].ns = 7 * RTI_NS_PER_MS;
        fibers_go(&fibers, 2, nap, &naps[i]);
    }
    CHECK_OK(fibers_run(&fibers));
    for (size_t i = 0; i < RTI_COUNT_OF(naps); i++) {
        CHECK_EQ(naps[i].place, i);
    }
}

TEST(deadline_beyond_the_end_of_time_is_never)
{
    fibers_init(&fibers);
    fibers.port.now_ns = 1000;
    CHECK(rti_deadline_after(&fibers.sched, UINT64_MAX) == RTI_TIME_NEVER);
    CHECK(rti_deadline_after(&fibers.sched, UINT64_MAX - 1000) == RTI_TIME_NEVER);
    CHECK_EQ(rti_deadline_after(&fibers.sched, 5), 1005);
}

static void sleep_until_never(void *arg)
{
    (void)arg;
    rti_fiber_sleep_until(rti_worker_current(), RTI_TIME_NEVER);
}

TEST(sleep_until_never_has_no_timer_and_is_seen_as_a_deadlock)
{
    fibers_init(&fibers);
    fibers_go(&fibers, 2, sleep_until_never, NULL);
    CHECK_STATUS(fibers_run(&fibers), RT_ERR_DEADLOCK);
    CHECK_EQ(rti_wheel_count(&fibers.clockwork.wheel), 0);
}
