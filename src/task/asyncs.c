/* SPDX-License-Identifier: Apache-2.0 */
/* Slots and contexts of poll tasks; the essay is in asyncs.h. */
#define RTI_MODULE "asyncs"
#include "task/asyncs.h"

#include <string.h>

#include "base/marks.h"
#include "sched/crew.h"

/* The most slots that an index can name. */
#define SLOTS_MAX (sizeof(uintptr_t) == 8 ? (size_t)1 << 30 : (size_t)1 << 15)

/* Starts, and ends that wake who joins, that go before all that is ready, in a row. */
#define EARLY_MAX 1024

_Static_assert(SLOTS_MAX + (size_t)RTI_ASYNC_DESKS * 2 * RTI_ASYNC_PARCEL <= RTI_ASYNC_INDEX_MASK,
               "every slot has an index, and there is one that is none");
_Static_assert(RTI_ASYNC_PRIORITY == RTI_STATION_EARLY_LEVEL, "poll tasks find their deque");
_Static_assert(RT_MAX_ASYNC > 0 && RT_MAX_ASYNC <= 1 << 15, "RT_MAX_ASYNC is out of range");

static void asyncs_drop_spares(struct rti_asyncs *asyncs);

/* Desks, and contexts that lie there and are missing to nobody. */
static size_t asyncs_desks(const struct rti_asyncs *asyncs)
{
#if RT_MAX_WORKERS > 1
    return asyncs->desks_count;
#else
    (void)asyncs;
    return 0;
#endif
}

static void asyncs_init_desks(struct rti_asyncs *asyncs)
{
#if RT_MAX_WORKERS > 1
    struct rti_sched *sched = asyncs->sched;
    asyncs->desks_count = rti_sched_is_local(sched) ? 0 : sched->crew->stations_count;
    RT_ASSERT(asyncs->desks_count <= RTI_ASYNC_DESKS);
    for (uint32_t i = 0; i < asyncs->desks_count; i++) {
        asyncs->desks[i] = (struct rti_async_desk){.spare = NULL};
        sched->crew->stations[i].desks[RTI_DESK_ASYNC] = &asyncs->desks[i];
    }
    asyncs->has_desk_slots = false;
#endif
    for (unsigned i = 0; i < RTI_ASYNC_GUARDS; i++) {
        rti_lock_init(&asyncs->guards[i].lock, asyncs->sched, RTI_LOCK_TASK);
    }
}

/* The stations have no desks any more. */
static void asyncs_clear_desks(struct rti_asyncs *asyncs)
{
#if RT_MAX_WORKERS > 1
    for (uint32_t i = 0; i < asyncs->desks_count; i++) {
        asyncs->sched->crew->stations[i].desks[RTI_DESK_ASYNC] = NULL;
    }
#else
    (void)asyncs;
#endif
}

static void asyncs_place(struct rti_asyncs *asyncs, struct rti_async *slots, size_t count,
                         void *contexts, size_t contexts_count)
{
    asyncs->slots = slots;
    asyncs->count = (uint32_t)count;
    rti_u32_init(&asyncs->fresh, 0);
    asyncs->free_head = (uint32_t)count;
#if RT_MAX_WORKERS > 1
    asyncs->parcel_head = (uint32_t)count;
#endif
#if RTI_ASYNC_FORESIGHT
    memset(asyncs->woken, 0, sizeof(asyncs->woken));
    asyncs->wakes = 0;
#endif
    rti_pool_init(&asyncs->contexts, contexts, sizeof(struct rti_poll_cx), contexts_count);
}

rt_status rti_asyncs_init(struct rti_asyncs *asyncs, struct rti_sched *sched)
{
    if (sched->modules[RTI_MODULE_ASYNC] != NULL) {
        return (rt_status){RT_ERR_STATE, "this runtime has its poll tasks already"};
    }
    asyncs->sched = sched;
    rti_port_expect_dense(sched->port, &asyncs->dense, NULL, 0);
    asyncs->mapping = NULL;
    asyncs->mapping_size = 0;
    asyncs->early_max = 0;
    asyncs->early_left = 0;
    rti_u32_init(&asyncs->serial, 0);
    rti_lock_init(&asyncs->lock, sched, RTI_LOCK_TASK);
    asyncs_init_desks(asyncs);
    asyncs->spares = NULL;
    asyncs_place(asyncs, asyncs->static_slots, RT_MAX_ASYNC, asyncs->static_contexts,
                 RT_MAX_ASYNC_CONTEXTS + asyncs_desks(asyncs));
    sched->modules[RTI_MODULE_ASYNC] = asyncs;
    return RT_SUCCESS;
}

