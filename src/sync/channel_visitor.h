/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CHANNEL_VISITOR_H
#define RTI_CHANNEL_VISITOR_H

/* Plain threads at the channels of a runtime with several workers: they block in the lines of
 * everybody (sched/visit.h). */

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
