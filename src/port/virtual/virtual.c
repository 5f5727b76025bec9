/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, choices and time of a virtual world; the essay is in virtual.h. */
#define RTI_MODULE "virtual"
#define _GNU_SOURCE
/* Nothing in here is a point itself. */
#undef RTI_VIRTUAL
#define RTI_VIRTUAL 0
#include "port/virtual/virtual.h"

#include "port/backtrace.h"

#include <sys/mman.h>

#include "base/assert.h"
#include "base/hash.h"
#include "port/virtual/point.h"
#include "sched/worker_local.h"

#if defined(__x86_64__)
#include "port/arch/x86_64/switch.h"
#elif defined(__aarch64__)
#include "port/arch/aarch64/switch.h"
#endif

/* This file is built without the sanitizer, and has to talk to it. */
#if RTI_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#define THREADS_MAX  160
#define STACK_SIZE   ((size_t)256 * 1024)
#define POINTS_MAX   UINT64_C(60000000)
#define HANG_POINTS  20000 /* a thread that ran for so long loses its rank */
#define RANK_HIGHEST UINT64_C(1000000000)

enum thread_state { THREAD_FREE, THREAD_READY, THREAD_WAITS, THREAD_DONE };

enum policy { POLICY_ANYBODY, POLICY_RANKS, POLICY_STARVE, POLICIES };

struct virtual_thread {
    struct rti_arch_context saved;
    enum thread_state state;
    const void *address;  /* what it waits on; NULL: only for the time */
    uint64_t deadline_ns; /* while it waits */
    bool is_late;         /* its deadline ended the wait */
    bool is_interrupted;  /* at its next point in the program */
    uint64_t rank;
    struct rti_worker *worker;
    int error; /* its errno, as far as the library knows */
    void (*main)(void *arg);
    void *arg;
    char *stack;
    void *tsan_fiber; /* which it stood on when it was left */
    void *tsan_own;   /* made for it */
};

static struct {
    bool is_open;
    bool is_looking; /* a callback runs: no points */
    struct virtual_thread threads[THREADS_MAX];
    uint32_t threads_count;
    struct virtual_thread *current;
    uint64_t random; /* the stream; base/rng.c is instrumented, and all threads draw from this */
    uint64_t now_ns;
    uint64_t start_ns;
    void (*handler)(const struct rti_frame *frame);
    struct rti_virtual_config config;
    struct rti_virtual_report report;
    /* The policy of this seed. */
    enum policy policy;
    uint32_t stride;      /* points between two choices, on the average */
    uint32_t left;        /* points until the next */
    uint64_t pace_ns;     /* that pass with a choice, less than this */
    uint64_t late_ns;     /* that a jump may go beyond a deadline, at most */
    bool is_spurious;     /* sleepers wake without cause */
    uint64_t rank_lowest; /* sinks */
    uint64_t ran_points;  /* since the current one was switched to */
    struct virtual_thread *starved;
    uint64_t starved_until; /* points */
    struct virtual_thread *ready[THREADS_MAX];
} world;

/* Turns shorter than this are short (sched/width.h), in this world. */
uint64_t rti_virtual_short_ns;

void rti_virtual_fail(const char *sentence)
{
    world.is_open = false;
    rti_port_log(sentence);
    rti_port_repeat_log();
    rti_panic(RTI_MODULE, __LINE__, sentence);
}

static uint32_t index_of(const struct virtual_thread *thread)
{
    return (uint32_t)(thread - world.threads);
}

int *rti_errno_address(void)
{
    /* Nothing in a virtual world makes a system call, so nothing writes the real one. */
    return &world.threads[world.is_open ? index_of(world.current) : 0].error;
}

uint64_t rti_virtual_draw(uint64_t n)
{
    world.random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t bits = world.random;
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    /* A trace is drawn, not a lottery: the bias of the remainder does not matter. */
    return (bits ^ (bits >> 31)) % n;
}

static void note(uint64_t value)
{
    world.report.digest = rti_digest_mix(world.report.digest, value);
}

void rti_virtual_release(void *address)
{
#if RTI_TSAN
    __tsan_release(address);
#else
    (void)address;
#endif
}

void rti_virtual_acquire(void *address)
{
#if RTI_TSAN
    __tsan_acquire(address);
#else
    (void)address;
#endif
}

