/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "cpus_test"
#include "port/linux/cpus.h"

#include <errno.h>
#include <orrery/rt.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/test.h"

/* The processors of a large machine, 64 of which the process may use; 0: those of this one. */
static size_t cpus_of_machine;

/* The runtimes of the sanitizers ask before main. */
#if !RTI_ASAN && !RTI_TSAN
#define HAS_LARGE_MACHINE 1

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    memset(set, 0, size);
    if (cpus_of_machine == 0) {
        return syscall(SYS_sched_getaffinity, pid, size, set) < 0 ? -1 : 0;
    }
    if (size < cpus_of_machine / 8) {
        errno = EINVAL;
        return -1;
    }
    for (size_t i = 0; i < 64; i++) {
        CPU_SET_S(cpus_of_machine - 1 - i, size, set);
    }
    return 0;
}
#else
#define HAS_LARGE_MACHINE 0
#endif

TEST(cpus_are_told_on_machines_that_could_have_very_many)
{
    uint32_t here = rti_linux_cpus();
    if (!HAS_LARGE_MACHINE) {
        test_skip("a sanitizer asks for itself");
    }
    cpus_of_machine = 8192;
    /* The quota holds there, too. */
    CHECK(rti_linux_cpus() == 64 || rti_linux_cpus() <= here);
    CHECK(here == 1 || rti_linux_cpus() > 1);
    cpus_of_machine = 0;
    CHECK_EQ(rti_linux_cpus(), here);
}

TEST(cpus_of_a_quota_are_rounded_up)
{
    CHECK_EQ(rti_linux_cpus_of_quota(200000, 100000), 2);
    CHECK_EQ(rti_linux_cpus_of_quota(150000, 100000), 2);
    CHECK_EQ(rti_linux_cpus_of_quota(1000, 100000), 1);
    CHECK_EQ(rti_linux_cpus_of_quota(0, 100000), UINT32_MAX);
    CHECK_EQ(rti_linux_cpus_of_quota(5, 0), UINT32_MAX);
    CHECK_EQ(rti_linux_cpus_of_quota(UINT64_MAX, 1), UINT32_MAX);
}

TEST(cpus_read_the_quota_of_a_control_group)
{
    uint64_t quota;
    uint64_t period;
    CHECK(rti_linux_cpus_parse_max("150000 100000\n", &quota, &period));
    CHECK(quota == 150000 && period == 100000);
    CHECK(rti_linux_cpus_parse_max("max 100000\n", &quota, &period));
    CHECK(quota == 0 && period == 100000);
    CHECK(!rti_linux_cpus_parse_max("", &quota, &period));
    CHECK(!rti_linux_cpus_parse_max("12", &quota, &period));
    CHECK(!rti_linux_cpus_parse_max("-1 100", &quota, &period));
}

TEST(cpus_are_at_least_one)
{
    CHECK(rti_linux_cpus() >= 1);
}

TEST(cpus_are_no_more_than_this_process_may_use)
{
    cpu_set_t all;
    cpu_set_t set;
    CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&set);
    for (size_t cpu = 0, count = 0; cpu < CPU_SETSIZE && count < 4; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &set);
            count++;
            CHECK_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
            CHECK(rti_linux_cpus() <= count);
        }
    }
    CHECK_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

TEST(init_ex_refuses_what_it_cannot_do_and_leaves_nothing)
{
    CHECK_STATUS(rt_init_ex(NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_init_ex(&(rt_config){.workers = RT_MAX_WORKERS + 1}), RT_ERR_INVALID);
    CHECK_STATUS(rt_init_ex(&(rt_config){.workers = 4, .threads_max = 4}), RT_ERR_INVALID);
    CHECK_STATUS(rt_init_ex(&(rt_config){.workers = 4, .threads_max = 65536}), RT_ERR_INVALID);
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 0}));
    CHECK_STATUS(rt_init_ex(&(rt_config){.workers = 1}), RT_ERR_STATE);
    CHECK_STATUS(rt_init(), RT_ERR_STATE);
    rt_run();
    rt_cleanup();
    CHECK_OK(rt_init());
    rt_cleanup();
}
