/* SPDX-License-Identifier: Apache-2.0 */
/* The module of channels: handles, memory, making and ending; the essay is in channels.h. */
#define RTI_MODULE "channels"
#include "sync/channels.h"

#include "sched/fiber.h"
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
        ends->table[i] = (struct rti_channel_end){.id = (uintptr_t)i << RTI_CHANNEL_KIND_BITS,
                                                  .channel = nothing};
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
    channels->last_number = 0;
    channels->ghost = (struct rti_ghost){.counts = {0}};
    channels->nothing = (struct rti_channel){.number = 0};
    channels_ends_init(&channels->senders, RTI_CHANNEL_SENDER, &channels->nothing);
    channels_ends_init(&channels->receivers, RTI_CHANNEL_RECEIVER, &channels->nothing);
    rti_permits_init(&channels->permits);
    rti_pool_init(&channels->blocks, channels->block_memory, sizeof(struct rti_channel),
                  RT_MAX_CHANNELS);
    rti_arena_init(&channels->arena, channels->memory, sizeof(channels->memory));
    sched->modules[RTI_MODULE_CHANNEL] = channels;
    return RT_SUCCESS;
}

/* Gives the memory of a channel back. */
static void channels_free(struct rti_channels *channels, struct rti_channel *channel)
{
    if (channel->member.region != NULL) {
        rti_region_leave(&channel->member, RT_OUTCOME_OK);
    }
    if (channel->memory != NULL) {
        rti_arena_free(&channels->arena, channel->memory);
    }
    rti_pool_free(&channels->blocks, channel);
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
        generation <= ends->table[index].id / GENERATION_STEP) {
        RTI_GHOST(&channels->ghost, RTI_GHOST_HANDLE_REUSED);
        return (rt_status){RT_ERR_INVALID, "the handle is closed"};
    }
    return (rt_status){RT_ERR_INVALID, "this is no handle of a channel"};
}

void rti_channels_write(struct rti_sched *sched, enum rti_journal_kind kind, uint32_t number,
                        uint64_t value)
{
    struct rti_fiber *fiber = sched->worker.fiber;
    rti_sched_record(sched, &(struct rti_journal_event){.kind = kind,
                                                        .task = fiber == NULL ? 0 : fiber->run.id,
                                                        .channel = number,
                                                        .value = value});
}

/* Opens an end and gives its handle; the caller has seen that one is free. */
static void *channels_open_end(struct rti_channel_ends *ends, struct rti_channel *channel)
{
    uint32_t index = ends->free_head;
    RT_ASSERT(index != END_NONE);
    struct rti_channel_end *end = &ends->table[index];
    RT_ASSERT((end->id & RTI_CHANNEL_KIND_MASK) == 0);
    ends->free_head = ends->next_free[index];
    ends->open_count++;
    end->id += GENERATION_STEP + ends->kind;
    end->channel = channel;
    return (void *)end->id;
}

