/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking at a channel; the essay is in channel_visitor.h. */
#define RTI_MODULE "channel_visitor"
#include "sync/channel_visitor.h"

#include "sched/visit.h"
#include "sched/visitor.h"

/* One that waits, on the stack of its thread. */
struct visitor {
    struct rti_visit visit;
    struct rti_channel_waiter waiter;
    struct rti_channels *channels;
};

static void visitor_unlink(struct rti_waiter *base)
{
    struct rti_channel_waiter *waiter = rti_channel_waiter_of(base);
    struct visitor *visitor = RTI_CONTAINER_OF(waiter, struct visitor, waiter);
    if (waiter->result != RTI_CHANNEL_NOT_SERVED) {
        rti_channel_wait_served(visitor->channels, waiter);
    } else {
        rti_channel_wait_leave(visitor->channels, waiter, false);
    }
}

/* Blocks in line. */
static rt_status visitor_await(struct rti_channels *channels, struct rti_channel_end *end,
                               const struct rti_channel_errand *errand)
{
    struct visitor visitor = {.channels = channels};
    if (!rti_visit_begin(&visitor.visit, channels->sched, RTI_REASON_CHANNEL)) {
        return rti_visit_evicted();
    }
    rti_wait_add(&visitor.visit.wait, &visitor.waiter.waiter, RTI_EVENT_SOURCE, visitor_unlink);
    visitor.waiter.waiter.slot = errand->value;
    visitor.waiter.end = end;
    visitor.waiter.permit = NULL;
    rti_channel_wait_join(channels, &visitor.waiter,
                          errand->is_sender ? RTI_CHANNEL_SEND : RTI_CHANNEL_RECV,
                          (uintptr_t)errand->handle);
    switch (rti_visit_park(&visitor.visit, errand->deadline)) {
    case RTI_EVENT_SOURCE:
        return rti_channel_result(visitor.waiter.result);
    case RTI_EVENT_TIMEOUT:
        return (rt_status){RT_ERR_TIMEOUT, "the deadline came first"};
    default:
        return rti_visit_evicted();
    }
}

/* One attempt: RT_OK, why it cannot, or RT_ERR_WOULDBLOCK if it must wait. */
static rt_status visitor_attempt(struct rti_channels *channels, struct rti_channel_end *end,
                                 const struct rti_channel_errand *errand)
{
    struct rti_list wakes;
    struct rti_channel *channel = rti_channels_enter(channels, end, (uintptr_t)errand->handle);
    if (channel == NULL) {
        return (rt_status){RT_ERR_INVALID, "the handle is closed"};
    }
    if (errand->value == NULL && channel->elem_size != 0) {
        rti_lock_release(channel->lock);
        return (rt_status){RT_ERR_INVALID, "there is no value and values have a size"};
    }
    rti_list_init(&wakes);
    enum rti_channel_try attempt = errand->is_sender
                                       ? rti_channel_put(channel, errand->value, &wakes)
                                       : rti_channel_take(channel, errand->value, &wakes);
    rti_channel_left(channels, channel, &wakes);
    switch (attempt) {
    case RTI_CHANNEL_DONE:
        return RT_SUCCESS;
    case RTI_CHANNEL_GONE:
        return rti_channel_result(RT_ERR_DISCONNECTED);
    default:
        return (rt_status){RT_ERR_WOULDBLOCK, NULL};
    }
}

static rt_status visitor_run(struct rti_channels *channels, const struct rti_channel_errand *errand)
{
    struct rti_channel_ends *ends = errand->is_sender ? &channels->senders : &channels->receivers;
    struct rti_channel_end *end = rti_channels_lookup(channels, ends, errand->handle);
    if (end == NULL) {
        return rti_channels_refuse(channels, ends, (uintptr_t)errand->handle);
    }
    rt_status status = visitor_attempt(channels, end, errand);
    if (status.code != RT_ERR_WOULDBLOCK) {
        return status;
    }
    if (!errand->may_wait) {
        return errand->is_sender ? (rt_status){RT_ERR_FULL, "no place is free"}
                                 : (rt_status){RT_ERR_EMPTY, "nothing is there now"};
    }
    return visitor_await(channels, end, errand);
}

rt_status rti_channel_visit(const struct rti_channel_errand *errand)
{
    struct rti_sched *sched = rti_visitor_enter();
    if (sched == NULL) {
        return rti_channels_refuse_thread(NULL);
    }
    struct rti_channels *channels = sched->modules[RTI_MODULE_CHANNEL];
    rti_u32_store_relaxed(&channels->was_visited, 1);
    rt_status status = visitor_run(channels, errand);
    rti_visitor_leave();
    return status;
}

rt_status rti_channel_visit_close(const void *handle, bool is_sender)
{
    struct rti_sched *sched = rti_visitor_enter();
    if (sched == NULL) {
        return rti_channels_refuse_thread(NULL);
    }
    rt_status status = rti_channels_close(sched->modules[RTI_MODULE_CHANNEL], handle, is_sender);
    rti_visitor_leave();
    return status;
}
