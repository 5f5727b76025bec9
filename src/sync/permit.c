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
        struct rti_permit *permit = &permits->records[i];
        *permit = (struct rti_permit){.next_free = i + 1};
        rti_ptr_init(&permit->channel, NULL);
    }
}

/* permit_enter with several workers. */
static RTI_NOINLINE struct rti_channel *
permit_enter_shared(struct rti_channels *channels, struct rti_permit *permit, uint64_t serial)
{
    struct rti_channel *channel = rti_permit_channel(permit);
    if (channel == NULL) {
        return NULL;
    }
    /* The channel may be gone; its lock is not. */
    struct rti_lock *lock = &channels->locks[rti_pool_index(&channels->blocks, channel)].lock;
    rti_lock_acquire(lock, channels->sched);
    if (rti_permit_channel(permit) == channel && permit->serial == serial &&
        permit->waiter == NULL) {
        return channel;
    }
    rti_lock_release(lock);
    return NULL;
}

/* Enters the channel of a record that another worker may revoke at any moment; NULL if it is not
 * armed with this serial number any more, or not yet its user's. */
static inline struct rti_channel *permit_enter(struct rti_channels *channels,
                                               struct rti_permit *permit, uint64_t serial)
{
    if (RTI_LIKELY(rti_sched_is_local(channels->sched))) {
        return permit->waiter == NULL ? rti_permit_channel(permit) : NULL;
    }
    return permit_enter_shared(channels, permit, serial);
}

/* Aborts a permit that is entered, and leaves its channel. */
static void permit_abort_entered(struct rti_channels *channels, struct rti_permit *permit)
{
    struct rti_channel *channel = rti_permit_channel(permit);
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_channels_record(channels, RTI_JOURNAL_ABORT, channel, permit->serial);
    rti_channel_abort(channel, permit, &wakes);
    rti_channel_left(channels, channel, &wakes);
    rti_permit_free(channels, permit);
}

/* The holder ended: the permit is aborted. */
static void permit_cleanup_run(struct rti_cleanup *cleanup)
{
    struct rti_permit *permit = RTI_CONTAINER_OF(cleanup, struct rti_permit, cleanup);
    struct rti_channels *channels = rti_channels_of(rti_worker_current());
    if (permit_enter(channels, permit, permit->serial) == NULL) {
        RT_ASSERT(!rti_sched_is_local(channels->sched)); /* its region has revoked it */
        rti_permit_free(channels, permit);
        return;
    }
    permit_abort_entered(channels, permit);
}

struct rti_permit *rti_permit_alloc(struct rti_channels *channels)
{
    struct rti_permits *permits = &channels->permits;
    rti_lock_acquire(&channels->lock, channels->sched);
    uint32_t index = permits->free_head;
    if (index == PERMIT_NONE) {
        rti_lock_release(&channels->lock);
        return NULL;
    }
    struct rti_permit *permit = &permits->records[index];
    RT_ASSERT(permit->serial == 0);
    permits->free_head = permit->next_free;
    permits->used_count++;
    permit->serial = ++permits->last_serial;
    rti_lock_release(&channels->lock);
    rti_ptr_store_relaxed(&permit->channel, NULL);
    permit->waiter = NULL;
    rti_link_init(&permit->link);
    rti_cleanup_init(&permit->cleanup, permit_cleanup_run);
    return permit;
}

void rti_permit_free(struct rti_channels *channels, struct rti_permit *permit)
{
    struct rti_permits *permits = &channels->permits;
    RT_ASSERT(permit->serial != 0 && rti_permit_channel(permit) == NULL);
    RT_ASSERT(!rti_cleanup_is_held(&permit->cleanup));
    rti_lock_acquire(&channels->lock, channels->sched);
    permit->serial = 0;
    permit->next_free = permits->free_head;
    permits->free_head = (uint32_t)(permit - permits->records);
    permits->used_count--;
    rti_lock_release(&channels->lock);
}

bool rti_permit_revoke(struct rti_channels *channels, struct rti_permit *permit,
                       struct rti_list *wakes)
{
    struct rti_channel *channel = rti_permit_channel(permit);
    rti_channels_record(channels, RTI_JOURNAL_ABORT, channel, permit->serial);
    rti_channel_abort(channel, permit, wakes);
    if (permit->waiter != NULL) {
        /* Granted and not yet fetched: the record is its waiter's to free. */
        permit->waiter->result = RT_ERR_DISCONNECTED;
        return false;
    }
    if (!rti_sched_is_local(channels->sched)) {
        return false; /* its holder's, whose cleanup stack only the holder may touch */
    }
    rti_cleanup_remove(&permit->cleanup);
    return true;
}

