/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_STACK_SLAB_H
#define RTI_STACK_SLAB_H

/* A slab: stacks of one size in one mapping, as many as there are fibers that may want one.
 *
 *     bay    | guard page | reserve | size, grows downwards | bay | bay ...
 *
 * The mapping is made once and is as large as it can ever become; the system gives memory page by
 * page when a bay is first used, so a slab grows by being used. A bay that was given back is
 * taken again before one that was never used, and the one that was given back last goes first: its
 * top page is in the caches, or even, if a fiber that ends is followed by one that begins, still in
 * use by the same code (sched/fiber_life.c).
 *
 * A fiber takes its bay when it first runs, not when it is started: a thousand that are started
 * and run to their end one after another use one. There are as many bays as slots for fibers, so
 * taking one cannot fail.
 *
 * With several workers each station has a shelf of free bays, which belongs to who holds the
 * station and changes hands with it. It is filled from the free list and spills into it, half a
 * shelf at a time, those that lay there longest. There are as many bays more as fit on all shelves,
 * so that those which lie there are missing to nobody.
 *
 * What protects what. A bay has a guard page if the port can make one when it is first used. Its
 * lower guard word would commit a second page in every bay and finds nothing that the page does
 * not: such a stack has its upper word looked at for both ends. If the port has no more guards, the
 * bay has a guard word at each end instead, no reserve, and is settled on the worker's stack.
 *
 * With one worker the bay that was given back last is not in the list but beside it, as `top`:
 * where one fiber begins after another has ended it is given and taken without a look at the list.
 *
 * I1  used + free + those on shelves = fresh <= capacity.                  (rti_stack_slab_audit)
 * I2  Each index below `fresh` is in the free list, its top, on a shelf or some fiber's, once.
 *                                                                          (rti_stack_slab_audit)
 *
 * The description of the stack that was taken last is kept: where one begins after another has
 * ended it is taken again.
 *
 * I3  `last` describes the stack of `last_bay`, or that is RTI_BAY_NONE.   (rti_stack_slab_audit)
 *
 * Costs: taking and giving back are a few instructions; with several workers a lock when a shelf is
 * empty or full, and for who holds no station. The first use of a bay is a system call and a page.
 * 4 bytes beside each bay. */

#include <orrery/rt_static_config.h>

#include "sched/lock.h"
#include "sched/stack.h"
#include "sched/station.h"

/* What a fiber has of a slab: its bay, twice its index, and 1 if there is a guard page. */
typedef uint32_t rti_bay;

#define RTI_BAY_NONE UINT32_MAX

/* Bays on a shelf, and how many of them come and go at a time. */
#define RTI_SLAB_SHELF_MAX 32
#define RTI_SLAB_SHELF_ROW (RTI_SLAB_SHELF_MAX / 2)

/* What the holder of a station has of a slab for itself. */
struct rti_slab_shelf {
    RTI_ALIGNED(RTI_CACHE_LINE) uint32_t count;
    rti_bay last_bay; /* which `last` describes */
    struct rti_stack last;
    rti_bay bays[RTI_SLAB_SHELF_MAX]; /* `count` of them; the last one goes first */
};

struct rti_stack_slab {
    struct rti_sched *sched;
    char *memory; /* NULL: there is no slab */
    size_t stride;
    size_t size; /* of a stack, as asked for */
    uint32_t capacity;
    uint32_t shelves_count;         /* 0: there is one worker */
    struct rti_slab_shelf *shelves; /* one for each station */
    unsigned *valgrind_ids;         /* by index; written under valgrind only */
    size_t mapping_size;
    rti_bay *free;        /* those given back, but for `top`; the last one goes first */
    struct rti_lock lock; /* over what follows, and what is in `free` */
    uint32_t fresh;       /* bays that were ever used */
    uint32_t free_count;
    rti_bay top;      /* one worker: given back after all in `free`; RTI_BAY_NONE: none */
    rti_bay last_bay; /* one worker: which `last` describes */
    struct rti_stack last;
};

/* A slab without a bay. */
void rti_stack_slab_init(struct rti_stack_slab *slab, struct rti_sched *sched);

/* Maps bays for `capacity` stacks of `size` bytes that are in use at a time. RT_OK; RT_ERR_NOMEM if
 * the system has no addresses for them; RT_ERR_UNSUPPORTED if the port cannot map. */
rt_status rti_stack_slab_map(struct rti_stack_slab *slab, uint32_t capacity, size_t size);

/* Unmaps it; no bay is in use. */
void rti_stack_slab_deinit(struct rti_stack_slab *slab);

/* Bays that somebody has. */
uint32_t rti_stack_slab_audit(const struct rti_stack_slab *slab);

/* Takes a bay that was never used, and the way with several workers. */
rti_bay rti_stack_slab_take_fresh(struct rti_stack_slab *slab, struct rti_stack *stack);
rti_bay rti_stack_slab_take_shared(struct rti_stack_slab *slab, struct rti_stack *stack);
void rti_stack_slab_give_shared(struct rti_stack_slab *slab, rti_bay bay);

#if RTI_ASAN
void rti_stack_slab_hide(const struct rti_stack_slab *slab, rti_bay bay);
void rti_stack_slab_show(const struct rti_stack_slab *slab, rti_bay bay);
#else
#define rti_stack_slab_hide(slab, bay) ((void)(slab), (void)(bay))
#define rti_stack_slab_show(slab, bay) ((void)(slab), (void)(bay))
#endif