void rti_asyncs_deinit(struct rti_asyncs *asyncs)
{
    struct rti_port *port = asyncs->sched->port;
    RT_ASSERT(asyncs->sched->modules[RTI_MODULE_ASYNC] == asyncs);
    RT_AUDIT(rti_asyncs_audit(asyncs)); /* a million slots take their time to walk */
    asyncs_drop_spares(asyncs);
    rti_pool_deinit(&asyncs->contexts);
    if (asyncs->mapping != NULL) {
        port->ops->memory_unmap(port, asyncs->mapping, asyncs->mapping_size);
    }
    asyncs->sched->modules[RTI_MODULE_ASYNC] = NULL;
    asyncs_clear_desks(asyncs);
}

/* Slots that lie on a desk. */
static uint32_t asyncs_on_desk(const struct rti_asyncs *asyncs, size_t desk)
{
#if RT_MAX_WORKERS > 1
    /* Acquire pairs with the release of who gave the last one back. */
    return rti_u32_load_acquire(&asyncs->desks[desk].free_count);
#else
    (void)asyncs, (void)desk;
    return 0;
#endif
}

/* Slots in the parcels that all share. */
static size_t asyncs_in_parcels(const struct rti_asyncs *asyncs)
{
    size_t count = 0;
#if RT_MAX_WORKERS > 1
    uint32_t at = asyncs->parcel_head;
    for (; at < asyncs->count; at = asyncs->slots[at].next_parcel) {
        count += RTI_ASYNC_PARCEL;
    }
#else
    (void)asyncs;
#endif
    return count;
}

size_t rti_asyncs_used(const struct rti_asyncs *asyncs)
{
    size_t used = rti_u32_load_relaxed(&asyncs->fresh);
    size_t fresh = used;
    for (size_t i = 0; i < asyncs_desks(asyncs); i++) {
        size_t on_desk = asyncs_on_desk(asyncs, i);
        RT_ASSERT(on_desk <= used && on_desk <= 2 * RTI_ASYNC_PARCEL);
        used -= on_desk;
    }
    for (uint32_t at = asyncs->free_head; at < asyncs->count; at = asyncs->slots[at].next_free) {
        RT_ASSERT(at < fresh && used > 0);
        used--;
    }
    size_t in_parcels = asyncs_in_parcels(asyncs);
    RT_ASSERT(in_parcels <= used);
    return used - in_parcels;
}

/* From here on slots lie on desks; none does yet. */
static void asyncs_init_desk_slots(struct rti_asyncs *asyncs)
{
#if RT_MAX_WORKERS > 1
    for (uint32_t i = 0; i < asyncs->desks_count; i++) {
        rti_u32_init(&asyncs->desks[i].free_count, 0);
        asyncs->desks[i].free_min = 0;
        asyncs->desks[i].free_max = RTI_ASYNC_PARCEL;
    }
    asyncs->has_desk_slots = asyncs->desks_count > 0;
#else
    (void)asyncs;
#endif
}

rt_status rt_async_reserve(const rt_async_config *config)
{
    struct rti_asyncs *asyncs = rti_asyncs_of(rti_worker_enter());
    if (asyncs == NULL) {
        return (rt_status){RT_ERR_THREAD, "this thread has no runtime"};
    }
    if (config == NULL || config->tasks == 0 || config->tasks > SLOTS_MAX ||
        config->contexts > SLOTS_MAX) {
        return (rt_status){RT_ERR_INVALID, "so many tasks there cannot be"};
    }
    /* Under the lock: what the last step of the last task has done on its worker is seen. Where
     * slots lie on desks they cannot be counted now, and need not. */
    rti_lock_acquire(&asyncs->lock, asyncs->sched);
    bool is_used = asyncs->mapping != NULL || rti_asyncs_used(asyncs) > 0;
    rti_lock_release(&asyncs->lock);
    if (is_used) {
        return (rt_status){RT_ERR_STATE, "poll tasks exist, or room was made already"};
    }
    struct rti_port *port = asyncs->sched->port;
    size_t contexts = config->contexts == 0 ? config->tasks : config->contexts;
    contexts += asyncs_desks(asyncs);
    /* What lies on desks is missing to nobody. */
    size_t slots = config->tasks + asyncs_desks(asyncs) * 2 * RTI_ASYNC_PARCEL;
    size_t slots_size = slots * sizeof(struct rti_async);
    slots_size = (slots_size + RTI_CACHE_LINE - 1) / RTI_CACHE_LINE * RTI_CACHE_LINE;
    size_t size = slots_size + RTI_POOL_BYTES(sizeof(struct rti_poll_cx), contexts);
    unsigned char *memory = port->ops->memory_map(port, size);
    if (memory == NULL) {
        return (rt_status){RT_ERR_NOMEM, "the system has no memory for so many"};
    }
    rti_port_expect_dense(port, &asyncs->dense, memory, slots_size);
    asyncs->mapping = memory;
    asyncs->mapping_size = size;
    asyncs->early_max = config->is_last_first ? EARLY_MAX : 0;
    asyncs->early_left = asyncs->early_max;
    asyncs_drop_spares(asyncs);
    rti_pool_deinit(&asyncs->contexts);
    asyncs_init_desk_slots(asyncs);
    asyncs_place(asyncs, (struct rti_async *)(void *)memory, slots, memory + slots_size, contexts);
    return RT_SUCCESS;
}

