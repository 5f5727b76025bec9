/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ASYNCS_H
#define RTI_ASYNCS_H

/* All the memory of poll tasks: slots and contexts. One struct, sized by rt_static_config.h, that
 * the runtime places and hangs at sched->modules[RTI_MODULE_ASYNC]; rt_async_reserve puts a mapping
 * of the system in the place of the static memory.
 *
 * A handle is the slot's index and a generation that is never 0. Slots keep their generation when
 * they are free, so their memory is never anything else. Slots that were never used are counted by
 * `fresh` and not touched: a large table costs nothing until it is needed.
 *
 * Making a context is ten times the work of a call that needs none. So one that comes back as it
 * was lent is kept as it is, for the next. The spare that lies on top, with several workers the one
 * on the desk, is lent without being taken away, because one step runs there at a time; if it has
 * to stay with its task, or is another than before (cx->is_touched), it is taken then.
 *
 * With several workers each station has a desk, with what a step needs and nobody else asks for:
 * one spare, and numbers for new tasks, a row at a time. What lies on a desk is its holder's, and
 * changes hands with the station. A second spare goes to the list that all share. There are as many
 * contexts more as there are desks, so that those which lie there are missing to nobody.
 *
 * Slots lie on the desk, too, in memory of the system: the holder takes and gives back those it has
 * used last without the lock, and gets and returns RTI_ASYNC_PARCEL at a time under it. There are
 * so many slots more as all desks can keep: a table is full only when as many tasks as were asked
 * for live. The static memory has no room for that, and its slots all lie in the free list.
 *
 * A parcel is a row of RTI_ASYNC_PARCEL free slots that goes from hand to hand as a whole, and
 * nobody walks along it: a desk has one of them and up to as many slots beside it. When those are
 * as many they become the parcel, and the one that was it goes to the list of parcels that all
 * share; when there are none the parcel is opened.
 *
 * I1  Those in use and the free ones, in the list, in parcels and on the desks, are `fresh`.
 *                                                                   (rti_asyncs_audit)
 * I2  A registration counts for the handle it was made with and for who made it, and for nobody
 *     else, also when the slot is another task's.                   (async_model.c)
 * I3  A spare is as it was made.                                    (rti_asyncs_context_is_clean)
 * I4  A desk has at most 2 * RTI_ASYNC_PARCEL slots.                (rti_asyncs_audit)
 *
 * `lock` is over the free list, `fresh`, the pool of contexts and the spares in the list. Who holds
 * and who watches a task, its generation and its watcher, is under its guard, one of several locks,
 * and so is what is done to a task because somebody came with its handle:
 * slots that lie side by side, which one worker is likely to have taken, share one. The end of a
 * task takes no guard, and the lock only to give a slot back. No two of these are held at a time.
 * How many are in use is counted when somebody asks, which is seldom, and where slots lie on desks
 * only while no task begins or ends.
 *
 * Who joins looks for the end before it takes the guard (rti_asyncs_collect_ended): the end's
 * release of COMPLETE pairs with the acquire of that look. Under the guard, which whoever consumes
 * a handle has held, it asks once more whether the handle is good; if it is, the end is still
 * there.
 *
 * Who works alone (sched/solo.h) does the same in a section, without the guard: whoever takes one
 * is at a station, and so not there, or a guest.
 *
 * Pairs: the holder of a desk stores how many slots it has with release, and who counts loads that
 * with acquire: what the last step of a task did is seen by who finds its slot given back.
 *
 * Rejected: one lock for all of it (five times in a task's life, and two workers spend a fifth of
 * their time in front of it); a lock in the slot (8 bytes of 96 that every idle task has). */

#include <orrery/rt_static_config.h>

#include "base/pool.h"
#include "sched/solo.h"
#include "sched/station.h"
#include "task/async.h"

/* A handle: generation above, index below. */
#define RTI_ASYNC_INDEX_BITS (sizeof(uintptr_t) == 8 ? 32 : 16)
#define RTI_ASYNC_INDEX_MASK (((uintptr_t)1 << RTI_ASYNC_INDEX_BITS) - 1)

