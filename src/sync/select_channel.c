/* SPDX-License-Identifier: Apache-2.0 */
/* The arms of channels.
 *
 * Both ways to wait, a fiber's and a poll context's, join the lines in the way of a fiber, with the
 * memory of the value: the arms of a select stay where they are until it is over, so the channel
 * may copy into them and out of them. A value that was copied to an arm that nobody collects goes
 * back to the front of the queue, as for a fiber that is killed. */
#define RTI_MODULE "select_channel"
#include "sync/channel_wait.h"
#include "sync/select.h"

static struct rti_arm *channel_arm_of(struct rti_waiter *waiter)
{
    return RTI_CONTAINER_OF(rti_channel_waiter_of(waiter), struct rti_arm, channel);
}

static struct rti_channel_end *channel_arm_end(const struct rti_arm *arm, struct rti_sched *sched)
{
    struct rti_channels *channels = sched->modules[RTI_MODULE_CHANNEL];
    if (channels == NULL) {
        return NULL;
    }
    bool is_sender = arm->kind == RTI_CHANNEL_SEND;
    return rti_channels_lookup(channels, is_sender ? &channels->senders : &channels->receivers,
                               arm->on);
}

/* Does a look without any lock show that there is nothing for the arm? Only with one worker. */
static inline bool channel_arm_is_idle(const struct rti_arm *arm, struct rti_sched *sched)
{
    struct rti_channels *channels = sched->modules[RTI_MODULE_CHANNEL];
    if (channels == NULL || !rti_sched_is_local(sched)) {
        return false;
    }
    bool is_sender = arm->kind == RTI_CHANNEL_SEND;
    const struct rti_channel_end *end =
        rti_channel_ends_find(is_sender ? &channels->senders : &channels->receivers, arm->on);
    if (end == NULL) {
        return false;
    }
    const struct rti_channel *channel = rti_channel_end_channel(end);
    return is_sender ? rti_channel_is_full(channel) : rti_channel_is_idle(channel);
}

static const rt_status would_wait = {RT_ERR_WOULDBLOCK, NULL};

static rt_status recv_attempt(struct rti_arm *arm, struct rti_sched *sched)
{
    if (channel_arm_is_idle(arm, sched)) {
        return would_wait;
    }
    rt_status status = rt_channel_try_recv(arm->on, arm->value);
    return status.code == RT_ERR_EMPTY ? would_wait : status;
}

static rt_status send_attempt(struct rti_arm *arm, struct rti_sched *sched)
{
    if (channel_arm_is_idle(arm, sched)) {
        return would_wait;
    }
    rt_status status = rt_channel_try_send(arm->on, arm->value);
    return status.code == RT_ERR_FULL ? would_wait : status;
}

/* Leaves the channel; what the arm was given and nobody collected passes on. */
static void channel_arm_unlink(struct rti_waiter *base)
{
    struct rti_arm *arm = channel_arm_of(base);
    struct rti_channels *channels = rti_channels_of(rti_worker_current());
    if (arm->is_collected && arm->channel.result != RTI_CHANNEL_NOT_SERVED) {
        rti_channel_wait_served(channels, &arm->channel);
    } else {
        rti_channel_wait_leave(channels, &arm->channel, true);
    }
}

static enum rti_arm_join channel_arm_join(struct rti_arm *arm, struct rti_select *select)
{
    struct rti_channel_end *end = channel_arm_end(arm, select->sched);
    arm->number = end == NULL ? 0 : rti_channel_end_channel(end)->number;
    rti_wait_add(select->wait, &arm->channel.waiter, rti_arm_event(arm, select),
                 channel_arm_unlink);
    arm->channel.waiter.slot = arm->value;
    arm->channel.end = end;
    arm->channel.permit = NULL;
    if (channel_arm_is_idle(arm, select->sched)) {
        /* Joining serves nobody else. */
        rti_channel_line_up(rti_channel_end_channel(end), &arm->channel,
                            (enum rti_channel_waiter_kind)arm->kind);
    } else {
        rti_channel_wait_join(select->sched->modules[RTI_MODULE_CHANNEL], &arm->channel,
                              (enum rti_channel_waiter_kind)arm->kind, (uintptr_t)arm->on);
    }
    return RTI_ARM_LINKED;
}

static bool channel_arm_collect(struct rti_arm *arm, struct rti_sched *sched, rt_status *status)
{
    *status = rti_channel_result(arm->channel.result);
    if (RTI_UNLIKELY(rti_sched_journal(sched) != NULL) && !RT_FAILED(*status)) {
        bool is_sender = arm->kind == RTI_CHANNEL_SEND;
        rti_channels_write(sched, is_sender ? RTI_JOURNAL_SEND : RTI_JOURNAL_RECV, arm->number, 0);
    }
    return true;
}

/* At a rendezvous a place exists for each receiver in line: two waiters of one select would be
 * counted as two. */
static const void *channel_arm_own(const struct rti_arm *arm, struct rti_sched *sched)
{
    const struct rti_channel_end *end = channel_arm_end(arm, sched);
    const struct rti_channel *channel = end == NULL ? NULL : rti_channel_end_channel(end);
    return channel != NULL && channel->is_rendezvous ? channel : NULL;
}

static const struct rti_arm_ops recv_ops = {.attempt = recv_attempt,
                                            .join = channel_arm_join,
                                            .collect = channel_arm_collect,
                                            .own = channel_arm_own};

static const struct rti_arm_ops send_ops = {.attempt = send_attempt,
                                            .join = channel_arm_join,
                                            .collect = channel_arm_collect,
                                            .own = channel_arm_own};

void rt_arm_recv(rt_select_arm *arm, rt_channel_receiver *rx, void *out_value)
{
    rti_arm_init(rti_arm_of(arm), rx == NULL ? NULL : &recv_ops, rx, out_value);
    rti_arm_of(arm)->kind = RTI_CHANNEL_RECV;
}

void rt_arm_send(rt_select_arm *arm, rt_channel_sender *tx, const void *value)
{
    /* The value is only read. */
    rti_arm_init(rti_arm_of(arm), tx == NULL ? NULL : &send_ops, tx, (void *)(uintptr_t)value);
    rti_arm_of(arm)->kind = RTI_CHANNEL_SEND;
}

bool rti_waiter_is_of_channel_arm(const struct rti_waiter *waiter)
{
    return waiter->unlink == channel_arm_unlink;
}
