/* SPDX-License-Identifier: Apache-2.0 */
/* The public wheel: the intrusive wheel (wheel.c) over a fixed array of nodes, with handles.
 *
 * A handle is (id, generation). The generation counts registrations one by one and wraps at 2^64,
 * so a handle names another timer only after 2^64 of them; 0 is left out, so that a zeroed handle
 * names none. The id is the generation moved up, with the index of the node in the bits below: it
 * grows with each registration as well, and leads to its node without a table or a division.
 *
 * With 10^5 timers nearly every look at a node is a miss of the cache, and so a node is one line of
 * it: 64 bytes, on a machine of 64 bits, that hold all a registration has. For this the timer lends
 * two of its fields. `seq`, which breaks ties in the order of arming, is the generation, which
 * counts the same. `fire`, which only rti_wheel_expire calls and nobody expires this wheel so, is
 * the function of the waker.
 *
 * I1  A node is armed in the wheel or on the free list, never both.         (rti_wheel_api_audit)
 * I2  The generation of a node that is armed is not 0.                      (rti_wheel_api_audit)
 * I3  A node that is free keeps no waker.                                   (rti_wheel_api_audit)
 * I4  The deadline of a node that is free is RTI_TIME_NEVER iff its last registration was
 *     collected.                                         (wheel_counts_a_handle_cancelled_twice)
 *
 * Costs: those of the wheel, and one line of the cache. A free node's link is the `next` of its
 * timer.
 *
 * Rejected: a hash table from id to node (more memory, longer chains at worst, and nothing gained);
 * ids that are the node's index modulo the number of nodes (two divisions and a branch that cannot
 * be foreseen in each registration, so that the processor cannot begin the next before the misses
 * of this one are over: a third more time with 10^5 timers). */
#define RTI_MODULE "wheel_api"
#include "time/wheel_api.h"

#include "time/wheel_place.h"

struct node {
    struct rti_timer timer; /* its `fire` is the waker's fn, its `seq` the generation */
    void *arg;              /* the waker's; NULL when free */
#if UINTPTR_MAX < UINT64_MAX
    uint32_t generation_high; /* what `seq` has no room for */
#endif
};

struct wheel_api {
    struct rti_wheel core; /* its `seq` is the generation of the next registration */
    struct node *nodes;
    size_t node_count;
    struct rti_timer *free; /* linked through `next`, the last freed first */
    uint32_t index_bits;    /* of an id */
#if UINTPTR_MAX < UINT64_MAX
    uint32_t generation_high; /* what core.seq has no room for */
#endif
    uint64_t double_cancels;
    uint64_t max_wheel_duration;
    uint64_t max_timer_duration;
};

_Static_assert(sizeof(struct wheel_api) <= sizeof(rt_wheel), "the wheel fits its storage");
_Static_assert(sizeof(struct node) <= sizeof(rt_wheel_node), "a node fits its storage");
_Static_assert(sizeof(rt_wheel_node) % _Alignof(struct node) == 0, "nodes are aligned");
_Static_assert(sizeof(rt_wheel_node) == 64, "a node is a line of the cache");
_Static_assert(_Alignof(struct wheel_api) <= _Alignof(rt_wheel), "the wheel is aligned");
_Static_assert(RT_TIME_NEVER == RTI_TIME_NEVER, "one never");

/* Nodes lie as far apart as their public storage says. */
static struct node *api_node(const struct wheel_api *api, size_t index)
{
    RT_DCHECK(index < api->node_count);
    return (struct node *)(void *)((rt_wheel_node *)(void *)api->nodes + index);
}

static size_t api_index(const struct wheel_api *api, const struct node *node)
{
    return (size_t)((const rt_wheel_node *)(const void *)node -
                    (const rt_wheel_node *)(const void *)api->nodes);
}

static struct wheel_api *api_of(rt_wheel *wheel)
{
    return (struct wheel_api *)(void *)wheel;
}