/* Generations of a slot: all but 0, as far as a handle has room. */
#define RTI_ASYNC_GENERATION_MASK (sizeof(uintptr_t) == 8 ? UINT32_C(0x7fffffff) : UINT32_C(0x7fff))

/* Desks, one for each station; none where there is one worker. */
#define RTI_ASYNC_DESKS (RT_MAX_WORKERS > 1 ? RT_MAX_WORKERS : 0)

/* Numbers for tasks that a desk takes at a time. */
#define RTI_ASYNC_SERIALS 64

/* Slots that a desk gets or returns at a time. It keeps up to two such parcels: who takes and gives
 * back in turns does not come to the lock each time. The explorer builds with 2. */
#ifndef RTI_ASYNC_PARCEL
#define RTI_ASYNC_PARCEL 32
#endif

/* Guards, and slots side by side that share one. */
#define RTI_ASYNC_GUARDS     (RT_MAX_WORKERS > 1 ? 64 : 1)
#define RTI_ASYNC_GUARD_SPAN 32

/* What the holder of a station has for itself. */
struct rti_async_desk {
    RTI_ALIGNED(RTI_CACHE_LINE) struct rti_cx *spare; /* as those in the list; NULL: none */
    uint32_t serial;                                  /* of the last task, of a row */
    uint32_t serial_end;                              /* the last one of that row */
    uint32_t free_head;        /* of the slots that lie here, but for the parcel; meaningless if
                                * there are none */
    rti_atomic_u32 free_count; /* of all that lie here; written by the holder */
    uint32_t free_min;         /* those of the parcel: RTI_ASYNC_PARCEL, or 0 if there is none */
    uint32_t free_max;         /* RTI_ASYNC_PARCEL more; 0: slots do not lie on desks */
    uint32_t parcel;           /* the first of it */
};

struct rti_async_guard {
    RTI_ALIGNED(RTI_ONE_WORKER ? 4 : RTI_CACHE_LINE) struct rti_lock lock;
};

struct rti_asyncs {
    struct rti_sched *sched;
    struct rti_async *slots;
    uint32_t count;       /* of slots */
    rti_atomic_u32 fresh; /* grows under the lock */
#if RT_MAX_WORKERS > 1
    uint32_t desks_count; /* 0: there is one worker */
    bool has_desk_slots;  /* slots may lie on desks */
#endif
    uint32_t early_max; /* that go before who is ready, in a row; 0: none do */
#if RT_MAX_WORKERS > 1
    RTI_ALIGNED(RTI_CACHE_LINE) /* what is above is read by all, and what follows is written */
#endif
    struct rti_lock lock;
    uint32_t free_head; /* `count` if none */
#if RT_MAX_WORKERS > 1
    uint32_t parcel_head; /* the first slot of the parcel that came last; `count` if none */
#endif
    rti_atomic_u32 serial;
    uint32_t early_left; /* of `early_max`, until one goes behind; one worker */
    struct rti_pool contexts;
#if RTI_ASYNC_FORESIGHT
    uint32_t wakes;                      /* of those noted */
    uint32_t woken[RTI_ASYNC_FORESIGHT]; /* the slots that were woken last, one worker */
#endif
    struct rti_cx *spares; /* initialized and clean, linked by `next_spare` */
    void *mapping;         /* NULL: the static memory is used */
    size_t mapping_size;
    struct rti_dense dense; /* the slots */
    struct rti_async static_slots[RT_MAX_ASYNC];
    RTI_POOL_STORAGE(static_contexts, struct rti_poll_cx, RT_MAX_ASYNC_CONTEXTS + RTI_ASYNC_DESKS);
    struct rti_async_guard guards[RTI_ASYNC_GUARDS];
#if RT_MAX_WORKERS > 1
    struct rti_async_desk desks[RTI_ASYNC_DESKS];
#endif
};

/* Makes an empty module and hangs it at the scheduler. RT_OK; RT_ERR_STATE if there is one. */
rt_status rti_asyncs_init(struct rti_asyncs *asyncs, struct rti_sched *sched);

