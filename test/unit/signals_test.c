/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of the system as values of channels. */
#define _GNU_SOURCE
#define RTI_MODULE "signals_test"
#include "sync/signals.h"

#include <orrery/rt.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/signals.h"
#include "support/test.h"

static rti_atomic_u32 ends;
static rti_atomic_u32 own_count;

static void own_handler(int number)
{
    (void)number;
    rti_u32_add_relaxed(&own_count, 1);
}

static void set_own(int number)
{
    struct sigaction action = {.sa_handler = own_handler};
    CHECK_EQ(sigaction(number, &action, NULL), 0);
}

static rt_channel_receiver *open_one(int number, size_t capacity)
{
    rt_channel_receiver *rx = NULL;
    CHECK_OK(rt_signal_open(&number, 1, capacity, &rx));
    CHECK(rx != NULL);
    return rx;
}

static void expect(rt_channel_receiver *rx, int number, uint32_t count)
{
    rt_signal_value got;
    CHECK_OK(signals_recv(rx, &got));
    CHECK_EQ(got.number, number);
    CHECK_EQ(got.count, count);
}

static void run_fixed(actor_fn fn)
{
    CHECK_OK(rt_init());
    CHECK(rt_spawn(fn, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK(rti_u32_load_relaxed(&ends) > 0);
}

static void run_parallel(actor_fn fn)
{
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2}));
    CHECK(rt_spawn(fn, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
    CHECK(rti_u32_load_relaxed(&ends) > 0);
}

static void run_sim(actor_fn fn)
{
    CHECK_OK(rt_sim_run(&(rt_sim_config){.seed = 5}, fn, NULL));
    CHECK(rti_u32_load_relaxed(&ends) > 0);
}

static void finish(void)
{
    rti_u32_add_relaxed(&ends, 1);
    rt_exit();
}

/* Two channels for one signal, one of them for two. */
static void subscribe(void *arg)
{
    (void)arg;
    rt_channel_receiver *one = open_one(SIGUSR1, 0);
    rt_channel_receiver *both = NULL;
    CHECK_OK(rt_signal_open((const int[]){SIGUSR1, SIGTERM}, 2, 4, &both));
    CHECK_OK(rt_signal_raise(SIGUSR1));
    expect(one, SIGUSR1, 1);
    expect(both, SIGUSR1, 1);
    CHECK_OK(rt_signal_raise(SIGTERM));
    expect(both, SIGTERM, 1);
    CHECK_OK(rt_signal_close(one));
    CHECK_OK(rt_signal_raise(SIGUSR1));
    expect(both, SIGUSR1, 1);
    CHECK_OK(rt_signal_close(both));
    CHECK_STATUS(rt_signal_close(both), RT_ERR_INVALID);
    finish();
}

TEST(signals_reach_every_channel_that_is_open_for_them_on_the_fixed_engine)
{
    run_fixed(subscribe);
}

TEST(signals_reach_every_channel_that_is_open_for_them_on_the_parallel_engine)
{
    run_parallel(subscribe);
}

TEST(signals_reach_every_channel_that_is_open_for_them_in_the_simulator)
{
    run_sim(subscribe);
}

/* The scheduler gets no turn in between: one value, and its count. */
static void merge(void *arg)
{
    (void)arg;
    rt_channel_receiver *rx = open_one(SIGUSR2, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_signal_raise(SIGUSR2));
    }
    expect(rx, SIGUSR2, 3);
    rt_signal_value got;
    CHECK_STATUS(rt_channel_try_recv(rx, &got), RT_ERR_EMPTY);
    CHECK_OK(rt_signal_close(rx));
    finish();
}

TEST(signals_of_one_number_that_come_together_are_one_value_with_their_count)
{
    run_fixed(merge);
}

TEST(signals_that_come_together_in_the_simulator_are_one_value_with_their_count)
{
    run_sim(merge);
}

