/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "scheduler_test"
#include "sched/scheduler.h"

#include <pthread.h>

#include "port/op.h"
#include "support/fibers.h"
#include "support/test.h"

static struct fibers fibers;
static char order[64];
static size_t order_length;

static void say(char c)
{
    CHECK(order_length < sizeof(order) - 1);
    order[order_length++] = c;
}

static void start(void)
{
    order_length = 0;
    memset(order, 0, sizeof(order));
    fibers_init(&fibers);
}

/* A runnable without a stack: three steps, then the end. */
struct stepper {
    struct rti_runnable run;
    int steps;
    char name;
};

static void stepper_step(struct rti_runnable *runnable, struct rti_worker *worker)
{
    struct stepper *stepper = RTI_CONTAINER_OF(runnable, struct stepper, run);
    CHECK(worker->fiber == NULL);
    say(stepper->name);
    if (--stepper->steps > 0) {
        rti_runnable_to(runnable, RTI_RUNNABLE_RUNNING, RTI_RUNNABLE_READY);
        rti_processor_queue(rti_worker_processor(worker), runnable);
    } else {
        rti_sched_end(worker->sched, runnable);
    }
}

static void go_stepper(struct stepper *stepper, uint32_t id, char name)
{
    rti_runnable_init(&stepper->run, id, 2, stepper_step);
    stepper->steps = 3;
    stepper->name = name;
    rti_sched_start(&fibers.sched, &stepper->run);
}

static void say_thrice(void *arg)
{
    for (int i = 0; i < 3; i++) {
        say(*(const char *)arg);
        rti_fiber_yield(rti_worker_current());
    }
}

TEST(stackless_runnables_and_fibers_share_one_round_robin)
{
    struct stepper x;
    struct stepper y;
    for (int observed = 0; observed < 2; observed++) {
        start();
        if (!observed) {
            fibers_unobserved(&fibers);
        }
        go_stepper(&x, 101, 'x');
        fibers_go(&fibers, 2, say_thrice, "a");
        go_stepper(&y, 102, 'y');
        fibers_go(&fibers, 2, say_thrice, "b");
        CHECK_OK(fibers_run(&fibers));
        CHECK_STR(order, "xaybxaybxayb");
        CHECK_EQ(fibers.sched.live, 0);
        fibers_deinit(&fibers);
    }
}

TEST(second_scheduler_of_one_thread_is_refused)
{
    static struct fibers other;
    start();
    rti_port_sim_init(&other.port, 1, 0, NULL);
    CHECK_STATUS(rti_sched_init(&other.sched, &other.port.port, NULL), RT_ERR_STATE);
    CHECK(rti_sched_current() == &fibers.sched);
    fibers_deinit(&fibers);
    CHECK(rti_sched_current() == NULL);
    CHECK_OK(rti_sched_init(&other.sched, &other.port.port, NULL));
    rti_sched_deinit(&other.sched);
}

TEST(run_with_nothing_live_returns_at_once)
{
    start();
    CHECK_OK(fibers_run(&fibers));
    CHECK_EQ(fibers.sched.worker.turns, 0);
}

static void yield_for_ever(void *arg)
{
    (void)arg;
    for (;;) {
        rti_fiber_yield(rti_worker_current());
    }
}

TEST(run_gives_up_at_its_limit_of_turns)
{
    start();
    fibers.sched.steps_max = 1000;
    fibers_go(&fibers, 2, yield_for_ever, NULL);
    CHECK_STATUS(fibers_run(&fibers), RT_ERR_LIMIT);
    CHECK_EQ(fibers.sched.worker.turns, 1000);
    rti_sched_audit(&fibers.sched);
}

static void sleep_long(void *arg)
{
    rti_fiber_sleep_until(rti_worker_current(), *(const uint64_t *)arg);
    say('z');
}

TEST(idle_scheduler_jumps_from_deadline_to_deadline)
{
    static const uint64_t deadlines[] = {365 * 86400 * RTI_NS_PER_S, 5, 86400 * RTI_NS_PER_S};
    start();
    for (size_t i = 0; i < 3; i++) {
        fibers_go(&fibers, 2, sleep_long, (void *)(uintptr_t)&deadlines[i]);
    }
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "zzz");
    CHECK_EQ(fibers.port.now_ns, deadlines[0]);
    CHECK(fibers.sched.worker.turns <= 6);
}

