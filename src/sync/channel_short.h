/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CHANNEL_SHORT_H
#define RTI_CHANNEL_SHORT_H

/* The short way: what the straight path is to one worker, under the channel's lock for several.
 *
 * A call without limits takes the lock, one locked instruction, and does what the gate of its side
 * says (sync/channel.h): puts or takes a value, serves the lone one, or waits as the lone one. Only
 * what the gate is shut for goes on to the core's own functions, still under the same lock, and
 * what has to wait in a line takes the long way.
 *
 * The lone one of several workers. It parks with the channel's lock, which is given back when its
 * stack is left (sched/passing.h), so that it is ended by who has the lock: no claim, no
 * compare-exchange. Who serves it takes it out of the channel's count of waits; it goes on without
 * looking at the channel again. One that dies meanwhile finds out by the number of its channel
 * whether that is still there (struct rti_channel_lock), and gives the value back. As there may be
 * nobody to destroy it then, channels with a `destroy` have no lone ones on several workers.
 *
 * Who kills it or cancels its context first puts it into the line (rti_channel_unfold_fiber), where
 * its wait is claimed like any other; so does whoever comes to the channel with anything else.
 *
 * Costs: a value put or taken is one locked instruction; a meeting of two, together, three: both
 * locks, and the taking of what is next. */

#include "sched/passing.h"
#include "sync/channel_wait.h"

#if !RTI_ONE_WORKER

/* rt_channel_send and rt_channel_recv of one of several workers. */
rt_status rti_channel_send_short(rt_channel_sender *tx, rt_cx *cx, const void *value);
rt_status rti_channel_recv_short(rt_channel_receiver *rx, rt_cx *cx, void *out_value);

/* The same the long way, for everybody. channel_io.c has them. */
rt_status rti_channel_send_long(rt_channel_sender *tx, rt_cx *cx, const void *value);
rt_status rti_channel_recv_long(rt_channel_receiver *rx, rt_cx *cx, void *out_value);

#endif

#endif
