/* SPDX-License-Identifier: Apache-2.0 */
/* The module of channels: handles, memory, making and ending; the essay is in channels.h. */
#define RTI_MODULE "channels"
#include "sync/channels.h"

#include "sched/fiber.h"
#include "sync/region.h"

#define END_NONE        RT_MAX_CHANNEL_HANDLES
#define GENERATION_STEP ((uintptr_t)1 << (RTI_CHANNEL_INDEX_BITS + RTI_CHANNEL_KIND_BITS))

rt_status rti_channels_init(struct rti_channels *channels, struct rti_sched *sched)
{
    RT_ASSERT(channels != NULL && sched != NULL);
    if (sched->modules[RTI_MODULE_CHANNEL] != NULL) {
        return (rt_status){RT_ERR_STATE, "this runtime has its channels already"};
    }
    channels->sched = sched;
    channels->free_head = 0;
    channels->free_tail = RT_MAX_CHANNEL_HANDLES - 1;
    channels->open_count = 0;
    channels->last_number = 0;
    channels->ghost = (struct rti_ghost){.counts = {0}};
    for (uint32_t i = 0; i < RT_MAX_CHANNEL_HANDLES; i++) {
        channels->ends[i] = (struct rti_channel_end){
            .id = (uintptr_t)i << RTI_CHANNEL_KIND_BITS, .channel = NULL, .next_free = i + 1};
    }
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

rt_status rti_channels_refuse(struct rti_channels *channels, uintptr_t id)
{
    uint32_t index = (uint32_t)(id >> RTI_CHANNEL_KIND_BITS) & RTI_CHANNEL_INDEX_MASK;
    if (index < RT_MAX_CHANNEL_HANDLES && id >= GENERATION_STEP &&
        id / GENERATION_STEP <= channels->ends[index].id / GENERATION_STEP) {
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

/* Opens an end; the caller has seen that one is free. */
static struct rti_channel_end *channels_open_end(struct rti_channels *channels,
                                                 struct rti_channel *channel, bool is_sender)
{
    uint32_t index = channels->free_head;
    RT_ASSERT(index != END_NONE);
    struct rti_channel_end *end = &channels->ends[index];
    RT_ASSERT(end->channel == NULL);
    channels->free_head = end->next_free;
    channels->open_count++;
    RT_ASSERT((end->id & RTI_CHANNEL_KIND_MASK) == 0);
    end->id += GENERATION_STEP + (is_sender ? RTI_CHANNEL_SENDER : RTI_CHANNEL_RECEIVER);
    end->channel = channel;
    end->next_free = END_NONE;
    return end;
}

/* Makes an end name nothing. A place without a further generation is never used again. */
static void channels_close_end(struct rti_channels *channels, struct rti_channel_end *end)
{
    uint32_t index = (uint32_t)(end - channels->ends);
    RT_ASSERT(end->channel != NULL && channels->open_count > 0);
    end->channel = NULL;
    end->id &= ~(uintptr_t)RTI_CHANNEL_KIND_MASK;
    channels->open_count--;
    if (end->id > UINTPTR_MAX - 2 * GENERATION_STEP) {
        return;
    }
    end->next_free = END_NONE;
    if (channels->free_head == END_NONE) {
        channels->free_head = index;
    } else {
        channels->ends[channels->free_tail].next_free = index;
    }
    channels->free_tail = index;
}

static bool channels_has_free_ends(const struct rti_channels *channels, uint32_t count)
{
    uint32_t at = channels->free_head;
    while (at != END_NONE && count > 0) {
        at = channels->ends[at].next_free;
        count--;
    }
    return count == 0;
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
    if (!channels_has_free_ends(channels, 2)) {
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
    *out_tx = (rt_channel_sender *)channels_open_end(channels, channel, true)->id;
    *out_rx = (rt_channel_receiver *)channels_open_end(channels, channel, false)->id;
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

/* Makes one more handle of the kind of `id`; 0 with the reason in `status` if it cannot. */
static uintptr_t channels_clone(uintptr_t id, bool is_sender, rt_status *status)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rti_channels *channels = rti_channels_of(worker);
    if (channels == NULL) {
        *status = rti_channels_refuse_thread(worker);
        return 0;
    }
    struct rti_channel_end *end =
        rti_channels_lookup(channels, id, is_sender ? RTI_CHANNEL_SENDER : RTI_CHANNEL_RECEIVER);
    if (end == NULL) {
        *status = rti_channels_refuse(channels, id);
        return 0;
    }
    if (channels->free_head == END_NONE) {
        *status = (rt_status){RT_ERR_RESOURCE_EXHAUSTED, "no channel handle is left"};
        return 0;
    }
    struct rti_channel *channel = end->channel;
    if (is_sender) {
        RT_ASSERT(channel->senders > 0);
        channel->senders++;
    } else {
        RT_ASSERT(channel->receivers > 0);
        channel->receivers++;
    }
    *status = RT_SUCCESS;
    return channels_open_end(channels, channel, is_sender)->id;
}

rt_status rt_channel_clone_sender(rt_channel_sender *tx, rt_channel_sender **out_tx)
{
    rt_status status = {RT_ERR_INVALID, "a pointer is NULL"};
    uintptr_t id = out_tx == NULL ? 0 : channels_clone((uintptr_t)tx, true, &status);
    if (id != 0) {
        *out_tx = (rt_channel_sender *)id;
    }
    return status;
}

rt_status rt_channel_clone_receiver(rt_channel_receiver *rx, rt_channel_receiver **out_rx)
{
    rt_status status = {RT_ERR_INVALID, "a pointer is NULL"};
    uintptr_t id = out_rx == NULL ? 0 : channels_clone((uintptr_t)rx, false, &status);
    if (id != 0) {
        *out_rx = (rt_channel_receiver *)id;
    }
    return status;
}

void rti_channels_reclaim(struct rti_channels *channels, struct rti_channel *channel)
{
    if (rti_channel_is_gone(channel)) {
        RT_ASSERT(channel->queued == 0);
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

static void channels_close(struct rti_channels *channels, struct rti_channel_end *end)
{
    struct rti_channel *channel = end->channel;
    struct rti_list wakes;
    rti_list_init(&wakes);
    if (rti_channel_end_is_sender(end)) {
        rti_channel_close_sender(channel, end, &wakes);
    } else {
        rti_channel_close_receiver(channel, end, &wakes);
    }
    channels_close_end(channels, end);
    rti_channels_record(channels, RTI_JOURNAL_CLOSE, channel, rti_channel_state(channel));
    RT_AUDIT(rti_channel_audit(channel));
    /* Until here nothing was called out. A waker may close what is left: hold the channel. */
    channel->pins++;
    if (channel->receivers == 0) {
        channels_discard(channel);
    }
    rti_channel_wake_all(&wakes);
    channel->pins--;
    rti_channels_reclaim(channels, channel);
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
        return rti_channels_refuse(channels, (uintptr_t)tx);
    }
    channels_close(channels, end);
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
        return rti_channels_refuse(channels, (uintptr_t)rx);
    }
    channels_close(channels, end);
    return RT_SUCCESS;
}

static void channels_close_all(struct rti_channels *channels, struct rti_channel *channel,
                               bool is_sender)
{
    for (uint32_t i = 0; i < RT_MAX_CHANNEL_HANDLES; i++) {
        struct rti_channel_end *end = &channels->ends[i];
        if (end->channel == channel && rti_channel_end_is_sender(end) == is_sender) {
            channels_close(channels, end);
        }
    }
}

void rti_channels_finalize(struct rti_channels *channels, struct rti_channel *channel)
{
    struct rti_list wakes;
    struct rti_link *link;
    rti_list_init(&wakes);
    channel->pins++;
    /* Without a receiver no place is granted any more. */
    channels_close_all(channels, channel, false);
    while ((link = rti_list_peek(&channel->permits)) != NULL) {
        rti_permit_revoke(channels, RTI_CONTAINER_OF(link, struct rti_permit, link), &wakes);
    }
    rti_channel_wake_all(&wakes);
    channels_close_all(channels, channel, true);
    channel->pins--;
    rti_channels_reclaim(channels, channel);
}

void rti_channels_deinit(struct rti_channels *channels)
{
    RT_ASSERT(channels->sched->modules[RTI_MODULE_CHANNEL] == channels);
    for (uint32_t i = 0; i < RT_MAX_CHANNEL_HANDLES; i++) {
        if (channels->ends[i].channel != NULL) {
            rti_channels_finalize(channels, channels->ends[i].channel);
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
        .queued = channel->queued,
        .reserved = channel->reserved,
        .senders = channel->senders,
        .receivers = channel->receivers,
        .waiting_senders = rti_channel_line_count(&channel->sender_line),
        .waiting_receivers = rti_channel_line_count(&channel->receiver_line),
        .sent = channel->sent,
        .received = channel->sent - channel->queued - channel->destroyed,
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
    return end == NULL ? rti_channels_refuse(channels, (uintptr_t)tx)
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
    return end == NULL ? rti_channels_refuse(channels, (uintptr_t)rx)
                       : channels_info(end->channel, out_info);
}

/* How many open ends of this kind point to the channel. */
static uint32_t channels_count_ends(const struct rti_channels *channels,
                                    const struct rti_channel *channel, bool is_sender)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < RT_MAX_CHANNEL_HANDLES; i++) {
        const struct rti_channel_end *end = &channels->ends[i];
        count += end->channel == channel && rti_channel_end_is_sender(end) == is_sender;
    }
    return count;
}

size_t rti_channels_audit(const struct rti_channels *channels)
{
    size_t open = 0;
    size_t reserved = 0;
    for (uint32_t i = 0; i < RT_MAX_CHANNEL_HANDLES; i++) {
        const struct rti_channel_end *end = &channels->ends[i];
        RT_ASSERT(((uint32_t)(end->id >> RTI_CHANNEL_KIND_BITS) & RTI_CHANNEL_INDEX_MASK) == i);
        RT_ASSERT(((end->id & RTI_CHANNEL_KIND_MASK) != 0) == (end->channel != NULL));
        open += end->channel != NULL;
    }
    RT_ASSERT(open == channels->open_count);
    for (size_t i = 0; i < channels->blocks.fresh; i++) {
        const struct rti_channel *channel = rti_pool_block(&channels->blocks, i);
        if (rti_pool_is_in_use(&channels->blocks, channel)) {
            rti_channel_audit(channel);
            RT_ASSERT(channels_count_ends(channels, channel, true) == channel->senders);
            RT_ASSERT(channels_count_ends(channels, channel, false) == channel->receivers);
            reserved += channel->reserved;
        }
    }
    RT_ASSERT(reserved == rti_permits_audit(&channels->permits));
    rti_arena_audit(&channels->arena);
    rti_pool_audit(&channels->blocks);
    return rti_pool_in_use(&channels->blocks);
}
