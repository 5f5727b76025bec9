/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks and actors that stay on one thread, and have it to themselves. */
#define _GNU_SOURCE
#define RTI_MODULE "pin_test"
#include <orrery/rt/pin.h>

#include <orrery/rt.h>
#include <pthread.h>
#include <unistd.h>

#include "base/atomic.h"
#include "sched/crew_search.h"
#include "support/test.h"

#define ROUNDS 200
#define NOISES 6

static rti_atomic_u32 ends;
static rti_atomic_u32 is_quiet;

/* What a library keeps per thread: who owns it. Read and written where no optimizer keeps its
 * address. */
static _Thread_local uintptr_t thread_owner;

__attribute__((noinline)) static uintptr_t owner(void)
{
    __asm__ volatile("" ::: "memory");
    return thread_owner;
}

__attribute__((noinline)) static void set_owner(uintptr_t value)
{
    thread_owner = value;
    __asm__ volatile("" ::: "memory");
}

static void count_end(void)
{
    rti_u32_add_relaxed(&ends, 1);
}

static void start(uint32_t workers, uint32_t threads_max)
{
    CHECK_OK(rt_init_ex(&(rt_config){.workers = workers, .threads_max = threads_max}));
}

static void spawn(actor_fn fn, void *arg)
{
    CHECK(rt_spawn(fn, arg) != ACTOR_ID_INVALID);
}

static void finish(void)
{
    rt_run();
    rt_cleanup();
}

/* Keeps every worker busy, and is never on a thread that somebody owns. */
static void make_noise(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&is_quiet) < NOISES) {
        CHECK_EQ(owner(), 0);
        rt_yield();
    }
    rt_exit();
}

/* Suspends in every way there is, and finds its mark each time. */
static void stay(void *arg)
{
    uintptr_t mark = (uintptr_t)arg;
    CHECK_OK(rt_pin());
    CHECK_EQ(owner(), 0);
    set_owner(mark);
    for (int i = 0; i < ROUNDS; i++) {
        rt_yield();
        CHECK_EQ(owner(), mark);
        if (i % 16 == 0) {
            CHECK_OK(rt_sleep(100000));
            CHECK_EQ(owner(), mark);
        }
        if (i % 8 == 0) {
            CHECK_OK(rt_blocking_enter());
            usleep(100);
            CHECK_OK(rt_blocking_exit());
            CHECK_EQ(owner(), mark);
        }
    }
    set_owner(0);
    CHECK_OK(rt_unpin());
    rt_yield();
    rti_u32_add_relaxed(&is_quiet, 1);
    count_end();
    rt_exit();
}

TEST(pinned_actors_keep_their_threads_to_themselves_however_they_suspend)
{
    start(3, 0);
    for (uintptr_t i = 0; i < NOISES; i++) {
        spawn(stay, (void *)(i + 1));
        spawn(make_noise, NULL);
    }
    finish();
    CHECK_EQ(rti_u32_load_relaxed(&ends), NOISES);
}

TEST(pinned_actor_alone_on_one_worker_runs_to_its_end)
{
    start(1, 0);
    rti_u32_store_relaxed(&is_quiet, NOISES);
    spawn(stay, (void *)(uintptr_t)7);
    finish();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 1);
}

/* Two pinned ones that wake each other: every turn is a switch of threads. */
static actor_id partners[2];

static void play(void *arg)
{
    uintptr_t side = (uintptr_t)arg;
    CHECK_OK(rt_pin());
    set_owner(side + 1);
    if (side == 0) {
        CHECK_OK(rt_ipc_send(partners[1], "x", 1, IPC_ASYNC));
    }
    for (int i = 0; i < ROUNDS; i++) {
        rt_message message;
        CHECK_OK(rt_ipc_recv(&message, -1));
        CHECK_EQ(owner(), side + 1);
        if (side == 1 || i + 1 < ROUNDS) {
            CHECK_OK(rt_ipc_send(partners[1 - side], "x", 1, IPC_ASYNC));
        }
    }
    /* It ends pinned: the thread is everybody's again. */
    set_owner(0);
    count_end();
    rt_exit();
}

static void play_on(uint32_t workers)
{
    start(workers, 0);
    partners[0] = rt_spawn(play, (void *)(uintptr_t)0);
    partners[1] = rt_spawn(play, (void *)(uintptr_t)1);
    CHECK(partners[0] != ACTOR_ID_INVALID && partners[1] != ACTOR_ID_INVALID);
    finish();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 2);
}

TEST(pinned_pair_talks_on_one_worker)
{
    play_on(1);
}

TEST(pinned_pair_talks_on_four_workers)
{
    play_on(4);
}

/* The program's own threads are no place to pin. */
static void check_refused(void)
{
    CHECK_STATUS(rt_pin(), RT_ERR_THREAD);
    CHECK_STATUS(rt_unpin(), RT_ERR_THREAD);
}