static uint64_t run_sleepers(uint64_t seed, bool is_shuffled)
{
    static const uint64_t deadlines[] = {30, 10, 20, 10, 10};
    start();
    if (is_shuffled) {
        fibers_shuffle(&fibers, seed);
    }
    for (size_t i = 0; i < 5; i++) {
        fibers_go(&fibers, (uint8_t)(i % 2), sleep_long, (void *)(uintptr_t)&deadlines[i]);
        fibers_go(&fibers, 2, say_thrice, &"abcde"[i]);
    }
    CHECK_OK(fibers_run(&fibers));
    fibers_deinit(&fibers);
    return rti_journal_digest(&fibers.journal);
}

TEST(trace_hash_is_the_same_for_the_same_run)
{
    uint64_t hash = run_sleepers(0, false);
    char first[sizeof(order)];
    memcpy(first, order, sizeof(order));
    for (int i = 0; i < 5; i++) {
        CHECK(run_sleepers(0, false) == hash);
        CHECK_STR(order, first);
    }
}

TEST(trace_hash_follows_the_seed_of_the_chooser)
{
    size_t different = 0;
    uint64_t plain = run_sleepers(0, false);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t hash = run_sleepers(seed, true);
        CHECK(run_sleepers(seed, true) == hash);
        different += hash != plain;
    }
    CHECK(different >= 19);
}

static void start_one_more(void *arg)
{
    fibers_go(&fibers, 2, say_thrice, arg);
}

TEST(trace_hash_changes_with_one_changed_decision)
{
    start();
    fibers_go(&fibers, 2, start_one_more, "a");
    fibers_go(&fibers, 2, say_thrice, "b");
    CHECK_OK(fibers_run(&fibers));
    uint64_t hash = rti_journal_digest(&fibers.journal);
    fibers_deinit(&fibers);
    start();
    fibers_go(&fibers, 2, say_thrice, "b");
    fibers_go(&fibers, 2, start_one_more, "a");
    CHECK_OK(fibers_run(&fibers));
    CHECK(rti_journal_digest(&fibers.journal) != hash);
}

/* Posts from the worker's own thread while fibers keep the scheduler busy. */
static struct rti_post posts[8];
static size_t posts_called;

static void post_called(struct rti_post *post)
{
    CHECK(rti_fiber_current() == NULL);
    CHECK(post == &posts[posts_called]);
    posts_called++;
    say('p');
}

static void post_two(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < 2; i++) {
        posts[i].call = post_called;
        rti_sched_post(rti_sched_current(), &posts[i]);
    }
    say('x');
    rti_fiber_yield(rti_worker_current());
    say('y');
}

TEST(post_is_called_in_order_on_the_schedulers_stack_in_the_next_turn)
{
    posts_called = 0;
    start();
    fibers_unobserved(&fibers);
    fibers_go(&fibers, 2, post_two, NULL);
    fibers_go(&fibers, 2, say_thrice, "a");
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "xppayaa");
}

/* Completions of ops come before posts, posts before timers. */
static struct rti_op order_op;
static struct rti_timer order_timer;

static void order_done(struct rti_op *op)
{
    (void)op;
    say('o');
}

static void order_fire(struct rti_timer *timer)
{
    (void)timer;
    say('t');
}

static void order_post(struct rti_post *post)
{
    (void)post;
    say('p');
}

static void raise_all_three(void *arg)
{
    struct rti_sched *sched = rti_sched_current();
    (void)arg;
    rti_timer_init(&order_timer, order_fire);
    rti_wheel_arm(&fibers.clockwork.wheel, &order_timer, 0);
    posts[0].call = order_post;
    rti_sched_post(sched, &posts[0]);
    rti_op_init(&order_op, RTI_OP_NOP, order_done);
    sched->port->ops->submit(sched->port, &order_op);
    rti_fiber_yield(rti_worker_current());
    say('.');
}

TEST(look_drains_completions_then_posts_then_timers)
{
    start();
    fibers_unobserved(&fibers);
    fibers_go(&fibers, 2, raise_all_three, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "opt.");
}

#define BURST 1000

static struct rti_timer burst[BURST];
static size_t burst_fired;
static size_t turns_between;

