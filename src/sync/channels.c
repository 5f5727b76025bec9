/* SPDX-License-Identifier: Apache-2.0 */
/* The module of channels: handles, memory, making and ending; the essay is in channels.h. */
#define RTI_MODULE "channels"
#include "sync/channels.h"

#include "base/marks.h"
#include "sched/fiber.h"
#include "sync/channel_visitor.h"
#include "sync/cx.h"
#include "sync/region.h"

#define END_NONE        RT_MAX_CHANNEL_HANDLES
#define GENERATION_STEP ((uintptr_t)1 << (RTI_CHANNEL_INDEX_BITS + RTI_CHANNEL_KIND_BITS))

static void channels_ends_init(struct rti_channel_ends *ends, uintptr_t kind,
                               struct rti_channel *nothing)
{
    ends->free_head = 0;
    ends->free_tail = RT_MAX_CHANNEL_HANDLES - 1;
    ends->open_count = 0;
    ends->kind = kind;
    for (uint32_t i = 0; i < RTI_CHANNEL_TABLE_SIZE; i++) {
        rti_size_init(&ends->table[i].id, (uintptr_t)i << RTI_CHANNEL_KIND_BITS);
        rti_ptr_init(&ends->table[i].channel, nothing);
    }
    for (uint32_t i = 0; i < RT_MAX_CHANNEL_HANDLES; i++) {
        ends->next_free[i] = i + 1;
    }
}

rt_status rti_channels_init(struct rti_channels *channels, struct rti_sched *sched)
{
    RT_ASSERT(channels != NULL && sched != NULL);
    if (sched->modules[RTI_MODULE_CHANNEL] != NULL) {
        return (rt_status){RT_ERR_STATE, "this runtime has its channels already"};
    }
    channels->sched = sched;
    rti_lock_init(&channels->lock, sched, RTI_LOCK_TABLE);
    rti_lock_init(&channels->regions, sched, RTI_LOCK_REGION);
#if !RTI_ONE_WORKER
    rti_region_dues_init(&channels->dues, sched);
#endif
    for (size_t i = 0; i < RT_MAX_CHANNELS; i++) {
        rti_lock_init(&channels->locks[i].lock, sched, RTI_LOCK_CHANNEL);
    }
    rti_u32_init(&channels->was_visited, 0);
    channels->last_number = 0;
    channels->sent_before = 0;
    channels->received_before = 0;
#if !RTI_ONE_WORKER
    for (size_t i = 0; i < RT_MAX_CHANNELS; i++) {
        channels->locks[i].channel = NULL;
        channels->locks[i].serial = 0;
    }
    sched->unfold = rti_channel_unfold_fiber;
#endif
    sched->deadline_of = rti_cx_deadline_of;
    rti_ghost_init(&channels->ghost);
    channels->nothing =
        (struct rti_channel){.gates = {.send = RTI_GATE_SHUT, .recv = RTI_GATE_SHUT}};
    channels_ends_init(&channels->senders, RTI_CHANNEL_SENDER, &channels->nothing);
    channels_ends_init(&channels->receivers, RTI_CHANNEL_RECEIVER, &channels->nothing);
    rti_permits_init(&channels->permits);
    rti_pool_init(&channels->blocks, channels->block_memory, sizeof(struct rti_channel),
                  RT_MAX_CHANNELS);
    rti_arena_init(&channels->arena, channels->memory, sizeof(channels->memory));
    sched->modules[RTI_MODULE_CHANNEL] = channels;
    rti_sched_straighten(sched);
    return RT_SUCCESS;
}

/* Says what a block of the pool is: a channel, or none. */
static void channels_name(struct rti_channels *channels, struct rti_channel *block,
                          struct rti_channel *channel)
{
#if RTI_ONE_WORKER
    (void)channels, (void)block, (void)channel;
#else
    if (!rti_sched_is_local(channels->sched)) {
        struct rti_channel_lock *beside = rti_channels_lock_of(channels, block);
        rti_lock_acquire(&beside->lock, channels->sched);
        beside->channel = channel;
        beside->serial += channel != NULL;
        rti_lock_release(&beside->lock);
    }
#endif
}