static const struct wheel_api *api_of_const(const rt_wheel *wheel)
{
    return (const struct wheel_api *)(const void *)wheel;
}

static rt_status failure(rt_status_code code, const char *msg)
{
    (void)msg;
    return (rt_status){code, RTI_SENTENCE(msg)};
}

#if UINTPTR_MAX < UINT64_MAX

static uint64_t node_generation(const struct node *node)
{
    return (uint64_t)node->generation_high << 32 | node->timer.seq;
}

static uint64_t api_generation(const struct wheel_api *api)
{
    return (uint64_t)api->generation_high << 32 | api->core.seq;
}

static void api_set_generation(struct wheel_api *api, uint64_t generation)
{
    api->core.seq = (rti_timer_seq)generation;
    api->generation_high = (uint32_t)(generation >> 32);
}

/* Gives a node what the wheel does not give it: the upper half of its generation. */
static void node_number(struct node *node, uint64_t generation)
{
    node->generation_high = (uint32_t)(generation >> 32);
}

#else

static uint64_t node_generation(const struct node *node)
{
    return node->timer.seq;
}

static uint64_t api_generation(const struct wheel_api *api)
{
    return api->core.seq;
}

static void api_set_generation(struct wheel_api *api, uint64_t generation)
{
    api->core.seq = generation;
}

static void node_number(struct node *node, uint64_t generation)
{
    (void)node, (void)generation;
}

#endif

/* What a function of wakers is called while a timer keeps it. It is never called by that name. */
static void node_keep(struct node *node, rt_waker waker)
{
    node->timer.fire = (void (*)(struct rti_timer *))(void (*)(void))waker.fn;
    node->arg = waker.arg;
}

static rt_waker node_waker(const struct node *node)
{
    return (rt_waker){(void (*)(void *))(void (*)(void))node->timer.fire, node->arg};
}

static uint64_t api_id(const struct wheel_api *api, size_t index, uint64_t generation)
{
    return generation << api->index_bits | index;
}

/* The node that a handle names now or named last, or NULL. */
static inline struct node *api_find(const struct wheel_api *api, const rt_wheel_handle *handle)
{
    uint64_t index = handle->id & ((UINT64_C(1) << api->index_bits) - 1);
    if (index >= api->node_count || handle->generation == 0) {
        return NULL;
    }
    struct node *node = api_node(api, (size_t)index);
    bool is_named = node_generation(node) == handle->generation &&
                    api_id(api, (size_t)index, handle->generation) == handle->id;
    return is_named ? node : NULL;
}

static void api_free(struct wheel_api *api, struct node *node)
{
    RT_DCHECK(!rti_timer_is_armed(&node->timer));
    node_keep(node, (rt_waker){NULL, NULL});
    node->timer.next = api->free;
    api->free = &node->timer;
}

static bool api_is_too_far(const struct wheel_api *api, rt_time deadline)
{
    uint64_t now = api->core.now_ns;
    return deadline > now && deadline - now > api->max_timer_duration;
}

static rt_status api_refuse_null(void)
{
    return failure(RT_ERR_INVALID, "wheel, out_handle or waker.fn is NULL");
}

static rt_status api_refuse_full(void)
{
    return failure(RT_ERR_RESOURCE_EXHAUSTED, "max_timer_nodes timers are registered");
}

static rt_status api_refuse_far(void)
{
    return failure(RT_ERR_TIMER_DURATION_EXCEEDED, "deadline beyond max_timer_duration");
}

/* Arms a node that is in nothing, under a new generation. */
static inline void api_arm(struct wheel_api *api, struct node *node, rt_time deadline,
                           rt_waker waker, rt_wheel_handle *out_handle)
{
    uint64_t generation = api_generation(api);
    *out_handle = (rt_wheel_handle){
        .id = api_id(api, api_index(api, node), generation),
        .generation = generation,
    };
    node_keep(node, waker);
    node_number(node, generation);
    rti_wheel_arm_here(&api->core, &node->timer, deadline);
    if (RTI_UNLIKELY(api->core.seq == 0)) {
        api_set_generation(api, generation + 1 == 0 ? 1 : generation + 1);
    }
}

