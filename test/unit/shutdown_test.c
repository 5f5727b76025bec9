/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the parallel engine from whatever state it is in: no thread, no descriptor and no byte
 * is left, and the next runtime starts as the first one did. */
#define _GNU_SOURCE
#define RTI_MODULE "shutdown_test"
#include <orrery/rt.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/atomic.h"
#include "support/port_fixture.h"

/* What the library maps is counted here: its calls come to these, those of the C library do not. A
 * sanitizer has its own, and then bytes are not counted. */
static rti_atomic_u64 mapped_bytes;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_BYTES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_BYTES 0
#endif
#endif
#ifndef COUNTS_BYTES
#define COUNTS_BYTES 1

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    long mapped = syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    if (mapped != -1 && (flags & MAP_FIXED) == 0) {
        rti_u64_add_relaxed(&mapped_bytes, size);
    }
    return (void *)mapped;
}

int munmap(void *address, size_t size)
{
    long rc = syscall(SYS_munmap, address, size);
    if (rc == 0) {
        rti_u64_add_relaxed(&mapped_bytes, 0 - (uint64_t)size);
    }
    return (int)rc;
}
#endif

#define ROUNDS 3

static rti_atomic_u32 started;
static rti_atomic_u32 is_released;
static int sockets[2];
static int pipe_ends[2];
static actor_id last_spawned;

static void wait_for_ever(void *arg)
{
    rt_message message;
    (void)arg;
    rti_u32_add_relaxed(&started, 1);
    (void)rt_ipc_recv(&message, -1);
}

static void sleep_long(void *arg)
{
    timer_id timer;
    (void)arg;
    CHECK_OK(rt_timer_every(1000000000, &timer));
    rti_u32_add_relaxed(&started, 1);
    (void)rt_sleep(INT64_C(3600000000000));
}

static void yield_for_ever(void *arg)
{
    (void)arg;
    rti_u32_add_relaxed(&started, 1);
    for (;;) {
        rt_yield();
    }
}

static void read_for_ever(void *arg)
{
    char byte;
    size_t count;
    (void)arg;
    rti_u32_add_relaxed(&started, 1);
    (void)rt_net_recv(sockets[0], &byte, 1, &count, -1);
}

static void pin_and_wait(void *arg)
{
    CHECK_OK(rt_pin());
    wait_for_ever(arg);
}

static void listen_to_signals(void *arg)
{
    rt_channel_receiver *rx;
    rt_signal_value value;
    int number = SIGUSR1;
    (void)arg;
    CHECK_OK(rt_signal_open(&number, 1, 0, &rx));
    rti_u32_add_relaxed(&started, 1);
    rt_status status = rt_channel_recv(rx, NULL, &value);
    (void)status;
}

/* These end when somebody outside lets them, while the runtime is being taken apart. */
static void block_in_read(void *arg)
{
    char byte;
    (void)arg;
    CHECK_OK(rt_blocking_enter());
    rti_u32_add_relaxed(&started, 1);
    CHECK_EQ(read(pipe_ends[0], &byte, 1), 1);
    CHECK_OK(rt_blocking_exit());
}

static void read_pipe(void *arg)
{
    char byte;
    (void)arg;
    CHECK_EQ(read(pipe_ends[0], &byte, 1), 1);
}

static void block_on_the_pool(void *arg)
{
    rti_u32_add_relaxed(&started, 1);
    (void)rt_blocking(read_pipe, arg);
}

static void hog(void *arg)
{
    (void)arg;
    rti_u32_add_relaxed(&started, 1);
    while (rti_u32_load_relaxed(&is_released) == 0) {
    }
}

/* Behaviours that send to each other for ever, and one that is flooded and mutes who sends. */
static actor_id talkers[3];
static actor_id slow;

static void talk(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)rt_behaviour_send(talkers[rt_self() == talkers[0]], 0, NULL, 0);
    (void)rt_behaviour_send(slow, 0, msg->data, msg->len);
}

static void dawdle(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    (void)msg;
    rt_reductions_add(4000);
}