static void time_pass(uint64_t until_ns)
{
    RT_ASSERT(until_ns >= world.now_ns);
    world.now_ns = until_ns;
}

/* Goes on as `to`; comes back when somebody goes on as the caller. */
static RTI_NOINLINE void thread_switch(struct virtual_thread *to)
{
    struct virtual_thread *from = world.current;
    if (to == from) {
        return;
    }
    world.report.switches++;
    world.ran_points = 0;
    note(index_of(to));
    note(world.report.points);
    from->worker = rti_worker_current();
    world.current = to;
#if RTI_TSAN
    from->tsan_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->tsan_fiber, __tsan_switch_to_fiber_no_sync);
#endif
    (void)rti_arch_switch(&from->saved, &to->saved, NULL);
    rti_worker_set_current(world.current->worker);
}

/* Those that can go on; a wait whose time has come is over. */
static uint32_t threads_ready(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < world.threads_count; i++) {
        struct virtual_thread *thread = &world.threads[i];
        if (thread->state == THREAD_WAITS && thread->deadline_ns <= world.now_ns) {
            thread->state = THREAD_READY;
            thread->is_late = true;
        }
        if (thread->state == THREAD_READY) {
            world.ready[count] = thread;
            count++;
        }
    }
    return count;
}

static void wake_one_without_cause(void)
{
    struct virtual_thread *thread = &world.threads[rti_virtual_draw(world.threads_count)];
    if (thread->state == THREAD_WAITS && thread->address != NULL) {
        thread->state = THREAD_READY;
    }
}

/* Nobody can run: the time of the next one comes. */
static void world_jump(void)
{
    if (world.config.on_quiet != NULL) {
        world.is_looking = true;
        world.config.on_quiet();
        world.is_looking = false;
    }
    uint64_t earliest_ns = RTI_TIME_NEVER;
    for (uint32_t i = 0; i < world.threads_count; i++) {
        const struct virtual_thread *thread = &world.threads[i];
        if (thread->state == THREAD_WAITS && thread->deadline_ns < earliest_ns) {
            earliest_ns = thread->deadline_ns;
        }
    }
    if (earliest_ns == RTI_TIME_NEVER) {
        rti_virtual_fail("every virtual thread sleeps and nothing will wake one");
    }
    world.report.jumps++;
    time_pass(earliest_ns + (world.late_ns == 0 ? 0 : rti_virtual_draw(world.late_ns)));
}

static struct virtual_thread *choose_by_rank(uint32_t count)
{
    struct virtual_thread *best = world.ready[0];
    for (uint32_t i = 1; i < count; i++) {
        best = world.ready[i]->rank > best->rank ? world.ready[i] : best;
    }
    if (rti_virtual_draw(64) == 0) {
        best->rank = --world.rank_lowest;
    }
    return best;
}

static struct virtual_thread *choose_but_one(uint32_t count)
{
    if (world.report.points >= world.starved_until) {
        world.starved = &world.threads[rti_virtual_draw(world.threads_count)];
        world.starved_until = world.report.points + 1 + rti_virtual_draw(20000);
    }
    struct virtual_thread *chosen = world.ready[rti_virtual_draw(count)];
    while (count > 1 && chosen == world.starved) {
        chosen = world.ready[rti_virtual_draw(count)];
    }
    return chosen;
}

/* Who goes on. `is_idle`: not the caller, if anybody else can. */
static void world_choose(bool is_idle)
{
    time_pass(world.now_ns + rti_virtual_draw(world.pace_ns));
    if (world.is_spurious && rti_virtual_draw(256) == 0) {
        wake_one_without_cause();
    }
    world.left = 1 + (uint32_t)rti_virtual_draw(2 * world.stride);
    if (is_idle || world.ran_points > HANG_POINTS) {
        world.current->rank = --world.rank_lowest;
    }
    uint32_t count = threads_ready();
    while (count == 0) {
        world_jump();
        count = threads_ready();
    }
    struct virtual_thread *chosen;
    if (is_idle && world.policy != POLICY_RANKS) {
        chosen = world.ready[rti_virtual_draw(count)];
        while (count > 1 && chosen == world.current) {
            chosen = world.ready[rti_virtual_draw(count)];
        }
    } else if (world.policy == POLICY_RANKS) {
        chosen = choose_by_rank(count);
    } else {
        chosen = world.policy == POLICY_STARVE ? choose_but_one(count)
                                               : world.ready[rti_virtual_draw(count)];
    }
    thread_switch(chosen);
}