/* A channel of one place, and two values. */
static void overflow(void *arg)
{
    (void)arg;
    uint64_t dropped = 9;
    rt_channel_receiver *rx = NULL;
    CHECK_OK(rt_signal_open((const int[]){SIGUSR1, SIGUSR2}, 2, 1, &rx));
    CHECK_OK(rt_signal_dropped(rx, &dropped));
    CHECK_EQ(dropped, 0);
    CHECK_OK(rt_signal_raise(SIGUSR1));
    CHECK_OK(rt_signal_raise(SIGUSR2));
    CHECK_OK(rt_signal_raise(SIGUSR2));
    rt_yield();
    while (dropped == 0) {
        CHECK_OK(rt_signal_dropped(rx, &dropped));
        rt_yield();
    }
    expect(rx, SIGUSR1, 1);
    CHECK_EQ(dropped, 2);
    CHECK_OK(rt_signal_raise(SIGUSR2));
    expect(rx, SIGUSR2, 1);
    CHECK_STATUS(rt_signal_dropped(rx, NULL), RT_ERR_INVALID);
    CHECK_OK(rt_signal_close(rx));
    CHECK_STATUS(rt_signal_dropped(rx, &dropped), RT_ERR_INVALID);
    finish();
}

TEST(signals_that_find_their_channel_full_are_dropped_and_counted)
{
    run_fixed(overflow);
}

TEST(signals_that_find_their_channel_full_in_the_simulator_are_dropped_and_counted)
{
    run_sim(overflow);
}

