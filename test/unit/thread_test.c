/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "thread_test"
#include "support/port_fixture.h"

#include <pthread.h>
#include <signal.h>

struct seen {
    rti_atomic_u32 count;
    size_t stack_size;
    sigset_t mask;
};

static void look_around(void *arg)
{
    struct seen *seen = arg;
    pthread_attr_t attributes;
    void *low;
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &seen->mask), 0);
    CHECK_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
    CHECK_EQ(pthread_attr_getstack(&attributes, &low, &seen->stack_size), 0);
    pthread_attr_destroy(&attributes);
    rti_u32_add_relaxed(&seen->count, 1);
}

TEST(thread_runs_its_function_once_and_join_waits_for_it)
{
    struct rti_port_thread threads[8];
    struct seen seen[8] = {{.stack_size = 0}};
    fixture_open(NULL);
    for (size_t i = 0; i < 8; i++) {
        CHECK_OK(port->ops->thread_start(port, &threads[i], look_around, &seen[i]));
    }
    for (size_t i = 0; i < 8; i++) {
        port->ops->thread_join(port, &threads[i]);
        CHECK_EQ(rti_u32_load_relaxed(&seen[i].count), 1);
    }
    fixture_close();
}

TEST(thread_blocks_every_signal_but_faults_and_leaves_its_maker_alone)
{
    struct rti_port_thread thread;
    struct seen seen = {.stack_size = 0};
    sigset_t before;
    sigset_t after;
    fixture_open(NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    CHECK_OK(port->ops->thread_start(port, &thread, look_around, &seen));
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    port->ops->thread_join(port, &thread);
    for (int number = 1; number < NSIG; number++) {
        CHECK_EQ(sigismember(&before, number), sigismember(&after, number));
    }
    CHECK(sigismember(&seen.mask, SIGINT) && sigismember(&seen.mask, SIGTERM));
    CHECK(sigismember(&seen.mask, SIGPIPE) && sigismember(&seen.mask, SIGALRM));
    CHECK(!sigismember(&seen.mask, SIGSEGV) && !sigismember(&seen.mask, SIGFPE));
    fixture_close();
}

TEST(thread_has_the_stack_of_the_config)
{
    struct rti_port_thread thread;
    struct seen seen = {.stack_size = 0};
    fixture_open(&(struct rti_port_linux_config){.stack_size = 1U << 20});
    CHECK_OK(port->ops->thread_start(port, &thread, look_around, &seen));
    port->ops->thread_join(port, &thread);
    CHECK_EQ(seen.stack_size, 1U << 20);
    fixture_close();
}

TEST(thread_stack_below_what_the_system_needs_is_refused_by_init)
{
    CHECK_STATUS(rti_port_linux_init(&fixture, &(struct rti_port_linux_config){.stack_size = 1}),
                 RT_ERR_INVALID);
}

TEST(thread_stack_beyond_the_address_space_is_an_error)
{
    struct rti_port_thread thread;
    struct seen seen = {.stack_size = 0};
    fixture_open(&(struct rti_port_linux_config){.stack_size = (size_t)1 << 60});
    CHECK_STATUS(port->ops->thread_start(port, &thread, look_around, &seen), RT_ERR_NOMEM);
    fixture_close();
}

static void join_twice(void *arg)
{
    struct rti_port_thread thread;
    struct seen seen = {.stack_size = 0};
    (void)arg;
    fixture_open(NULL);
    CHECK_OK(port->ops->thread_start(port, &thread, look_around, &seen));
    port->ops->thread_join(port, &thread);
    port->ops->thread_join(port, &thread);
}

TEST(thread_joined_twice_panics)
{
    CHECK_PANICS("thread", join_twice, NULL);
}