/* Takes the module away. No task lives; handles that were not consumed name nothing. */
void rti_asyncs_deinit(struct rti_asyncs *asyncs);

/* Marks every task that lives: the next turns of the scheduler end them. */
void rti_asyncs_kill_all(struct rti_asyncs *asyncs);

/* Takes a slot that was never used, under the lock; NULL if there is none. */
struct rti_async *rti_asyncs_take_fresh(struct rti_asyncs *asyncs);

/* The desk of a worker; NULL if it has none: there is one worker, or it holds no station. */
static inline struct rti_async_desk *rti_asyncs_desk(struct rti_asyncs *asyncs,
                                                     const struct rti_worker *worker)
{
#if RT_MAX_WORKERS > 1
    const struct rti_station *station = worker->station;
    RT_DCHECK(station == NULL || station->index < asyncs->desks_count);
    struct rti_async_desk *desk = station == NULL ? NULL : &asyncs->desks[station->index];
    RTI_KEEP(desk);
    return desk;
#else
    (void)asyncs, (void)worker;
    return NULL;
#endif
}

/* The same if slots may lie there. */
static RTI_ALWAYSINLINE struct rti_async_desk *rti_asyncs_slot_desk(struct rti_asyncs *asyncs,
                                                                    const struct rti_worker *worker)
{
#if RT_MAX_WORKERS > 1
    return asyncs->has_desk_slots ? rti_asyncs_desk(asyncs, worker) : NULL;
#else
    (void)asyncs, (void)worker;
    return NULL;
#endif
}

/* Takes a slot from the list, the one that was given back last; NULL if none is free. */
struct rti_async *rti_asyncs_take_listed(struct rti_asyncs *asyncs);

#if RT_MAX_WORKERS > 1
/* Opens the parcel of a desk that has nothing else, or gets it one from those that all share, or
 * what there is of one: how many lie there then. Makes a parcel of all but the parcel that lies on
 * a desk that is full, and returns that one if there is one. Holder. */
uint32_t rti_asyncs_desk_fill(struct rti_asyncs *asyncs, struct rti_async_desk *desk);
void rti_asyncs_desk_relieve(struct rti_asyncs *asyncs, struct rti_async_desk *desk);

/* Is there nothing on it but its parcel? Holder. */
static RTI_ALWAYSINLINE bool rti_asyncs_desk_is_bare(const struct rti_async_desk *desk)
{
    return rti_u32_load_relaxed(&desk->free_count) == desk->free_min;
}

/* Takes a slot of a desk that has one, the one that was given back last. Holder. */
static RTI_ALWAYSINLINE struct rti_async *rti_asyncs_desk_pop(const struct rti_asyncs *asyncs,
                                                              struct rti_async_desk *desk)
{
    uint32_t count = rti_u32_load_relaxed(&desk->free_count);
    RT_DCHECK(count > desk->free_min);
    struct rti_async *async = &asyncs->slots[desk->free_head];
    desk->free_head = async->next_free;
    rti_u32_store_relaxed(&desk->free_count, count - 1);
    return async;
}

/* The same of one that may have none; NULL if none is free. Holder. */
static inline struct rti_async *rti_asyncs_desk_take(struct rti_asyncs *asyncs,
                                                     struct rti_async_desk *desk)
{
    if (RTI_UNLIKELY(rti_asyncs_desk_is_bare(desk)) && rti_asyncs_desk_fill(asyncs, desk) == 0) {
        return NULL;
    }
    return rti_asyncs_desk_pop(asyncs, desk);
}

/* Is there no room for another, or do slots not lie on desks? Holder. */
static RTI_ALWAYSINLINE bool rti_asyncs_desk_is_full(const struct rti_async_desk *desk)
{
    return rti_u32_load_relaxed(&desk->free_count) >= desk->free_max;
}

/* The desk at a station of who works alone, in a section. */
static RTI_ALWAYSINLINE struct rti_async_desk *rti_asyncs_desk_at(const struct rti_station *station)
{
    return station->desks[RTI_DESK_ASYNC];
}