static void refuse(void *arg)
{
    static const int refused[] = {0,       -1,      65,      1000,    32,     33,
                                  SIGKILL, SIGSTOP, SIGURG,  SIGSEGV, SIGBUS, SIGFPE,
                                  SIGILL,  SIGTRAP, SIGABRT, SIGSYS};
    (void)arg;
    rt_channel_receiver *rx = NULL;
    rt_channel_receiver *usr = open_one(SIGUSR1, 0);
    for (size_t i = 0; i < RTI_COUNT_OF(refused); i++) {
        /* Beside one that is new and one that is open: both are as before afterwards. */
        const int set[] = {SIGUSR1, SIGUSR2, refused[i]};
        CHECK_STATUS(rt_signal_open(set, 3, 0, &rx), RT_ERR_INVALID);
        CHECK(rx == NULL);
    }
    int usr2 = SIGUSR2;
    CHECK_STATUS(rt_signal_open(NULL, 1, 0, &rx), RT_ERR_INVALID);
    CHECK_STATUS(rt_signal_open(&usr2, 0, 0, &rx), RT_ERR_INVALID);
    CHECK_STATUS(rt_signal_open(&usr2, 1, 0, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_signal_open(&usr2, 1, (size_t)1 << 40, &rx), RT_ERR_INVALID);
    CHECK_STATUS(rt_signal_raise(0), RT_ERR_INVALID);
    CHECK_STATUS(rt_signal_raise(65), RT_ERR_INVALID);
    CHECK_STATUS(rt_signal_close(NULL), RT_ERR_INVALID);
    CHECK_OK(rt_signal_raise(SIGUSR1));
    expect(usr, SIGUSR1, 1);
    CHECK_OK(rt_signal_close(usr));
    set_own(SIGUSR2);
    CHECK_OK(rt_signal_raise(SIGUSR2));
    CHECK_EQ(rti_u32_load_relaxed(&own_count), 1);
    finish();
}

TEST(signals_that_are_reserved_or_none_are_refused_and_nothing_is_changed)
{
    run_fixed(refuse);
}

static void fill_table(void *arg)
{
    (void)arg;
    rt_channel_receiver *open[RT_MAX_SIGNAL_CHANNELS];
    rt_channel_receiver *more = NULL;
    int number = SIGUSR1;
    for (size_t i = 0; i < RT_MAX_SIGNAL_CHANNELS; i++) {
        open[i] = open_one(number, 1);
    }
    CHECK_STATUS(rt_signal_open(&number, 1, 1, &more), RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_OK(rt_signal_close(open[3]));
    open[3] = open_one(number, 1);
    CHECK_OK(rt_signal_raise(number));
    for (size_t i = 0; i < RT_MAX_SIGNAL_CHANNELS; i++) {
        expect(open[i], number, 1);
        CHECK_OK(rt_signal_close(open[i]));
    }
    finish();
}

TEST(signals_have_a_bound_on_their_channels_with_a_clear_error)
{
    run_fixed(fill_table);
}

/* What it did before it does again: after the last close, and after a receiver that was closed
 * otherwise. */
static void restore(void *arg)
{
    (void)arg;
    set_own(SIGHUP);
    rt_channel_receiver *first = open_one(SIGHUP, 0);
    rt_channel_receiver *second = open_one(SIGHUP, 0);
    CHECK_OK(rt_signal_close(first));
    CHECK_OK(rt_signal_raise(SIGHUP));
    expect(second, SIGHUP, 1);
    CHECK_EQ(rti_u32_load_relaxed(&own_count), 0);
    CHECK_OK(rt_channel_close_receiver(second));
    CHECK_OK(rt_signal_raise(SIGHUP));
    struct sigaction now;
    do {
        rt_yield();
        CHECK_EQ(sigaction(SIGHUP, NULL, &now), 0);
    } while (now.sa_handler != own_handler);
    CHECK_OK(rt_signal_raise(SIGHUP));
    while (rti_u32_load_relaxed(&own_count) != 1) {
        /* It may have come to another thread. */
        rt_yield();
    }
    CHECK_STATUS(rt_signal_close(second), RT_ERR_INVALID);
    /* And one that is left to the cleanup. */
    (void)open_one(SIGHUP, 0);
    finish();
}

static void check_restored(void)
{
    CHECK_EQ(kill(getpid(), SIGHUP), 0);
    while (rti_u32_load_relaxed(&own_count) < 2) {
    }
}

TEST(signals_do_what_they_did_before_when_the_last_channel_is_closed)
{
    run_fixed(restore);
    check_restored();
}

TEST(signals_do_what_they_did_before_on_the_parallel_engine_too)
{
    run_parallel(restore);
    check_restored();
}

/* Somebody waits while the channel is closed. */
static rt_channel_receiver *shared;

static void wait_closed(void *arg)
{
    rt_signal_value got;
    (void)arg;
    CHECK_STATUS(rt_channel_recv(shared, NULL, &got), RT_ERR_CLOSED);
    finish();
}

static void close_under_a_waiter(void *arg)
{
    (void)arg;
    shared = open_one(SIGUSR1, 0);
    CHECK(rt_spawn(wait_closed, NULL) != ACTOR_ID_INVALID);
    CHECK_OK(rt_sleep(1000000));
    CHECK_OK(rt_signal_close(shared));
    rt_exit();
}

TEST(signals_whose_channel_is_closed_end_the_wait_of_its_receiver)
{
    run_fixed(close_under_a_waiter);
}

/* A storm from another thread, while every worker sleeps or works: all are counted. */
#define STORM 2000

static void *make_storm(void *arg)
{
    for (int i = 0; i < STORM; i++) {
        CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
    }
    return arg;
}

static void weather(void *arg)
{
    (void)arg;
    pthread_t thread;
    rt_channel_receiver *rx = open_one(SIGUSR1, 4);
    CHECK_EQ(pthread_create(&thread, NULL, make_storm, NULL), 0);
    uint64_t seen = 0;
    uint64_t dropped = 0;
    while (seen + dropped < STORM) {
        rt_signal_value got;
        rt_status status = rt_channel_recv_timeout(rx, NULL, &got, 1000000);
        if (status.code != RT_ERR_TIMEOUT) {
            CHECK_OK(status);
            seen += got.count;
        }
        CHECK_OK(rt_signal_dropped(rx, &dropped));
    }
    CHECK_EQ(seen + dropped, STORM);
    CHECK(seen > 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_OK(rt_signal_close(rx));
    finish();
}

TEST(signals_of_a_storm_from_another_thread_are_all_counted_on_the_fixed_engine)
{
    run_fixed(weather);
}

TEST(signals_of_a_storm_from_another_thread_are_all_counted_on_the_parallel_engine)
{
    run_parallel(weather);
}

/* What a task starts, a thread or a process, has the signals of main. */
static void *check_mask(void *arg)
{
    sigset_t set;
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
    CHECK(sigismember(&set, SIGWINCH) == 1);
    CHECK(sigismember(&set, SIGTERM) == 0);
    CHECK(sigismember(&set, SIGUSR1) == 0);
    return arg;
}

static void start_thread(void *arg)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, check_mask, arg), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    (void)check_mask(arg);
    finish();
}

TEST(signals_are_blocked_in_workers_iff_they_were_in_the_thread_of_the_start)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 4}));
    for (int i = 0; i < 12; i++) {
        CHECK(rt_spawn(start_thread, NULL) != ACTOR_ID_INVALID);
    }
    rt_run();
    rt_cleanup();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 12);
}

