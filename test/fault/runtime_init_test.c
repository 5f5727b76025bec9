/* SPDX-License-Identifier: Apache-2.0 */
/* rt_init in a world that gives it less and less: each step of it fails once, and leaves nothing.
 */
#define _DEFAULT_SOURCE
#define RTI_MODULE "runtime_init_test"
#include <orrery/rt.h>

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/compiler.h"
#include "support/census.h"
#include "support/test.h"

static int ran;

static void run_once(void *arg)
{
    (void)arg;
    ran++;
    rt_exit();
}

/* A runtime that can be had works, whatever failed before it. */
static void use_and_end(void)
{
    ran = 0;
    CHECK(rt_spawn(run_once, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(ran, 1);
    rt_cleanup();
}

static void limit_set(int what, rlim_t value)
{
    struct rlimit limit;
    CHECK_EQ(getrlimit(what, &limit), 0);
    limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
    CHECK_EQ(setrlimit(what, &limit), 0);
}

/* The number of the lowest free descriptor. */
static int fd_lowest_free(void)
{
    int fd = dup(STDERR_FILENO);
    CHECK(fd >= 0);
    close(fd);
    return fd;
}

TEST(init_without_descriptors_is_refused_at_each_step_and_leaves_nothing)
{
    size_t fds = count_fds();
    int first = fd_lowest_free();
    int refused = 0;
    for (int room = 0; room < 8; room++) {
        limit_set(RLIMIT_NOFILE, (rlim_t)first + (rlim_t)room);
        rt_status status = rt_init();
        if (status.code == RT_OK) {
            rt_cleanup();
        } else {
            CHECK_STATUS(status, RT_ERR_RESOURCE_EXHAUSTED);
            CHECK(status.msg != NULL && status.msg[0] != '\0');
            CHECK_EQ(room, refused);
            CHECK_STATUS(rt_sim_run(NULL, run_once, NULL), RT_OK);
            refused++;
        }
    }
    /* The epoll and its bell. */
    CHECK_EQ(refused, 2);
    limit_set(RLIMIT_NOFILE, 256);
    CHECK_OK(rt_init());
    use_and_end();
    CHECK_EQ(count_fds(), fds);
}

/* The address space of this process now, in bytes. */
static rlim_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL);
    CHECK_EQ(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

TEST(init_without_room_for_its_threads_is_refused_at_each_of_them_and_leaves_nothing)
{
    if (RTI_ASAN || RTI_TSAN) {
        test_skip("sanitizers take the address space that is to be limited");
    }
    size_t fds = count_fds();
    size_t threads = threads_outside();
    rlim_t start = address_space();
    int refused = 0;
    bool is_made = false;
    for (rlim_t room = 0; room < 64 && !is_made; room++) {
        limit_set(RLIMIT_AS, start + room * 128 * 1024);
        rt_status status = rt_init();
        is_made = status.code == RT_OK;
        if (!is_made) {
            CHECK_STATUS(status, RT_ERR_NOMEM);
            refused++;
        }
    }
    CHECK(is_made);
    use_and_end();
    limit_set(RLIMIT_AS, RLIM_INFINITY);
    if (refused == 0) {
        test_skip("the address space cannot be limited here");
    }
    CHECK(refused >= 3);
    CHECK_EQ(count_fds(), fds);
    threads_await(threads);
}
