/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of tasks that spawn, join, detach, cancel, time out, panic and wait at random; the order
 * of all is drawn from the seed.
 *
 * Conservation: each task notes that it began and, in a hook, that it ended; at the end as many
 * have ended as have begun, and none began that was not spawned. A join that succeeds gives the
 * number of the very task that was joined; one that fails says why: cancelled or panicked, and the
 * task did so. No task, stack or timer is left. */
#define RTI_MODULE "task_sim_test"
#include <orrery/rt.h>

#include "base/compiler.h"
#include "support/tasks.h"
#include "support/test.h"
#include "task/tasks.h"

#define TASKS_TOTAL 120 /* of one run */
#define DEPTH_MAX   5

static struct {
    uint32_t spawned;
    uint32_t begun;
    uint32_t ended;
    uint32_t panicked;
    uint32_t joined;
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
} world;

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
    status = rt_channel_recv_timeout(world.rx, NULL, &value, below(RT_NS_PER_MS));
    return RT_FAILED(status) ? NULL : arg;
}

static void does_something(uint32_t depth)
{
    uint64_t ms = RT_NS_PER_MS;
    switch (below(8)) {
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
    if (below(12) == 0) {
        world.panicked++;
        rt_panic_task("drawn by lot");
    }
    return arg;
}

static void *plays(void *arg)
{
    rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 1 + below(3)};
    CHECK_OK(rt_channel_create(&config, &world.tx, &world.rx));
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
    CHECK_EQ(rti_u64_load_relaxed(&tasks->panicked), world.panicked);
    CHECK_OK(rt_channel_close_sender(world.tx));
    CHECK_OK(rt_channel_close_receiver(world.rx));
    return arg;
}

TEST_SEEDED(task_tree_keeps_its_books_whatever_happens)
{
    memset(&world, 0, sizeof(world));
    CHECK_OK(tasks_run_seeded(plays, NULL, test_seed()));
    CHECK(world.spawned >= 1);
}
