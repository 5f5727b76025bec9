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
