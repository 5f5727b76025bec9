/* SPDX-License-Identifier: Apache-2.0 */
/* Permits: reserving, and the two ways to resolve; the essay is in permit.h. */
#define RTI_MODULE "permit"
#include "sync/permit.h"

#include "sync/channel_wait.h"

#define PERMIT_NONE RT_MAX_SEND_PERMITS

void rti_permits_init(struct rti_permits *permits)
{
    permits->last_serial = 0;
    permits->free_head = 0;
    permits->used_count = 0;
    for (uint32_t i = 0; i < RT_MAX_SEND_PERMITS; i++) {
        permits->records[i] = (struct rti_permit){.serial = 0, .next_free = i + 1};
    }
}

/* The holder ended: the permit is aborted. */
static void permit_cleanup_run(struct rti_cleanup *cleanup)
{
    struct rti_permit *permit = RTI_CONTAINER_OF(cleanup, struct rti_permit, cleanup);
    struct rti_channels *channels = rti_channels_of(rti_worker_current());
    struct rti_channel *channel = permit->channel;
    struct rti_list wakes;
    RT_ASSERT(channel != NULL);
    rti_list_init(&wakes);
    rti_channels_record(channels, RTI_JOURNAL_ABORT, channel, permit->serial);
    rti_channel_abort(channel, permit, &wakes);
    rti_permit_free(&channels->permits, permit);
    rti_channel_left(channels, channel, &wakes);
}

struct rti_permit *rti_permit_alloc(struct rti_permits *permits)
{
    uint32_t index = permits->free_head;
    if (index == PERMIT_NONE) {
        return NULL;
    }
    struct rti_permit *permit = &permits->records[index];
    RT_ASSERT(permit->serial == 0);
    permits->free_head = permit->next_free;
    permits->used_count++;
    permit->serial = ++permits->last_serial;
    permit->channel = NULL;
    permit->waiter = NULL;
    rti_link_init(&permit->link);
    rti_cleanup_init(&permit->cleanup, permit_cleanup_run);
    return permit;
}

void rti_permit_free(struct rti_permits *permits, struct rti_permit *permit)
{
    RT_ASSERT(permit->serial != 0 && permit->channel == NULL);
    RT_ASSERT(!rti_link_is_linked(&permit->cleanup.link));
    permit->serial = 0;
    permit->next_free = permits->free_head;
    permits->free_head = (uint32_t)(permit - permits->records);
    permits->used_count--;
}

void rti_permit_revoke(struct rti_channels *channels, struct rti_permit *permit,
                       struct rti_list *wakes)
{
    struct rti_channel *channel = permit->channel;
    rti_channels_record(channels, RTI_JOURNAL_ABORT, channel, permit->serial);
    rti_channel_abort(channel, permit, wakes);
    if (permit->waiter != NULL) {
        /* Granted and not yet fetched: the record is its waiter's to free. */
        permit->waiter->result = RT_ERR_DISCONNECTED;
        return;
    }
    rti_cleanup_remove(&permit->cleanup);
    rti_permit_free(&channels->permits, permit);
}

/* The record of a permit that is not resolved; NULL for every other. */
static struct rti_permit *permit_find(struct rti_channels *channels, const rt_send_permit *permit)
{
    uint64_t index = permit->opaque[0];
    if (index >= RT_MAX_SEND_PERMITS) {
        return NULL;
    }
    struct rti_permit *record = &channels->permits.records[index];
    bool is_live = record->serial != 0 && record->serial == permit->opaque[1];
    return is_live && record->channel != NULL && record->waiter == NULL ? record : NULL;
}

static RTI_COLD rt_status permit_refuse(struct rti_channels *channels)
{
    RTI_GHOST(&channels->ghost, RTI_GHOST_PERMIT_REUSED);
    return (rt_status){RT_ERR_STATE, "the permit is resolved already"};
}