/* Lays a slot there, which is the one of this index and for which there is room. Holder. */
static RTI_ALWAYSINLINE void rti_asyncs_desk_add(const struct rti_asyncs *asyncs,
                                                 struct rti_async_desk *desk,
                                                 struct rti_async *async, uint32_t index)
{
    RT_DCHECK(&asyncs->slots[index] == async);
    (void)asyncs;
    uint32_t count = rti_u32_load_relaxed(&desk->free_count);
    RT_DCHECK(rti_task_life(&async->life) == RTI_TASK_FREE);
    async->poll = NULL;
    async->next_free = desk->free_head;
    desk->free_head = index;
    /* Release pairs with the acquire of who counts: the task is over, and all it did is done. */
    rti_u32_store_release(&desk->free_count, count + 1);
}

/* The same, and makes room first if there is none. Holder. */
static RTI_ALWAYSINLINE void rti_asyncs_desk_free(struct rti_asyncs *asyncs,
                                                  struct rti_async_desk *desk,
                                                  struct rti_async *async, uint32_t index)
{
    if (RTI_UNLIKELY(rti_asyncs_desk_is_full(desk))) {
        rti_asyncs_desk_relieve(asyncs, desk);
    }
    rti_asyncs_desk_add(asyncs, desk, async, index);
}

#endif

/* Takes a slot, the one that was given back last; NULL if none is free. */
static inline struct rti_async *rti_asyncs_take(struct rti_asyncs *asyncs,
                                                const struct rti_worker *worker)
{
    struct rti_async *async;
#if RT_MAX_WORKERS > 1
    struct rti_async_desk *desk = rti_asyncs_slot_desk(asyncs, worker);
    async = desk == NULL ? rti_asyncs_take_listed(asyncs) : rti_asyncs_desk_take(asyncs, desk);
#else
    (void)worker;
    async = rti_asyncs_take_listed(asyncs);
#endif
    RT_ASSERT(async == NULL || async->poll == NULL);
    return async;
}

/* Gives it back under the lock; its life is FREE. */
static inline void rti_asyncs_free_at(struct rti_asyncs *asyncs, struct rti_async *async,
                                      uint32_t index)
{
    RT_DCHECK(async->poll != NULL);
    RT_DCHECK(rti_task_life(&async->life) == RTI_TASK_FREE && &asyncs->slots[index] == async);
    async->poll = NULL;
    async->next_free = asyncs->free_head;
    asyncs->free_head = index;
}

/* The same for who does not hold the lock. */
static RTI_ALWAYSINLINE void rti_asyncs_free(struct rti_asyncs *asyncs,
                                             const struct rti_worker *worker,
                                             struct rti_async *async, uint32_t index)
{
    RT_ASSERT(async->poll != NULL);
#if RT_MAX_WORKERS > 1
    struct rti_async_desk *desk = rti_asyncs_slot_desk(asyncs, worker);
    if (desk != NULL) {
        rti_asyncs_desk_free(asyncs, desk, async, index);
        return;
    }
#else
    (void)worker;
#endif
    rti_lock_acquire(&asyncs->lock, asyncs->sched);
    rti_asyncs_free_at(asyncs, async, index);
    rti_lock_release(&asyncs->lock);
}

/* Are there several workers? Nobody writes what this asks, as others do the lock. */
static RTI_ALWAYSINLINE bool rti_asyncs_is_shared(const struct rti_asyncs *asyncs)
{
#if RT_MAX_WORKERS > 1
    return asyncs->desks_count > 0;
#else
    (void)asyncs;
    return false;
#endif
}

/* Both below with several workers. */
bool rti_asyncs_guard_shared(struct rti_asyncs *asyncs, uintptr_t handle);
void rti_asyncs_unguard_shared(struct rti_asyncs *asyncs, uintptr_t handle, bool is_guest);

/* Takes it, and gives it back. Who works alone goes past the guards; so one who has no station is a
 * guest as long as it has one (sched/solo.h), which the first tells and the second is told. */