void rti_channels_free(struct rti_channels *channels, struct rti_channel *channel)
{
    RT_ASSERT(rti_channel_is_gone(channel) && rti_channel_queued(channel) == 0);
    channels_name(channels, channel, NULL);
    rti_region_leave(&channel->member, channels->sched, RT_OUTCOME_OK);
    rti_lock_acquire(&channels->lock, channels->sched);
    if (channel->memory != NULL) {
        rti_arena_free(&channels->arena, channel->memory);
    }
    channels->sent_before += rti_channel_sent(channel);
    channels->received_before += rti_channel_received(channel);
    rti_pool_free(&channels->blocks, channel);
    rti_lock_release(&channels->lock);
}

void rti_channels_reclaim(struct rti_channels *channels, struct rti_channel *channel)
{
    /* Once it is gone nobody can come back to it: only one leaves it like this. */
    bool is_gone = rti_channel_is_gone(channel);
    rti_lock_release(channel->lock);
    if (is_gone) {
        rti_channels_free(channels, channel);
    }
}

struct rti_channel *rti_channels_enter_shared(struct rti_channels *channels,
                                              const struct rti_channel_end *end, uintptr_t id)
{
    struct rti_channel *channel = rti_channel_end_channel(end);
    size_t index = rti_pool_index(&channels->blocks, channel);
    if (index >= RT_MAX_CHANNELS) {
        return NULL; /* it names nothing */
    }
    struct rti_lock *lock = &channels->locks[index].lock;
    rti_lock_acquire(lock, channels->sched);
    if (rti_channel_end_id(end) == id && rti_channel_end_channel(end) == channel) {
        return channel;
    }
    RT_SOMETIMES(true, "channels: a handle was closed before its channel was entered");
    rti_lock_release(lock);
    return NULL;
}

rt_status rti_channels_refuse_thread(const struct rti_worker *worker)
{
    if (worker == NULL) {
        return (rt_status){RT_ERR_THREAD, "only the runtime's own thread may use its channels"};
    }
    return (rt_status){RT_ERR_STATE, "this runtime has no channels"};
}

rt_status rti_channels_refuse(struct rti_channels *channels, const struct rti_channel_ends *ends,
                              uintptr_t id)
{
    uintptr_t index = (id >> RTI_CHANNEL_KIND_BITS) & (RTI_CHANNEL_TABLE_SIZE - 1);
    uintptr_t generation = id / GENERATION_STEP;
    if ((id & RTI_CHANNEL_KIND_MASK) == ends->kind && generation > 0 &&
        generation <= rti_channel_end_id(&ends->table[index]) / GENERATION_STEP) {
        RTI_GHOST(&channels->ghost, RTI_GHOST_HANDLE_REUSED);
        return (rt_status){RT_ERR_INVALID, "the handle is closed"};
    }
    return (rt_status){RT_ERR_INVALID, "this is no handle of a channel"};
}

void rti_channels_write(struct rti_sched *sched, enum rti_journal_kind kind, uint32_t number,
                        uint64_t value)
{
    struct rti_fiber *fiber = rti_fiber_current();
    rti_sched_record(sched, &(struct rti_journal_event){.kind = kind,
                                                        .task = fiber == NULL ? 0 : fiber->run.id,
                                                        .channel = number,
                                                        .value = value});
}

/* Takes a place for an end; END_NONE if all are open. */
static uint32_t channels_take_end(struct rti_channels *channels, struct rti_channel_ends *ends)
{
    rti_lock_acquire(&channels->lock, channels->sched);
    uint32_t index = ends->free_head;
    if (index != END_NONE) {
        ends->free_head = ends->next_free[index];
        ends->open_count++;
    }
    rti_lock_release(&channels->lock);
    return index;
}

