/* SPDX-License-Identifier: Apache-2.0 */
/* Timers, in processor time. The first two use a wheel of the program's own, as libev's and
 * libuv's timers are their loop's; the sleepers are poll tasks of the runtime. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "peer.h"

#define OUTSTANDING 100000
#define DUE_MAX     256

static rt_wheel wheel;

static void *allocate(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    peer_expect(memory != MAP_FAILED, "no memory");
    return memory;
}

static rt_time clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (rt_time)now.tv_sec * RT_NS_PER_S + (rt_time)now.tv_nsec;
}

static size_t fired;

static void on_fire(void *arg)
{
    (void)arg;
    fired++;
}

static void wheel_open(size_t timers)
{
    rt_wheel_config config = {.nodes = allocate(timers * sizeof(rt_wheel_node)),
                              .max_timer_nodes = timers};
    peer_must(rt_wheel_init(&wheel, &config, clock_ns()));
}

/* Of 10^5 timers one, at random, is taken away and set anew, a minute or two from now: what
 * rt_wheel_update is for. */
void timers_cancel(void)
{
    rt_wheel_handle *handles = allocate(OUTSTANDING * sizeof(*handles));
    const rt_waker waker = {.fn = on_fire};
    uint64_t far = 42;
    uint64_t victims = 7;
    wheel_open(OUTSTANDING + 1);
    rt_time now = clock_ns();
    for (size_t i = 0; i < OUTSTANDING; i++) {
        rt_time deadline = now + (60000 + peer_random(&far) % 60000) * RT_NS_PER_MS;
        peer_must(rt_wheel_register(&wheel, deadline, waker, &handles[i]));
    }
    double start = peer_cpu_ns();
    for (long i = 0; i < peer_count; i++) {
        rt_wheel_handle *victim = &handles[peer_random(&victims) % OUTSTANDING];
        rt_time deadline = now + (60000 + peer_random(&far) % 60000) * RT_NS_PER_MS;
        peer_must(rt_wheel_update(&wheel, victim, deadline, waker, victim));
    }
    peer_report_ns(peer_cpu_ns() - start, (double)peer_count);
    peer_expect(rt_wheel_count(&wheel) == OUTSTANDING, "a timer is lost");
}

/* Sets timers for random instants within 100 ms and runs a loop until all have fired. */
void timers_fire(void)
{
    rt_waker due[DUE_MAX];
    rt_wheel_handle handle;
    uint64_t near = 42;
    wheel_open((size_t)peer_count);
    double start = peer_cpu_ns();
    rt_time now = clock_ns();
    for (long i = 0; i < peer_count; i++) {
        rt_time deadline = now + peer_random(&near) % (100 * RT_NS_PER_MS);
        peer_must(rt_wheel_register(&wheel, deadline, (rt_waker){.fn = on_fire}, &handle));
    }
    while (rt_wheel_count(&wheel) > 0) {
        size_t count = rt_wheel_collect_expired(&wheel, clock_ns(), due, DUE_MAX);
        for (size_t i = 0; i < count; i++) {
            due[i].fn(due[i].arg);
        }
        if (count == 0) {
            rt_time next = rt_wheel_next_deadline(&wheel);
            struct timespec until = {.tv_sec = (time_t)(next / RT_NS_PER_S),
                                     .tv_nsec = (long)(next % RT_NS_PER_S)};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        }
    }
    peer_expect(fired == (size_t)peer_count, "not all timers fired");
    peer_report_ns(peer_cpu_ns() - start, (double)peer_count);
}

struct sleeper {
    rt_async_frame frame;
    rt_nap nap;
    rt_time time;
};

static rt_status sleeps(void *state, rt_cx *cx)
{
    struct sleeper *self = state;
    RT_ASYNC_BEGIN(&self->frame);
    RT_AWAIT(rt_async_sleep(&self->nap, cx, self->time));
    RT_ASYNC_END(RT_SUCCESS);
}

static void *start_sleepers(void *arg)
{
    struct sleeper *sleepers = allocate((size_t)peer_count * sizeof(*sleepers));
    uint64_t near = 42;
    for (long i = 0; i < peer_count; i++) {
        sleepers[i].time = peer_random(&near) % (100 * RT_NS_PER_MS);
        peer_must(rt_async_detach(rt_async(sleeps, &sleepers[i])));
    }
    return arg;
}

/* Tasks that sleep for a random time within 100 ms, from the first start to the last end. */
void timers_sleepers(void)
{
    peer_init();
    peer_must(rt_async_reserve(&(rt_async_config){.tasks = (size_t)peer_count, .contexts = 16}));
    double start = peer_cpu_ns();
    peer_go(start_sleepers, NULL);
    peer_run();
    peer_report_ns(peer_cpu_ns() - start, (double)peer_count);
}
