/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORTEX_M_PTHREAD_H
#define CORTEX_M_PTHREAD_H

/* Threads, for the cases of portable test files that want a second one: there is none here, and the
 * case is skipped. */

#include "support/test.h"

/* newlib has a type of this name, or not, as the standard it is asked for says. */
#define pthread_t int

static inline int pthread_create(pthread_t *thread, const void *attributes, void *(*main)(void *),
                                 void *arg)
{
    (void)thread;
    (void)attributes;
    (void)main;
    (void)arg;
    test_skip("there is one thread here");
}

static inline int pthread_join(pthread_t thread, void **result)
{
    (void)thread;
    (void)result;
    return 0;
}

#endif