static RTI_ALWAYSINLINE bool rti_asyncs_guard(struct rti_asyncs *asyncs, uintptr_t handle)
{
    return RTI_UNLIKELY(rti_asyncs_is_shared(asyncs)) && rti_asyncs_guard_shared(asyncs, handle);
}

static RTI_ALWAYSINLINE void rti_asyncs_unguard(struct rti_asyncs *asyncs, uintptr_t handle,
                                                bool is_guest)
{
    if (RTI_UNLIKELY(rti_asyncs_is_shared(asyncs))) {
        rti_asyncs_unguard_shared(asyncs, handle, is_guest);
    }
}

/* Ends the handle of a slot, under its guard: from here on nothing equals it. */
static inline void rti_asyncs_consume(struct rti_async *async)
{
    uint32_t next = (rti_u32_load_relaxed(&async->generation) + 1) & RTI_ASYNC_GENERATION_MASK;
    rti_u32_store_relaxed(&async->generation, next + (next == 0));
}

/* A context for a task, or NULL if none is left; and its return. It waits for nothing and holds
 * nothing. */
struct rti_cx *rti_asyncs_context_make(struct rti_asyncs *asyncs, struct rti_async *async);
void rti_asyncs_context_end(struct rti_asyncs *asyncs, struct rti_cx *cx);

/* Takes the spare that lies on top away, under the lock. */
static inline void rti_asyncs_context_remove(struct rti_asyncs *asyncs, struct rti_cx *cx)
{
    RT_ASSERT(asyncs->spares == cx);
    asyncs->spares = rti_cx_poll(cx)->next_spare;
}

static inline struct rti_cx *rti_asyncs_context_take(struct rti_asyncs *asyncs,
                                                     const struct rti_worker *worker,
                                                     struct rti_async *async)
{
    struct rti_async_desk *desk = rti_asyncs_desk(asyncs, worker);
    struct rti_cx *cx;
    if (desk != NULL && RTI_LIKELY(desk->spare != NULL)) {
        cx = desk->spare;
        desk->spare = NULL;
    } else {
        rti_lock_acquire(&asyncs->lock, asyncs->sched);
        cx = asyncs->spares;
        if (RTI_LIKELY(cx != NULL)) {
            rti_asyncs_context_remove(asyncs, cx);
        }
        rti_lock_release(&asyncs->lock);
    }
    if (RTI_UNLIKELY(cx == NULL)) {
        return rti_asyncs_context_make(asyncs, async);
    }
    rti_cx_poll(cx)->waker.arg = async;
    return cx;
}

/* Is this context, which waits for nothing and holds nothing, as one that was just made? */
static inline bool rti_asyncs_context_is_clean(const struct rti_cx *cx)
{
    const struct rti_cx_rest *rest = rti_cx_rest_of(cx);
    return !rti_cancel_is_requested(&cx->cancel) && rest->scope == NULL &&
           rest->budget.deadline == RT_TIME_NEVER && rest->budget.poll_quota == UINT32_MAX &&
           rest->budget.cost_quota == UINT64_MAX && rest->member.region == NULL &&
           !cx->has_timers && cx->magic == RTI_CX_MAGIC;
}

/* Gives a clean one back. */
static inline void rti_asyncs_context_lay_by(struct rti_asyncs *asyncs,
                                             const struct rti_worker *worker, struct rti_cx *cx)
{
    RT_DCHECK(rti_asyncs_context_is_clean(cx));
    rti_cx_poll(cx)->waker.fn = rti_async_waker; /* the task may have given it another */
    cx->is_touched = false;
    struct rti_async_desk *desk = rti_asyncs_desk(asyncs, worker);
    if (desk != NULL && RTI_LIKELY(desk->spare == NULL)) {
        desk->spare = cx;
        return;
    }
    rti_lock_acquire(&asyncs->lock, asyncs->sched);
    rti_cx_poll(cx)->next_spare = asyncs->spares;
    asyncs->spares = cx;
    rti_lock_release(&asyncs->lock);
}