/* The serial number of a record that may be anybody's. */
static RTI_NOINLINE uint64_t permit_serial_shared(struct rti_channels *channels,
                                                  const struct rti_permit *record)
{
    rti_lock_acquire(&channels->lock, channels->sched);
    uint64_t serial = record->serial;
    rti_lock_release(&channels->lock);
    return serial;
}

/* The record of a permit that is not resolved; NULL for every other. */
static inline struct rti_permit *permit_find(struct rti_channels *channels,
                                             const rt_send_permit *permit)
{
    uint64_t index = permit->opaque[0];
    if (index >= RT_MAX_SEND_PERMITS) {
        return NULL;
    }
    struct rti_permit *record = &channels->permits.records[index];
    uint64_t serial = RTI_LIKELY(rti_sched_is_local(channels->sched))
                          ? record->serial
                          : permit_serial_shared(channels, record);
    return serial != 0 && serial == permit->opaque[1] ? record : NULL;
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
    struct rti_cleanups *cleanups = rti_cx_cleanups(call->cx, rti_worker_current());
    uint64_t serial = record->serial;
    if (cleanups != NULL) {
        rti_cleanup_push(cleanups, &record->cleanup);
    }
    rti_channels_record(call->channels, RTI_JOURNAL_RESERVE, call->channel, serial);
    out_permit->opaque[0] = (uint64_t)(record - call->channels->permits.records);
    out_permit->opaque[1] = serial;
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

/* Reserves a place for the record: RT_OK, or RT_ERR_WOULDBLOCK if it must wait, or why it cannot.
 */
static rt_status permit_reserve(const struct rti_channel_call *call, struct rti_permit *record)
{
    struct rti_channel *channel = rti_channels_enter(call->channels, call->end, call->id);
    if (RTI_UNLIKELY(channel == NULL)) {
        return rti_channels_refuse(call->channels, &call->channels->senders, call->id);
    }
    enum rti_channel_try attempt = rti_channel_reserve(channel, record);
    rti_lock_release(channel->lock);
    if (attempt == RTI_CHANNEL_DONE) {
        return RT_SUCCESS;
    }
    return attempt == RTI_CHANNEL_GONE ? rti_channel_result(RT_ERR_DISCONNECTED) : permit_in_line;
}

/* Gives a new record an armed life, or ends it. */
static rt_status permit_obtain(const struct rti_channel_call *call, rt_time deadline,
                               struct rti_cx_op op, struct rti_permit **out_record)
{
    struct rti_permit *record = rti_permit_alloc(call->channels);
    if (record == NULL) {
        return permit_none_left;
    }
    rt_status status = permit_reserve(call, record);
    if (status.code == RT_ERR_WOULDBLOCK && rti_channel_call_is_poll(call)) {
        /* The record stays with the waiter. */
        rti_channel_poll_join(call,
                              &(struct rti_channel_want){.kind = RTI_CHANNEL_RESERVE,
                                                         .permit = record,
                                                         .deadline = deadline},
                              op);
        return permit_in_line;
    }
    if (status.code == RT_ERR_WOULDBLOCK) {
        status = permit_await(call, record, deadline);
    }
    if (RT_FAILED(status)) {
        rti_permit_free(call->channels, record);
        return status;
    }
    *out_record = record;
    return RT_SUCCESS;
}

/* Takes the granted record out of a poll context that was served; its channel is entered. */
static rt_status permit_fetch(const struct rti_channel_call *call, struct rti_permit **out_record)
{
    struct rti_cx *cx = call->cx;
    struct rti_channel_waiter *waiter = &rti_cx_poll(cx)->waiter;
    struct rti_channel *channel = waiter->channel;
    bool is_gone = channel->receivers == 0;
    if (!is_gone) {
        *out_record = waiter->permit;
        (*out_record)->waiter = NULL;
        waiter->permit = NULL;
    }
    rti_lock_release(channel->lock);
    rti_cx_poll_end(cx);
    return is_gone ? rti_channel_result(RT_ERR_DISCONNECTED) : RT_SUCCESS;
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
    (void)rti_worker_enter(); /* and again below, where it cannot be told who calls */
    if (out_permit == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    rt_status status = rti_channel_call_init(&call, tx, true, cx);
    if (RT_FAILED(status)) {
        return status;
    }
    if (RTI_UNLIKELY(cx != NULL) && rti_cx_is_passing(call.cx)) {
        return RTI_CX_PASSING_WAIT;
    }
    struct rti_cx_op op = {.what = &permit_reserve_tag, .on = (uintptr_t)tx};
    status = rti_permit_acquire(&call, deadline, op, &record);
    if (!RT_FAILED(status)) {
        permit_hold(&call, record, out_permit);
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
    (void)rti_worker_enter(); /* and again below, where it cannot be told who calls */
    if (out_permit == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    rt_status status = rti_channel_call_resolve(&call, tx, true, cx);
    if (RT_FAILED(status)) {
        return status;
    }
    if (RTI_UNLIKELY(cx != NULL) && rti_cx_is_passing(call.cx)) {
        return RTI_CX_PASSING_FAIL;
    }
    struct rti_permit *record = rti_permit_alloc(call.channels);
    if (record == NULL) {
        return permit_none_left;
    }
    status = permit_reserve(&call, record);
    if (!RT_FAILED(status)) {
        permit_hold(&call, record, out_permit);
        return RT_SUCCESS;
    }
    rti_permit_free(call.channels, record);
    return status.code == RT_ERR_WOULDBLOCK ? (rt_status){RT_ERR_FULL, "no place is free"} : status;
}

void *rt_send_permit_slot(const rt_send_permit *permit)
{
    struct rti_channels *channels = rti_channels_of(rti_worker_enter());
    if (channels == NULL || permit == NULL) {
        return NULL;
    }
    struct rti_permit *record = permit_find(channels, permit);
    struct rti_channel *channel =
        record == NULL ? NULL : permit_enter(channels, record, permit->opaque[1]);
    if (channel == NULL) {
        return NULL;
    }
    void *slot = channel->slots + record->offset;
    rti_lock_release(channel->lock);
    return slot;
}

/* Ends a record that its region has revoked, on the holder's side. */
static void permit_bury(struct rti_channels *channels, struct rti_permit *record, uint64_t serial)
{
    if (!rti_sched_is_local(channels->sched) && record->serial == serial &&
        record->waiter == NULL) {
        rti_cleanup_remove(&record->cleanup);
        rti_permit_free(channels, record);
    }
}

/* Sends through a record that is entered, and leaves its channel. */
static bool permit_commit_entered(struct rti_channels *channels, struct rti_permit *record,
                                  const void *value)
{
    struct rti_channel *channel = rti_permit_channel(record);
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_cleanup_remove(&record->cleanup);
    bool is_sent = rti_channel_commit(channel, record, value, &wakes);
    rti_channels_record(channels, is_sent ? RTI_JOURNAL_SEND : RTI_JOURNAL_ABORT, channel,
                        is_sent ? rti_channel_sent(channel) : record->serial);
    rti_channel_left(channels, channel, &wakes);
    rti_permit_free(channels, record);
    return is_sent;
}

bool rti_permit_commit(struct rti_channels *channels, struct rti_permit *record, const void *value)
{
    uint64_t serial = record->serial;
    if (RTI_UNLIKELY(permit_enter(channels, record, serial) == NULL)) {
        permit_bury(channels, record, serial);
        return false;
    }
    return permit_commit_entered(channels, record, value);
}

/* The record of a permit to resolve, its channel entered; NULL if it is resolved or revoked. */
static struct rti_permit *permit_claim(struct rti_channels *channels, const rt_send_permit *permit)
{
    struct rti_permit *record = permit_find(channels, permit);
    if (record == NULL) {
        return NULL;
    }
    if (permit_enter(channels, record, permit->opaque[1]) == NULL) {
        permit_bury(channels, record, permit->opaque[1]);
        return NULL;
    }
    return record;
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
    struct rti_permit *record = permit_claim(channels, permit);
    if (record == NULL) {
        return permit_refuse(channels);
    }
    return permit_commit_entered(channels, record, value) ? RT_SUCCESS
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
    struct rti_permit *record = permit_claim(channels, permit);
    if (record == NULL) {
        return permit_refuse(channels);
    }
    rti_cleanup_remove(&record->cleanup);
    permit_abort_entered(channels, record);
    return RT_SUCCESS;
}

size_t rti_permits_audit(const struct rti_permits *permits)
{
    size_t used = 0;
    size_t armed = 0;
    for (uint32_t i = 0; i < RT_MAX_SEND_PERMITS; i++) {
        const struct rti_permit *record = &permits->records[i];
        uint64_t serial = record->serial;
        used += serial != 0;
        armed += serial != 0 && rti_permit_channel(record) != NULL;
        RT_ASSERT(serial <= permits->last_serial);
    }
    RT_ASSERT(used == permits->used_count);
    return armed;
}
