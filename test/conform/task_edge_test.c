/* SPDX-License-Identifier: Apache-2.0 */
/* The edge cases E1 to E8 of the task specification, each under its own name. */
#define _GNU_SOURCE
#define RTI_MODULE "task_edge_test"
#include <orrery/rt.h>
#include <unistd.h>

#include "base/assert.h"
#include "support/actors.h"
#include "support/tasks.h"
#include "support/test.h"

static void spawn_outside(void)
{
    CHECK(rt_go(tasks_echo, NULL) == NULL);
}

TEST(e1_spawn_outside_of_a_runtime_is_refused_and_told)
{
    const char *told = actors_capture(spawn_outside);
    CHECK(strstr(told, "rt_go: this thread has no runtime") != NULL);
    rt_status status = RT_SUCCESS;
    CHECK(rt_go_ex(tasks_echo, NULL, &(rt_task_config){.status = &status}) == NULL);
    CHECK_STATUS(status, RT_ERR_THREAD);
}

static void *drops_a_handle(void *arg)
{
    rt_task *volatile dropped = rt_go(tasks_echo, NULL);
    (void)dropped;
    return arg;
}

static void run_and_drop(void *arg)
{
    (void)tasks_run_fixed(drops_a_handle, arg);
}

static void *counts_the_lost(void *arg)
{
    struct rt_stats stats;
    CHECK_OK(rt_stats(&stats));
    *(uint64_t *)arg = stats.handles_lost;
    return NULL;
}

TEST(e2_handle_dropped_without_consume_stops_a_checked_build_and_is_counted_in_others)
{
    uint64_t lost = 99;
    if (RT_CHECKS) {
        CHECK_PANICS("task_report", run_and_drop, NULL);
        return;
    }
    run_and_drop(NULL);
    run_and_drop(NULL);
    CHECK_OK(tasks_run_fixed(counts_the_lost, &lost));
    CHECK_EQ(lost, 2);
}

static int ended;

static void *works_long(void *arg)
{
    CHECK_OK(rt_sleep(5 * RT_NS_PER_MS));
    ended++;
    return arg;
}

static void *detaches_long_work(void *arg)
{
    CHECK_OK(rt_detach(rt_go(works_long, NULL)));
    return arg;
}

static void *uses_a_block(void *arg)
{
    ended = 0;
    CHECK_OK(rt_using(NULL, detaches_long_work, NULL, NULL));
    CHECK_EQ(ended, 1);
    return arg;
}

TEST(e3_detached_task_does_not_outlive_its_block_or_its_runtime)
{
    tasks_run_everywhere(uses_a_block, NULL);
    ended = 0;
    CHECK_OK(tasks_run_fixed(detaches_long_work, NULL));
    CHECK_EQ(ended, 1);
    CHECK_OK(tasks_run(detaches_long_work, NULL));
    CHECK_EQ(ended, 2);
}

static void *cancels_the_ended(void *arg)
{
    void *value = NULL;
    rt_task *task = rt_go(tasks_echo, TASKS_NUMBER(4));
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK(rt_task_has_ended(task));
    CHECK_OK(rt_cancel(task, &value));
    CHECK(value == TASKS_NUMBER(4));
    return arg;
}

TEST(e4_cancel_of_a_task_that_has_ended_gives_its_result)
{
    tasks_run_everywhere(cancels_the_ended, NULL);
}

static void *inner_work(void *arg)
{
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    tasks_say('i');
    return arg;
}

static void *outer_work(void *arg)
{
    CHECK_OK(rt_detach(rt_go(inner_work, NULL)));
    tasks_say('o');
    return arg;
}

static void *nests(void *arg)
{
    CHECK_OK(rt_detach(rt_go(outer_work, NULL)));
    return arg;
}

TEST(e5_nested_spawn_goes_on_when_its_parent_has_ended)
{
    CHECK_OK(tasks_run(nests, NULL));
    CHECK_STR(tasks_said(), "oi");
    CHECK_OK(tasks_run_fixed(nests, NULL));
    CHECK_STR(tasks_said(), "oi");
}

static rt_task *pair[2];
static rt_status ends[2];

static void *joins_the_other(void *arg)
{
    uintptr_t self = (uintptr_t)arg;
    ends[self] = rt_join(pair[1 - self], NULL);
    return NULL;
}

static void *makes_a_deadlock(void *arg)
{
    pair[0] = rt_go(joins_the_other, TASKS_NUMBER(0));
    pair[1] = rt_go(joins_the_other, TASKS_NUMBER(1));
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_OK(ends[0]);
    CHECK_STATUS(ends[1], RT_ERR_DEADLOCK);
    return arg;
}

static void *waits_on_two_channels(void *arg)
{
    int value;
    rt_status status = rt_channel_recv(arg, NULL, &value);
    return RT_FAILED(status) ? NULL : arg;
}

static void *makes_a_deadlock_of_channels(void *arg)
{
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    rt_channel_sender *tx[2];
    rt_channel_receiver *rx[2];
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_channel_create(&config, &tx[i], &rx[i]));
        CHECK_OK(rt_detach(rt_go(waits_on_two_channels, rx[i])));
    }
    return arg;
}