static void *refused_on_thread(void *arg)
{
    check_refused();
    return arg;
}

static void nest(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_unpin(), RT_ERR_STATE);
    for (int i = 0; i < 255; i++) {
        CHECK_OK(rt_pin());
    }
    CHECK_STATUS(rt_pin(), RT_ERR_LIMIT);
    for (int i = 0; i < 255; i++) {
        rt_yield();
        CHECK_OK(rt_unpin());
    }
    CHECK_STATUS(rt_unpin(), RT_ERR_STATE);
    count_end();
    rt_exit();
}

static void *nest_as_task(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_unpin(), RT_ERR_STATE);
    CHECK_OK(rt_pin());
    CHECK_OK(rt_sleep(1000));
    CHECK_OK(rt_unpin());
    count_end();
    return NULL;
}

static void begin_task(void *arg)
{
    CHECK_OK(rt_join(rt_go(nest_as_task, arg), NULL));
    nest(arg);
}

static void check_contexts(void)
{
    pthread_t thread;
    check_refused();
    CHECK_EQ(pthread_create(&thread, NULL, refused_on_thread, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    spawn(begin_task, NULL);
    finish();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 2);
}

TEST(pin_nests_and_refuses_wrong_callers_on_the_parallel_engine)
{
    start(2, 0);
    check_contexts();
}

TEST(pin_nests_and_refuses_wrong_callers_on_the_fixed_engine)
{
    CHECK_OK(rt_init());
    check_contexts();
}

TEST(pin_nests_in_the_simulator)
{
    CHECK_OK(rt_sim_run(&(rt_sim_config){.seed = 3}, begin_task, NULL));
    CHECK_EQ(rti_u32_load_relaxed(&ends), 2);
}

/* One pin fits beside one worker and two threads: the next is refused until it is free. */
static rti_atomic_u32 is_held;

static void hold_pin(void *arg)
{
    (void)arg;
    CHECK_OK(rt_pin());
    rti_u32_store_release(&is_held, 1);
    while (rti_u32_load_acquire(&is_held) == 1) {
        rt_yield();
    }
    count_end();
    rt_exit();
}

static void want_pin(void *arg)
{
    (void)arg;
    while (rti_u32_load_acquire(&is_held) != 1) {
        rt_yield();
    }
    CHECK_STATUS(rt_pin(), RT_ERR_RESOURCE_EXHAUSTED);
    CHECK_STATUS(rt_unpin(), RT_ERR_STATE);
    rti_u32_store_release(&is_held, 2);
    while (rti_u32_load_relaxed(&ends) == 0 || RT_FAILED(rt_pin())) {
        rt_yield();
    }
    CHECK_OK(rt_unpin());
    count_end();
    rt_exit();
}

TEST(pin_is_refused_when_no_thread_would_be_left_and_free_again_after_the_end_of_the_pinned)
{
    start(1, 2);
    spawn(hold_pin, NULL);
    spawn(want_pin, NULL);
    finish();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 2);
}

/* Though there is a thread to take the place of the one that wants to be pinned. */
TEST(pin_is_refused_when_fewer_threads_than_workers_would_be_left)
{
    start(2, 3);
    spawn(hold_pin, NULL);
    spawn(want_pin, NULL);
    finish();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 2);
}

/* Killed where it waits, before it runs again, and by itself. */
static void wait_pinned(void *arg)
{
    (void)arg;
    CHECK_OK(rt_pin());
    count_end();
    rt_message message;
    (void)rt_ipc_recv(&message, -1);
    test_fail(__FILE__, __LINE__, "it was killed");
}

static void kill_pinned(void *arg)
{
    (void)arg;
    for (uint32_t i = 1; i <= 20; i++) {
        actor_id victim = rt_spawn(wait_pinned, NULL);
        CHECK(victim != ACTOR_ID_INVALID);
        while (rti_u32_load_relaxed(&ends) < i) {
            rt_yield();
        }
        CHECK_OK(rt_actor_kill(victim));
        while (rt_actor_alive(victim)) {
            rt_yield();
        }
    }
    rt_exit();
}

TEST(pinned_actors_that_are_killed_give_their_threads_back)
{
    /* Room for three pins: twenty come one after another. */
    start(2, 5);
    spawn(kill_pinned, NULL);
    finish();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 20);
}

/* Endless loops on pinned threads, as many as workers: the others run. */
static void loop_pinned(void *arg)
{
    (void)arg;
    CHECK_OK(rt_pin());
    rti_u32_add_relaxed(&is_held, 1);
    while (rti_u32_load_relaxed(&ends) == 0) {
    }
    rt_yield();
    CHECK_OK(rt_unpin());
    rt_exit();
}

