/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_WAKER_H
#define ORRERY_RT_WAKER_H

/* How something that waits without a stack is told to look again: a function and its argument. A
 * waker is called outside of every lock, at most once per registration, and must not wait. */
typedef struct {
    void (*fn)(void *arg); /* may be NULL: nobody wants to know */
    void *arg;
} rt_waker;

#endif
