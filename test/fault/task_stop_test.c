/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that are cancelled or killed at each of their await points, in more than thirty scenarios:
 * nothing is left behind.
 *
 * A scenario is run again and again in the simulator. In run n the driver lets n steps of time pass
 * and then stops the victim; runs go on until the victim has ended by itself before. After each run
 * everything that the victim had acquired is given back, all tasks have ended, no timer is armed,
 * no stack, permit or channel is in use, and what was shared can be used as before. */
#define RTI_MODULE "task_stop_test"
#include <orrery/rt.h>

#include "base/compiler.h"
#include "support/tasks.h"
#include "support/test.h"
#include "sync/channels.h"
#include "task/tasks.h"

#define STEP_NS   (250 * RT_NS_PER_US)
#define STEPS_MAX 200

enum stop { CANCEL, KILL };

/* What scenarios share; the driver makes it anew for each run. */
static struct {
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    rt_channel_sender *meet_tx; /* of a rendezvous */
    rt_channel_receiver *meet_rx;
    rt_mutex mutex;
    rt_semaphore semaphore;
    rt_condition condition;
    rt_wait_group group;
    rt_once once;
    rt_interval interval;
    rt_pool *pool;
    rt_local key;
    int acquired; /* by victims, and not yet given back */
} world;

static void *pause_ms(uintptr_t ms)
{
    (void)rt_sleep(ms * RT_NS_PER_MS);
    return NULL;
}

static rt_status give_back(void *arg)
{
    (void)arg;
    world.acquired--;
    return RT_SUCCESS;
}

static rt_status give_back_slowly(void *arg)
{
    (void)rt_sleep(RT_NS_PER_MS);
    return give_back(arg);
}

static rt_status cancel_child(void *arg)
{
    (void)rt_cancel(arg, NULL);
    return RT_SUCCESS;
}

static rt_status close_region(void *arg)
{
    (void)rt_region_cancel(arg);
    return rt_region_close(arg, NULL);
}

static rt_status release_one(void *arg)
{
    return rt_semaphore_release(arg, 1);
}

/* Starts a task that nobody joins; a region that is cancelled takes none. */
static void go_alone(rt_task_fn fn)
{
    rt_task *task = rt_go(fn, NULL);
    if (task != NULL) {
        CHECK_OK(rt_detach(task));
    }
}

#define ACQUIRE()                                                                                  \
    world.acquired++;                                                                              \
    RT_ENSURE(give_back, NULL)

static void *sleeps(void *arg)
{
    ACQUIRE();
    pause_ms(2);
    return arg;
}

static void *sleeps_twice(void *arg)
{
    ACQUIRE();
    pause_ms(1);
    pause_ms(1);
    return arg;
}

static void *yields(void *arg)
{
    ACQUIRE();
    for (int i = 0; i < 8; i++) {
        rt_yield();
    }
    return arg;
}

static void *checks(void *arg)
{
    ACQUIRE();
    while (!rt_cancelled() && pause_ms(1) == NULL && rt_clock() % (8 * RT_NS_PER_MS) != 0) {
    }
    return arg;
}

static void *joins(void *arg)
{
    ACQUIRE();
    rt_task *child = rt_go(sleeps, NULL);
    CHECK_OK(rt_ensure(cancel_child, child));
    rt_task *handle = child;
    rt_status status = rt_join_until(&handle, NULL, RT_TIME_NEVER);
    if (!RT_FAILED(status)) {
        CHECK_OK(rt_ensure_drop());
    }
    return arg;
}

static void *joins_at_once(void *arg)
{
    ACQUIRE();
    (void)rt_join(rt_go(sleeps, NULL), NULL);
    return arg;
}

static void *joins_a_family(void *arg)
{
    ACQUIRE();
    (void)rt_join(rt_go(joins, NULL), NULL);
    (void)rt_join(rt_go(joins_at_once, NULL), NULL);
    return arg;
}

static void *joins_for_a_while(void *arg)
{
    ACQUIRE();
    rt_task *child = rt_go(sleeps, NULL);
    CHECK_OK(rt_ensure(cancel_child, child));
    rt_task *handle = child;
    if (!RT_FAILED(rt_join_until(&handle, NULL, rt_clock() + RT_NS_PER_MS))) {
        CHECK_OK(rt_ensure_drop());
    }
    return arg;
}

static void *cancels(void *arg)
{
    ACQUIRE();
    rt_task *child = rt_go(sleeps, NULL);
    go_alone(sleeps_twice);
    pause_ms(1);
    (void)rt_cancel(child, NULL);
    return arg;
}