static void burst_fire(struct rti_timer *timer)
{
    (void)timer;
    burst_fired++;
}

static void run_beside_the_burst(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < BURST; i++) {
        rti_timer_init(&burst[i], burst_fire);
        rti_wheel_arm(&fibers.clockwork.wheel, &burst[i], 0);
    }
    rti_sched_attend(rti_sched_current());
    while (burst_fired < BURST) {
        rti_fiber_yield(rti_worker_current());
        turns_between += burst_fired > 0 && burst_fired < BURST;
    }
}

TEST(burst_of_expiries_lets_others_run_in_between)
{
    burst_fired = 0;
    turns_between = 0;
    start();
    fibers_unobserved(&fibers);
    fibers_go(&fibers, 2, run_beside_the_burst, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK_EQ(burst_fired, BURST);
    CHECK(turns_between >= 3);
}

/* A post that posts itself again, as a thread would that posts faster than it is answered. */
static struct rti_post eager_post;
static bool is_eager;

static void post_again(struct rti_post *post)
{
    if (is_eager) {
        rti_sched_post(&fibers.sched, post);
    }
}

static void run_beside_the_posts(void *arg)
{
    struct rti_worker *worker = rti_worker_current();
    (void)arg;
    rti_sched_post(worker->sched, &eager_post);
    rti_fiber_yield(worker);
    rti_fiber_sleep_until(worker, rti_deadline_after(worker->sched, 0));
    is_eager = false;
}

TEST(flood_of_posts_starves_neither_fibers_nor_timers)
{
    for (int observed = 0; observed < 2; observed++) {
        start();
        if (!observed) {
            fibers_unobserved(&fibers);
        }
        is_eager = true;
        eager_post.call = post_again;
        fibers_go(&fibers, 2, run_beside_the_posts, NULL);
        CHECK_OK(fibers_run(&fibers));
        CHECK(!is_eager);
        fibers_deinit(&fibers);
    }
}

static void start_another(struct rti_post *post)
{
    (void)post;
    fibers_go(&fibers, 2, say_thrice, "a");
}

static void post_and_end(void *arg)
{
    posts[0].call = arg == NULL ? order_post : start_another;
    rti_sched_post(rti_sched_current(), &posts[0]);
}

TEST(post_of_the_last_fiber_is_called_before_the_run_ends)
{
    start();
    fibers_go(&fibers, 2, post_and_end, NULL);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "p");
    fibers_go(&fibers, 2, post_and_end, &fibers);
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "paaa");
}

/* A world in which another thread posts at the very moment a fiber looks at the clock, which is
 * after it has seen that nobody wants the worker. */
static struct rti_port_ops late_ops;
static uint64_t (*late_clock)(struct rti_port *port);
static bool is_late_post_due;

static void late_stop(struct rti_post *post)
{
    (void)post;
    say('!');
    rti_sched_stop(&fibers.sched);
}

static uint64_t clock_and_post(struct rti_port *port)
{
    if (is_late_post_due && fibers.sched.worker.fiber != NULL) {
        is_late_post_due = false;
        posts[0].call = late_stop;
        rti_sched_post(&fibers.sched, &posts[0]);
    }
    return late_clock(port);
}

static void say_thrice_and_look(void *arg)
{
    for (int i = 0; i < 3; i++) {
        say(*(const char *)arg);
        fibers.sched.worker.turns_until_look = 0;
        rti_fiber_yield(rti_worker_current());
    }
}

TEST(stop_between_the_pick_and_the_dispatch_of_a_runnable_does_not_lose_it)
{
    struct stepper x;
    start();
    fibers_unobserved(&fibers);
    late_ops = *fibers.port.port.ops;
    late_clock = late_ops.clock_ns;
    late_ops.clock_ns = clock_and_post;
    fibers.port.port.ops = &late_ops;
    is_late_post_due = true;
    fibers_go(&fibers, 2, say_thrice_and_look, "a");
    go_stepper(&x, 101, 'x');
    CHECK_OK(fibers_run(&fibers));
    CHECK(!is_late_post_due);
    CHECK_EQ(order[order_length - 1], '!');
    CHECK_EQ(fibers.sched.live, 2);
    CHECK_EQ(rti_processor_audit(&fibers.sched.processor), 2);
    CHECK_OK(fibers_run(&fibers));
    CHECK_EQ(fibers.sched.live, 0);
    CHECK_EQ(x.steps, 0);
}