static const rt_behaviour_fn talks[] = {talk};
static const rt_behaviour_fn dawdles[] = {dawdle};
static const rt_behaviour_type talker = {
    .handlers = talks, .handler_count = 1, .priority = RT_PRIO_NORMAL};
static const rt_behaviour_type dawdler = {.handlers = dawdles,
                                          .handler_count = 1,
                                          .priority = RT_PRIO_NORMAL,
                                          .mailbox = {.high = 2, .overflow = RT_OVERFLOW_MUTE}};

static void talk_for_ever(void *arg)
{
    if (rti_u32_add_relaxed(&started, 1) == 0) {
        slow = rt_behaviour_spawn(&dawdler, NULL);
        for (size_t i = 0; i < RTI_COUNT_OF(talkers); i++) {
            talkers[i] = rt_behaviour_spawn(&talker, NULL);
        }
        for (size_t i = 0; i < RTI_COUNT_OF(talkers); i++) {
            CHECK_OK(rt_behaviour_send(talkers[i], 0, "x", 1));
        }
    }
    wait_for_ever(arg);
}

/* A supervisor whose children crash as fast as it starts them. */
static void crash(void *arg)
{
    (void)arg;
    rt_yield();
}

static void supervise_for_ever(void *arg)
{
    const actor_config small = {.stack_size = 16384, .priority = RT_PRIO_NORMAL};
    const rt_child_spec children[] = {
        {.id = "crash", .fn = crash, .actor = small},
        {.id = "wait", .fn = wait_for_ever, .actor = small, .keeps_address = true},
        {.id = "slow", .behaviour = &dawdler}};
    const rt_supervisor_config config = {.strategy = RT_ONE_FOR_ALL,
                                         .intensity = RT_INTENSITY_MAX,
                                         .period_ms = 1,
                                         .children = children,
                                         .child_count = 3,
                                         .actor = small};
    CHECK_OK(rt_supervisor_start(&config, NULL));
    wait_for_ever(arg);
}

/* Tasks of both kinds that wait for each other, a mutex, a channel or time. */
static rt_mutex mutex;
static rt_channel_sender *values_tx;
static rt_channel_receiver *values_rx;

static void *select_for_ever(void *arg)
{
    rt_select_arm arms[2] = {0};
    rt_selected chosen;
    int value;
    rt_arm_recv(&arms[0], values_rx, &value);
    rt_arm_recv(&arms[1], values_rx, &value);
    rt_status status = rt_select(arms, 1 + (arg == NULL), NULL, &chosen);
    (void)status;
    return NULL;
}

static void *lock_for_ever(void *arg)
{
    rt_status status = rt_mutex_lock(&mutex, NULL);
    return RT_FAILED(status) ? NULL : select_for_ever(arg);
}

static rt_status poll_for_ever(void *state, rt_cx *cx)
{
    (void)state;
    return rt_async_pause(cx);
}

static void join_for_ever(void *arg)
{
    const rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    if (rti_u32_add_relaxed(&started, 1) != 0) {
        wait_for_ever(arg);
    }
    CHECK_OK(rt_mutex_init(&mutex));
    CHECK_OK(rt_channel_create(&config, &values_tx, &values_rx));
    CHECK_OK(rt_async_detach(rt_async(poll_for_ever, NULL)));
    CHECK_OK(rt_detach(rt_go(select_for_ever, NULL)));
    CHECK_OK(rt_detach(rt_go(lock_for_ever, &mutex)));
    rt_status status = rt_join(rt_go(lock_for_ever, &mutex), NULL);
    (void)status;
}

/* A job of a pool that ends when somebody outside lets it. */
static void *be_a_job(void *arg)
{
    while (rti_u32_load_relaxed(&is_released) == 0) {
        usleep(100);
    }
    return arg;
}

static void wait_for_a_job(void *arg)
{
    rt_status status;
    if (rti_u32_add_relaxed(&started, 1) != 0) {
        wait_for_ever(arg);
    }
    rt_pool *pool = rt_pool_open(1, 4);
    CHECK(pool != NULL);
    CHECK_OK(rt_pool_detach(rt_pool_spawn(pool, be_a_job, arg, &status)));
    status = rt_pool_join(rt_pool_spawn(pool, be_a_job, arg, &status), NULL);
}

