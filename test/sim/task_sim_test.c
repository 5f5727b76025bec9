/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of tasks that spawn, join, detach, cancel, time out, panic, select and wait at random; the
 * order of all is drawn from the seed.
 *
 * Conservation: each task notes that it began and, in a hook, that it ended; at the end as many
 * have ended as have begun, and none began that was not spawned. A join that succeeds gives the
 * number of the very task that was joined; one that fails says why: cancelled or panicked, and the
 * task did so. Values that were sent are received, or in the channel at the end; the mutex and the
 * units of the semaphore are at home again. No task, stack or timer is left.
 *
 * A process plays WORLDS worlds, one after the other; 2,000 processes make
 * 100,000 worlds.
 *
 * Seeds: 2000 */
#define RTI_MODULE "task_sim_test"
#include <orrery/rt.h>
#include <orrery/rt/arm.h>
#include <orrery/rt/interval.h>
#include <orrery/rt/mutex.h>
#include <orrery/rt/select.h>
#include <orrery/rt/semaphore.h>

#include "base/compiler.h"
#include "support/tasks.h"
#include "support/test.h"
#include "task/tasks.h"

#define WORLDS      50
#define TASKS_TOTAL 120 /* of one world */
#define DEPTH_MAX   5
#define UNITS       2

static struct {
    uint32_t spawned;
    uint32_t begun;
    uint32_t ended;
    uint32_t panicked;
    uint32_t joined;
    uint32_t sent;
    uint32_t received;
    uint32_t held; /* units of the semaphore */
    bool is_locked;
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    rt_mutex mutex;
    rt_semaphore semaphore;
} world;

/* What was done in all worlds of this process: a test that never does a thing tests it not. */
static struct {
    uint64_t cancelled;
    uint64_t timed_out;
    uint64_t panicked;
    uint64_t chosen[4]; /* arms of selects */
    uint64_t locks;
    uint64_t units;
} deeds;

static uint64_t below(uint64_t n)
{
    return rt_random() % n;
}

static rt_status note_end(void *arg)
{
    (void)arg;
    world.ended++;
    return RT_SUCCESS;
}

static void *lives(void *arg);

/* A number that tells a task and how deep it is. */
static void *name_of(uint32_t number, uint32_t depth)
{
    return TASKS_NUMBER((uintptr_t)number << 8 | depth);
}

static rt_task *spawn(uint32_t depth, void **name)
{
    if (depth >= DEPTH_MAX || world.spawned >= TASKS_TOTAL) {
        return NULL;
    }
    *name = name_of(world.spawned + 1, depth + 1);
    rt_task *task = rt_go_ex(lives, *name, &(rt_task_config){.stack_size = 8192});
    world.spawned += task != NULL;
    return task;
}

static void check_end(rt_status status, void *const *value, void *name)
{
    if (!RT_FAILED(status)) {
        CHECK(*value == name);
        world.joined++;
    } else {
        CHECK(status.code == RT_ERR_CANCELLED || status.code == RT_ERR_PANICKED);
        deeds.cancelled += status.code == RT_ERR_CANCELLED;
    }
}

static void has_children(uint32_t depth)
{
    rt_task *children[3];
    void *names[3];
    size_t count = 0;
    for (uint64_t wanted = below(4); wanted > 0 && count < 3; wanted--) {
        children[count] = spawn(depth, &names[count]);
        count += children[count] != NULL;
    }
    while (count > 0) {
        count--;
        void *value = NULL;
        rt_task *handle = children[count];
        switch (below(4)) {
        case 0:
            CHECK_OK(rt_detach(handle));
            break;
        case 1:
            check_end(rt_cancel(handle, &value), &value, names[count]);
            break;
        case 2: {
            rt_status status = rt_join_until(&handle, &value, rt_clock() + below(RT_NS_PER_MS));
            if (handle != NULL) {
                CHECK(status.code == RT_ERR_TIMEOUT || status.code == RT_ERR_CANCELLED);
                deeds.timed_out += status.code == RT_ERR_TIMEOUT;
                CHECK_OK(rt_detach(handle));
            } else {
                check_end(status, &value, names[count]);
            }
            break;
        }
        default:
            check_end(rt_join(handle, &value), &value, names[count]);
        }
    }
}

