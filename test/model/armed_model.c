/* SPDX-License-Identifier: Apache-2.0 */

/* A timer that is armed while another worker goes to sleep until the earliest deadline: it sleeps
 * no longer than until then, though who armed it never looks at the time again. Two stations with a
 * clockwork each; the code of clockworks and of the crew's search. A lost call shows as a thread
 * that sleeps without a limit. */

#include "search_world.h"
#include "time/clockwork.h"

enum { MEMBERS = 2, EARLY_NS = 1000 };

static struct rti_sched sched;
static struct rti_crew crew;
static struct rti_station stations[MEMBERS];
static struct rti_clockwork clockworks[MEMBERS];
static struct rti_member members[MEMBERS];
static struct rti_timer early;
static struct rti_port port;
static struct rti_port_ops ops;
static uint64_t now_ns;      /* the sleeper's: time passes while it sleeps */
static uint32_t fired_count; /* plain: the sleeper fires */

struct rti_worker *rti_worker_current(void)
{
    unsigned self = explore_self();
    return self < MEMBERS ? members[self].worker : NULL;
}

static uint64_t clock_ns(struct rti_port *of)
{
    (void)of;
    return now_ns;
}

/* Sleeps until it is called or the deadline has come, which it has as soon as nobody calls. */
static enum rti_wait_end port_wait(struct rti_port *of, uint64_t deadline_ns)
{
    (void)of;
    bool is_called = rti_u32_exchange_acqrel(&world_bell, 0) != 0;
    while (!is_called && deadline_ns == RTI_TIME_NEVER) {
        (void)explore_futex_wait(&world_bell, 0, false, EXPLORE_SITE);
        is_called = rti_u32_exchange_acqrel(&world_bell, 0) != 0;
    }
    if (!is_called && deadline_ns > now_ns) {
        now_ns = deadline_ns;
    }
    return RTI_WAIT_WOKEN;
}

static rt_status thread_start(struct rti_port *of, struct rti_port_thread *thread,
                              void (*main)(void *), void *arg)
{
    (void)of;
    (void)thread;
    (void)main;
    (void)arg;
    return (rt_status){RT_ERR_NOMEM, NULL};
}

static void fire_early(struct rti_timer *timer)
{
    EXPLORE_ASSERT(timer == &early && now_ns >= EARLY_NS);
    RTI_PLAIN_WRITE(&fired_count, sizeof fired_count);
    fired_count++;
    rti_crew_end(&crew);
}

static void setup(void)
{
    ops = *explore_port()->ops;
    ops.clock_ns = clock_ns;
    ops.wait = port_wait;
    ops.wake = world_wake;
    ops.thread_start = thread_start;
    port = (struct rti_port){.ops = &ops};
    sched = (struct rti_sched){.port = &port, .crew = &crew, .is_local = false};
    crew = (struct rti_crew){.sched = &sched,
                             .stations = stations,
                             .members = members,
                             .stations_count = MEMBERS,
                             .members_max = MEMBERS,
                             .members_count = MEMBERS};
    now_ns = 1;
    fired_count = 0;
    rti_lock_init(&crew.lock, &sched, RTI_LOCK_CREW);
    rti_injector_init(&crew.injector, &sched);
    rti_u32_init(&world_bell, 0);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] = (struct rti_member){.crew = &crew, .index = i, .look_interval = 1};
        members[i].worker = &members[i].own;
        members[i].own = (struct rti_worker){.sched = &sched, .member = &members[i]};
        members[i].turns_until_look = 1000;
        members[i].is_started = true;
        rti_parker_init(&members[i].parker);
        rti_rng_init(&members[i].rng, i);
        rti_clockwork_init(&clockworks[i], 0);
        rti_clockwork_share(&clockworks[i], &sched);
        rti_station_init(&stations[i], i, &sched);
        stations[i].timers = rti_clockwork_source(&clockworks[i]);
        stations[i].tick = 1;
        rti_u32_init(&stations[i].state, RTI_STATION_HELD);
    }
    members[0].own.station = &stations[0];
    /* The other one has found nothing and given its station back: what is left is to sleep. */
    (void)rti_crew_give_back(&crew, &stations[1]);
    explore_name(&crew.poll_until_ns, "until");
    explore_name(&crew.is_polled, "polled");
    explore_name(&clockworks[0].next_ns, "next_ns");
    explore_name(&world_bell, "bell");
}

static void arm_and_compute(void)
{
    rti_timer_init(&early, fire_early);
    rti_clockwork_arm(rti_clockwork_here(&sched), &early, EARLY_NS);
}

static void go_to_sleep(void)
{
    EXPLORE_ASSERT(rti_crew_search(&members[1]) == NULL);
}

static void check(void)
{
    EXPLORE_ASSERT(fired_count == 1);
}

MODEL(armed_timer_is_fired_by_one_who_goes_to_sleep){
    .about = "one arms a timer and computes on, one goes to sleep for ever",
    .setup = setup,
    .threads = {arm_and_compute, go_to_sleep},
    .check = check,
    .executions_max = 300000,
};