static void *has_time(void *arg)
{
    ACQUIRE();
    (void)rt_timeout(5 * RT_NS_PER_MS, sleeps, NULL, NULL);
    return arg;
}

static void *has_no_time(void *arg)
{
    ACQUIRE();
    (void)rt_timeout(RT_NS_PER_MS, joins_a_family, NULL, NULL);
    return arg;
}

static void *uses_a_block(void *arg)
{
    ACQUIRE();
    (void)rt_using(NULL, cancels, NULL, NULL);
    return arg;
}

static void *uses_blocks_in_blocks(void *arg)
{
    ACQUIRE();
    (void)rt_using(NULL, has_no_time, NULL, NULL);
    (void)rt_using(NULL, uses_a_block, NULL, NULL);
    return arg;
}

static void *has_a_region(void *arg)
{
    ACQUIRE();
    rt_region region;
    CHECK_OK(rt_region_open(&region, rt_region_current(), NULL));
    CHECK_OK(rt_ensure(close_region, &region));
    CHECK_OK(rt_detach(rt_region_go(&region, sleeps, NULL)));
    CHECK_OK(rt_detach(rt_region_go(&region, sleeps_twice, NULL)));
    pause_ms(1);
    (void)rt_ensure_run();
    return arg;
}

static void *receives(void *arg)
{
    ACQUIRE();
    int value;
    rt_status status = RT_SUCCESS;
    for (int i = 0; i < 2 && !RT_FAILED(status); i++) {
        status = rt_channel_recv_timeout(world.rx, NULL, &value, 3 * RT_NS_PER_MS);
    }
    return arg;
}

static void *sends(void *arg)
{
    ACQUIRE();
    int value = 1;
    rt_status status = RT_SUCCESS;
    for (int i = 0; i < 4 && !RT_FAILED(status); i++) {
        status = rt_channel_send_timeout(world.tx, NULL, &value, 2 * RT_NS_PER_MS);
    }
    return arg;
}

static void *reserves(void *arg)
{
    ACQUIRE();
    int value = 1;
    rt_send_permit permit;
    if (!RT_FAILED(rt_channel_reserve(world.tx, NULL, &permit))) {
        pause_ms(1);
        rt_status status = rt_send_permit_send(&permit, &value);
        (void)status;
    }
    return arg;
}

static void *meets(void *arg)
{
    ACQUIRE();
    int value = 1;
    rt_status status = rt_channel_send_timeout(world.meet_tx, NULL, &value, 2 * RT_NS_PER_MS);
    return RT_FAILED(status) ? NULL : arg;
}

static void *selects(void *arg)
{
    ACQUIRE();
    rt_select_arm arms[3] = {{{0}}};
    rt_selected chosen;
    int value = 0;
    rt_arm_recv(&arms[0], world.meet_rx, &value);
    rt_arm_recv(&arms[1], world.rx, &value);
    rt_arm_tick(&arms[2], &world.interval, NULL);
    rt_status status = RT_SUCCESS;
    for (int i = 0; i < 3 && !RT_FAILED(status); i++) {
        status = rt_select(arms, 3, NULL, &chosen);
    }
    return arg;
}

static void *locks(void *arg)
{
    ACQUIRE();
    if (!RT_FAILED(rt_mutex_lock(&world.mutex, NULL))) {
        pause_ms(1);
        CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
    }
    return arg;
}

static void *acquires(void *arg)
{
    ACQUIRE();
    if (!RT_FAILED(rt_semaphore_acquire(&world.semaphore, 1, NULL))) {
        RT_ENSURE(release_one, &world.semaphore);
        pause_ms(1);
    }
    return arg;
}

static void *waits_for_a_group(void *arg)
{
    ACQUIRE();
    rt_status status = rt_wait_group_wait_until(&world.group, NULL, rt_clock() + 3 * RT_NS_PER_MS);
    return RT_FAILED(status) ? NULL : arg;
}

static void *waits_for_a_condition(void *arg)
{
    ACQUIRE();
    if (RT_FAILED(rt_mutex_lock(&world.mutex, NULL))) {
        return arg;
    }
    rt_time deadline = rt_clock() + 3 * RT_NS_PER_MS;
    rt_status status = rt_condition_wait_until(&world.condition, &world.mutex, NULL, deadline);
    (void)status;
    (void)rt_mutex_unlock(&world.mutex, NULL);
    return arg;
}

static void does_once(void *arg)
{
    (void)arg;
    pause_ms(1);
}

static void *is_once(void *arg)
{
    ACQUIRE();
    rt_status status = rt_once_run(&world.once, NULL, does_once, NULL);
    return RT_FAILED(status) ? NULL : arg;
}