static void *sends_and_receives(void *arg)
{
    uint64_t value = (uintptr_t)arg;
    rt_status status = rt_channel_send_timeout(world.tx, NULL, &value, below(RT_NS_PER_MS));
    world.sent += !RT_FAILED(status);
    deeds.timed_out += status.code == RT_ERR_TIMEOUT;
    status = rt_channel_recv_timeout(world.rx, NULL, &value, below(RT_NS_PER_MS));
    world.received += !RT_FAILED(status);
    deeds.timed_out += status.code == RT_ERR_TIMEOUT;
    return RT_FAILED(status) ? NULL : arg;
}

/* A value, room for one, the end of a child or a tick: whatever comes first. */
static void selects(uint32_t depth)
{
    uint64_t in;
    uint64_t out = 3;
    void *name = NULL;
    void *value = NULL;
    rt_task *child = spawn(depth, &name);
    rt_interval ticks;
    rt_select_arm arms[4];
    rt_selected chosen;
    CHECK_OK(rt_interval_open(&ticks, 1 + below(RT_NS_PER_MS), RT_MISSED_SKIP));
    rt_arm_recv(&arms[0], world.rx, &in);
    rt_arm_send(&arms[1], world.tx, &out);
    rt_arm_join(&arms[2], &child, &value);
    rt_arm_tick(&arms[3], &ticks, NULL);
    /* Without some of the arms the others have their turn. */
    size_t first = below(3);
    rt_status status = rt_select(arms + first, 4 - first, NULL, &chosen);
    if (!RT_FAILED(status)) {
        size_t index = first + chosen.index;
        deeds.chosen[index]++;
        world.received += index == 0;
        world.sent += index == 1;
        if (index == 2) {
            check_end(chosen.status, &value, name);
        }
    } else {
        CHECK_EQ(status.code, RT_ERR_CANCELLED);
    }
    CHECK_OK(rt_interval_close(&ticks));
    if (child != NULL) {
        check_end(rt_cancel(child, &value), &value, name);
    }
}

/* Work with something that one or two at a time may have. Whoever ends with it gives it back. */
static rt_status gives_back(void *arg)
{
    if (arg == NULL) {
        CHECK(world.is_locked);
        world.is_locked = false;
        return rt_mutex_unlock(&world.mutex, NULL);
    }
    CHECK(world.held > 0);
    world.held--;
    return rt_semaphore_release(&world.semaphore, 1);
}

static void takes_turns(void)
{
    bool is_mutex = below(2) == 0;
    rt_time deadline = below(3) == 0 ? rt_clock() + below(RT_NS_PER_MS) : RT_TIME_NEVER;
    rt_status status = is_mutex ? rt_mutex_lock_until(&world.mutex, NULL, deadline)
                                : rt_semaphore_acquire_until(&world.semaphore, 1, NULL, deadline);
    if (RT_FAILED(status)) {
        CHECK(status.code == RT_ERR_CANCELLED || status.code == RT_ERR_TIMEOUT);
        deeds.timed_out += status.code == RT_ERR_TIMEOUT;
        return;
    }
    if (is_mutex) {
        CHECK(!world.is_locked);
        world.is_locked = true;
        deeds.locks++;
    } else {
        CHECK(world.held < UNITS);
        world.held++;
        deeds.units++;
    }
    CHECK_OK(rt_ensure(gives_back, is_mutex ? NULL : TASKS_NUMBER(1)));
    if (below(2) == 0) {
        (void)rt_sleep(below(RT_NS_PER_MS));
    }
    if (below(40) == 0) {
        world.panicked++;
        rt_panic_task("with something in its hand");
    }
    CHECK_OK(rt_ensure_run());
}

