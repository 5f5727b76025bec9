/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CHANNEL_VISITOR_H
#define RTI_CHANNEL_VISITOR_H

/* Plain threads at the channels of a runtime with several workers.
 *
 * A thread that is no worker has no fiber to park and no context: it blocks. Its wait is the one of
 * everybody, with a wake that puts a token into a parker; so it stands in the same lines, first
 * come, first served. Its deadline is the parker's own, not the wheel's.
 *
 * Visitors that wait are in a list of the module. Before the runtime ends it evicts them: it ends
 * the wait of each and lets no other begin, so that taking the runtime apart never waits for a
 * thread that waits for the runtime.
 *
 * I1  After rti_channels_evict no visitor waits and none will.       (visitor_register)
 * I2  A visitor is in the list iff its wait has begun and is not over. (visitor_await)
 *
 * With one worker there are no visitors: the calls are refused with RT_ERR_THREAD. */

#include "sync/channel_wait.h"

/* What a visitor wants of the channel that a handle names. */
struct rti_channel_errand {
    const void *handle;
    bool is_sender;
    bool may_wait;
    void *value;      /* sent from here, or received to here */
    rt_time deadline; /* RT_TIME_NEVER: none */
};

/* Sends or receives for the calling thread, which is no worker. RT_ERR_FULL or RT_ERR_EMPTY if it
 * would have to wait and may not. */
rt_status rti_channel_visit(const struct rti_channel_errand *errand);

/* Closes a handle for the calling thread, which is no worker. */
rt_status rti_channel_visit_close(const void *handle, bool is_sender);

#endif
