/* SPDX-License-Identifier: Apache-2.0 */
/* The public wheel: the intrusive wheel (wheel.c) over a fixed array of nodes, with handles.
 *
 * A handle is (id, generation), two counts that wrap at 2^64. A node is found from an id without a
 * table: each id is chosen such that id modulo the number of nodes is the index of its node. To
 * register, a free node is taken and the count of ids goes on to the next number that fits it; ids
 * still only grow. The generation counts registrations one by one, so a handle names another timer
 * only after 2^64 of them; 0 is left out, so that a zeroed handle names none.
 *
 * I1  A node is armed in the wheel or on the free list, never both.         (rti_wheel_api_audit)
 * I2  The id of a node that is armed is its index modulo the number.        (rti_wheel_api_audit)
 * I3  A node that is free keeps no waker.                                   (rti_wheel_api_audit)
 *
 * Costs: one division each for register and cancel, beyond the wheel's own. A free node's link is
 * the `next` of its timer.
 *
 * Rejected: a hash table from id to node (more memory, longer chains at worst, and nothing gained);
 * the index as part of the id's bits (the count would wrap early and at a place that depends on the
 * capacity). */
#define RTI_MODULE "wheel_api"
#include "time/wheel_api.h"

#include "time/wheel.h"

struct node {
    struct rti_timer timer;
    rt_waker waker;      /* all zero when free */
    uint64_t id;         /* of this registration, or of the last */
    uint64_t generation; /* the same; 0 before the first */
    bool is_cancelled;   /* the last registration ended so; for the count of double cancels */
};

struct wheel_api {
    struct rti_wheel core;
    struct node *nodes;
    size_t node_count;
    struct rti_timer *free; /* linked through `next`, the last freed first */
    uint64_t next_id;
    uint64_t next_generation;
    uint64_t double_cancels;
    uint64_t max_wheel_duration;
    uint64_t max_timer_duration;
};

_Static_assert(sizeof(struct wheel_api) <= sizeof(rt_wheel), "the wheel fits its storage");
_Static_assert(sizeof(struct node) <= sizeof(rt_wheel_node), "a node fits its storage");
_Static_assert(sizeof(rt_wheel_node) % _Alignof(struct node) == 0, "nodes are aligned");
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

/* The node that a handle names now or named last, or NULL. */
static struct node *api_find(const struct wheel_api *api, const rt_wheel_handle *handle)
{
    struct node *node = api_node(api, (size_t)(handle->id % api->node_count));
    bool is_named = node->id == handle->id && node->generation == handle->generation;
    return is_named && handle->generation != 0 ? node : NULL;
}

/* The next id that leads to the node `index`. Where the count wraps, it begins again at 0. */
static uint64_t api_take_id(struct wheel_api *api, size_t index)
{
    uint64_t at = api->next_id % api->node_count;
    uint64_t skip = index >= at ? index - at : api->node_count - at + index;
    uint64_t id = api->next_id + skip;
    if (id < skip) {
        id = index;
    }
    api->next_id = id + 1;
    return id;
}

static void api_free(struct wheel_api *api, struct node *node)
{
    RT_DCHECK(!rti_timer_is_armed(&node->timer));
    node->waker = (rt_waker){NULL, NULL};
    node->timer.next = api->free;
    api->free = &node->timer;
}

/* Registers in a free node; there must be one. */
static rt_wheel_handle api_add(struct wheel_api *api, rt_time deadline, rt_waker waker)
{
    RT_ASSERT(api->free != NULL);
    struct node *node = RTI_CONTAINER_OF(api->free, struct node, timer);
    api->free = node->timer.next;
    node->waker = waker;
    node->id = api_take_id(api, api_index(api, node));
    node->generation = api->next_generation++;
    if (api->next_generation == 0) {
        api->next_generation = 1;
    }
    rti_wheel_arm(&api->core, &node->timer, deadline);
    return (rt_wheel_handle){node->id, node->generation};
}

