/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "key_chooser_test"
#include "sched/key_chooser.h"

#include "support/fibers.h"
#include "support/test.h"

static struct rti_processor processor;
static struct rti_key_chooser key;
static struct rti_fiber queued[8]; /* never run: their keys are all that is looked at */
static struct rti_sched keeper;    /* theirs, and all that it knows is their deadlines */
static uint64_t deadlines[8];

static uint64_t queued_deadline(const struct rti_fiber *fiber)
{
    return deadlines[fiber - queued];
}

static void no_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    (void)runnable;
    (void)worker;
}

static void queue(size_t i, uint8_t priority, uint64_t deadline_ns, uint32_t id)
{
    struct rti_runnable *runnable = &queued[i].run;
    rti_runnable_init(runnable, id, priority, no_step);
    runnable->is_fiber = true;
    queued[i].sched = &keeper;
    deadlines[i] = deadline_ns;
    rti_runnable_to(runnable, RTI_RUNNABLE_NEW, RTI_RUNNABLE_READY);
    rti_processor_queue(&processor, runnable);
}

static void start(void)
{
    rti_processor_init(&processor);
    rti_key_chooser_init(&key);
    keeper.deadline_of = queued_deadline;
}

static void check_takes(size_t i)
{
    CHECK(rti_processor_choose(&processor, &key.chooser) == &queued[i].run);
}

/* Takes everything out and demands this order of indices. */
static void check_order(const char *wanted)
{
    for (; *wanted != '\0'; wanted++) {
        struct rti_runnable *next = rti_processor_choose(&processor, &key.chooser);
        CHECK_EQ(rti_fiber_of(next) - queued, *wanted - '0');
        rti_processor_audit(&processor);
    }
    CHECK(rti_processor_choose(&processor, &key.chooser) == NULL);
}

TEST(key_orders_by_lane_priority_before_all)
{
    start();
    queue(0, 3, 1, 1);
    queue(1, 0, RTI_TIME_NEVER, 9);
    queue(2, 1, 5, 5);
    check_order("120");
}

TEST(key_orders_a_lane_by_logical_deadline)
{
    start();
    queue(0, 2, 30, 1);
    queue(1, 2, RTI_TIME_NEVER, 0);
    queue(2, 2, 10, 7);
    queue(3, 2, 20, 2);
    check_order("2301");
}

TEST(key_orders_equal_deadlines_by_task_id)
{
    start();
    queue(0, 2, 10, 3);
    queue(1, 2, 10, 1);
    queue(2, 2, 10, 2);
    queue(3, 2, RTI_TIME_NEVER, 5);
    queue(4, 2, RTI_TIME_NEVER, 4);
    check_order("12043");
}

TEST(key_orders_equals_by_insertion)
{
    start();
    for (size_t i = 0; i < 5; i++) {
        queue(i, 1, 10, 6);
    }
    check_order("01234");
}

TEST(key_takes_what_is_no_fiber_for_one_without_a_deadline)
{
    start();
    queue(0, 2, 10, 3);
    queue(1, 2, 20, 2);
    queue(2, 2, RTI_TIME_NEVER, 4);
    queued[0].run.is_fiber = false;
    check_takes(1);
    check_takes(0);
    check_takes(2);
}

static struct fibers fibers;
static char order[64];

static void say(char c)
{
    size_t length = strlen(order);
    CHECK(length < sizeof(order) - 1);
    order[length] = c;
}

/* What a fiber says of itself when it first runs. */
static uint64_t said_deadline(const struct rti_fiber *fiber)
{
    return fiber->run.id < RTI_COUNT_OF(deadlines) ? deadlines[fiber->run.id] : RTI_TIME_NEVER;
}

static void begin_fibers(void)
{
    fibers_init(&fibers);
    fibers.sched.deadline_of = said_deadline;
    for (size_t i = 0; i < RTI_COUNT_OF(deadlines); i++) {
        deadlines[i] = RTI_TIME_NEVER;
    }
}

static void say_twice(void *arg)
{
    const char *name = arg;
    deadlines[rti_fiber_current()->run.id] = (uint64_t)name[1];
    for (int i = 0; i < 2; i++) {
        rti_fiber_yield(rti_worker_current());
        say(name[0]);
    }
}

TEST(key_policy_runs_the_fiber_with_the_earliest_deadline_to_its_end_first)
{
    begin_fibers();
    rti_key_chooser_init(&key);
    rti_sched_observe(&fibers.sched, &fibers.journal, &key.chooser);
    fibers_go(&fibers, 2, say_twice, "a3");
    fibers_go(&fibers, 2, say_twice, "b1");
    fibers_go(&fibers, 2, say_twice, "c2");
    fibers_go(&fibers, 1, say_twice, "d9");
    CHECK_OK(fibers_run(&fibers));
    /* `d` is of a more urgent lane. The others set their deadlines when they first run, in the
     * order of their ids as long as they have none. */
    CHECK_STR(order, "ddaabbcc");
    fibers_deinit(&fibers);
}

static uint64_t run_with_policy(struct rti_chooser *chooser)
{
    memset(order, 0, sizeof(order));
    begin_fibers();
    rti_sched_observe(&fibers.sched, &fibers.journal, chooser);
    fibers_go(&fibers, 2, say_twice, "a3");
    fibers_go(&fibers, 2, say_twice, "b1");
    CHECK_OK(fibers_run(&fibers));
    uint64_t digest = rti_journal_digest(&fibers.journal);
    fibers_deinit(&fibers);
    return digest;
}

TEST(key_policy_is_selectable_beside_first_come_first_served_and_repeats)
{
    rti_key_chooser_init(&key);
    uint64_t fifo = run_with_policy(NULL);
    CHECK_STR(order, "abab");
    uint64_t first = run_with_policy(&key.chooser);
    CHECK_STR(order, "aabb");
    uint64_t second = run_with_policy(&key.chooser);
    CHECK(first == second);
    CHECK(first != fifo);
}
