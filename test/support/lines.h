/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINES_H
#define LINES_H

/* Four channels of ints in the kernel, for the tests of select.
 *
 *     lines_open(capacity);        0: rendezvous
 *     lines_recv_arms(arms);       one arm per channel; values go to lines.values
 *     lines_close();               demands that nothing is left */

#include <orrery/rt/select.h>

#include "support/kernel.h"

#define LINES 4

struct lines {
    rt_channel_sender *tx[LINES];
    rt_channel_receiver *rx[LINES];
    struct rti_fiber *fiber; /* the case's: whom it kills */
    rt_cx cx;                /* the case's */
    int values[LINES];
    int destroyed; /* values that nobody received */
};

extern struct lines lines;

void lines_open(size_t capacity);
void lines_close(void);

/* Arms that receive from, or send to, each of the channels. What is sent is 100 and the index. */
void lines_recv_arms(rt_select_arm *arms);
void lines_send_arms(rt_select_arm *arms);

/* Sends or receives one value, waiting if need be. */
void lines_put(size_t line, int value);
int lines_take(size_t line);

/* How many wait at a channel, on both sides. */
size_t lines_waiting(size_t line);
void lines_check_nobody_waits(void);

/* Fibers that select among all lines, and say the index and what came of it: the value as a letter
 * from 'a' on, '+' for sent, '!' for an error. */
void lines_recv_any(void *arg);
void lines_send_any(void *arg);

#endif