/* Gives a place back. One without a further generation is never used again. */
static void channels_give_end(struct rti_channels *channels, struct rti_channel_ends *ends,
                              uint32_t index)
{
    rti_lock_acquire(&channels->lock, channels->sched);
    RT_ASSERT(ends->open_count > 0);
    ends->open_count--;
    if (rti_channel_end_id(&ends->table[index]) <= UINTPTR_MAX - 2 * GENERATION_STEP) {
        ends->next_free[index] = END_NONE;
        if (ends->free_head == END_NONE) {
            ends->free_head = index;
        } else {
            ends->next_free[ends->free_tail] = index;
        }
        ends->free_tail = index;
    }
    rti_lock_release(&channels->lock);
}

/* Makes the end at a place that was taken name the channel, and gives its handle. The channel is
 * entered, or nobody else knows it. */
static void *channels_open_end(struct rti_channel_ends *ends, uint32_t index,
                               struct rti_channel *channel)
{
    struct rti_channel_end *end = &ends->table[index];
    uintptr_t id = rti_channel_end_id(end);
    RT_ASSERT((id & RTI_CHANNEL_KIND_MASK) == 0);
    id += GENERATION_STEP + ends->kind;
    rti_ptr_store_relaxed(&end->channel, channel);
    rti_size_store_relaxed(&end->id, id);
    return (void *)id;
}

/* Makes an end name nothing and gives its place back; its channel is entered. */
static void channels_close_end(struct rti_channels *channels, struct rti_channel_ends *ends,
                               struct rti_channel_end *end)
{
    uintptr_t id = rti_channel_end_id(end);
    RT_ASSERT((id & RTI_CHANNEL_KIND_MASK) == ends->kind);
    rti_size_store_relaxed(&end->id, id - ends->kind);
    rti_ptr_store_relaxed(&end->channel, &channels->nothing);
    channels_give_end(channels, ends, (uint32_t)(end - ends->table));
}

static rt_status channels_check_config(const rt_channel_config *config)
{
    if (config->capacity == 0) {
        return (rt_status){RT_ERR_INVALID, "the capacity is 0: make a rendezvous channel"};
    }
    /* Offsets and places are 32 bits wide. */
    if (config->capacity > UINT32_MAX / 8 ||
        (config->elem_size != 0 && config->capacity > UINT32_MAX / 8 / config->elem_size)) {
        return (rt_status){RT_ERR_INVALID, "the channel would be too large"};
    }
    if (config->memory != NULL &&
        (config->memory_size < RT_CHANNEL_BYTES(config->elem_size, config->capacity) ||
         (uintptr_t)config->memory % _Alignof(max_align_t) != 0)) {
        return (rt_status){RT_ERR_INVALID, "the memory is too small or not aligned"};
    }
    return RT_SUCCESS;
}

/* Keeps the channel where it is until it is finalized; false if another worker is about to free it.
 */
static bool channels_member_hold(struct rti_region_member *member, struct rti_sched *sched)
{
    struct rti_channel *channel = RTI_CONTAINER_OF(member, struct rti_channel, member);
    rti_lock_acquire(channel->lock, sched);
    bool is_held = !rti_channel_is_gone(channel);
    channel->pins += is_held;
    rti_lock_release(channel->lock);
    return is_held;
}

static void channels_member_finalize(struct rti_region_member *member, struct rti_sched *sched)
{
    struct rti_channel *channel = RTI_CONTAINER_OF(member, struct rti_channel, member);
    rti_channels_finalize(sched->modules[RTI_MODULE_CHANNEL], channel);
}

static const struct rti_region_member_ops channels_member_ops = {
    .is_runnable = false, .hold = channels_member_hold, .finalize = channels_member_finalize};

/* Takes the memory of a channel: control block and values, both or none. */
static struct rti_channel *channels_take_memory(struct rti_channels *channels,
                                                const rt_channel_config *config, void **owned)
{
    *owned = NULL;
    struct rti_channel *channel = rti_pool_alloc(&channels->blocks);
    if (channel != NULL && config->memory == NULL) {
        *owned = rti_arena_alloc(&channels->arena,
                                 RT_CHANNEL_BYTES(config->elem_size, config->capacity));
        if (*owned == NULL) {
            rti_pool_free(&channels->blocks, channel);
            return NULL;
        }
    }
    return channel;
}

