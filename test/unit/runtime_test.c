/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <orrery/rt.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/census.h"
#include "support/test.h"

static int ran;

static void run_once(void *arg)
{
    (void)arg;
    ran++;
    rt_exit();
}

TEST(runtime_runs_until_every_actor_has_ended)
{
    ran = 0;
    CHECK_OK(rt_init());
    CHECK(rt_spawn(run_once, NULL) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(run_once, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(ran, 2);
    rt_cleanup();
}

TEST(runtime_can_be_started_again_and_leaves_no_thread_and_no_descriptor)
{
    ran = 0;
    size_t threads = threads_outside();
    /* The first one may open what stays. */
    CHECK_OK(rt_init());
    rt_cleanup();
    size_t fds = count_fds();
    for (int i = 1; i <= 20; i++) {
        CHECK_OK(rt_init());
        CHECK(rt_spawn(run_once, NULL) != ACTOR_ID_INVALID);
        rt_run();
        rt_cleanup();
        CHECK_EQ(ran, i);
    }
    CHECK_EQ(count_fds(), fds);
    threads_await(threads);
}

TEST(init_twice_is_refused_and_the_first_stays)
{
    CHECK_OK(rt_init());
    CHECK_STATUS(rt_init(), RT_ERR_STATE);
    ran = 0;
    CHECK(rt_spawn(run_once, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(ran, 1);
    rt_cleanup();
    CHECK_OK(rt_init());
    rt_cleanup();
}

static void *init_elsewhere(void *arg)
{
    *(rt_status *)arg = rt_init();
    rt_run();
    rt_cleanup();
    return NULL;
}

TEST(init_run_and_cleanup_of_another_thread_are_refused)
{
    pthread_t thread;
    rt_status status;
    CHECK_OK(rt_init());
    CHECK_EQ(pthread_create(&thread, NULL, init_elsewhere, &status), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_STATUS(status, RT_ERR_STATE);
    ran = 0;
    CHECK(rt_spawn(run_once, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(ran, 1);
    rt_cleanup();
}

TEST(calls_before_init_and_after_cleanup_do_nothing)
{
    rt_run();
    rt_shutdown();
    rt_cleanup();
    CHECK_EQ(rt_clock(), 0);
    CHECK_EQ(rt_random(), 0);
    CHECK(rt_spawn(run_once, NULL) == ACTOR_ID_INVALID);
    CHECK_OK(rt_init());
    CHECK(rt_clock() > 0);
    rt_cleanup();
    rt_run();
    rt_cleanup();
    rt_shutdown();
    CHECK(rt_spawn(run_once, NULL) == ACTOR_ID_INVALID);
}

static void misuse_inside(void *arg)
{
    (void)arg;
    rt_run();
    rt_cleanup();
    CHECK_STATUS(rt_init(), RT_ERR_STATE);
    CHECK_STATUS(rt_sim_run(NULL, run_once, NULL), RT_ERR_STATE);
    ran++;
    rt_exit();
}

TEST(run_cleanup_and_init_inside_an_actor_are_refused)
{
    ran = 0;
    CHECK_OK(rt_init());
    rt_spawn(misuse_inside, NULL);
    rt_run();
    CHECK_EQ(ran, 1);
    rt_cleanup();
}

static void wait_for_ever(void *arg)
{
    rt_message message;
    (void)arg;
    (void)rt_ipc_recv(&message, -1);
    ran = -1;
    rt_exit();
}

static void shut_down(void *arg)
{
    (void)arg;
    rt_shutdown();
    rt_shutdown();
    rt_yield();
    ran++;
    rt_exit();
}

TEST(shutdown_ends_the_run_and_cleanup_ends_the_actors)
{
    ran = 0;
    CHECK_OK(rt_init());
    actor_id waiting = rt_spawn(wait_for_ever, NULL);
    actor_id stopping = rt_spawn(shut_down, NULL);
    rt_run();
    CHECK_EQ(ran, 0);
    CHECK(rt_actor_alive(waiting));
    CHECK(rt_actor_alive(stopping));
    rt_cleanup();
    CHECK_EQ(ran, 0);
    CHECK_OK(rt_init());
    CHECK(!rt_actor_alive(waiting));
    rt_cleanup();
}

TEST(run_after_a_shutdown_goes_on)
{
    ran = 0;
    CHECK_OK(rt_init());
    rt_spawn(shut_down, NULL);
    rt_run();
    CHECK_EQ(ran, 0);
    rt_run();
    CHECK_EQ(ran, 1);
    rt_cleanup();
}

static void shut_down_again_and_again(void *arg)
{
    (void)arg;
    for (;;) {
        ran++;
        rt_shutdown();
        rt_yield();
    }
}

TEST(each_shutdown_ends_the_run_it_was_made_in)
{
    ran = 0;
    CHECK_OK(rt_init());
    rt_spawn(shut_down_again_and_again, NULL);
    for (int i = 1; i <= 5; i++) {
        rt_run();
        CHECK_EQ(ran, i);
    }
    rt_cleanup();
}

static void *shut_down_elsewhere(void *arg)
{
    (void)arg;
    rt_shutdown();
    return NULL;
}

static void start_a_thread(void *arg)
{
    pthread_t *thread = arg;
    CHECK_EQ(pthread_create(thread, NULL, shut_down_elsewhere, NULL), 0);
    wait_for_ever(NULL);
}

TEST(shutdown_from_another_thread_wakes_an_idle_run)
{
    pthread_t thread;
    CHECK_OK(rt_init());
    rt_spawn(start_a_thread, &thread);
    rt_run();
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rt_cleanup();
}

static void on_signal(int number)
{
    (void)number;
    rt_shutdown();
}

static void raise_and_wait(void *arg)
{
    raise(SIGUSR1);
    wait_for_ever(arg);
}

TEST(shutdown_from_a_signal_handler_ends_the_run)
{
    struct sigaction action = {.sa_handler = on_signal};
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK_OK(rt_init());
    rt_spawn(raise_and_wait, NULL);
    rt_run();
    rt_cleanup();
}

TEST(cleanup_without_a_run_ends_what_was_spawned)
{
    ran = 0;
    CHECK_OK(rt_init());
    rt_spawn(run_once, NULL);
    rt_cleanup();
    CHECK_EQ(ran, 0);
    CHECK_OK(rt_init());
    rt_cleanup();
}

static void shut_down_and_end(void *arg)
{
    (void)arg;
    rt_shutdown();
    rt_exit();
}

TEST(shutdown_of_a_run_that_ends_by_itself_does_not_stop_the_next_one)
{
    ran = 0;
    CHECK_OK(rt_init());
    rt_spawn(shut_down_and_end, NULL);
    rt_run();
    rt_spawn(run_once, NULL);
    rt_run();
    CHECK_EQ(ran, 1);
    rt_cleanup();
}

static bool is_life_over;

static void *shut_down_always(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&is_life_over, __ATOMIC_RELAXED)) {
        rt_shutdown();
    }
    return NULL;
}

TEST(shutdown_of_another_thread_may_come_at_any_moment_of_a_runtimes_life)
{
    pthread_t thread;
    ran = 0;
    CHECK_EQ(pthread_create(&thread, NULL, shut_down_always, NULL), 0);
    for (int i = 0; i < 200; i++) {
        CHECK_OK(rt_init());
        rt_spawn(run_once, NULL);
        rt_run();
        rt_cleanup();
        CHECK_OK(rt_sim_run(NULL, run_once, NULL));
    }
    __atomic_store_n(&is_life_over, true, __ATOMIC_RELAXED);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}