/* The same for any. */
static inline void rti_asyncs_context_give(struct rti_asyncs *asyncs,
                                           const struct rti_worker *worker, struct rti_cx *cx)
{
    RT_ASSERT(!rti_cx_poll(cx)->is_waiting && rti_cleanups_are_none(&rti_cx_poll(cx)->cleanups));
    if (RTI_UNLIKELY(!rti_asyncs_context_is_clean(cx))) {
        rti_asyncs_context_end(asyncs, cx);
    } else {
        rti_asyncs_context_lay_by(asyncs, worker, cx);
    }
}

/* The handle of a slot in use. */
static inline rt_async_task *rti_asyncs_handle_at(const struct rti_async *async, uint32_t index)
{
    uintptr_t generation = rti_u32_load_relaxed(&async->generation);
    return (rt_async_task *)(generation << RTI_ASYNC_INDEX_BITS | index);
}

static inline rt_async_task *rti_asyncs_handle(const struct rti_asyncs *asyncs,
                                               const struct rti_async *async)
{
    return rti_asyncs_handle_at(async, (uint32_t)(async - asyncs->slots));
}

/* The slot of a handle; NULL if it is none or was consumed. */
static inline struct rti_async *rti_asyncs_lookup(struct rti_asyncs *asyncs,
                                                  const rt_async_task *handle)
{
    uintptr_t index = (uintptr_t)handle & RTI_ASYNC_INDEX_MASK;
    if (RTI_UNLIKELY(index >= rti_u32_load_relaxed(&asyncs->fresh))) {
        return NULL;
    }
    struct rti_async *async = &asyncs->slots[index];
    uint32_t generation = (uint32_t)((uintptr_t)handle >> RTI_ASYNC_INDEX_BITS);
    bool is_it = rti_u32_load_relaxed(&async->generation) == generation && async->poll != NULL;
    return RTI_LIKELY(is_it) ? async : NULL;
}

/* Is the handle that of the slot whose index it has, and not consumed? */
static inline bool rti_asyncs_is_of(const struct rti_async *async, const rt_async_task *handle)
{
    return rti_u32_load_relaxed(&async->generation) ==
           (uint32_t)((uintptr_t)handle >> RTI_ASYNC_INDEX_BITS);
}

/* Was the handle not consumed, at some moment during the call? Needs no guard: what it names, and
 * whether that is a task at all, is found out under it. */
static inline bool rti_asyncs_is_good(const struct rti_asyncs *asyncs, const rt_async_task *handle)
{
    uintptr_t index = (uintptr_t)handle & RTI_ASYNC_INDEX_MASK;
    return index < rti_u32_load_relaxed(&asyncs->fresh) &&
           rti_asyncs_is_of(&asyncs->slots[index], handle);
}

/* Is its watcher a fiber? Under its guard. */
static inline bool rti_asyncs_is_awaited(const struct rti_async *async)
{
    return (async->watcher & RTI_ASYNC_IS_FIBER) != 0 &&
           rti_task_life(&async->life) == RTI_TASK_WATCHED;
}

/* What is said to who comes with a handle that a fiber waits with. */
extern const rt_status rti_asyncs_awaited;

/* What a handle stands for. */
enum rti_async_found {
    RTI_ASYNC_FOUND_NONE,    /* nothing: it is none, or consumed */
    RTI_ASYNC_FOUND_LIVE,    /* a task that has not ended */
    RTI_ASYNC_FOUND_ENDED,   /* one that has */
    RTI_ASYNC_FOUND_AWAITED, /* one whose end a fiber waits for */
};

/* Consumes the handle of a task that has ended: the slot, with its result, is the caller's to give
 * back. Under its guard, or in a section of who works alone. */
static RTI_ALWAYSINLINE void rti_asyncs_take_ended(struct rti_async *async)
{
    rti_asyncs_consume(async);
    rti_task_to_free_here(&async->life);
}

/* The result of a task whose slot the caller has. `out` may be NULL. The program's memory may be
 * anywhere, and who brings it may be a guest: not in a section. */