/* Gives an armed record to the caller, whose cleanup stack has it from here on. */
static void permit_hold(const struct rti_channel_call *call, struct rti_permit *record,
                        rt_send_permit *out_permit)
{
    struct rti_list *cleanups = rti_cx_cleanups(call->cx, call->worker);
    RT_ASSERT(record->channel == call->channel);
    record->waiter = NULL;
    if (cleanups != NULL) {
        rti_cleanup_push(cleanups, &record->cleanup);
    }
    rti_channels_record(call->channels, RTI_JOURNAL_RESERVE, call->channel, record->serial);
    out_permit->opaque[0] = (uint64_t)(record - call->channels->permits.records);
    out_permit->opaque[1] = record->serial;
}

static const rt_status permit_none_left = {RT_ERR_RESOURCE_EXHAUSTED, "no send permit is left"};
static const rt_status permit_in_line = {RT_ERR_WOULDBLOCK, "no place is free: in line for one"};

/* Waits for a place with the record. The record is the caller's to free after an error. */
static rt_status permit_await(const struct rti_channel_call *call, struct rti_permit *record,
                              rt_time deadline)
{
    if (call->worker->fiber == NULL) {
        return (rt_status){RT_ERR_WOULDBLOCK, "no place is free and the caller cannot wait"};
    }
    return rti_channel_park(call, &(struct rti_channel_want){.kind = RTI_CHANNEL_RESERVE,
                                                             .permit = record,
                                                             .deadline = deadline});
}

/* Gives a new record an armed life, or ends it. */
static rt_status permit_obtain(const struct rti_channel_call *call, rt_time deadline,
                               struct rti_cx_op op, struct rti_permit **out_record)
{
    struct rti_permit *record = rti_permit_alloc(&call->channels->permits);
    if (record == NULL) {
        return permit_none_left;
    }
    rt_status status = RT_SUCCESS;
    enum rti_channel_try attempt = rti_channel_reserve(call->channel, record);
    if (attempt == RTI_CHANNEL_GONE) {
        status = rti_channel_result(RT_ERR_DISCONNECTED);
    } else if (attempt == RTI_CHANNEL_MUST_WAIT && rti_channel_call_is_poll(call)) {
        /* The record stays with the waiter. */
        rti_channel_poll_join(call,
                              &(struct rti_channel_want){.kind = RTI_CHANNEL_RESERVE,
                                                         .permit = record,
                                                         .deadline = deadline},
                              op);
        return permit_in_line;
    } else if (attempt == RTI_CHANNEL_MUST_WAIT) {
        status = permit_await(call, record, deadline);
    }
    if (RT_FAILED(status)) {
        rti_permit_free(&call->channels->permits, record);
        return status;
    }
    *out_record = record;
    return RT_SUCCESS;
}

/* Takes the granted record out of a poll context that was served. */
static rt_status permit_fetch(const struct rti_channel_call *call, struct rti_permit **out_record)
{
    struct rti_cx *cx = call->cx;
    if (call->channel->receivers == 0) {
        rti_cx_poll_end(cx);
        return rti_channel_result(RT_ERR_DISCONNECTED);
    }
    *out_record = cx->waiter.permit;
    (*out_record)->waiter = NULL;
    cx->waiter.permit = NULL;
    rti_cx_poll_end(cx);
    return RT_SUCCESS;
}

rt_status rti_permit_acquire(const struct rti_channel_call *call, rt_time deadline,
                             struct rti_cx_op op, struct rti_permit **out_record)
{
    if (rti_channel_call_is_poll(call)) {
        bool is_served = false;
        rt_status status = rti_channel_poll_continue(call->cx, op, &is_served);
        if (RT_FAILED(status)) {
            return status;
        }
        if (is_served) {
            return permit_fetch(call, out_record);
        }
    }
    return permit_obtain(call, deadline, op, out_record);
}

static const char permit_reserve_tag;

