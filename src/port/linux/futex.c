/* SPDX-License-Identifier: Apache-2.0 */
/* The futex: a thread blocks while a word has a value.
 *
 * The kernel compares the word and queues the thread in one step, so a waker that changes the word
 * first and calls wake then is never missed. Words are private to the process. Deadlines are
 * absolute on CLOCK_MONOTONIC (FUTEX_WAIT_BITSET), so a wait that is resumed does not grow. */
#define _GNU_SOURCE
#define RTI_MODULE "futex"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "port/linux/port_linux.h"

#define NS_PER_S 1000000000U

_Static_assert(sizeof(rti_atomic_u32) == sizeof(uint32_t), "the kernel looks at 32 bits");

bool rti_linux_futex_wait(struct rti_port *port, rti_atomic_u32 *word, uint32_t expected,
                          uint64_t deadline_ns)
{
    (void)port;
    struct timespec deadline = {
        .tv_sec = (time_t)(deadline_ns / NS_PER_S),
        .tv_nsec = (long)(deadline_ns % NS_PER_S),
    };
    long rc =
        syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                deadline_ns == RTI_TIME_NEVER ? NULL : &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
    if (rc == 0) {
        return true;
    }
    RT_ASSERT(errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT);
    return errno != ETIMEDOUT;
}

void rti_linux_futex_wake(struct rti_port *port, rti_atomic_u32 *word, uint32_t count)
{
    (void)port;
    int count_max = count > INT_MAX ? INT_MAX : (int)count;
    long rc = syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count_max, NULL, NULL, 0);
    RT_ASSERT(rc >= 0);
}