/* How many bits the index of so many nodes needs. */
static uint32_t api_bits(size_t count)
{
    uint32_t bits = 0;
    while ((count - 1) >> bits != 0) {
        bits++;
    }
    return bits;
}

rt_status rt_wheel_init(rt_wheel *wheel, const rt_wheel_config *config, rt_time now)
{
    if (wheel == NULL || config == NULL || config->nodes == NULL) {
        return failure(RT_ERR_INVALID, "wheel, config or nodes is NULL");
    }
    if (config->max_timer_nodes == 0 || now == RT_TIME_NEVER) {
        return failure(RT_ERR_INVALID, "no nodes, or now is never");
    }
    struct wheel_api *api = api_of(wheel);
    *api = (struct wheel_api){
        .nodes = (struct node *)(void *)config->nodes,
        .node_count = config->max_timer_nodes,
        .index_bits = api_bits(config->max_timer_nodes),
        .max_wheel_duration = config->max_wheel_duration != 0 ? config->max_wheel_duration
                                                              : RT_WHEEL_MAX_WHEEL_DURATION,
        .max_timer_duration = config->max_timer_duration != 0 ? config->max_timer_duration
                                                              : RT_WHEEL_MAX_TIMER_DURATION,
    };
    rti_wheel_init(&api->core, now);
    rti_wheel_set_horizon(&api->core, api->max_wheel_duration);
    api_set_generation(api, 1);
    for (size_t i = api->node_count; i > 0; i--) {
        struct node *node = api_node(api, i - 1);
        *node = (struct node){.arg = NULL};
        api_free(api, node);
    }
    return RT_SUCCESS;
}

rt_status rt_wheel_register(rt_wheel *wheel, rt_time deadline, rt_waker waker,
                            rt_wheel_handle *out_handle)
{
    if (wheel == NULL || out_handle == NULL || waker.fn == NULL) {
        return api_refuse_null();
    }
    struct wheel_api *api = api_of(wheel);
    struct rti_timer *timer = api->free;
    if (RTI_UNLIKELY(api_is_too_far(api, deadline))) {
        return api_refuse_far();
    }
    if (RTI_UNLIKELY(timer == NULL)) {
        return api_refuse_full();
    }
    api->free = timer->next;
    api_arm(api, RTI_CONTAINER_OF(timer, struct node, timer), deadline, waker, out_handle);
    return RT_SUCCESS;
}

rt_status rt_wheel_try_register(rt_wheel *wheel, rt_time deadline, rt_waker waker,
                                rt_wheel_handle *out_handle)
{
    return rt_wheel_register(wheel, deadline, waker, out_handle);
}

bool rt_wheel_cancel(rt_wheel *wheel, const rt_wheel_handle *handle)
{
    if (wheel == NULL || handle == NULL) {
        return false;
    }
    struct wheel_api *api = api_of(wheel);
    struct node *node = api_find(api, handle);
    if (node == NULL) {
        return false;
    }
    if (!rti_wheel_disarm_here(&api->core, &node->timer)) {
        api->double_cancels += node->timer.deadline_ns != RTI_TIME_NEVER;
        return false;
    }
    if (RTI_UNLIKELY(node->timer.deadline_ns == RTI_TIME_NEVER)) {
        node->timer.deadline_ns = 0;
    }
    api_free(api, node);
    return true;
}