rt_status rt_channel_reserve_until(rt_channel_sender *tx, rt_cx *cx, rt_send_permit *out_permit,
                                   rt_time deadline)
{
    struct rti_channel_call call;
    struct rti_permit *record = NULL;
    if (out_permit == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    rt_status status = rti_channel_call_init(&call, tx, true, cx);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_cx_op op = {.what = &permit_reserve_tag, .on = (uintptr_t)tx};
    status = rti_permit_acquire(&call, deadline, op, &record);
    if (!RT_FAILED(status)) {
        permit_hold(&call, record, out_permit);
        RT_AUDIT(rti_channel_audit(call.channel));
    }
    return status;
}

rt_status rt_channel_reserve(rt_channel_sender *tx, rt_cx *cx, rt_send_permit *out_permit)
{
    return rt_channel_reserve_until(tx, cx, out_permit, RT_TIME_NEVER);
}

rt_status rt_channel_try_reserve(rt_channel_sender *tx, rt_cx *cx, rt_send_permit *out_permit)
{
    struct rti_channel_call call;
    if (out_permit == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    rt_status status = rti_channel_call_resolve(&call, tx, true, cx);
    if (RT_FAILED(status)) {
        return status;
    }
    struct rti_permit *record = rti_permit_alloc(&call.channels->permits);
    if (record == NULL) {
        return permit_none_left;
    }
    enum rti_channel_try attempt = rti_channel_reserve(call.channel, record);
    if (attempt == RTI_CHANNEL_DONE) {
        permit_hold(&call, record, out_permit);
        return RT_SUCCESS;
    }
    rti_permit_free(&call.channels->permits, record);
    return attempt == RTI_CHANNEL_GONE ? rti_channel_result(RT_ERR_DISCONNECTED)
                                       : (rt_status){RT_ERR_FULL, "no place is free"};
}

void *rt_send_permit_slot(const rt_send_permit *permit)
{
    struct rti_channels *channels = rti_channels_of(rti_worker_enter());
    if (channels == NULL || permit == NULL) {
        return NULL;
    }
    const struct rti_permit *record = permit_find(channels, permit);
    return record == NULL ? NULL : record->channel->slots + record->offset;
}

bool rti_permit_commit(struct rti_channels *channels, struct rti_permit *record, const void *value)
{
    struct rti_channel *channel = record->channel;
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_cleanup_remove(&record->cleanup);
    bool is_sent = rti_channel_commit(channel, record, value, &wakes);
    rti_channels_record(channels, is_sent ? RTI_JOURNAL_SEND : RTI_JOURNAL_ABORT, channel,
                        is_sent ? rti_channel_sent(channel) : record->serial);
    rti_permit_free(&channels->permits, record);
    rti_channel_left(channels, channel, &wakes);
    return is_sent;
}

rt_status rt_send_permit_send(rt_send_permit *permit, const void *value)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    if (permit == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    struct rti_permit *record = permit_find(channels, permit);
    if (record == NULL) {
        return permit_refuse(channels);
    }
    return rti_permit_commit(channels, record, value) ? RT_SUCCESS
                                                      : rti_channel_result(RT_ERR_DISCONNECTED);
}

rt_status rt_send_permit_abort(rt_send_permit *permit)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    if (permit == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    struct rti_permit *record = permit_find(channels, permit);
    if (record == NULL) {
        return permit_refuse(channels);
    }
    rti_cleanup_remove(&record->cleanup);
    permit_cleanup_run(&record->cleanup);
    return RT_SUCCESS;
}

size_t rti_permits_audit(const struct rti_permits *permits)
{
    size_t used = 0;
    size_t armed = 0;
    for (uint32_t i = 0; i < RT_MAX_SEND_PERMITS; i++) {
        const struct rti_permit *record = &permits->records[i];
        used += record->serial != 0;
        armed += record->serial != 0 && record->channel != NULL;
        RT_ASSERT(record->serial <= permits->last_serial);
    }
    RT_ASSERT(used == permits->used_count);
    return armed;
}
