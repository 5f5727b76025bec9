/* SPDX-License-Identifier: Apache-2.0 */
/* The control of moved_fiber_lto.sh: what happens to a fiber that uses plain errno across a switch.
 *
 * The fiber parks on one thread and continues on another; both threads live and each has another
 * value in its errno. glibc tells compilers that errno has one address per call of a function, so
 * an optimizing compiler asks for it once and the fiber goes on reading the first thread's.
 *
 * Exit status: 0 it read the first thread's errno, 3 it read its own thread's, 1 neither. */
#define _GNU_SOURCE
#define RTI_MODULE "moved_errno_plain"
#include "sched/context.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct rti_context home[2];
static struct rti_context fiber;
static _Alignas(16) char stack[65536];
static int running_on;
static int errno_seen;

/* So that nothing else of the library must be linked. */
_Noreturn void rti_panic(const char *module, int id, const char *sentence)
{
    fprintf(stderr, "panic: %s:%d: %s\n", module, id, sentence);
    abort();
}

/* Nobody is summoned here. */
void rti_preempt_at_limit(uintptr_t frame_end, uintptr_t link);
void rti_preempt_at_limit(uintptr_t frame_end, uintptr_t link)
{
    (void)frame_end;
    (void)link;
    abort();
}

static void fiber_entry(void *transfer)
{
    errno = 5;
    transfer = rti_context_switch(&fiber, &home[running_on], transfer);
    errno_seen = errno;
    rti_context_leave(&fiber, &home[running_on], transfer);
}

static void *second_thread(void *arg)
{
    running_on = 1;
    rti_context_adopt(&home[1]);
    errno = 7;
    rti_context_switch(&home[1], &fiber, NULL);
    return arg;
}

int main(void)
{
    pthread_t thread;
    rti_context_init(&fiber, stack, sizeof(stack), fiber_entry);
    rti_context_adopt(&home[0]);
    rti_context_switch(&home[0], &fiber, NULL);
    errno = 9;
    if (pthread_create(&thread, NULL, second_thread, NULL) != 0 ||
        pthread_join(thread, NULL) != 0) {
        return 1;
    }
    return errno_seen == 9 ? 0 : errno_seen == 7 ? 3 : 1;
}
