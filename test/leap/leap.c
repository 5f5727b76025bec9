/* SPDX-License-Identifier: Apache-2.0 */
/* A monotonic clock that leaps, to be preloaded before a test program (test/leap/run does it).
 *
 * On a machine that is busy with other things any thread may stand still for a while at any point,
 * and a case that took a short sleep for long enough fails once in ten thousand runs. Here that
 * while is in the clock instead: about one reading in 25 finds it up to 40 ms further on than it
 * was, for all threads alike. Deadlines come before what they were to give time for, and what
 * waits too little is seen in one run.
 *
 * All leaps of a process together stay below LEAP_TOTAL_NS: a case's own generous limits, which
 * catch what hangs, are not reached by them. Which readings leap follows from ORRERY_LEAP_SEED and
 * from the order of readings, which threads share: a seed is not a repetition, only another try. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S      1000000000L
#define LEAP_ONE_IN   25
#define LEAP_TOTAL_NS 400000000L

static _Atomic int64_t ahead_ns; /* the sum of all leaps */
static _Atomic uint64_t state;   /* of the generator; two threads may take the same number */

__attribute__((constructor)) static void start(void)
{
    const char *seed = getenv("ORRERY_LEAP_SEED");
    uint64_t number = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    atomic_store(&state, (number + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t draw(void)
{
    uint64_t x = atomic_load(&state);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    atomic_store(&state, x);
    return x;
}

static int64_t leap(void)
{
    static const int64_t lengths_ns[] = {300000, 3000000, 12000000, 40000000};
    uint64_t x = draw();
    int64_t length_ns = lengths_ns[(x >> 40) % 4];
    if ((x >> 20) % LEAP_ONE_IN == 0 && atomic_load(&ahead_ns) + length_ns < LEAP_TOTAL_NS) {
        return atomic_fetch_add(&ahead_ns, length_ns) + length_ns;
    }
    return atomic_load(&ahead_ns);
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, id, now);
    if (result == 0 && id == CLOCK_MONOTONIC) {
        int64_t ns = now->tv_nsec + leap();
        now->tv_sec += (time_t)(ns / NS_PER_S);
        now->tv_nsec = (long)(ns % NS_PER_S);
    }
    return result;
}
