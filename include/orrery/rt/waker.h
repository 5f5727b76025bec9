/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_WAKER_H
#define ORRERY_RT_WAKER_H

/* How something that waits without a stack is told to look again: a function and its argument. A
 * waker is called at most once per registration and must not wait. On an engine with one worker it
 * may call everything else; with several workers it is called on any of them, perhaps inside the
 * runtime, and may only make something ready. */
typedef struct {
    void (*fn)(void *arg); /* may be NULL: nobody wants to know */
    void *arg;
} rt_waker;

#endif