static struct rti_channel *channels_alloc(struct rti_channels *channels,
                                          const rt_channel_config *config, bool is_rendezvous)
{
    void *owned;
    rti_lock_acquire(&channels->lock, channels->sched);
    struct rti_channel *channel = channels_take_memory(channels, config, &owned);
    uint32_t number = channel == NULL ? 0 : ++channels->last_number;
    rti_lock_release(&channels->lock);
    if (channel == NULL) {
        return NULL;
    }
    rti_channel_init(channel, config, owned != NULL ? owned : config->memory, is_rendezvous);
    rti_region_member_init(&channel->member, &channels_member_ops);
    channel->lock = &channels->locks[rti_pool_index(&channels->blocks, channel)].lock;
    if (!rti_sched_is_local(channels->sched)) {
        rti_channel_share(channel);
    }
    channel->memory = owned;
    channel->number = number;
    channels_name(channels, channel, channel);
    return channel;
}

/* Makes the channel over two places that were taken. The places stay the caller's on failure. */
static rt_status channels_create_at(struct rti_channels *channels, const rt_channel_config *config,
                                    bool is_rendezvous, struct rti_channel **out_channel)
{
    struct rti_region *region = rti_region_of(config->region);
    if (config->region != NULL && (region == NULL || !rti_region_is_open(region))) {
        return (rt_status){RT_ERR_STATE, "the region takes no new members"};
    }
    struct rti_channel *channel = channels_alloc(channels, config, is_rendezvous);
    if (channel == NULL) {
        return (rt_status){RT_ERR_RESOURCE_EXHAUSTED, "no channel or no memory for it is left"};
    }
    if (region != NULL) {
        rt_status status = rti_region_join(region, &channel->member);
        if (RT_FAILED(status)) {
            /* Another worker began to close it a moment ago. */
            channel->senders = 0;
            channel->receivers = 0;
            rti_channels_free(channels, channel);
            return status;
        }
    }
    *out_channel = channel;
    return RT_SUCCESS;
}

static rt_status channels_create(const rt_channel_config *given, bool is_rendezvous,
                                 rt_channel_sender **out_tx, rt_channel_receiver **out_rx)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    if (given == NULL || out_tx == NULL || out_rx == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    rt_channel_config config = *given;
    config.capacity += is_rendezvous && config.capacity == 0;
    rt_status status = channels_check_config(&config);
    if (RT_FAILED(status)) {
        return status;
    }
    uint32_t tx = channels_take_end(channels, &channels->senders);
    uint32_t rx = channels_take_end(channels, &channels->receivers);
    struct rti_channel *channel = NULL;
    status = tx == END_NONE || rx == END_NONE
                 ? (rt_status){RT_ERR_RESOURCE_EXHAUSTED, "no channel handle is left"}
                 : channels_create_at(channels, &config, is_rendezvous, &channel);
    if (!RT_FAILED(status)) {
        *out_tx = channels_open_end(&channels->senders, tx, channel);
        *out_rx = channels_open_end(&channels->receivers, rx, channel);
        return RT_SUCCESS;
    }
    if (tx != END_NONE) {
        channels_give_end(channels, &channels->senders, tx);
    }
    if (rx != END_NONE) {
        channels_give_end(channels, &channels->receivers, rx);
    }
    return status;
}

rt_status rt_channel_create(const rt_channel_config *config, rt_channel_sender **out_tx,
                            rt_channel_receiver **out_rx)
{
    return channels_create(config, false, out_tx, out_rx);
}

rt_status rt_channel_create_rendezvous(const rt_channel_config *config, rt_channel_sender **out_tx,
                                       rt_channel_receiver **out_rx)
{
    return channels_create(config, true, out_tx, out_rx);
}