/* Makes an end name nothing. A place without a further generation is never used again. */
static void channels_close_end(struct rti_channels *channels, struct rti_channel_ends *ends,
                               struct rti_channel_end *end)
{
    uint32_t index = (uint32_t)(end - ends->table);
    RT_ASSERT((end->id & RTI_CHANNEL_KIND_MASK) == ends->kind && ends->open_count > 0);
    end->channel = &channels->nothing;
    end->id -= ends->kind;
    ends->open_count--;
    if (end->id > UINTPTR_MAX - 2 * GENERATION_STEP) {
        return;
    }
    ends->next_free[index] = END_NONE;
    if (ends->free_head == END_NONE) {
        ends->free_head = index;
    } else {
        ends->next_free[ends->free_tail] = index;
    }
    ends->free_tail = index;
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

static void channels_member_finalize(struct rti_member *member)
{
    struct rti_channel *channel = RTI_CONTAINER_OF(member, struct rti_channel, member);
    rti_channels_finalize(rti_channels_of(rti_worker_current()), channel);
}

static const struct rti_member_ops channels_member_ops = {.is_runnable = false,
                                                          .finalize = channels_member_finalize};

/* Takes the memory of a channel: control block and values, both or none. */
static struct rti_channel *channels_alloc(struct rti_channels *channels,
                                          const rt_channel_config *config, bool is_rendezvous)
{
    struct rti_channel *channel = rti_pool_alloc(&channels->blocks);
    if (channel == NULL) {
        return NULL;
    }
    void *owned = NULL;
    if (config->memory == NULL) {
        owned = rti_arena_alloc(&channels->arena,
                                RT_CHANNEL_BYTES(config->elem_size, config->capacity));
        if (owned == NULL) {
            rti_pool_free(&channels->blocks, channel);
            return NULL;
        }
    }
    rti_channel_init(channel, config, owned != NULL ? owned : config->memory, is_rendezvous);
    rti_member_init(&channel->member, &channels_member_ops);
    channel->memory = owned;
    channel->number = ++channels->last_number;
    return channel;
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
    struct rti_region *region = rti_region_of(config.region);
    if (config.region != NULL && (region == NULL || region->state != RT_REGION_OPEN)) {
        return (rt_status){RT_ERR_STATE, "the region takes no new members"};
    }
    if (channels->senders.free_head == END_NONE || channels->receivers.free_head == END_NONE) {
        return (rt_status){RT_ERR_RESOURCE_EXHAUSTED, "no channel handle is left"};
    }
    struct rti_channel *channel = channels_alloc(channels, &config, is_rendezvous);
    if (channel == NULL) {
        return (rt_status){RT_ERR_RESOURCE_EXHAUSTED, "no channel or no memory for it is left"};
    }
    if (region != NULL) {
        status = rti_region_join(region, &channel->member);
        RT_ASSERT(!RT_FAILED(status));
    }
    *out_tx = channels_open_end(&channels->senders, channel);
    *out_rx = channels_open_end(&channels->receivers, channel);
    return RT_SUCCESS;
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

/* Can `ends`, the table of `handle`, give one more handle of the same channel? */
static rt_status channels_check_clone(struct rti_channels *channels, struct rti_channel_ends *ends,
                                      const void *handle, const void *out)
{
    if (out == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    if (rti_channels_lookup(channels, ends, handle) == NULL) {
        return rti_channels_refuse(channels, ends, (uintptr_t)handle);
    }
    if (ends->free_head == END_NONE) {
        return (rt_status){RT_ERR_RESOURCE_EXHAUSTED, "no channel handle is left"};
    }
    return RT_SUCCESS;
}

rt_status rt_channel_clone_sender(rt_channel_sender *tx, rt_channel_sender **out_tx)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    rt_status status = channels_check_clone(channels, &channels->senders, tx, out_tx);
    if (!RT_FAILED(status)) {
        struct rti_channel *channel = rti_channels_sender(channels, tx)->channel;
        RT_ASSERT(channel->senders > 0);
        channel->senders++;
        *out_tx = channels_open_end(&channels->senders, channel);
    }
    return status;
}

rt_status rt_channel_clone_receiver(rt_channel_receiver *rx, rt_channel_receiver **out_rx)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    rt_status status = channels_check_clone(channels, &channels->receivers, rx, out_rx);
    if (!RT_FAILED(status)) {
        struct rti_channel *channel = rti_channels_receiver(channels, rx)->channel;
        RT_ASSERT(channel->receivers > 0);
        channel->receivers++;
        *out_rx = channels_open_end(&channels->receivers, channel);
    }
    return status;
}

void rti_channels_reclaim(struct rti_channels *channels, struct rti_channel *channel)
{
    if (rti_channel_is_gone(channel)) {
        RT_ASSERT(rti_channel_queued(channel) == 0);
        channels_free(channels, channel);
    }
}

/* Destroys what is queued in a channel without a receiver. The callback may do anything with
 * channels, this one included. */
static void channels_discard(struct rti_channel *channel)
{
    void *value;
    channel->pins++;
    while ((value = rti_channel_discard(channel)) != NULL) {
        if (channel->destroy != NULL) {
            channel->destroy(value, channel->destroy_arg);
        }
    }
    channel->pins--;
}

/* The part of a close that calls out. */
static void channels_closed(struct rti_channels *channels, struct rti_channel *channel,
                            struct rti_list *wakes)
{
    rti_channels_record(channels, RTI_JOURNAL_CLOSE, channel, rti_channel_state(channel));
    RT_AUDIT(rti_channel_audit(channel));
    /* A waker may close what is left: hold the channel. */
    channel->pins++;
    if (channel->receivers == 0) {
        channels_discard(channel);
    }
    rti_channel_wake_all(wakes);
    channel->pins--;
    rti_channels_reclaim(channels, channel);
}

static void channels_close_sender(struct rti_channels *channels, struct rti_channel_end *end)
{
    struct rti_channel *channel = end->channel;
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_channel_close_sender(channel, end, &wakes);
    channels_close_end(channels, &channels->senders, end);
    channels_closed(channels, channel, &wakes);
}

static void channels_close_receiver(struct rti_channels *channels, struct rti_channel_end *end)
{
    struct rti_channel *channel = end->channel;
    struct rti_list wakes;
    rti_list_init(&wakes);
    rti_channel_close_receiver(channel, end, &wakes);
    channels_close_end(channels, &channels->receivers, end);
    channels_closed(channels, channel, &wakes);
}

rt_status rt_channel_close_sender(rt_channel_sender *tx)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    struct rti_channel_end *end = rti_channels_sender(channels, tx);
    if (end == NULL) {
        return rti_channels_refuse(channels, &channels->senders, (uintptr_t)tx);
    }
    channels_close_sender(channels, end);
    return RT_SUCCESS;
}