static void does_something(uint32_t depth)
{
    uint64_t ms = RT_NS_PER_MS;
    switch (below(11)) {
    case 0:
        rt_yield();
        break;
    case 1:
    case 2:
        (void)rt_sleep(below(2 * ms));
        break;
    case 3:
        (void)rt_timeout(below(ms), sends_and_receives, TASKS_NUMBER(1), NULL);
        break;
    case 4:
        (void)sends_and_receives(TASKS_NUMBER(2));
        break;
    case 5:
        (void)rt_using(NULL, tasks_sleep_ms, TASKS_NUMBER(below(2)), NULL);
        break;
    case 6:
        selects(depth);
        break;
    case 7:
        takes_turns();
        break;
    default:
        has_children(depth);
    }
}

static void *lives(void *arg)
{
    uint32_t depth = (uint32_t)((uintptr_t)arg & 0xff);
    CHECK_OK(rt_ensure(note_end, NULL));
    world.begun++;
    for (uint64_t acts = below(5); acts > 0 && !rt_cancelled(); acts--) {
        does_something(depth);
    }
    if (below(40) == 0) {
        world.panicked++;
        rt_panic_task("drawn by lot");
    }
    return arg;
}

static void *plays(void *arg)
{
    rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 1 + below(3)};
    CHECK_OK(rt_channel_create(&config, &world.tx, &world.rx));
    CHECK_OK(rt_mutex_init(&world.mutex));
    CHECK_OK(rt_semaphore_init(&world.semaphore, UNITS));
    void *name = NULL;
    for (int i = 0; i < 6; i++) {
        rt_task *task = spawn(0, &name);
        if (task != NULL && below(2) == 0) {
            void *value = NULL;
            check_end(rt_join(task, &value), &value, name);
        } else if (task != NULL) {
            CHECK_OK(rt_detach(task));
        }
    }
    CHECK_OK(rt_sleep(RT_NS_PER_S));
    struct rti_tasks *tasks = rti_tasks_of(rti_worker_current());
    CHECK_EQ(rti_tasks_live(tasks), 1);
    CHECK_EQ(tasks->stacks->in_use, 1);
    CHECK_EQ(world.begun, world.spawned);
    CHECK_EQ(world.ended, world.spawned);
    CHECK_EQ(rti_tasks_counted(tasks, RTI_TASKS_PANICKED), world.panicked);
    uint64_t value;
    while (!RT_FAILED(rt_channel_try_recv(world.rx, &value))) {
        world.received++;
    }
    CHECK_EQ(world.received, world.sent);
    CHECK(!world.is_locked && world.held == 0);
    CHECK_OK(rt_mutex_try_lock(&world.mutex, NULL));
    CHECK_OK(rt_mutex_unlock(&world.mutex, NULL));
    CHECK_OK(rt_semaphore_try_acquire(&world.semaphore, UNITS));
    CHECK_OK(rt_mutex_deinit(&world.mutex));
    CHECK_OK(rt_channel_close_sender(world.tx));
    CHECK_OK(rt_channel_close_receiver(world.rx));
    deeds.panicked += world.panicked;
    return arg;
}

TEST_SEEDED(task_tree_keeps_its_books_whatever_happens)
{
    memset(&deeds, 0, sizeof(deeds));
    for (uint64_t i = 0; i < WORLDS; i++) {
        memset(&world, 0, sizeof(world));
        CHECK_OK(tasks_run_seeded(plays, NULL, test_seed() * WORLDS + i));
        CHECK(world.spawned >= 1);
    }
    CHECK(deeds.cancelled > 0 && deeds.timed_out > 0 && deeds.panicked > 0);
    CHECK(deeds.locks > 0 && deeds.units > 0);
    for (size_t i = 0; i < 4; i++) {
        CHECK(deeds.chosen[i] > 0);
    }
}
