/* SPDX-License-Identifier: Apache-2.0 */
/* The futex: a thread blocks while a word has a value.
 *
 * The kernel compares the word and queues the thread in one step, so a waker that changes the word
 * first and calls wake then is never missed. Words are private to the process. Deadlines are
 * absolute on CLOCK_MONOTONIC (FUTEX_WAIT_BITSET), so a wait that is resumed does not grow.
 *
 * A wait may end without a cause, as by a signal, and everybody who waits here looks again.
 * ThreadSanitizer needs that: it keeps the handler of a signal back until the thread makes a call
 * that it watches, and a thread that has just begun to wait would make none until somebody wakes
 * it, who may be the handler. There no wait is longer than TSAN_WAIT_NS. */
#define _GNU_SOURCE
#define RTI_MODULE "futex"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "port/linux/port_linux.h"

#define NS_PER_S     1000000000U
#define TSAN_WAIT_NS 50000000U

_Static_assert(sizeof(rti_atomic_u32) == sizeof(uint32_t), "the kernel looks at 32 bits");

bool rti_linux_futex_wait(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                          uint64_t deadline_ns)
{
    (void)port;
    uint64_t until_ns = deadline_ns;
    if (RTI_TSAN) {
        uint64_t look_ns = rti_linux_clock_now() + TSAN_WAIT_NS;
        until_ns = deadline_ns < look_ns ? deadline_ns : look_ns;
    }
    struct timespec deadline = {
        .tv_sec = (time_t)(until_ns / NS_PER_S),
        .tv_nsec = (long)(until_ns % NS_PER_S),
    };
    long rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                      until_ns == RTI_TIME_NEVER ? NULL : &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
    if (rc == 0) {
        return true;
    }
    RT_ASSERT(errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT);
    return errno != ETIMEDOUT || until_ns != deadline_ns;
}

void rti_linux_futex_wake(struct rti_port *port, rti_atomic_u32 *word, uint32_t count)
{
    (void)port;
    int count_max = count > INT_MAX ? INT_MAX : (int)count;
    long rc = syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count_max, NULL, NULL, 0);
    RT_ASSERT(rc >= 0);
}