#if !RTI_ONE_WORKER

/* A world in which a turn takes 10 us, and that says each time it is asked that it has brought
 * something. */
static struct rti_port_ops spaced_ops;
static uint64_t spaced_ns;
static unsigned spaced_asked;
static uint64_t spaced_asked_ns;
static unsigned spaced_gift;

static uint64_t spaced_clock(struct rti_port *port)
{
    (void)port;
    return spaced_ns;
}

static enum rti_wait_end spaced_wait(struct rti_port *port, uint64_t deadline_ns)
{
    (void)deadline_ns;
    spaced_asked++;
    spaced_asked_ns = spaced_ns;
    for (unsigned i = 0; i < spaced_gift; i++) {
        rti_port_count(&port->counts.events);
    }
    return RTI_WAIT_DEADLINE;
}

/* Gives back what to end it with. */
static const struct rti_port_ops *spaced_begin(void)
{
    const struct rti_port_ops *ops = fibers.port.port.ops;
    spaced_ops = *ops;
    spaced_ns = ops->clock_ns(&fibers.port.port);
    spaced_ops.clock_ns = spaced_clock;
    spaced_ops.wait = spaced_wait;
    fibers.port.port.ops = &spaced_ops;
    return ops;
}

static void take_a_hundred_turns(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        spaced_ns += 10000;
        rti_fiber_yield(rti_worker_current());
    }
}

/* How often the port is asked in a millisecond of turns. */
static unsigned asked_in_a_millisecond(unsigned gift)
{
    spaced_asked = 0;
    spaced_gift = gift;
    fibers_go(&fibers, 2, take_a_hundred_turns, NULL);
    CHECK_OK(fibers_run(&fibers));
    return spaced_asked;
}

TEST(port_is_asked_later_while_what_it_gave_has_its_turns_first)
{
    start();
    fibers_unobserved(&fibers);
    const struct rti_port_ops *ops = spaced_begin();
    unsigned empty = asked_in_a_millisecond(0);
    CHECK(empty >= 14 && empty <= 21);
    /* One turn is soon over. */
    unsigned one = asked_in_a_millisecond(1);
    CHECK(one >= 14 && one <= 21);
    /* A thousand are not, and it is asked all the same. */
    unsigned full = asked_in_a_millisecond(1000);
    CHECK(full >= 4 && full <= 6);
    fibers.port.port.ops = ops;
}

/* A timer that fires each 130 us, and when the port was last asked by then. */
static struct rti_timer spaced_timer;
static unsigned spaced_fired;

static void spaced_fire(struct rti_timer *timer)
{
    CHECK(spaced_ns - spaced_asked_ns < RT_PORT_LOOK_NS);
    spaced_fired++;
    rti_wheel_arm(&fibers.clockwork.wheel, timer, spaced_ns + 130000);
}

TEST(port_is_asked_before_a_timer_fires_although_what_it_gave_has_its_turns_first)
{
    start();
    fibers_unobserved(&fibers);
    const struct rti_port_ops *ops = spaced_begin();
    rti_timer_init(&spaced_timer, spaced_fire);
    rti_wheel_arm(&fibers.clockwork.wheel, &spaced_timer, spaced_ns + 130000);
    (void)asked_in_a_millisecond(1000);
    CHECK(spaced_fired >= 6);
    CHECK(rti_wheel_disarm(&fibers.clockwork.wheel, &spaced_timer));
    fibers.port.port.ops = ops;
}

#endif

static void record_nothing(struct rti_post *post)
{
    (void)post;
}

static void *post_from_another_thread(void *arg)
{
    rti_sched_post(arg, &posts[0]);
    return NULL;
}

TEST(thread_outside_the_runtime_has_no_scheduler_but_may_post)
{
    pthread_t thread;
    CHECK(rti_sched_current() == NULL);
    CHECK(rti_fiber_current() == NULL);
    start();
    posts[0].call = record_nothing;
    CHECK_EQ(pthread_create(&thread, NULL, post_from_another_thread, &fibers.sched), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    fibers_go(&fibers, 2, say_thrice, "a");
    CHECK_OK(fibers_run(&fibers));
    CHECK_STR(order, "aaa");
}