static void stop_when_started(void *arg)
{
    while (rti_u32_load_relaxed(&started) < (uint32_t)(uintptr_t)arg) {
        rt_yield();
    }
    rt_shutdown();
    rt_exit();
}

static void *release_later(void *arg)
{
    usleep(3000);
    rti_u32_store_relaxed(&is_released, 1);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(write(pipe_ends[1], "x", 1), 1);
    }
    return arg;
}

static void end_in(actor_fn fn, bool is_parallel)
{
    uint64_t bytes = rti_u64_load_relaxed(&mapped_bytes);
    size_t fds = count_fds();
    size_t threads = threads_outside();
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t helper;
        rti_u32_store_relaxed(&started, 0);
        rti_u32_store_relaxed(&is_released, 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
        CHECK_EQ(pipe(pipe_ends), 0);
        CHECK_OK(is_parallel ? rt_init_ex(&(rt_config){.workers = 2}) : rt_init());
        /* What is counted is seen at all. */
        CHECK(!COUNTS_BYTES || !is_parallel || rti_u64_load_relaxed(&mapped_bytes) > bytes);
        CHECK(count_fds() > fds + 4);
        uint32_t count = fn == NULL ? 0 : 3;
        for (uint32_t i = 0; i < count; i++) {
            last_spawned = rt_spawn(fn, NULL);
            CHECK(last_spawned != ACTOR_ID_INVALID);
        }
        CHECK(rt_spawn(stop_when_started, (void *)(uintptr_t)count) != ACTOR_ID_INVALID);
        CHECK_EQ(pthread_create(&helper, NULL, release_later, NULL), 0);
        rt_run();
        rt_cleanup();
        CHECK_EQ(pthread_join(helper, NULL), 0);
        for (int i = 0; i < 2; i++) {
            close(sockets[i]);
            close(pipe_ends[i]);
        }
        threads_await(threads);
        CHECK_EQ(count_fds(), fds);
        CHECK(!COUNTS_BYTES || rti_u64_load_relaxed(&mapped_bytes) == bytes);
    }
}

TEST(shutdown_of_an_idle_engine_leaves_nothing)
{
    end_in(NULL, true);
    end_in(wait_for_ever, true);
}

TEST(shutdown_with_timers_leaves_nothing)
{
    end_in(sleep_long, true);
}

TEST(shutdown_of_a_busy_engine_leaves_nothing)
{
    end_in(yield_for_ever, true);
}

TEST(shutdown_with_reads_under_way_leaves_nothing)
{
    end_in(read_for_ever, true);
}

TEST(shutdown_with_pinned_actors_leaves_nothing)
{
    end_in(pin_and_wait, true);
}

TEST(shutdown_with_channels_of_signals_leaves_nothing)
{
    end_in(listen_to_signals, true);
}

TEST(shutdown_with_workers_in_blocking_calls_leaves_nothing)
{
    end_in(block_in_read, true);
}

TEST(shutdown_with_work_on_the_pool_leaves_nothing)
{
    end_in(block_on_the_pool, true);
}

TEST(shutdown_with_endless_loops_leaves_nothing_once_they_end)
{
    end_in(hog, true);
}

TEST(shutdown_of_the_fixed_engine_leaves_nothing)
{
    end_in(wait_for_ever, false);
    end_in(read_for_ever, false);
    end_in(listen_to_signals, false);
}

TEST(shutdown_with_behaviours_that_talk_and_are_muted_leaves_nothing)
{
    end_in(talk_for_ever, true);
    end_in(talk_for_ever, false);
}

TEST(shutdown_with_supervisors_that_restart_leaves_nothing)
{
    end_in(supervise_for_ever, true);
    end_in(supervise_for_ever, false);
}

TEST(shutdown_with_tasks_that_wait_leaves_nothing)
{
    end_in(join_for_ever, true);
    end_in(join_for_ever, false);
}

TEST(shutdown_with_jobs_under_way_leaves_nothing)
{
    end_in(wait_for_a_job, true);
    end_in(wait_for_a_job, false);
}