/* Makes one more handle of the channel of `handle`, which is in the table `ends`. */
static rt_status channels_clone(struct rti_channels *channels, struct rti_channel_ends *ends,
                                const void *handle, void **out)
{
    struct rti_channel_end *end = rti_channels_lookup(channels, ends, handle);
    if (end == NULL) {
        return rti_channels_refuse(channels, ends, (uintptr_t)handle);
    }
    uint32_t index = channels_take_end(channels, ends);
    if (index == END_NONE) {
        return (rt_status){RT_ERR_RESOURCE_EXHAUSTED, "no channel handle is left"};
    }
    struct rti_channel *channel = rti_channels_enter(channels, end, (uintptr_t)handle);
    if (channel == NULL) {
        channels_give_end(channels, ends, index);
        return rti_channels_refuse(channels, ends, (uintptr_t)handle);
    }
    uint32_t *count = ends->kind == RTI_CHANNEL_SENDER ? &channel->senders : &channel->receivers;
    RT_ASSERT(*count > 0);
    ++*count;
    *out = channels_open_end(ends, index, channel);
    rti_lock_release(channel->lock);
    return RT_SUCCESS;
}

rt_status rt_channel_clone_sender(rt_channel_sender *tx, rt_channel_sender **out_tx)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    void *handle = NULL;
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    if (out_tx == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    rt_status status = channels_clone(channels, &channels->senders, tx, &handle);
    if (!RT_FAILED(status)) {
        *out_tx = handle;
    }
    return status;
}

rt_status rt_channel_clone_receiver(rt_channel_receiver *rx, rt_channel_receiver **out_rx)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    void *handle = NULL;
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    if (out_rx == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    rt_status status = channels_clone(channels, &channels->receivers, rx, &handle);
    if (!RT_FAILED(status)) {
        *out_rx = handle;
    }
    return status;
}

/* Destroys what is queued in a channel without a receiver; the channel is entered. The callback may
 * do anything with channels, this one included. */
static void channels_discard(struct rti_channels *channels, struct rti_channel *channel)
{
    void *value;
    channel->pins++;
    while ((value = rti_channel_discard(channel)) != NULL) {
        if (channel->destroy != NULL) {
            /* Without a receiver no place is given away: the value stays where it is. */
            rti_lock_release(channel->lock);
            channel->destroy(value, channel->destroy_arg);
            rti_lock_acquire(channel->lock, channels->sched);
        }
    }
    channel->pins--;
}

/* The part of a close that calls out; leaves the channel. */
static void channels_closed(struct rti_channels *channels, struct rti_channel *channel,
                            struct rti_list *wakes)
{
    rti_channels_record(channels, RTI_JOURNAL_CLOSE, channel, rti_channel_state(channel));
    rti_channel_changed(channel);
    if (channel->receivers == 0) {
        channels_discard(channels, channel);
    }
    rti_channel_left(channels, channel, wakes);
}

/* Closes the end with the handle `id`; false if it has another one by now. */
static bool channels_close_sender(struct rti_channels *channels, struct rti_channel_end *end,
                                  uintptr_t id)
{
    struct rti_channel *channel = rti_channels_enter(channels, end, id);
    if (channel == NULL) {
        return false;
    }
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_channel_close_sender(channel, end, &wakes);
    channels_close_end(channels, &channels->senders, end);
    channels_closed(channels, channel, &wakes);
    return true;
}

static bool channels_close_receiver(struct rti_channels *channels, struct rti_channel_end *end,
                                    uintptr_t id)
{
    struct rti_channel *channel = rti_channels_enter(channels, end, id);
    if (channel == NULL) {
        return false;
    }
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_channel_close_receiver(channel, end, &wakes);
    channels_close_end(channels, &channels->receivers, end);
    channels_closed(channels, channel, &wakes);
    return true;
}

rt_status rti_channels_close(struct rti_channels *channels, const void *handle, bool is_sender)
{
    struct rti_channel_ends *ends = is_sender ? &channels->senders : &channels->receivers;
    struct rti_channel_end *end = rti_channels_lookup(channels, ends, handle);
    uintptr_t id = (uintptr_t)handle;
    if (end == NULL || !(is_sender ? channels_close_sender(channels, end, id)
                                   : channels_close_receiver(channels, end, id))) {
        return rti_channels_refuse(channels, ends, id);
    }
    return RT_SUCCESS;
}