static void *ticks(void *arg)
{
    ACQUIRE();
    rt_status status = RT_SUCCESS;
    for (int i = 0; i < 3 && !RT_FAILED(status); i++) {
        status = rt_interval_recv(&world.interval, NULL, NULL);
    }
    return arg;
}

static void *has_a_slow_hook(void *arg)
{
    world.acquired++;
    RT_ENSURE(give_back_slowly, NULL);
    pause_ms(1);
    return arg;
}

static void *has_many_hooks(void *arg)
{
    for (int i = 0; i < 3; i++) {
        world.acquired++;
        CHECK_OK(rt_ensure(i == 1 ? give_back_slowly : give_back, NULL));
        pause_ms(1);
    }
    return arg;
}

static void destroy(void *value)
{
    world.acquired -= *(int *)value;
}

static void *has_a_local(void *arg)
{
    static int one = 1;
    world.acquired++;
    CHECK_OK(rt_local_set(world.key, &one));
    pause_ms(1);
    return arg;
}

static void *panics(void *arg)
{
    (void)arg;
    ACQUIRE();
    pause_ms(1);
    rt_panic_task("as planned");
}

static void *joins_a_panic(void *arg)
{
    ACQUIRE();
    (void)rt_join(rt_go(panics, NULL), NULL);
    return arg;
}

static void *detaches(void *arg)
{
    ACQUIRE();
    for (int i = 0; i < 3; i++) {
        go_alone(sleeps);
        rt_yield();
    }
    return arg;
}

static void *computes(void *arg)
{
    ACQUIRE();
    rt_job *job = rt_pool_spawn(world.pool, tasks_echo, NULL, NULL);
    (void)rt_pool_join(job, NULL);
    pause_ms(1);
    return arg;
}

static void *has_a_budget(void *arg)
{
    ACQUIRE();
    rt_budget budget = RT_BUDGET_UNLIMITED;
    rt_budget_scope scope;
    budget.deadline = rt_clock() + RT_NS_PER_MS;
    CHECK_OK(rt_cx_push_budget(NULL, budget, &scope));
    pause_ms(3);
    CHECK_OK(rt_cx_pop_budget(NULL, &scope));
    return arg;
}

static void *has_contexts(void *arg)
{
    ACQUIRE();
    rt_cx outer;
    rt_cx inner;
    CHECK_OK(rt_cx_init(&outer));
    CHECK_OK(rt_cx_init(&inner));
    pause_ms(1);
    CHECK_OK(rt_cx_deinit(&inner));
    pause_ms(1);
    CHECK_OK(rt_cx_deinit(&outer));
    return arg;
}

static const rt_task_fn scenarios[] = {
    sleeps,
    sleeps_twice,
    yields,
    checks,
    joins,
    joins_at_once,
    joins_a_family,
    joins_for_a_while,
    cancels,
    has_time,
    has_no_time,
    uses_a_block,
    uses_blocks_in_blocks,
    has_a_region,
    receives,
    sends,
    reserves,
    meets,
    selects,
    locks,
    acquires,
    waits_for_a_group,
    waits_for_a_condition,
    is_once,
    ticks,
    has_a_slow_hook,
    has_many_hooks,
    has_a_local,
    panics,
    joins_a_panic,
    detaches,
    computes,
    has_a_budget,
    has_contexts,
};

/* Somebody on the other side of everything, so that waits end now and then. */
static void *is_a_peer(void *arg)
{
    int value = 7;
    pause_ms(1);
    rt_status status = rt_channel_try_send(world.tx, &value);
    (void)status;
    rt_status lock = rt_mutex_lock(&world.mutex, NULL);
    if (!RT_FAILED(lock)) {
        pause_ms(1);
        CHECK_OK(rt_condition_signal(&world.condition));
        CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
    }
    status = rt_channel_recv_timeout(world.meet_rx, NULL, &value, RT_NS_PER_MS);
    status = rt_channel_try_recv(world.rx, &value);
    return arg;
}

static void world_open(void)
{
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 2};
    CHECK_OK(rt_channel_create(&config, &world.tx, &world.rx));
    CHECK_OK(rt_channel_create_rendezvous(&config, &world.meet_tx, &world.meet_rx));
    CHECK_OK(rt_mutex_init(&world.mutex));
    CHECK_OK(rt_semaphore_init(&world.semaphore, 1));
    CHECK_OK(rt_condition_init(&world.condition));
    CHECK_OK(rt_wait_group_init(&world.group));
    CHECK_OK(rt_wait_group_add(&world.group, 1));
    CHECK_OK(rt_once_init(&world.once));
    CHECK_OK(rt_interval_open(&world.interval, RT_NS_PER_MS, RT_MISSED_SKIP));
    CHECK_OK(rt_local_open(&world.key, destroy));
    world.pool = rt_pool_open(1, 2);
    CHECK(world.pool != NULL);
    world.acquired = 0;
}

