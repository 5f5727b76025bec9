/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking at a channel; the essay is in channel_visitor.h. */
#define RTI_MODULE "channel_visitor"
#include "sync/channel_visitor.h"

#include "sched/parker.h"
#include "sched/visitor.h"

/* One that waits, on the stack of its thread. */
struct visitor {
    struct rti_wait wait;
    struct rti_channel_waiter waiter;
    struct rti_parker parker;
    struct rti_channels *channels;
    struct rti_link link; /* in channels->visitors, under the module's lock */
};

static void visitor_wake(struct rti_wait *wait)
{
    struct visitor *visitor = wait->target;
    struct rti_port *port = visitor->channels->sched->port;
    /* Its frame may be gone as soon as the token is there. */
    rti_parker_unpark(&visitor->parker, port);
}

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

/* False if the runtime ends: then nobody may begin to wait. */
static bool visitor_register(struct visitor *visitor)
{
    struct rti_channels *channels = visitor->channels;
    rti_lock_acquire(&channels->lock, channels->sched);
    bool is_welcome = !channels->is_evicting;
    if (is_welcome) {
        rti_list_push_tail(&channels->visitors, &visitor->link);
    }
    rti_lock_release(&channels->lock);
    return is_welcome;
}

static void visitor_unregister(struct visitor *visitor)
{
    struct rti_channels *channels = visitor->channels;
    rti_lock_acquire(&channels->lock, channels->sched);
    rti_list_remove(&visitor->link);
    rti_lock_release(&channels->lock);
}

static rt_status visitor_evicted(void)
{
    return (rt_status){RT_ERR_STATE, "the runtime ends"};
}

/* Blocks in line. */
static rt_status visitor_await(struct rti_channels *channels, struct rti_channel_end *end,
                               const struct rti_channel_errand *errand)
{
    struct visitor visitor = {.channels = channels};
    struct rti_port *port = channels->sched->port;
    rti_parker_init(&visitor.parker);
    rti_wait_begin(&visitor.wait, visitor_wake, &visitor, false);
    visitor.wait.reason = RTI_REASON_CHANNEL;
    rti_wait_add(&visitor.wait, &visitor.waiter.waiter, RTI_EVENT_SOURCE, visitor_unlink);
    visitor.waiter.waiter.slot = errand->value;
    visitor.waiter.end = end;
    visitor.waiter.permit = NULL;
    if (!visitor_register(&visitor)) {
        return visitor_evicted();
    }
    rti_channel_wait_join(channels, &visitor.waiter,
                          errand->is_sender ? RTI_CHANNEL_SEND : RTI_CHANNEL_RECV,
                          (uintptr_t)errand->handle);
    if (!rti_parker_park(&visitor.parker, port, errand->deadline) &&
        !rti_wait_claim(&visitor.wait, RTI_EVENT_TIMEOUT)) {
        /* Somebody was quicker, and its wake is on the way. */
        (void)rti_parker_park(&visitor.parker, port, RTI_TIME_NEVER);
    }
    visitor_unregister(&visitor);
    rti_wait_finish(&visitor.wait);
    switch (rti_wait_event(&visitor.wait)) {
    case RTI_EVENT_SOURCE:
        return rti_channel_result(visitor.waiter.result);
    case RTI_EVENT_TIMEOUT:
        return (rt_status){RT_ERR_TIMEOUT, "the deadline came first"};
    default:
        return visitor_evicted();
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

void rti_channels_evict(struct rti_channels *channels)
{
    struct visitor *evicted;
    do {
        evicted = NULL;
        rti_lock_acquire(&channels->lock, channels->sched);
        channels->is_evicting = true;
        struct rti_list *list = &channels->visitors;
        for (struct rti_link *at = rti_list_peek(list); at != NULL && evicted == NULL;
             at = rti_list_next(list, at)) {
            struct visitor *visitor = RTI_CONTAINER_OF(at, struct visitor, link);
            evicted = rti_wait_claim(&visitor->wait, RTI_EVENT_KILL) ? visitor : NULL;
        }
        rti_lock_release(&channels->lock);
        if (evicted != NULL) {
            /* Claimed, it stays where it is until it is woken. */
            visitor_wake(&evicted->wait);
        }
    } while (evicted != NULL);
}