struct rti_async *rti_asyncs_take_fresh(struct rti_asyncs *asyncs)
{
    uint32_t fresh = rti_u32_load_relaxed(&asyncs->fresh);
    if (fresh == asyncs->count) {
        return NULL;
    }
    struct rti_async *async = &asyncs->slots[fresh];
    rti_port_use_dense(asyncs->sched->port, &asyncs->dense, async + 1);
    rti_async_init_slot(async, asyncs);
    rti_u32_store_relaxed(&asyncs->fresh, fresh + 1);
    return async;
}

#if RT_MAX_WORKERS > 1
/* With the lock held: takes the parcel that came last, and gives its first slot; `count` if there
 * is none. */
static uint32_t asyncs_take_parcel(struct rti_asyncs *asyncs)
{
    uint32_t first = asyncs->parcel_head;
    if (first < asyncs->count) {
        asyncs->parcel_head = asyncs->slots[first].next_parcel;
    }
    return first;
}

/* With the lock held: the list is empty, and gets the slots of a parcel, if there is one. */
static void asyncs_open_parcel(struct rti_asyncs *asyncs)
{
    uint32_t first = asyncs_take_parcel(asyncs);
    uint32_t last = first;
    if (first == asyncs->count) {
        return;
    }
    for (uint32_t i = 1; i < RTI_ASYNC_PARCEL; i++) {
        last = asyncs->slots[last].next_free;
    }
    asyncs->slots[last].next_free = asyncs->free_head;
    asyncs->free_head = first;
}
#endif

/* With the lock held. */
static struct rti_async *asyncs_take_held(struct rti_asyncs *asyncs)
{
#if RT_MAX_WORKERS > 1
    if (RTI_UNLIKELY(asyncs->free_head >= asyncs->count)) {
        asyncs_open_parcel(asyncs);
    }
#endif
    if (RTI_UNLIKELY(asyncs->free_head >= asyncs->count)) {
        return rti_asyncs_take_fresh(asyncs);
    }
    struct rti_async *async = &asyncs->slots[asyncs->free_head];
    asyncs->free_head = async->next_free;
    return async;
}

struct rti_async *rti_asyncs_take_listed(struct rti_asyncs *asyncs)
{
    rti_lock_acquire(&asyncs->lock, asyncs->sched);
    struct rti_async *async = asyncs_take_held(asyncs);
    rti_lock_release(&asyncs->lock);
    return async;
}

#if RT_MAX_WORKERS > 1
/* With the lock held: so many of the list as make a parcel, or what there is. */
static uint32_t desk_take_listed(struct rti_asyncs *asyncs, struct rti_async_desk *desk)
{
    uint32_t count = 0;
    desk->free_head = asyncs->free_head;
    while (count < RTI_ASYNC_PARCEL && asyncs->free_head < asyncs->count) {
        asyncs->free_head = asyncs->slots[asyncs->free_head].next_free;
        count++;
    }
    return count;
}

/* With the lock held: slots that were never used, in the order of their places. */
static uint32_t desk_take_fresh(struct rti_asyncs *asyncs, struct rti_async_desk *desk)
{
    struct rti_async *async;
    uint32_t count = 0;
    desk->free_head = rti_u32_load_relaxed(&asyncs->fresh);
    while (count < RTI_ASYNC_PARCEL && (async = rti_asyncs_take_fresh(asyncs)) != NULL) {
        async->next_free = rti_u32_load_relaxed(&asyncs->fresh);
        count++;
    }
    return count;
}