rt_status rt_wheel_update(rt_wheel *wheel, const rt_wheel_handle *old_handle, rt_time new_deadline,
                          rt_waker waker, rt_wheel_handle *out_handle)
{
    if (wheel == NULL || out_handle == NULL || waker.fn == NULL) {
        return api_refuse_null();
    }
    struct wheel_api *api = api_of(wheel);
    if (RTI_UNLIKELY(api_is_too_far(api, new_deadline))) {
        return api_refuse_far();
    }
    struct node *old = old_handle == NULL ? NULL : api_find(api, old_handle);
    if (old == NULL || !rti_wheel_disarm_here(&api->core, &old->timer)) {
        return rt_wheel_register(wheel, new_deadline, waker, out_handle);
    }
    api_arm(api, old, new_deadline, waker, out_handle);
    return RT_SUCCESS;
}

size_t rt_wheel_collect_expired(rt_wheel *wheel, rt_time now, rt_waker *out_wakers,
                                size_t max_wakers)
{
    if (wheel == NULL || out_wakers == NULL || now == RT_TIME_NEVER) {
        return 0;
    }
    struct wheel_api *api = api_of(wheel);
    size_t count = 0;
    while (count < max_wakers) {
        struct rti_timer *timer = rti_wheel_take(&api->core, now);
        if (timer == NULL) {
            break;
        }
        struct node *node = RTI_CONTAINER_OF(timer, struct node, timer);
        out_wakers[count++] = node_waker(node);
        node->timer.deadline_ns = RTI_TIME_NEVER;
        api_free(api, node);
    }
    return count;
}

rt_time rt_wheel_next_deadline(rt_wheel *wheel)
{
    return wheel == NULL ? RT_TIME_NEVER : rti_wheel_next_deadline(&api_of(wheel)->core);
}

size_t rt_wheel_count(const rt_wheel *wheel)
{
    return wheel == NULL ? 0 : rti_wheel_count(&api_of_const(wheel)->core);
}

rt_status rt_wheel_get_config(const rt_wheel *wheel, rt_wheel_config *out_config)
{
    if (wheel == NULL || out_config == NULL) {
        return failure(RT_ERR_INVALID, "wheel or out_config is NULL");
    }
    const struct wheel_api *api = api_of_const(wheel);
    *out_config = (rt_wheel_config){
        .nodes = (rt_wheel_node *)(void *)api->nodes,
        .max_timer_nodes = api->node_count,
        .max_wheel_duration = api->max_wheel_duration,
        .max_timer_duration = api->max_timer_duration,
    };
    return RT_SUCCESS;
}

uint64_t rt_wheel_double_cancels(const rt_wheel *wheel)
{
    return wheel == NULL ? 0 : api_of_const(wheel)->double_cancels;
}

const struct rti_wheel *rti_wheel_api_core(const rt_wheel *wheel)
{
    return &api_of_const(wheel)->core;
}

void rti_wheel_api_start_at(rt_wheel *wheel, uint64_t generation)
{
    struct wheel_api *api = api_of(wheel);
    RT_ASSERT(rti_wheel_count(&api->core) == 0);
    RT_ASSERT(generation != 0);
    api_set_generation(api, generation);
}

size_t rti_wheel_api_audit(rt_wheel *wheel)
{
    struct wheel_api *api = api_of(wheel);
    size_t armed = 0;
    for (size_t i = 0; i < api->node_count; i++) {
        const struct node *node = api_node(api, i);
        bool is_armed = rti_timer_is_armed(&node->timer);
        armed += is_armed;
        RT_ASSERT(is_armed == (node_waker(node).fn != NULL));
        RT_ASSERT(is_armed || node->arg == NULL);
        RT_ASSERT(!is_armed || node_generation(node) != 0);
    }
    size_t idle = 0;
    for (const struct rti_timer *timer = api->free; timer != NULL; timer = timer->next) {
        RT_ASSERT(!rti_timer_is_armed(timer));
        idle++;
    }
    RT_ASSERT(armed + idle == api->node_count);
    RT_ASSERT(armed == rti_wheel_audit(&api->core));
    return armed;
}
