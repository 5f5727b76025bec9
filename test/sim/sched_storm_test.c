/* SPDX-License-Identifier: Apache-2.0 */
/* A storm over the scheduler: fibers and stackless runnables of every priority that yield, wait
 * with and without a deadline, wake, kill, overflow, stop the run and start others, from fibers,
 * posts, timers, completions and the end of a fiber, all drawn from a seed. Observed, shuffled and
 * plain.
 *
 * What must hold: each one ends exactly once and as it was made to; nothing is linked afterwards.
 */
#define RTI_MODULE "sched_storm_test"
#include "base/rng.h"
#include "port/op.h"
#include "sched/fiber.h"
#include "support/fibers.h"
#include "support/test.h"

#define BODIES    40
#define ACTIONS   30
#define LINES     3
#define LATER_MAX 400

static struct fibers world; /* its scheduler and its stacks; the fibers are ours */
static struct rti_rng rng;
static struct rti_waitlist lines[LINES];

/* Something that runs: a fiber, or every fourth time a runnable without a stack. */
struct body {
    struct rti_fiber fiber;
    struct rti_runnable step;
    int steps_left;
    bool is_stepper;
    bool is_kill_marked;
    bool is_smashed;
    int ends;
};

static struct body bodies[BODIES];
static size_t body_count;

/* An action that happens on the worker's own stack: by a post, a timer or an op. */
struct later {
    struct rti_post post;
    struct rti_timer timer;
    struct rti_op op;
};

static struct later laters[LATER_MAX];
static size_t later_count;

static uint64_t draw(uint64_t n)
{
    return rti_rng_below(&rng, n);
}

static void body_start(void);

static void act_wake(void)
{
    struct rti_waiter *waiter = rti_waitlist_claim(&lines[draw(LINES)]);
    if (waiter != NULL) {
        rti_waiter_wake(waiter);
    }
}

static void act_kill(void)
{
    if (body_count == 0) {
        return;
    }
    struct body *body = &bodies[draw(body_count)];
    if (body->is_stepper) {
        return;
    }
    /* Marked before: a kill of oneself does not return. */
    bool was_over = body->is_kill_marked || body->ends > 0;
    body->is_kill_marked = true;
    bool is_new = rti_fiber_kill(&world.sched, &body->fiber);
    CHECK(is_new == !was_over || rti_runnable_state(&body->fiber.run) == RTI_RUNNABLE_DONE);
}

static void act_on_the_worker(void)
{
    CHECK(world.sched.worker.fiber == NULL);
    switch (draw(4)) {
    case 0:
        act_kill();
        break;
    case 1:
        body_start();
        break;
    case 2:
        act_wake();
        break;
    default:
        if (draw(8) == 0) {
            rti_sched_stop(&world.sched);
        }
        break;
    }
}

static void later_post(struct rti_post *post)
{
    (void)post;
    act_on_the_worker();
}

static void later_fire(struct rti_timer *timer)
{
    (void)timer;
    act_on_the_worker();
}

static void later_done(struct rti_op *op)
{
    (void)op;
    act_on_the_worker();
}

static void act_later(void)
{
    if (later_count == LATER_MAX) {
        return;
    }
    struct later *later = &laters[later_count++];
    switch (draw(3)) {
    case 0:
        later->post.call = later_post;
        rti_sched_post(&world.sched, &later->post);
        break;
    case 1:
        rti_timer_init(&later->timer, later_fire);
        rti_wheel_arm(&world.clockwork.wheel, &later->timer,
                      rti_sched_clock(&world.sched) + draw(5000));
        break;
    default:
        rti_op_init(&later->op, RTI_OP_NOP, later_done);
        world.sched.port->ops->submit(world.sched.port, &later->op);
        break;
    }
}

/* Every wait has a deadline, so that the storm dies down; a killed fiber leaves from here. */
static void act_wait(void)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_wait wait;
    struct rti_waiter waiter[LINES];
    struct rti_deadline deadline;
    rti_fiber_wait_begin(worker, &wait);
    size_t count = draw(LINES + 1);
    for (size_t i = 0; i < count; i++) {
        rti_wait_add(&wait, &waiter[i], RTI_EVENT_SOURCE + (uint32_t)i, rti_waitlist_unlink);
        rti_waitlist_add(&lines[i], &waiter[i]);
    }
    rti_deadline_add(&deadline, worker->sched, &wait,
                     rti_deadline_after(worker->sched, draw(3) * draw(2000)));
    if (draw(8) == 0) {
        /* Perhaps its own waiter: woken on the way to park. */
        act_wake();
    }
    uint32_t event = rti_fiber_park(worker, &wait);
    CHECK(event == RTI_EVENT_TIMEOUT || event >= RTI_EVENT_SOURCE);
}

static void act_smash(struct body *body)
{
    body->is_smashed = true;
    *(uint64_t *)(void *)rti_stack_low(&body->fiber.stack) = 0;
}