/* With the lock held: from wherever there are some. */
static uint32_t desk_take_shared(struct rti_asyncs *asyncs, struct rti_async_desk *desk)
{
    uint32_t parcel = asyncs_take_parcel(asyncs);
    if (RTI_LIKELY(parcel < asyncs->count)) {
        desk->free_head = parcel;
        return RTI_ASYNC_PARCEL;
    }
    uint32_t count = desk_take_listed(asyncs, desk);
    return count > 0 ? count : desk_take_fresh(asyncs, desk);
}

uint32_t rti_asyncs_desk_fill(struct rti_asyncs *asyncs, struct rti_async_desk *desk)
{
    RT_DCHECK(rti_asyncs_desk_is_bare(desk));
    if (desk->free_min > 0) {
        desk->free_head = desk->parcel;
        desk->free_min = 0;
        desk->free_max = RTI_ASYNC_PARCEL;
        return RTI_ASYNC_PARCEL;
    }
    rti_lock_acquire(&asyncs->lock, asyncs->sched);
    uint32_t count = desk_take_shared(asyncs, desk);
    /* Under the lock: who counts finds each of them here or among the shared ones. */
    rti_u32_store_release(&desk->free_count, count);
    rti_lock_release(&asyncs->lock);
    return count;
}

void rti_asyncs_desk_relieve(struct rti_asyncs *asyncs, struct rti_async_desk *desk)
{
    RT_DCHECK(rti_u32_load_relaxed(&desk->free_count) == desk->free_min + RTI_ASYNC_PARCEL);
    if (desk->free_min > 0) {
        RT_SOMETIMES(true, "asyncs: a desk returned a parcel of slots");
        rti_lock_acquire(&asyncs->lock, asyncs->sched);
        asyncs->slots[desk->parcel].next_parcel = asyncs->parcel_head;
        asyncs->parcel_head = desk->parcel;
        /* Under the lock: who counts finds each of them here or among the shared ones. */
        rti_u32_store_release(&desk->free_count, RTI_ASYNC_PARCEL);
        rti_lock_release(&asyncs->lock);
    }
    desk->parcel = desk->free_head;
    desk->free_min = RTI_ASYNC_PARCEL;
    desk->free_max = 2 * RTI_ASYNC_PARCEL;
}
#endif

/* The guard of the slot that a handle names. */
static struct rti_lock *asyncs_guard_of(struct rti_asyncs *asyncs, uintptr_t handle)
{
    uintptr_t row = (handle & RTI_ASYNC_INDEX_MASK) / RTI_ASYNC_GUARD_SPAN;
    return &asyncs->guards[row % RTI_ASYNC_GUARDS].lock;
}

bool rti_asyncs_guard_shared(struct rti_asyncs *asyncs, uintptr_t handle)
{
    bool is_guest = rti_solo_knock(asyncs->sched);
    rti_lock_acquire_shared(asyncs_guard_of(asyncs, handle), asyncs->sched);
    return is_guest;
}

void rti_asyncs_unguard_shared(struct rti_asyncs *asyncs, uintptr_t handle, bool is_guest)
{
    rti_lock_release_shared(asyncs_guard_of(asyncs, handle));
    rti_solo_go(asyncs->sched, is_guest);
}

const rt_status rti_asyncs_awaited = {RT_ERR_INVALID,
                                      "another waits for the task with this handle"};

enum rti_async_found rti_asyncs_collect(struct rti_asyncs *asyncs, const struct rti_worker *worker,
                                        const rt_async_task *handle, rt_status *out)
{
    enum rti_async_found found = RTI_ASYNC_FOUND_NONE;
    bool is_guest = rti_asyncs_guard(asyncs, (uintptr_t)handle);
    struct rti_async *async = rti_asyncs_lookup(asyncs, handle);
    if (async != NULL) {
        found = rti_async_has_ended(async) ? RTI_ASYNC_FOUND_ENDED : RTI_ASYNC_FOUND_LIVE;
    }
    if (found == RTI_ASYNC_FOUND_ENDED) {
        rti_asyncs_take_ended(async);
    }
    rti_asyncs_unguard(asyncs, (uintptr_t)handle, is_guest);
    if (found == RTI_ASYNC_FOUND_ENDED) {
        rti_asyncs_tell_result(async, out);
        rti_asyncs_free(asyncs, worker, async,
                        (uint32_t)((uintptr_t)handle & RTI_ASYNC_INDEX_MASK));
    }
    return found;
}

