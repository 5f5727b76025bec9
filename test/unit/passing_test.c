/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "passing_test"
#include "sched/passing.h"

#include <errno.h>

#include "support/crew.h"
#include "support/test.h"

#include <orrery/rt.h>

static struct rti_lock lock;
static struct rti_fiber *sleeper;
static struct rti_fiber *waits; /* under the lock */
static int steps;

static void nobody_claims(struct rti_waiter *waiter)
{
    (void)waiter;
}

static void park_once(void *arg)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_fiber *self = worker->fiber;
    struct rti_wait wait;
    struct rti_waiter waiter;
    (void)arg;
    rti_fiber_wait_begin(worker, &wait);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, nobody_claims);
    rti_lock_acquire(&lock, &crew_world.sched);
    CHECK(rti_fiber_may_pass(worker, self) && rti_fiber_settle_at(self, &lock));
    CHECK(rti_ptr_load_relaxed(&self->alone_at) == &lock);
    waits = self;
    errno = 17;
    steps++;
    rti_fiber_park_passing(worker, &wait, &lock);
    CHECK_EQ(errno, 17);
    self->wait = NULL;
    steps++;
}

static void serve_once(void *arg)
{
    (void)arg;
    errno = 4;
    while (steps == 0) {
        rt_yield();
    }
    rti_lock_acquire(&lock, &crew_world.sched);
    CHECK(waits == sleeper && rti_runnable_state(&sleeper->run) == RTI_RUNNABLE_PARKED);
    waits = NULL;
    rti_fiber_take_alone(sleeper);
    rti_lock_release(&lock);
    rti_crew_queue_next(&crew_world.crew, &sleeper->run);
    CHECK_EQ(errno, 4);
    CHECK_EQ(steps, 1);
    rt_yield();
}

static void open_world(void)
{
    crew_world_open(1);
    rti_lock_init(&lock, &crew_world.sched, RTI_LOCK_CHANNEL);
}

TEST(passing_fiber_goes_on_when_who_has_the_lock_lets_it)
{
    open_world();
    sleeper = crew_world_go(park_once, NULL, 2);
    crew_world_go(serve_once, NULL, 2);
    crew_world_close();
    CHECK_EQ(steps, 2);
    CHECK_EQ(rti_u32_load_relaxed(&lock.is_taken), 0);
}

/* Nothing but the sleeper is there when it parks: it goes by the member's own stack. */
TEST(passing_fiber_that_nobody_follows_gives_the_lock_back)
{
    open_world();
    sleeper = crew_world_go(park_once, NULL, 1);
    crew_world_go(serve_once, NULL, 2);
    crew_world_close();
    CHECK_EQ(steps, 2);
}

static void settle_when_killed(void *arg)
{
    struct rti_fiber *self = rti_worker_current()->fiber;
    (void)arg;
    CHECK(rti_fiber_settle_at(self, &lock));
    rti_u32_store_relaxed(&self->killed, 1);
    CHECK(!rti_fiber_settle_at(self, &lock));
    rti_u32_store_relaxed(&self->killed, 0);
    struct rti_cancel cancel;
    rti_cancel_init(&cancel, &crew_world.sched);
    self->cancel = &cancel;
    CHECK(rti_fiber_settle_at(self, &lock));
    struct rti_list claimed;
    rti_list_init(&claimed);
    CHECK(rti_cancel_request(&cancel, &claimed));
    CHECK(!rti_fiber_settle_at(self, &lock));
    self->cancel = NULL;
}

TEST(passing_settles_nobody_who_is_killed_or_cancelled)
{
    open_world();
    crew_world_go(settle_when_killed, NULL, 2);
    crew_world_close();
}