rt_status rt_channel_close_sender(rt_channel_sender *tx)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (worker == NULL) {
        return rti_channel_visit_close(tx, true);
    }
    return channels == NULL ? rti_channels_refuse_thread(worker)
                            : rti_channels_close(channels, tx, true);
}

rt_status rt_channel_close_receiver(rt_channel_receiver *rx)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (worker == NULL) {
        return rti_channel_visit_close(rx, false);
    }
    return channels == NULL ? rti_channels_refuse_thread(worker)
                            : rti_channels_close(channels, rx, false);
}

/* Takes every permit of the channel away from its holder. */
static void channels_revoke_permits(struct rti_channels *channels, struct rti_channel *channel)
{
    struct rti_list wakes;
    struct rti_list revoked;
    struct rti_link *link;
    rti_list_init(&wakes);
    rti_list_init(&revoked);
    rti_lock_acquire(channel->lock, channels->sched);
    while ((link = rti_list_peek(&channel->permits)) != NULL) {
        struct rti_permit *permit = RTI_CONTAINER_OF(link, struct rti_permit, link);
        if (rti_permit_revoke(channels, permit, &wakes)) {
            rti_list_push_tail(&revoked, &permit->link);
        }
    }
    rti_lock_release(channel->lock);
    rti_channel_wake_all(&wakes);
    while ((link = rti_list_pop(&revoked)) != NULL) {
        rti_permit_free(channels, RTI_CONTAINER_OF(link, struct rti_permit, link));
    }
}

void rti_channels_finalize(struct rti_channels *channels, struct rti_channel *channel)
{
    RT_ASSERT(channel->pins > 0);
    /* Without a receiver no place is granted any more. */
    for (uint32_t i = 0; i < RT_MAX_CHANNEL_HANDLES; i++) {
        struct rti_channel_end *end = &channels->receivers.table[i];
        uintptr_t id = rti_channel_end_id(end);
        if (rti_channel_end_channel(end) == channel) {
            (void)channels_close_receiver(channels, end, id);
        }
    }
    channels_revoke_permits(channels, channel);
    for (uint32_t i = 0; i < RT_MAX_CHANNEL_HANDLES; i++) {
        struct rti_channel_end *end = &channels->senders.table[i];
        uintptr_t id = rti_channel_end_id(end);
        if (rti_channel_end_channel(end) == channel) {
            (void)channels_close_sender(channels, end, id);
        }
    }
    rti_lock_acquire(channel->lock, channels->sched);
    channel->pins--;
    rti_channels_reclaim(channels, channel);
}

void rti_channels_deinit(struct rti_channels *channels)
{
    RT_ASSERT(channels->sched->modules[RTI_MODULE_CHANNEL] == channels);
    for (size_t i = 0; i < channels->blocks.fresh; i++) {
        struct rti_channel *channel = rti_pool_block(&channels->blocks, i);
        if (rti_pool_is_in_use(&channels->blocks, channel)) {
            channel->pins++;
            rti_channels_finalize(channels, channel);
        }
    }
    size_t left = rti_pool_in_use(&channels->blocks);
    RT_ASSERT(left == 0); /* else a context still waits, or holds a permit of its own making */
    rti_arena_deinit(&channels->arena);
    rti_pool_deinit(&channels->blocks);
    channels->sched->modules[RTI_MODULE_CHANNEL] = NULL;
    rti_sched_straighten(channels->sched);
#if !RTI_ONE_WORKER
    channels->sched->unfold = NULL;
#endif
}

