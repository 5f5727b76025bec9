/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "clockwork_test"
#include "time/clockwork.h"

#include "support/crew.h"
#include "support/test.h"
#include "time/deadline.h"

static struct rti_clockwork clockwork;
static struct rti_timer timers[3];
static int fired;

static void fire(struct rti_timer *timer)
{
    fired += 1 + (int)(timer - timers);
}

TEST(clockwork_of_one_worker_is_its_wheel)
{
    rti_clockwork_init(&clockwork, 1000);
    struct rti_timer_source source = rti_clockwork_source(&clockwork);
    CHECK_EQ(source.next_deadline(source.context), RTI_TIME_NEVER);
    rti_timer_init(&timers[0], fire);
    rti_clockwork_arm(&clockwork, &timers[0], 5000);
    CHECK_EQ(source.next_deadline(source.context), 5000);
    CHECK_EQ(source.expire(source.context, 4999), 0);
    CHECK(rti_clockwork_disarm(&clockwork, &timers[0]));
    CHECK(!rti_clockwork_disarm(&clockwork, &timers[0]));
    rti_clockwork_arm(&clockwork, &timers[0], 6000);
    CHECK_EQ(source.expire(source.context, 6000), 1);
    CHECK_EQ(fired, 1);
}

static void arm_and_look(void *arg)
{
    struct rti_clockwork *own = rti_clockwork_here(&crew_world.sched);
    struct rti_timer_source source = rti_clockwork_source(own);
    uint64_t far_ns = rti_deadline_after(&crew_world.sched, 3600 * RTI_NS_PER_S);
    (void)arg;
    for (size_t i = 0; i < RTI_COUNT_OF(timers); i++) {
        rti_timer_init(&timers[i], fire);
    }
    rti_clockwork_arm(own, &timers[0], far_ns);
    CHECK_EQ(source.next_deadline(source.context), far_ns);
    rti_clockwork_arm(own, &timers[1], far_ns - 1);
    CHECK_EQ(source.next_deadline(source.context), far_ns - 1);
    /* What is told may be too early after a disarm, never too late. */
    CHECK(rti_clockwork_disarm(own, &timers[1]));
    CHECK(source.next_deadline(source.context) <= far_ns);
    CHECK_EQ(source.expire(source.context, far_ns), 1);
    CHECK_EQ(source.next_deadline(source.context), RTI_TIME_NEVER);
    CHECK_EQ(fired, 1);
}

TEST(clockwork_that_is_shared_tells_its_earliest_deadline)
{
    crew_world_open(1);
    crew_world_go(arm_and_look, NULL, 2);
    crew_world_close();
}