enum rti_async_found rti_asyncs_watch(struct rti_asyncs *asyncs, const rt_async_task *handle,
                                      uintptr_t watcher)
{
    bool is_guest = rti_asyncs_guard(asyncs, (uintptr_t)handle);
    struct rti_async *async = rti_asyncs_lookup(asyncs, handle);
    bool is_awaited = async != NULL && rti_asyncs_is_awaited(async);
    bool is_watched = false;
    if (async != NULL && !is_awaited) {
        if (rti_task_life(&async->life) != RTI_TASK_HELD) {
            RT_SOMETIMES(rti_task_life(&async->life) == RTI_TASK_WATCHED,
                         "asyncs: a watcher that had lost interest was replaced");
            rti_task_to_unwatched(&async->life);
        }
        RTI_PLAIN_WRITE(&async->watcher, sizeof(async->watcher));
        async->watcher = watcher;
        is_watched = !rti_async_has_ended(async) && rti_task_to_watched(&async->life);
    }
    rti_asyncs_unguard(asyncs, (uintptr_t)handle, is_guest);
    if (is_awaited) {
        return RTI_ASYNC_FOUND_AWAITED;
    }
    return is_watched ? RTI_ASYNC_FOUND_LIVE : RTI_ASYNC_FOUND_ENDED;
}

void rti_asyncs_unwatch(struct rti_asyncs *asyncs, const rt_async_task *handle, uintptr_t watcher)
{
    bool is_guest = rti_asyncs_guard(asyncs, (uintptr_t)handle);
    struct rti_async *async = rti_asyncs_lookup(asyncs, handle);
    if (async != NULL && async->watcher == watcher) {
        rti_task_to_unwatched(&async->life);
    }
    rti_asyncs_unguard(asyncs, (uintptr_t)handle, is_guest);
}

struct rti_cx *rti_asyncs_context_make(struct rti_asyncs *asyncs, struct rti_async *async)
{
    rti_lock_acquire(&asyncs->lock, asyncs->sched);
    struct rti_cx *cx = rti_pool_alloc(&asyncs->contexts);
    rti_lock_release(&asyncs->lock);
    if (cx != NULL) {
        rt_status status =
            rt_cx_init_poll((rt_cx *)(void *)cx, (rt_waker){.fn = rti_async_waker, .arg = async});
        RT_ASSERT(!RT_FAILED(status));
    }
    return cx;
}

void rti_asyncs_context_end(struct rti_asyncs *asyncs, struct rti_cx *cx)
{
    (void)rt_cx_deinit((rt_cx *)(void *)cx);
    rti_lock_acquire(&asyncs->lock, asyncs->sched);
    rti_pool_free(&asyncs->contexts, cx);
    rti_lock_release(&asyncs->lock);
}

/* Gives the spares back to the pool. */
static void asyncs_drop_spares(struct rti_asyncs *asyncs)
{
    struct rti_cx *cx;
#if RT_MAX_WORKERS > 1
    for (uint32_t i = 0; i < asyncs->desks_count; i++) {
        cx = asyncs->desks[i].spare;
        if (cx != NULL) {
            asyncs->desks[i].spare = NULL;
            rti_cx_poll(cx)->next_spare = asyncs->spares;
            asyncs->spares = cx;
        }
    }
#endif
    while ((cx = asyncs->spares) != NULL) {
        rti_asyncs_context_remove(asyncs, cx);
        (void)rt_cx_deinit((rt_cx *)(void *)cx);
        rti_pool_free(&asyncs->contexts, cx);
    }
}

void rti_asyncs_kill_all(struct rti_asyncs *asyncs)
{
    uint32_t fresh = rti_u32_load_relaxed(&asyncs->fresh);
    for (uint32_t i = 0; i < fresh; i++) {
        struct rti_async *async = &asyncs->slots[i];
        if (async->poll != NULL && !rti_async_has_ended(async)) {
            rti_u8_store_relaxed(&async->wish, RTI_ASYNC_END);
            rti_async_wake(async);
        }
    }
}

size_t rti_asyncs_audit(const struct rti_asyncs *asyncs)
{
    size_t used = 0;
    uint32_t fresh = rti_u32_load_relaxed(&asyncs->fresh);
    for (uint32_t i = 0; i < fresh; i++) {
        const struct rti_async *async = &asyncs->slots[i];
        used += async->poll != NULL;
        RT_ASSERT(async->asyncs == asyncs && rti_u32_load_relaxed(&async->generation) != 0);
        if (async->poll == NULL || rti_async_has_ended(async)) {
            RT_ASSERT(async->cx == NULL && async->nap == NULL && !async->is_joining);
        }
    }
    RT_ASSERT(used == rti_asyncs_used(asyncs));
    return used;
}