/* Everything can be ended, so nobody holds or waits for anything. */
static void world_close(void)
{
    rt_status status = rt_mutex_lock(&world.mutex, NULL);
    if (status.code == RT_ERR_OWNER_DIED) {
        status = rt_mutex_recover(&world.mutex, NULL);
    }
    CHECK_OK(status);
    CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
    CHECK_OK(rt_mutex_deinit(&world.mutex));
    CHECK_EQ(rt_semaphore_count(&world.semaphore), 1);
    CHECK_OK(rt_semaphore_deinit(&world.semaphore));
    CHECK_OK(rt_condition_deinit(&world.condition));
    CHECK_OK(rt_wait_group_done(&world.group));
    CHECK_OK(rt_wait_group_deinit(&world.group));
    CHECK_OK(rt_once_deinit(&world.once));
    CHECK_OK(rt_interval_close(&world.interval));
    CHECK_OK(rt_local_close(world.key));
    CHECK_OK(rt_pool_close(world.pool));
    CHECK_OK(rt_channel_close_sender(world.tx));
    CHECK_OK(rt_channel_close_receiver(world.rx));
    CHECK_OK(rt_channel_close_sender(world.meet_tx));
    CHECK_OK(rt_channel_close_receiver(world.meet_rx));
}

static void check_nothing_is_left(void)
{
    struct rti_worker *worker = rti_worker_current();
    struct rti_tasks *tasks = rti_tasks_of(worker);
    struct rti_channels *channels = rti_channels_of(worker);
    CHECK_EQ(world.acquired, 0);
    CHECK_EQ(rti_tasks_live(tasks), 1);
    rti_tasks_audit(tasks);
    CHECK_EQ(tasks->stacks->in_use, 1);
    CHECK_EQ(rti_channels_audit(channels), 0);
    CHECK_EQ(worker->sched->timers.next_deadline(worker->sched->timers.context), RTI_TIME_NEVER);
}

struct run {
    rt_task_fn scenario;
    enum stop stop;
    uint32_t steps;
    bool was_over; /* the victim had ended by itself */
};

static void *drives(void *arg)
{
    struct run *run = arg;
    world_open();
    rt_task *peer = rt_go(is_a_peer, NULL);
    rt_task *victim = rt_go(run->scenario, NULL);
    for (uint32_t i = 0; i < run->steps; i++) {
        if (i % 2 == 0) {
            rt_yield();
        } else {
            CHECK_OK(rt_sleep(STEP_NS));
        }
    }
    run->was_over = rt_task_has_ended(victim);
    if (run->stop == KILL && !run->was_over) {
        rti_task_kill(rti_task_lookup(rti_worker_current(), victim));
        (void)rt_join(victim, NULL);
    } else {
        (void)rt_cancel(victim, NULL);
    }
    CHECK_OK(rt_join(peer, NULL));
    /* Tasks that the victim has detached, and its slow hooks. */
    CHECK_OK(rt_sleep(RT_NS_PER_S));
    world_close();
    check_nothing_is_left();
    return NULL;
}

static void stop_at_every_point(enum stop stop)
{
    size_t points = 0;
    for (size_t i = 0; i < RTI_COUNT_OF(scenarios); i++) {
        struct run run = {.scenario = scenarios[i], .stop = stop};
        do {
            CHECK_OK(tasks_run(drives, &run));
            points++;
            run.steps++;
        } while (!run.was_over && run.steps < STEPS_MAX);
        CHECK(run.was_over && run.steps > 2);
    }
    CHECK(RTI_COUNT_OF(scenarios) >= 30 && points > 4 * RTI_COUNT_OF(scenarios));
}

TEST(task_cancelled_at_every_await_point_leaves_nothing)
{
    stop_at_every_point(CANCEL);
}

TEST(task_killed_at_every_await_point_leaves_nothing)
{
    stop_at_every_point(KILL);
}

/* The same with an order drawn from the seed, and stops at the same points. */
TEST_SEEDED(task_stopped_anywhere_in_any_order_leaves_nothing)
{
    uint64_t seed = test_seed();
    for (size_t i = 0; i < RTI_COUNT_OF(scenarios); i++) {
        struct run run = {.scenario = scenarios[i],
                          .stop = (seed >> i & 1) != 0 ? KILL : CANCEL,
                          .steps = (uint32_t)((seed * 31 + i * 7) % 24)};
        CHECK_OK(tasks_run_seeded(drives, &run, seed + i));
    }
}