/* Describes the stack of a bay whose guard words are in place. */
static inline void rti_stack_slab_describe(const struct rti_stack_slab *slab, rti_bay bay,
                                           struct rti_stack *stack)
{
    char *guard = slab->memory + (size_t)(bay >> 1) * slab->stride;
    bool is_guarded = (bay & 1) != 0;
    char *low = guard + RT_STACK_GUARD_SIZE;
    rti_stack_set_bounds(stack, low, slab->stride - RT_STACK_GUARD_SIZE, is_guarded);
    stack->limit = is_guarded ? low + RTI_STACK_GUARD_ROOM + RTI_STACK_RESERVE : NULL;
    rti_stack_set_owner(stack, bay);
}

/* The shelf of a worker; NULL if it has none: it is of another runtime, or holds no station. */
static RTI_ALWAYSINLINE struct rti_slab_shelf *
rti_stack_slab_shelf(const struct rti_stack_slab *slab, const struct rti_worker *worker)
{
#if RTI_ONE_WORKER
    (void)slab, (void)worker;
    return NULL;
#else
    if (RTI_UNLIKELY(worker == NULL) || RTI_UNLIKELY(worker->sched != slab->sched) ||
        RTI_UNLIKELY(worker->station == NULL)) {
        return NULL;
    }
    RT_DCHECK(worker->station->index < slab->shelves_count);
    return &slab->shelves[worker->station->index];
#endif
}

/* The common case with several workers: the bay that was last given back lies on the shelf of the
 * calling thread, and is described. RTI_BAY_NONE: it is any other case. */
static RTI_ALWAYSINLINE rti_bay rti_stack_slab_take_last(const struct rti_stack_slab *slab,
                                                         struct rti_stack *stack)
{
    struct rti_slab_shelf *shelf = rti_stack_slab_shelf(slab, rti_worker_here());
    if (RTI_UNLIKELY(shelf == NULL) || RTI_UNLIKELY(shelf->count == 0)) {
        return RTI_BAY_NONE;
    }
    rti_bay bay = shelf->bays[shelf->count - 1];
    if (RTI_UNLIKELY(bay != shelf->last_bay)) {
        return RTI_BAY_NONE;
    }
    shelf->count--;
    rti_stack_slab_show(slab, bay);
    *stack = shelf->last;
    return bay;
}

/* The same of a bay that is given back: it has room there. */
static RTI_ALWAYSINLINE bool rti_stack_slab_give_last(const struct rti_stack_slab *slab,
                                                      rti_bay bay)
{
    struct rti_slab_shelf *shelf = rti_stack_slab_shelf(slab, rti_worker_here());
    if (RTI_UNLIKELY(shelf == NULL) || RTI_UNLIKELY(shelf->count == RTI_SLAB_SHELF_MAX)) {
        return false;
    }
    rti_stack_slab_hide(slab, bay);
    shelf->bays[shelf->count++] = bay;
    return true;
}

/* Takes a bay and describes its stack. Cannot fail. `is_local`: there is one worker. */
static RTI_ALWAYSINLINE rti_bay rti_stack_slab_take_as(struct rti_stack_slab *slab,
                                                       struct rti_stack *stack, bool is_local)
{
    if (RTI_UNLIKELY(!is_local)) {
        rti_bay last = rti_stack_slab_take_last(slab, stack);
        return RTI_LIKELY(last != RTI_BAY_NONE) ? last : rti_stack_slab_take_shared(slab, stack);
    }
    rti_bay bay = slab->top;
    if (RTI_UNLIKELY(bay == RTI_BAY_NONE)) {
        if (slab->free_count == 0) {
            return rti_stack_slab_take_fresh(slab, stack);
        }
        bay = slab->free[--slab->free_count];
    } else {
        slab->top = RTI_BAY_NONE;
    }
    rti_stack_slab_show(slab, bay);
    if (RTI_UNLIKELY(bay != slab->last_bay)) {
        rti_stack_slab_describe(slab, bay, &slab->last);
        slab->last_bay = bay;
    }
    *stack = slab->last;
    return bay;
}

/* Gives a bay back, whose guard words are in place. */
static RTI_ALWAYSINLINE void rti_stack_slab_give_as(struct rti_stack_slab *slab, rti_bay bay,
                                                    bool is_local)
{
    if (RTI_UNLIKELY(!is_local)) {
        if (RTI_UNLIKELY(!rti_stack_slab_give_last(slab, bay))) {
            rti_stack_slab_give_shared(slab, bay);
        }
        return;
    }
    rti_stack_slab_hide(slab, bay);
    if (RTI_UNLIKELY(slab->top != RTI_BAY_NONE)) {
        slab->free[slab->free_count++] = slab->top;
    }
    slab->top = bay;
}

/* Both for who does not know. */
static inline rti_bay rti_stack_slab_take(struct rti_stack_slab *slab, struct rti_stack *stack)
{
    return rti_stack_slab_take_as(slab, stack, rti_sched_is_local(slab->sched));
}

static inline void rti_stack_slab_give(struct rti_stack_slab *slab, rti_bay bay)
{
    rti_stack_slab_give_as(slab, bay, rti_sched_is_local(slab->sched));
}

#endif