/* Tells about the channel of a handle; false if that is closed. */
static bool channels_info(struct rti_channels *channels, const struct rti_channel_end *end,
                          uintptr_t id, rt_channel_info *out_info)
{
    struct rti_channel *channel = end == NULL ? NULL : rti_channels_enter(channels, end, id);
    if (channel == NULL) {
        return false;
    }
    *out_info = (rt_channel_info){
        .state = rti_channel_state(channel),
        .elem_size = channel->elem_size,
        .capacity = channel->capacity,
        .queued = rti_channel_queued(channel),
        .reserved = channel->reserved,
        .senders = channel->senders,
        .receivers = channel->receivers,
        .waiting_senders = rti_channel_waiting(channel, true),
        .waiting_receivers = rti_channel_waiting(channel, false),
        .sent = rti_channel_sent(channel),
        .received = rti_channel_received(channel),
        .destroyed = channel->destroyed,
    };
    rti_lock_release(channel->lock);
    return true;
}

rt_status rt_channel_sender_info(rt_channel_sender *tx, rt_channel_info *out_info)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    const struct rti_channel_end *end = rti_channels_sender(channels, tx);
    if (end != NULL && out_info == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    return channels_info(channels, end, (uintptr_t)tx, out_info)
               ? RT_SUCCESS
               : rti_channels_refuse(channels, &channels->senders, (uintptr_t)tx);
}

rt_status rt_channel_receiver_info(rt_channel_receiver *rx, rt_channel_info *out_info)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    const struct rti_channel_end *end = rti_channels_receiver(channels, rx);
    if (end != NULL && out_info == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    return channels_info(channels, end, (uintptr_t)rx, out_info)
               ? RT_SUCCESS
               : rti_channels_refuse(channels, &channels->receivers, (uintptr_t)rx);
}

/* Checks a table and returns how many of its open ends point to `channel`. */
static uint32_t channels_audit_ends(const struct rti_channels *channels,
                                    const struct rti_channel_ends *ends,
                                    const struct rti_channel *channel)
{
    uint32_t open = 0;
    uint32_t own = 0;
    for (uint32_t i = 0; i < RTI_CHANNEL_TABLE_SIZE; i++) {
        const struct rti_channel_end *end = &ends->table[i];
        uintptr_t id = rti_channel_end_id(end);
        bool is_open = rti_channel_end_channel(end) != &channels->nothing;
        RT_ASSERT(((id >> RTI_CHANNEL_KIND_BITS) & (RTI_CHANNEL_TABLE_SIZE - 1)) == i);
        RT_ASSERT((id & RTI_CHANNEL_KIND_MASK) == (is_open ? ends->kind : 0));
        open += is_open;
        own += rti_channel_end_channel(end) == channel;
    }
    RT_ASSERT(open == ends->open_count);
    return own;
}

void rti_channels_traffic(struct rti_channels *channels, uint64_t *sent, uint64_t *received)
{
    rti_lock_acquire(&channels->lock, channels->sched);
    *sent = channels->sent_before;
    *received = channels->received_before;
    for (size_t i = 0; i < channels->blocks.fresh; i++) {
        const struct rti_channel *channel = rti_pool_block(&channels->blocks, i);
        if (rti_pool_is_in_use(&channels->blocks, channel)) {
            *sent += rti_channel_sent(channel);
            *received += rti_channel_received(channel);
        }
    }
    rti_lock_release(&channels->lock);
}

size_t rti_channels_audit(const struct rti_channels *channels)
{
    size_t reserved = 0;
    const struct rti_channel *nothing = &channels->nothing;
    RT_ASSERT(nothing->gates.send == RTI_GATE_SHUT && nothing->gates.recv == RTI_GATE_SHUT);
    for (size_t i = 0; i < channels->blocks.fresh; i++) {
        const struct rti_channel *channel = rti_pool_block(&channels->blocks, i);
        if (rti_pool_is_in_use(&channels->blocks, channel)) {
            rti_channel_audit(channel);
            RT_ASSERT(channels_audit_ends(channels, &channels->senders, channel) ==
                      channel->senders);
            RT_ASSERT(channels_audit_ends(channels, &channels->receivers, channel) ==
                      channel->receivers);
            reserved += channel->reserved;
        }
    }
    RT_ASSERT(reserved == rti_permits_audit(&channels->permits));
    rti_arena_audit(&channels->arena);
    rti_pool_audit(&channels->blocks);
    return rti_pool_in_use(&channels->blocks);
}