rt_status rt_channel_close_receiver(rt_channel_receiver *rx)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    struct rti_channel_end *end = rti_channels_receiver(channels, rx);
    if (end == NULL) {
        return rti_channels_refuse(channels, &channels->receivers, (uintptr_t)rx);
    }
    channels_close_receiver(channels, end);
    return RT_SUCCESS;
}

void rti_channels_finalize(struct rti_channels *channels, struct rti_channel *channel)
{
    struct rti_list wakes;
    struct rti_link *link;
    rti_list_init(&wakes);
    channel->pins++;
    /* Without a receiver no place is granted any more. */
    for (uint32_t i = 0; i < RT_MAX_CHANNEL_HANDLES; i++) {
        if (channels->receivers.table[i].channel == channel) {
            channels_close_receiver(channels, &channels->receivers.table[i]);
        }
    }
    while ((link = rti_list_peek(&channel->permits)) != NULL) {
        rti_permit_revoke(channels, RTI_CONTAINER_OF(link, struct rti_permit, link), &wakes);
    }
    rti_channel_wake_all(&wakes);
    for (uint32_t i = 0; i < RT_MAX_CHANNEL_HANDLES; i++) {
        if (channels->senders.table[i].channel == channel) {
            channels_close_sender(channels, &channels->senders.table[i]);
        }
    }
    channel->pins--;
    rti_channels_reclaim(channels, channel);
}

void rti_channels_deinit(struct rti_channels *channels)
{
    RT_ASSERT(channels->sched->modules[RTI_MODULE_CHANNEL] == channels);
    for (size_t i = 0; i < channels->blocks.fresh; i++) {
        struct rti_channel *channel = rti_pool_block(&channels->blocks, i);
        if (rti_pool_is_in_use(&channels->blocks, channel)) {
            rti_channels_finalize(channels, channel);
        }
    }
    size_t left = rti_pool_in_use(&channels->blocks);
    RT_ASSERT(left == 0); /* else a context still waits, or holds a permit of its own making */
    rti_arena_deinit(&channels->arena);
    rti_pool_deinit(&channels->blocks);
    channels->sched->modules[RTI_MODULE_CHANNEL] = NULL;
}

static rt_status channels_info(const struct rti_channel *channel, rt_channel_info *out_info)
{
    if (out_info == NULL) {
        return (rt_status){RT_ERR_INVALID, "a pointer is NULL"};
    }
    *out_info = (rt_channel_info){
        .state = rti_channel_state(channel),
        .elem_size = channel->elem_size,
        .capacity = channel->capacity,
        .queued = rti_channel_queued(channel),
        .reserved = channel->reserved,
        .senders = channel->senders,
        .receivers = channel->receivers,
        .waiting_senders = rti_channel_line_count(&channel->sender_line),
        .waiting_receivers = rti_channel_line_count(&channel->receiver_line),
        .sent = rti_channel_sent(channel),
        .received = rti_channel_received(channel),
        .destroyed = channel->destroyed,
    };
    return RT_SUCCESS;
}

rt_status rt_channel_sender_info(rt_channel_sender *tx, rt_channel_info *out_info)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    const struct rti_channel_end *end = rti_channels_sender(channels, tx);
    return end == NULL ? rti_channels_refuse(channels, &channels->senders, (uintptr_t)tx)
                       : channels_info(end->channel, out_info);
}

rt_status rt_channel_receiver_info(rt_channel_receiver *rx, rt_channel_info *out_info)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        return rti_channels_refuse_thread(worker);
    }
    const struct rti_channel_end *end = rti_channels_receiver(channels, rx);
    return end == NULL ? rti_channels_refuse(channels, &channels->receivers, (uintptr_t)rx)
                       : channels_info(end->channel, out_info);
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
        bool is_open = end->channel != &channels->nothing;
        RT_ASSERT(((end->id >> RTI_CHANNEL_KIND_BITS) & (RTI_CHANNEL_TABLE_SIZE - 1)) == i);
        RT_ASSERT((end->id & RTI_CHANNEL_KIND_MASK) == (is_open ? ends->kind : 0));
        open += is_open;
        own += end->channel == channel;
    }
    RT_ASSERT(open == ends->open_count);
    return own;
}

size_t rti_channels_audit(const struct rti_channels *channels)
{
    size_t reserved = 0;
    const struct rti_channel *nothing = &channels->nothing;
    RT_ASSERT(nothing->tail == nothing->send_limit && nothing->head == nothing->recv_limit);
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
