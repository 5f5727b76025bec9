/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNEL_H
#define KERNEL_H

/* A scheduler in the simulated world with channels: what the tests of sync/ start from.
 *
 *     kernel_start();
 *     kernel_channel(capacity);                     makes `kernel.tx` and `kernel.rx`, values are
 * int kernel_go(fn, arg);                           fibers of one priority kernel_run(); demands
 * that all come to their end kernel_stop();                                audits, and demands that
 * nothing is left
 *
 * Every decision goes into a journal, which sends calls the long way. With KERNEL_UNOBSERVED in the
 * environment there is none, and the same cases try the straight paths (straight_test.sh).
 *
 * There is one at a time. Values are of type int unless a test makes its own channel. */

#include "support/fibers.h"
#include "support/test.h"
#include "sync/channels.h"
#include "sync/cx.h"

struct kernel {
    struct fibers fibers;
    struct rti_channels channels;
    rt_channel_sender *tx;
    rt_channel_receiver *rx;
    char order[256]; /* what the fibers said */
    size_t order_length;
};

extern struct kernel kernel;

void kernel_start(void);

/* Makes a channel of ints; capacity 0 makes a rendezvous. */
void kernel_channel(size_t capacity);

struct rti_fiber *kernel_go(void (*main)(void *arg), void *arg);

/* Runs until all fibers have ended. */
void kernel_run(void);

/* Closes kernel.tx and kernel.rx, if they are open, audits and demands that no channel, no permit
 * and no timer is left. */
void kernel_stop(void);

/* Appends a character to what was said. */
void kernel_say(char c);

/* A look at the channel of kernel.tx or, if that is closed, of kernel.rx. */
rt_channel_info kernel_info(void);

/* Demands that two looks saw the same. */
void kernel_check_same(const rt_channel_info *a, const rt_channel_info *b);

/* A poll context that counts how often its waker was called. */
struct poller {
    rt_cx cx;
    int woken;
};

void poller_init(struct poller *poller);
void poller_deinit(struct poller *poller);

/* Lets the other fibers run. */
void kernel_yield(void);

#endif
