/* SPDX-License-Identifier: Apache-2.0 */

/* Timers that several workers share: a timer fires once or is disarmed once, who disarms it knows
 * which, and afterwards its memory is its owner's, though somebody else was about to fire it. In
 * the code of clockwork, wheel and deadline. */

#include "time/deadline.h"

#include "port/explore/port.h"
#include "sched/parker.h"

enum { DUE_NS = 1000, NOW_NS = 2000 };

static struct rti_sched sched;
static struct rti_clockwork clockwork;
static struct rti_timer_source source;
static struct rti_timer timer;
static uint32_t fired_count; /* plain: the callback's, then who disarmed it */
static uint32_t disarmed_count;
static rti_atomic_u32 over_count; /* threads that are done with the timer */

static struct rti_wait wait;
static struct rti_deadline deadline;
static struct rti_waiter waiter;
static struct rti_parker parker;
static uint32_t event_seen;

void rti_port_log(const char *line)
{
    (void)line;
}

/* Nobody is a worker here: locks keep no account. */
struct rti_worker *rti_worker_current(void)
{
    return NULL;
}

void rti_sched_attend_shared(void)
{
}

void rti_crew_armed(struct rti_crew *crew, uint64_t deadline_ns)
{
    (void)crew;
    (void)deadline_ns;
}

static void fire(struct rti_timer *fired)
{
    EXPLORE_ASSERT(fired == &timer);
    RTI_PLAIN_WRITE(&fired_count, sizeof fired_count);
    fired_count++;
}

static void setup(void)
{
    sched = (struct rti_sched){.port = explore_port(), .is_local = false};
    rti_clockwork_init(&clockwork, 0);
    rti_clockwork_share(&clockwork, &sched);
    source = rti_clockwork_source(&clockwork);
    sched.timers = source;
    rti_u32_init(&over_count, 0);
    fired_count = 0;
    disarmed_count = 0;
    event_seen = 0;
    explore_name(&clockwork.lock.is_taken, "lock");
    explore_name(&clockwork.next_ns, "next_ns");
}

static void setup_armed(void)
{
    setup();
    rti_timer_init(&timer, fire);
    rti_clockwork_arm(&clockwork, &timer, DUE_NS);
}

/* A worker that looks at the time: the holder of the station, or a thief. */
static void expire(void)
{
    if (source.next_deadline(source.context) <= NOW_NS) {
        (void)source.expire(source.context, NOW_NS);
    }
}

static void disarm(void)
{
    bool was_armed = rti_clockwork_disarm(&clockwork, &timer);
    /* Whatever came of it, nobody touches the timer any more. */
    RTI_PLAIN_WRITE(&fired_count, sizeof fired_count);
    disarmed_count = was_armed ? 1 : 0;
    EXPLORE_ASSERT(fired_count + disarmed_count <= 1);
}

static void check_once(void)
{
    EXPLORE_ASSERT(fired_count + disarmed_count == 1);
}

MODEL(timer_fires_once_or_is_disarmed_once){
    .about = "one disarms while two look at the time",
    .setup = setup_armed,
    .threads = {disarm, expire, expire},
    .check = check_once,
};

/* One arms what is due at once, and then another one looks: the first look or the second fires. */
static void arm(void)
{
    rti_timer_init(&timer, fire);
    rti_clockwork_arm(&clockwork, &timer, DUE_NS);
    expire();
}

static void check_fired(void)
{
    EXPLORE_ASSERT(fired_count == 1);
    EXPLORE_ASSERT(source.next_deadline(source.context) > NOW_NS);
}

MODEL(timer_that_is_armed_while_others_look_fires_once){
    .about = "one arms and looks, two look",
    .setup = setup,
    .threads = {arm, expire, expire},
    .check = check_fired,
};

static void wake_by_parker(struct rti_wait *ended)
{
    struct rti_parker *target = ended->target;
    rti_parker_unpark(target, explore_port());
}

static void unlink_nothing(struct rti_waiter *unlinked)
{
    (void)unlinked;
}

static void setup_wait(void)
{
    setup();
    rti_parker_init(&parker);
    rti_wait_begin(&wait, wake_by_parker, &parker, false);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, unlink_nothing);
    rti_deadline_add(&deadline, &sched, &wait, DUE_NS);
    explore_name(&wait.claimed, "claimed");
    explore_name(&parker.state, "parker");
}

/* Waits with a deadline, leaves, and its frame is somebody else's. */
static void wait_with_deadline(void)
{
    (void)rti_parker_park(&parker, explore_port(), RTI_TIME_NEVER);
    event_seen = rti_wait_event(&wait);
    EXPLORE_ASSERT(event_seen == RTI_EVENT_SOURCE || event_seen == RTI_EVENT_TIMEOUT);
    rti_wait_finish(&wait);
    RTI_PLAIN_WRITE(&deadline, sizeof deadline);
    RTI_PLAIN_WRITE(&wait.target, sizeof wait.target);
}

static void deliver(void)
{
    if (rti_wait_claim(waiter.wait, waiter.event)) {
        rti_waiter_wake(&waiter);
    }
}

static void check_wait(void)
{
    EXPLORE_ASSERT(event_seen != RTI_EVENT_NONE);
    EXPLORE_ASSERT(!rti_timer_is_armed(&deadline.timer));
}

MODEL(deadline_that_fires_while_its_wait_ends_leaves_the_frame_alone){
    .about = "one waits and leaves, one delivers, one looks at the time",
    .setup = setup_wait,
    .threads = {wait_with_deadline, deliver, expire},
    .check = check_wait,
};