/* The end of a child, which the system tells by itself. */
static void wait_for_child(void *arg)
{
    (void)arg;
    rt_channel_receiver *rx = open_one(SIGCHLD, 0);
    pid_t child = fork();
    if (child == 0) {
        /* The child has no channel: the signal does what it did before. */
        struct sigaction now;
        _exit(sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_DFL ? 3 : 4);
    }
    expect(rx, SIGCHLD, 1);
    int status;
    CHECK_EQ(waitpid(child, &status, WNOHANG), child);
    CHECK_EQ(WEXITSTATUS(status), 3);
    CHECK_OK(rt_signal_close(rx));
    finish();
}

TEST(signals_tell_of_the_end_of_a_child_and_the_child_has_none)
{
    run_parallel(wait_for_child);
}

static void *refused_on_thread(void *arg)
{
    rt_channel_receiver *rx;
    uint64_t dropped;
    int number = SIGUSR1;
    CHECK_STATUS(rt_signal_open(&number, 1, 0, &rx), RT_ERR_THREAD);
    CHECK_STATUS(rt_signal_close(NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_signal_dropped(NULL, &dropped), RT_ERR_THREAD);
    CHECK_STATUS(rt_signal_raise(number), RT_ERR_THREAD);
    return arg;
}

TEST(signals_are_refused_on_threads_without_a_runtime)
{
    pthread_t thread;
    (void)refused_on_thread(NULL);
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2}));
    CHECK_EQ(pthread_create(&thread, NULL, refused_on_thread, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rt_channel_receiver *rx = open_one(SIGUSR1, 0); /* main may */
    CHECK_OK(rt_signal_close(rx));
    rt_cleanup();
}

static void raise_unknown(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_signal_raise(SIGTERM), RT_ERR_INVALID);
    rt_channel_receiver *rx = open_one(SIGTERM, 0);
    CHECK_OK(rt_signal_raise(SIGTERM));
    expect(rx, SIGTERM, 1);
    /* Nobody will ever raise one: the simulator sees that nothing can happen. */
    rt_signal_value got;
    rti_u32_add_relaxed(&ends, 1);
    CHECK_OK(rt_channel_recv(rx, NULL, &got));
}

TEST(signals_of_the_simulator_come_from_the_program_alone)
{
    CHECK_STATUS(rt_sim_run(&(rt_sim_config){.seed = 5}, raise_unknown, NULL), RT_ERR_DEADLOCK);
    CHECK_EQ(rti_u32_load_relaxed(&ends), 1);
}

/* What came before a channel was open is not for it, also if nobody has told of it yet. */
static void open_late(void *arg)
{
    rt_signal_value got;
    (void)arg;
    rt_channel_receiver *early = open_one(SIGUSR1, 0);
    CHECK_OK(rt_signal_raise(SIGUSR1));
    rt_channel_receiver *late = open_one(SIGUSR1, 0);
    expect(early, SIGUSR1, 1);
    CHECK_STATUS(rt_channel_try_recv(late, &got), RT_ERR_EMPTY);
    CHECK_OK(rt_signal_raise(SIGUSR1));
    CHECK_OK(rt_signal_close(early));
    CHECK_OK(rt_signal_close(late));
    rt_channel_receiver *last = open_one(SIGUSR1, 0);
    CHECK_OK(rt_sleep(RT_NS_PER_MS));
    CHECK_STATUS(rt_channel_try_recv(last, &got), RT_ERR_EMPTY);
    CHECK_OK(rt_signal_raise(SIGUSR1));
    expect(last, SIGUSR1, 1);
    CHECK_OK(rt_signal_close(last));
    finish();
}

TEST(signals_that_came_before_a_channel_was_open_are_not_for_it)
{
    run_fixed(open_late);
    run_sim(open_late);
}
