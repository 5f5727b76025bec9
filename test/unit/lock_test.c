/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "lock_test"
#include "sched/lock.h"

#include "support/crew.h"
#include "support/test.h"

#define ROUNDS 20000

static struct rti_lock lock;
static uint64_t counted; /* under the lock */
static bool is_inside;

static void count_under_lock(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        rti_lock_acquire(&lock, &crew_world.sched);
        CHECK(!is_inside);
        is_inside = true;
        counted++;
        is_inside = false;
        rti_lock_release(&lock);
    }
}

TEST(lock_lets_one_worker_in_at_a_time)
{
    crew_world_open(4);
    rti_lock_init(&lock, &crew_world.sched, RTI_LOCK_CHANNEL);
    for (int i = 0; i < 8; i++) {
        crew_world_go(count_under_lock, NULL, 2);
    }
    crew_world_close();
    CHECK_EQ(counted, 8 * ROUNDS);
}

TEST(lock_of_a_scheduler_with_one_worker_does_nothing)
{
    struct rti_sched sched = {.is_local = true};
    rti_lock_init(&lock, &sched, RTI_LOCK_ACTOR);
    rti_lock_acquire(&lock, &sched);
    rti_lock_acquire(&lock, &sched);
    CHECK_EQ(rti_u32_load_relaxed(&lock.is_taken), 0);
    rti_lock_release(&lock);
}

static void take_against_the_order(void *arg)
{
    struct rti_lock inner;
    (void)arg;
    rti_lock_init(&lock, &crew_world.sched, RTI_LOCK_ACTOR);
    rti_lock_init(&inner, &crew_world.sched, RTI_LOCK_TIME);
    rti_lock_acquire(&inner, &crew_world.sched);
    rti_lock_acquire(&lock, &crew_world.sched);
}

static void run_against_the_order(void *arg)
{
    crew_world_open(1);
    crew_world_go(take_against_the_order, arg, 2);
    crew_world_close();
}

TEST(lock_taken_against_its_rank_is_caught_in_checked_builds)
{
    if (!RT_CHECKS) {
        test_skip("only checked builds keep account of locks");
    }
    CHECK_PANICS("lock", run_against_the_order, NULL);
}