/* Whether a registration may be made, given that a node is free. */
static rt_status api_check(const struct wheel_api *api, rt_time deadline)
{
    uint64_t now = api->core.now_ns;
    if (deadline > now && deadline - now > api->max_timer_duration) {
        return failure(RT_ERR_TIMER_DURATION_EXCEEDED, "deadline beyond max_timer_duration");
    }
    return RT_SUCCESS;
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
        .next_id = 1,
        .next_generation = 1,
        .max_wheel_duration = config->max_wheel_duration != 0 ? config->max_wheel_duration
                                                              : RT_WHEEL_MAX_WHEEL_DURATION,
        .max_timer_duration = config->max_timer_duration != 0 ? config->max_timer_duration
                                                              : RT_WHEEL_MAX_TIMER_DURATION,
    };
    rti_wheel_init(&api->core, now);
    rti_wheel_set_horizon(&api->core, api->max_wheel_duration);
    for (size_t i = api->node_count; i > 0; i--) {
        struct node *node = api_node(api, i - 1);
        *node = (struct node){.generation = 0};
        api_free(api, node);
    }
    return RT_SUCCESS;
}

rt_status rt_wheel_register(rt_wheel *wheel, rt_time deadline, rt_waker waker,
                            rt_wheel_handle *out_handle)
{
    return rt_wheel_update(wheel, NULL, deadline, waker, out_handle);
}

rt_status rt_wheel_try_register(rt_wheel *wheel, rt_time deadline, rt_waker waker,
                                rt_wheel_handle *out_handle)
{
    return rt_wheel_update(wheel, NULL, deadline, waker, out_handle);
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
    if (!rti_wheel_disarm(&api->core, &node->timer)) {
        api->double_cancels += node->is_cancelled;
        return false;
    }
    node->is_cancelled = true;
    api_free(api, node);
    return true;
}

rt_status rt_wheel_update(rt_wheel *wheel, const rt_wheel_handle *old_handle, rt_time new_deadline,
                          rt_waker waker, rt_wheel_handle *out_handle)
{
    if (wheel == NULL || out_handle == NULL || waker.fn == NULL) {
        return failure(RT_ERR_INVALID, "wheel, out_handle or waker.fn is NULL");
    }
    struct wheel_api *api = api_of(wheel);
    rt_status status = api_check(api, new_deadline);
    if (RT_FAILED(status)) {
        return status;
    }
    struct node *old = old_handle == NULL ? NULL : api_find(api, old_handle);
    bool is_replacing = old != NULL && rti_timer_is_armed(&old->timer);
    if (api->free == NULL && !is_replacing) {
        return failure(RT_ERR_RESOURCE_EXHAUSTED, "max_timer_nodes timers are registered");
    }
    if (is_replacing) {
        rt_wheel_cancel(wheel, old_handle);
    }
    *out_handle = api_add(api, new_deadline, waker);
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
        out_wakers[count++] = node->waker;
        node->is_cancelled = false;
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

void rti_wheel_api_start_at(rt_wheel *wheel, uint64_t id, uint64_t generation)
{
    struct wheel_api *api = api_of(wheel);
    RT_ASSERT(rti_wheel_count(&api->core) == 0);
    RT_ASSERT(generation != 0);
    api->next_id = id;
    api->next_generation = generation;
}

size_t rti_wheel_api_audit(rt_wheel *wheel)
{
    struct wheel_api *api = api_of(wheel);
    size_t armed = 0;
    for (size_t i = 0; i < api->node_count; i++) {
        const struct node *node = api_node(api, i);
        bool is_armed = rti_timer_is_armed(&node->timer);
        armed += is_armed;
        RT_ASSERT(is_armed == (node->waker.fn != NULL));
        RT_ASSERT(is_armed || node->waker.arg == NULL);
        RT_ASSERT(!is_armed || node->id % api->node_count == i);
        RT_ASSERT(!is_armed || node->generation != 0);
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
