/* SPDX-License-Identifier: Apache-2.0 */
/* What the parallel engine costs beside many that wait, counted on virtual threads. */
#define RTI_MODULE "crew_cost_test"
#include <orrery/rt/runtime.h>

#include <stdlib.h>

#include "runtime/runtime.h"
#include "sched/crew.h"
#include "support/test.h"
#include "virtual/world.h"

TEST_TIMEOUT(60);

/* What one busy fiber costs beside many that wait: in points, which are accesses to shared words of
 * all workers and the warden together, in dispatches and in looks at victims. */
#define IDLE_MAX             10000
#define IDLE_STACK           8192
#define BUSY_ROUNDS          200
#define BUSY_WORLDS          4
#define COST_TOLERATED(cost) ((cost) + (cost) / 4 + 2000)

struct crowd {
    struct rti_lock lock;
    struct rti_waitlist line;
    struct rti_fiber *fibers; /* the first is the busy one */
    char *stacks;
    uint32_t count;
    rti_atomic_u32 waiting;
    rti_atomic_u32 ended;
};

struct cost {
    uint64_t points;
    uint64_t turns;
    uint64_t steal_tries;
};

static struct crowd crowd;
static uint32_t idle_wanted;
static struct cost cost;

static void crowd_unlink(struct rti_waiter *waiter)
{
    rti_lock_acquire(&crowd.lock, &rti_runtime.sched);
    rti_waitlist_unlink(waiter);
    rti_lock_release(&crowd.lock);
}

static void idle_main(void *arg)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_wait wait;
    struct rti_waiter waiter;
    (void)arg;
    rti_fiber_wait_begin(worker, &wait);
    rti_lock_acquire(&crowd.lock, worker->sched);
    rti_wait_add(&wait, &waiter, RTI_EVENT_SOURCE, crowd_unlink);
    rti_waitlist_add(&crowd.line, &waiter);
    rti_lock_release(&crowd.lock);
    rti_u32_add_relaxed(&crowd.waiting, 1);
    CHECK_EQ(rti_fiber_park(worker, &wait), RTI_EVENT_SOURCE);
}

static struct cost cost_so_far(void)
{
    struct cost now = {.points = rti_virtual_points()};
    const struct rti_crew *crew = rti_runtime.sched.crew;
    for (uint32_t i = 0; i < crew->stations_count; i++) {
        now.turns += rti_u64_load_relaxed(&crew->stations[i].turns);
        now.steal_tries += rti_u64_load_relaxed(&crew->stations[i].steal_tries);
    }
    return now;
}

static void busy_main(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&crowd.waiting) < idle_wanted) {
        rti_fiber_yield(rti_worker_current());
    }
    /* Those who have just counted themselves come to rest, and so does everybody else. */
    uint64_t rest_ns = rti_deadline_after(&rti_runtime.sched, RT_NS_PER_MS);
    (void)rti_fiber_sleep_until(rti_worker_current(), rest_ns);
    struct cost before = cost_so_far();
    for (int i = 0; i < BUSY_ROUNDS; i++) {
        rti_fiber_yield(rti_worker_current());
        rti_virtual_compute();
    }
    struct cost after = cost_so_far();
    cost.points += after.points - before.points;
    cost.turns += after.turns - before.turns;
    cost.steal_tries += after.steal_tries - before.steal_tries;
    for (bool is_any = true; is_any;) {
        rti_lock_acquire(&crowd.lock, &rti_runtime.sched);
        struct rti_waiter *waiter = rti_waitlist_claim(&crowd.line);
        rti_lock_release(&crowd.lock);
        is_any = waiter != NULL;
        if (is_any) {
            rti_waiter_wake(waiter);
        }
    }
}

static void crowd_done(struct rti_fiber *fiber)
{
    (void)fiber;
    rti_u32_add_relaxed(&crowd.ended, 1);
}

static void crowd_go(void (*main)(void *arg))
{
    uint32_t index = crowd.count++;
    static const struct rti_fiber_kind kind = {.main = rti_fiber_call, .on_done = crowd_done};
    struct rti_fiber_options options = {.id = index + 1, .priority = 2, .fn = main, .kind = &kind};
    rti_stack_init(&options.stack, crowd.stacks + (size_t)index * IDLE_STACK, IDLE_STACK);
    rti_fiber_init(&crowd.fibers[index], &options);
    rti_fiber_start(&rti_runtime.sched, &crowd.fibers[index]);
}

static void cost_play(uint64_t seed)
{
    (void)seed;
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 4}));
    rti_lock_init(&crowd.lock, &rti_runtime.sched, RTI_LOCK_CHANNEL);
    rti_waitlist_init(&crowd.line);
    crowd.count = 0;
    rti_u32_init(&crowd.waiting, 0);
    rti_u32_init(&crowd.ended, 0);
    crowd_go(busy_main);
    for (uint32_t i = 0; i < idle_wanted; i++) {
        crowd_go(idle_main);
    }
    rt_run();
    WITNESS(rti_u32_load_relaxed(&crowd.ended) == idle_wanted + 1);
}

static struct cost cost_beside(uint32_t idle)
{
    idle_wanted = idle;
    cost = (struct cost){0};
    for (uint64_t seed = 1; seed <= BUSY_WORLDS; seed++) {
        (void)world_play_prompt(seed, cost_play);
    }
    printf("beside %u: points %" PRIu64 ", turns %" PRIu64 ", victims looked at %" PRIu64 "\n",
           idle, cost.points, cost.turns, cost.steal_tries);
    return cost;
}

TEST(crew_sim_one_busy_among_ten_thousand_idle_costs_what_one_costs)
{
    crowd.fibers = calloc(IDLE_MAX + 1, sizeof(*crowd.fibers));
    crowd.stacks = calloc(IDLE_MAX + 1, IDLE_STACK);
    CHECK(crowd.fibers != NULL && crowd.stacks != NULL);
    struct cost alone = cost_beside(0);
    struct cost among = cost_beside(IDLE_MAX);
    CHECK_EQ(alone.turns, BUSY_WORLDS * BUSY_ROUNDS);
    CHECK_EQ(among.turns, alone.turns);
    CHECK(among.points <= COST_TOLERATED(alone.points));
    CHECK(among.steal_tries <= COST_TOLERATED(alone.steal_tries));
    free(crowd.fibers);
    free(crowd.stacks);
}