TEST(e6_deadlock_is_told_with_the_tasks_and_their_places_of_spawn)
{
    const char *told = tasks_capture(makes_a_deadlock, NULL);
    CHECK(strstr(told, "deadlock: task joins_the_other (3) spawned at ") != NULL);
    CHECK(strstr(told, "waits for task joins_the_other (2) spawned at ") != NULL);
    CHECK(strstr(told, "task_edge_test.c:") != NULL);
    told = tasks_capture(makes_a_deadlock_of_channels, NULL);
    CHECK(strstr(told, "deadlock: everybody waits") != NULL);
    CHECK(strstr(told, "task waits_on_two_channels (2): waiting for a channel") != NULL);
    CHECK(strstr(told, "task waits_on_two_channels (3): waiting for a channel") != NULL);
    CHECK_STATUS(tasks_run(makes_a_deadlock_of_channels, NULL), RT_ERR_DEADLOCK);
}

static int listener;

static void *accepts(void *arg)
{
    int fd;
    *(rt_status *)arg = rt_net_accept(listener, &fd, -1);
    return NULL;
}

/* The descriptor of epoll: found by what the system says about it. */
static int find_epoll(void)
{
    for (int fd = 3; fd < 256; fd++) {
        char path[64];
        char link[64];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, link, sizeof(link) - 1);
        if (length > 0) {
            link[length] = '\0';
            if (strcmp(link, "anon_inode:[eventpoll]") == 0) {
                return fd;
            }
        }
    }
    return -1;
}

static void *kills_the_poller(void *arg)
{
    rt_status status = RT_SUCCESS;
    int fd;
    CHECK_OK(rt_net_listen_ex(&(rt_net_listen_config){.address = "127.0.0.1"}, &listener));
    rt_task *task = rt_go(accepts, &status);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    int epoll = find_epoll();
    CHECK(epoll >= 0 && close(epoll) == 0);
    /* Who waits hears it, and so does who comes later. */
    CHECK_OK(rt_join(task, NULL));
    CHECK_STATUS(status, RT_ERR_IO);
    CHECK(strstr(status.msg, "poller has failed") != NULL);
    CHECK_STATUS(rt_net_accept(listener, &fd, -1), RT_ERR_IO);
    CHECK_STATUS(rt_net_accept(listener, &fd, 0), RT_ERR_IO);
    CHECK_OK(rt_net_close(listener));
    /* Everything else goes on: time, files, tasks. */
    CHECK_OK(rt_sleep(2 * RT_NS_PER_MS));
    CHECK_OK(rt_file_open("/dev/null", 0, 0, &fd));
    CHECK_OK(rt_file_close(fd));
    CHECK_OK(rt_join(rt_go(tasks_sleep_ms, TASKS_NUMBER(1)), NULL));
    return arg;
}

TEST(e7_poller_that_dies_fails_the_sockets_and_the_rest_drains)
{
    CHECK_OK(tasks_run_fixed(kills_the_poller, NULL));
    CHECK_OK(tasks_run_fixed(nests, NULL));
}

static void *panics(void *arg)
{
    (void)arg;
    rt_panic_task("a bug");
}

static void *faults(void *arg)
{
    *(volatile int *)arg = 1;
    return NULL;
}

static int deeper(int depth, const char *above)
{
    volatile char frame[512];
    frame[0] = above[0];
    return depth == 0 ? frame[0] : deeper(depth - 1, (const char *)frame) + frame[0];
}

static void *overflows(void *arg)
{
    return TASKS_NUMBER(deeper(1 << 20, "x") + (arg != NULL));
}

static rt_status says(void *arg)
{
    tasks_say((char)(uintptr_t)arg);
    return RT_SUCCESS;
}

static void *faults_with_a_hook(void *arg)
{
    CHECK_OK(rt_ensure(says, TASKS_NUMBER('h')));
    return faults(arg);
}

static void *goes_on(void *arg)
{
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_sleep(RT_NS_PER_MS));
    }
    tasks_say('.');
    return arg;
}

static void *survives(void *arg)
{
    rt_task_result result;
    rt_task *other = rt_go(goes_on, NULL);
    CHECK_STATUS(rt_join_result(rt_go(panics, NULL), &result), RT_ERR_PANICKED);
    CHECK_STR(result.message, "a bug");
    if (!RTI_ASAN && !RTI_TSAN && !RT_FAILED(rt_contain_faults(true))) {
        CHECK_STATUS(rt_join_result(rt_go(faults, NULL), &result), RT_ERR_PANICKED);
        CHECK_STR(result.message, "SIGSEGV");
        CHECK_STATUS(rt_join_result(rt_go(overflows, NULL), &result), RT_ERR_PANICKED);
        CHECK_STR(result.message, "stack overflow");
        CHECK_STATUS(rt_join(rt_go(faults_with_a_hook, NULL), NULL), RT_ERR_PANICKED);
    } else {
        tasks_say('h');
    }
    CHECK_OK(rt_join(other, NULL));
    return arg;
}

TEST(e8_panic_or_fault_ends_its_task_and_nobody_else)
{
    CHECK_OK(tasks_run_fixed(survives, NULL));
    CHECK_STR(tasks_said(), "h.");
}