static void body_main(void *arg)
{
    struct body *body = arg;
    for (int i = 0; i < ACTIONS; i++) {
        CHECK(!body->is_kill_marked && !body->is_smashed && body->ends == 0);
        CHECK(rti_fiber_current() == &body->fiber);
        switch (draw(16)) {
        case 0:
            act_kill();
            break;
        case 1:
            body_start();
            break;
        case 2:
        case 3:
            act_later();
            break;
        case 4:
        case 5:
            act_wake();
            break;
        case 6:
            if (draw(20) == 0) {
                act_smash(body);
                rti_fiber_yield(rti_worker_current());
                CHECK(false);
            }
            break;
        case 7:
            if (draw(20) == 0) {
                rti_fiber_exit(rti_worker_current());
            }
            break;
        case 8:
        case 9:
        case 10:
            act_wait();
            break;
        default:
            rti_fiber_yield(rti_worker_current());
            break;
        }
    }
}

static void body_done(struct rti_fiber *fiber)
{
    struct body *body = RTI_CONTAINER_OF(fiber, struct body, fiber);
    body->ends++;
    CHECK(world.sched.worker.fiber == NULL);
    CHECK(body->is_smashed == (fiber->end == RTI_FIBER_OVERFLOWED));
    CHECK(body->is_kill_marked == (fiber->end == RTI_FIBER_KILLED));
    if (draw(3) == 0) {
        body_start();
    }
    if (draw(3) == 0) {
        act_kill();
    }
}

static void body_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    struct body *body = RTI_CONTAINER_OF(runnable, struct body, step);
    CHECK(worker->fiber == NULL && body->ends == 0);
    act_on_the_worker();
    if (--body->steps_left > 0) {
        rti_runnable_to(runnable, RTI_RUNNABLE_RUNNING, RTI_RUNNABLE_READY);
        rti_processor_queue(rti_worker_processor(worker), runnable);
    } else {
        body->ends++;
        rti_sched_end(worker->sched, runnable);
    }
}

static void body_start(void)
{
    if (body_count == BODIES) {
        return;
    }
    struct body *body = &bodies[body_count];
    uint8_t priority = (uint8_t)draw(RTI_PRIORITY_LEVELS);
    *body = (struct body){.is_stepper = body_count % 4 == 3, .steps_left = 1 + (int)draw(10)};
    body_count++;
    if (body->is_stepper) {
        rti_runnable_init(&body->step, (uint32_t)body_count, priority, body_step);
        rti_sched_start(&world.sched, &body->step);
        return;
    }
    static const struct rti_fiber_kind kind = {.main = rti_fiber_call, .on_done = body_done};
    struct rti_fiber_options options = {
        .id = (uint32_t)body_count,
        .priority = priority,
        .fn = body_main,
        .arg = body,
        .kind = &kind,
    };
    rti_stack_init(&options.stack, world.stacks[body_count - 1], FIBERS_STACK_SIZE);
    rti_fiber_init(&body->fiber, &options);
    if (draw(10) == 0) {
        /* Killed before it begins. */
        body->is_kill_marked = true;
        CHECK(rti_fiber_kill(&world.sched, &body->fiber));
    }
    rti_fiber_start(&world.sched, &body->fiber);
}

static uint64_t storm(uint64_t seed, int kind)
{
    fibers_init(&world);
    if (kind == 1) {
        fibers_shuffle(&world, seed);
    } else if (kind == 2) {
        fibers_unobserved(&world);
    }
    rti_rng_init(&rng, seed);
    for (size_t i = 0; i < LINES; i++) {
        rti_waitlist_init(&lines[i]);
    }
    body_count = 0;
    later_count = 0;
    for (int i = 0; i < 5; i++) {
        body_start();
    }
    /* A stop ends a run at some turn; the next one goes on there. */
    uint64_t runs = 0;
    do {
        if (draw(2) == 0) {
            world.sched.steps_max = world.sched.worker.turns + 1 + draw(50);
        }
        rt_status status = fibers_run(&world);
        CHECK(status.code == RT_OK || status.code == RT_ERR_LIMIT);
        world.sched.steps_max = 0;
        rti_sched_audit(&world.sched);
        CHECK(++runs < 10000);
    } while (world.sched.live > 0);
    for (size_t i = 0; i < body_count; i++) {
        CHECK_EQ(bodies[i].ends, 1);
    }
    for (size_t i = 0; i < LINES; i++) {
        CHECK(rti_waitlist_is_empty(&lines[i]));
    }
    CHECK(rti_processor_is_empty(&world.sched.processor));
    uint64_t digest = rti_journal_digest(&world.journal);
    fibers_deinit(&world);
    return digest;
}

TEST_SEEDED(sched_storm_ends_each_runnable_once_and_leaves_nothing)
{
    for (uint64_t i = 0; i < 20; i++) {
        for (int kind = 0; kind < 3; kind++) {
            uint64_t seed = test_seed() * 1000 + i;
            uint64_t digest = storm(seed, kind);
            CHECK(storm(seed, kind) == digest);
        }
    }
}