static RTI_ALWAYSINLINE void rti_asyncs_tell_result(const struct rti_async *async, rt_status *out)
{
    if (out != NULL) {
        *out = (rt_status){(rt_status_code)async->result, async->result_msg};
    }
}

/* The same for whatever a handle names, if that has ended, and its slot. Whether it is good and has
 * ended is asked before the guard is taken: who has to wait takes it once, and what is read under
 * it lies in the cache by then. The end stays until the handle is consumed, so only that is asked
 * again. Who works alone asks once, and needs no guard. NONE; LIVE, which may be true of the next
 * task of the slot: the caller asks rti_asyncs_watch; ENDED. */
static RTI_ALWAYSINLINE enum rti_async_found rti_asyncs_collect_ended(struct rti_asyncs *asyncs,
                                                                      struct rti_worker *worker,
                                                                      const rt_async_task *handle,
                                                                      rt_status *out)
{
    uint32_t index = (uint32_t)((uintptr_t)handle & RTI_ASYNC_INDEX_MASK);
    if (RTI_UNLIKELY(index >= rti_u32_load_relaxed(&asyncs->fresh))) {
        return RTI_ASYNC_FOUND_NONE;
    }
    struct rti_async *async = &asyncs->slots[index];
    bool is_solo = rti_solo_begin(worker);
    bool is_good = rti_asyncs_is_of(async, handle);
    if (RTI_UNLIKELY(!is_good) || RTI_UNLIKELY(!rti_async_has_ended(async))) {
        rti_solo_finish(worker, is_solo);
        return is_good ? RTI_ASYNC_FOUND_LIVE : RTI_ASYNC_FOUND_NONE;
    }
    bool is_guest = !is_solo && rti_asyncs_guard(asyncs, (uintptr_t)handle);
    is_good = is_solo || rti_asyncs_is_of(async, handle);
    if (RTI_LIKELY(is_good)) {
        rti_asyncs_take_ended(async);
    }
    if (RTI_LIKELY(is_solo)) {
        rti_solo_finish(worker, true);
    } else {
        rti_asyncs_unguard(asyncs, (uintptr_t)handle, is_guest);
    }
    if (RTI_UNLIKELY(!is_good)) {
        return RTI_ASYNC_FOUND_NONE;
    }
    rti_asyncs_tell_result(async, out);
    rti_asyncs_free(asyncs, worker, async, index);
    return RTI_ASYNC_FOUND_ENDED;
}

/* The same for who does not go on to wait: NONE; LIVE, and nothing is taken; ENDED. */
enum rti_async_found rti_asyncs_collect(struct rti_asyncs *asyncs, const struct rti_worker *worker,
                                        const rt_async_task *handle, rt_status *out);

/* Makes `watcher` the one whom the end of the task that a handle names tells, in the place of
 * another, if there is one that is no fiber. LIVE; else nothing is registered. */
enum rti_async_found rti_asyncs_watch(struct rti_asyncs *asyncs, const rt_async_task *handle,
                                      uintptr_t watcher);

/* Ends that; nothing if another has taken the place, or the handle was consumed meanwhile. When it
 * returns nobody looks at the watcher any more. */
void rti_asyncs_unwatch(struct rti_asyncs *asyncs, const rt_async_task *handle, uintptr_t watcher);

/* How many slots are a task's, under the lock; 0 only when all that the tasks have done is seen. If
 * slots lie on desks, nobody may start or end a task meanwhile: their holders take and give back
 * without the lock, and one that goes from desk to desk would be counted at both. */
size_t rti_asyncs_used(const struct rti_asyncs *asyncs);

/* Checks I1 and every slot; returns how many tasks there are. */
size_t rti_asyncs_audit(const struct rti_asyncs *asyncs);

/* The module of a worker's runtime; NULL if the worker is, or if it has no poll tasks. */
static inline struct rti_asyncs *rti_asyncs_of(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : worker->sched->modules[RTI_MODULE_ASYNC];
}

#endif