void rti_virtual_point(void)
{
    if (!world.is_open || world.is_looking) {
        return;
    }
    world.ran_points++;
    if (++world.report.points > POINTS_MAX) {
        rti_virtual_fail("the world does not come to its end");
    }
    if (--world.left == 0) {
        world_choose(false);
    }
}

/* The access is that of who goes on after the point. */
static void access_note(const void *address, bool is_write)
{
    rti_virtual_point();
    if (world.is_open && !world.is_looking && world.config.on_access != NULL) {
        world.config.on_access(rti_virtual_self(), address, is_write);
    }
}

void rti_virtual_read(const void *address)
{
    access_note(address, false);
}

void rti_virtual_write(const void *address)
{
    access_note(address, true);
}

void rti_virtual_spin(void)
{
    if (world.is_open && !world.is_looking) {
        world.report.points++;
        world_choose(true);
    }
}

void rti_virtual_probe(const char *name, unsigned long long a, unsigned long long b)
{
    if (!world.is_open || world.is_looking) {
        return;
    }
    note((uint64_t)name[0] << 40 ^ a << 8 ^ b);
    if (world.config.on_probe != NULL) {
        world.is_looking = true;
        world.config.on_probe(name, a, b);
        world.is_looking = false;
    }
}

RTI_NOINLINE void rti_virtual_compute(void)
{
    rti_virtual_point();
    if (world.is_open && world.current->is_interrupted && world.handler != NULL) {
        world.current->is_interrupted = false;
        world.report.interrupts++;
        struct rti_frame frame = {
            .pc = (uintptr_t)__builtin_return_address(0),
            .sp = (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(uintptr_t),
        };
        world.handler(&frame);
    }
}

uint64_t rti_virtual_points(void)
{
    return world.report.points;
}

uint64_t rti_virtual_clock(void)
{
    rti_virtual_point();
    return world.now_ns;
}

bool rti_virtual_await(const void *address, uint64_t deadline_ns)
{
    struct virtual_thread *self = world.current;
    RT_ASSERT(world.is_open && self->state == THREAD_READY);
    self->state = THREAD_WAITS;
    self->address = address;
    self->deadline_ns = deadline_ns;
    self->is_late = false;
    world_choose(true);
    RT_ASSERT(world.current == self && self->state == THREAD_READY);
    return !self->is_late;
}

void rti_virtual_sleep(uint64_t duration_ns)
{
    (void)rti_virtual_await(NULL, world.now_ns + duration_ns);
}

void rti_virtual_signal(const void *address, uint32_t count)
{
    uint32_t start = (uint32_t)rti_virtual_draw(world.threads_count);
    for (uint32_t i = 0; i < world.threads_count && count > 0; i++) {
        struct virtual_thread *thread = &world.threads[(start + i) % world.threads_count];
        if (thread->state == THREAD_WAITS && thread->address == address) {
            thread->state = THREAD_READY;
            count--;
        }
    }
}

static void thread_begin(void *transfer, void *argument)
{
    (void)transfer;
    struct virtual_thread *self = argument;
    rti_worker_set_current(NULL);
    rti_virtual_acquire(self);
    self->main(self->arg);
    rti_virtual_release(self);
    self->state = THREAD_DONE;
    rti_virtual_signal(self, UINT32_MAX);
    world_choose(true);
    rti_panic(RTI_MODULE, __LINE__, "a virtual thread that has ended goes on");
}

static struct virtual_thread *thread_take(void)
{
    for (uint32_t i = 1; i < THREADS_MAX; i++) {
        if (world.threads[i].state == THREAD_FREE) {
            world.threads_count = i < world.threads_count ? world.threads_count : i + 1;
            return &world.threads[i];
        }
    }
    return NULL;
}

rt_status rti_virtual_thread_start(struct rti_port_thread *thread, void (*main)(void *arg),
                                   void *arg)
{
    struct virtual_thread *self = thread_take();
    if (self == NULL) {
        return (rt_status){RT_ERR_NOMEM, "the virtual world has no more threads"};
    }
    if (self->stack == NULL) {
        self->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        RT_ASSERT(self->stack != MAP_FAILED);
    }
    rti_arch_prepare(&self->saved, self->stack + STACK_SIZE, (void (*)(void))thread_begin, self);
    self->main = main;
    self->arg = arg;
    self->is_interrupted = false;
    self->rank = RANK_HIGHEST + rti_virtual_draw(RANK_HIGHEST);
#if RTI_TSAN
    self->tsan_own = __tsan_create_fiber(0);
    self->tsan_fiber = self->tsan_own;
#endif
    rti_virtual_release(self);
    self->state = THREAD_READY;
    thread->opaque[0] = (uintptr_t)self;
    rti_virtual_point();
    return RT_SUCCESS;
}

void rti_virtual_thread_join(struct rti_port_thread *thread)
{
    struct virtual_thread *self = (struct virtual_thread *)thread->opaque[0];
    RT_ASSERT(self != NULL && self->state != THREAD_FREE);
    while (self->state != THREAD_DONE) {
        (void)rti_virtual_await(self, RTI_TIME_NEVER);
    }
    rti_virtual_acquire(self);
    self->state = THREAD_FREE;
    thread->opaque[0] = 0;
#if RTI_TSAN
    __tsan_destroy_fiber(self->tsan_own);
#endif
}

uintptr_t rti_virtual_self(void)
{
    return index_of(world.current) + 1;
}

void rti_virtual_interrupt(uintptr_t thread)
{
    RT_ASSERT(thread > 0 && thread <= world.threads_count);
    world.threads[thread - 1].is_interrupted = true;
}

void rti_virtual_set_handler(void (*handler)(const struct rti_frame *frame))
{
    world.handler = handler;
}

void rti_virtual_open(const struct rti_virtual_config *config)
{
    static const uint32_t strides[] = {1, 2, 4, 12, 40, 200};
    static const uint64_t paces[] = {2, 20, 200, 2000};
    static const uint64_t delays[] = {0, 0, 2000, 200000, 20000000};
    RT_ASSERT(!world.is_open && config->start_ns > 0);
    world.config = *config;
    world.report = (struct rti_virtual_report){.digest = rti_digest_init(config->seed)};
    world.random = rti_digest_init(config->seed);
    /* Some bit of it that the programs of the tests do not go by. */
    rti_virtual_short_ns = (rti_digest_init(config->seed) >> 33) % 4 != 0 ? RTI_NS_PER_S : 0;
    world.now_ns = config->start_ns;
    world.start_ns = config->start_ns;
    world.handler = NULL;
    world.policy = (enum policy)rti_virtual_draw(POLICIES);
    world.stride = strides[rti_virtual_draw(RTI_COUNT_OF(strides))];
    world.pace_ns = paces[rti_virtual_draw(RTI_COUNT_OF(paces))] * world.stride;
    world.late_ns = delays[rti_virtual_draw(RTI_COUNT_OF(delays))];
    world.is_spurious = rti_virtual_draw(2) == 0;
    if (config->is_prompt) {
        world.policy = POLICY_ANYBODY;
        world.pace_ns = 20 * world.stride;
        world.late_ns = 0;
    }
    world.left = world.stride;
    world.rank_lowest = RANK_HIGHEST;
    world.ran_points = 0;
    world.starved = NULL;
    world.starved_until = 0;
    world.threads_count = 1;
    world.current = &world.threads[0];
    world.current->state = THREAD_READY;
    world.current->rank = RANK_HIGHEST + rti_virtual_draw(RANK_HIGHEST);
    world.current->is_interrupted = false;
    world.is_looking = false;
    world.is_open = true;
}

void rti_virtual_close(struct rti_virtual_report *report)
{
    RT_ASSERT(world.is_open && world.current == &world.threads[0]);
    for (uint32_t i = 1; i < world.threads_count; i++) {
        RT_ASSERT(world.threads[i].state == THREAD_FREE);
    }
    world.is_open = false;
    world.threads[0].state = THREAD_FREE;
    world.report.time_ns = world.now_ns - world.start_ns;
    if (report != NULL) {
        *report = world.report;
        report->digest = rti_digest_final(world.report.digest);
    }
}