static void end_loops(void *arg)
{
    (void)arg;
    while (rti_u32_load_relaxed(&is_held) < 2) {
        rt_yield();
    }
    CHECK_OK(rt_sleep(1000));
    count_end();
    rt_exit();
}

TEST(pinned_endless_loops_lose_their_workers_and_not_their_threads)
{
    start(2, 0);
    spawn(loop_pinned, NULL);
    spawn(loop_pinned, NULL);
    spawn(end_loops, NULL);
    finish();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 1);
}

/* A run that ends while pinned ones wait, and goes on. */
static void outlive(void *arg)
{
    (void)arg;
    CHECK_OK(rt_pin());
    count_end();
    rt_message message;
    CHECK_OK(rt_ipc_recv(&message, -1));
    set_owner(9);
    for (int i = 0; i < ROUNDS; i++) {
        rt_yield();
        CHECK_EQ(owner(), 9);
    }
    set_owner(0);
    CHECK_OK(rt_unpin());
    count_end();
    rt_exit();
}

static void stop_run(void *arg)
{
    while (rti_u32_load_relaxed(&ends) < (uint32_t)(uintptr_t)arg) {
        rt_yield();
    }
    rt_shutdown();
    rt_exit();
}

static void write_to(void *arg)
{
    const actor_id *waiting = arg;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rt_ipc_send(waiting[i], "x", 1, IPC_ASYNC));
    }
    rt_exit();
}

/* Those that have ended refuse it. */
static void write_to_who_is_left(void *arg)
{
    const actor_id *waiting = arg;
    int heard = 0;
    for (int i = 0; i < 3; i++) {
        heard += !RT_FAILED(rt_ipc_send(waiting[i], "x", 1, IPC_ASYNC));
    }
    CHECK_EQ(heard, 1);
    rt_exit();
}

TEST(pinned_actors_outlive_the_end_of_a_run_and_get_a_thread_in_the_next)
{
    static actor_id waiting[3];
    start(3, 0);
    for (int i = 0; i < 3; i++) {
        waiting[i] = rt_spawn(outlive, NULL);
        CHECK(waiting[i] != ACTOR_ID_INVALID);
    }
    spawn(stop_run, (void *)(uintptr_t)3);
    rt_run();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 3);
    spawn(write_to, waiting);
    rt_run();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 6);
    rt_cleanup();
}

/* The member that the caller's thread is. */
static uint32_t seat(void)
{
    return rti_worker_current()->member->index;
}

static rti_atomic_u32 seats; /* a bit each that was pinned */

/* Of three that are pinned, the one with the last seat outlives the run. In the next one its thread
 * is started for it alone; when it lets go, that is one like others, and has been started. */
static void outlive_in_the_last_seat(void *arg)
{
    rt_message message;
    (void)arg;
    CHECK_OK(rt_pin());
    uint32_t own = UINT32_C(1) << seat();
    rti_u32_add_relaxed(&seats, own);
    count_end();
    while (rti_u32_load_relaxed(&ends) < 3) {
        rt_yield();
    }
    if (rti_u32_load_relaxed(&seats) < 2 * own) {
        CHECK_OK(rt_ipc_recv(&message, -1));
        CHECK_OK(rt_unpin());
        for (uint32_t i = 0; i < 3; i++) {
            CHECK(rti_crew_start_spare(rti_worker_current()->member->crew));
        }
    } else {
        CHECK_OK(rt_unpin());
    }
    count_end();
    rt_exit();
}

TEST(pinned_thread_of_an_earlier_run_is_not_started_again_when_it_is_nobodys)
{
    static actor_id waiting[3];
    start(2, 16);
    for (int i = 0; i < 3; i++) {
        waiting[i] = rt_spawn(outlive_in_the_last_seat, NULL);
        CHECK(waiting[i] != ACTOR_ID_INVALID);
    }
    spawn(stop_run, (void *)(uintptr_t)5);
    rt_run();
    spawn(write_to_who_is_left, waiting);
    rt_run();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 6);
    rt_cleanup();
}

TEST(pinned_actors_that_wait_are_ended_by_the_cleanup)
{
    start(3, 0);
    for (int i = 0; i < 3; i++) {
        spawn(outlive, NULL);
    }
    spawn(stop_run, (void *)(uintptr_t)3);
    finish();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 3);
}

static void stop_in_the_middle(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        rt_yield();
    }
    rt_shutdown();
    rt_exit();
}

static void never_rest(void *arg)
{
    (void)arg;
    CHECK_OK(rt_pin());
    for (;;) {
        rt_yield();
    }
}

TEST(pinned_actors_that_are_on_their_way_when_the_run_ends_are_not_lost)
{
    for (int i = 0; i < 20; i++) {
        start(2, 0);
        for (int k = 0; k < 4; k++) {
            spawn(never_rest, NULL);
        }
        spawn(stop_in_the_middle, NULL);
        finish();
    }
}
