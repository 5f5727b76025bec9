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
 * was lent is kept as it is, for the next.
 *
 * I1  used + free = fresh.                                          (rti_asyncs_audit)
 *
 * `lock` is over the free list, `fresh`, `used`, the pool of contexts and the spares. */

#include <orrery/rt_static_config.h>

#include "base/pool.h"
#include "task/async.h"

struct rti_asyncs {
    struct rti_sched *sched;
    struct rti_lock lock;
    struct rti_async *slots;
    uint32_t count; /* of slots */
    uint32_t fresh;
    uint32_t used;
    uint32_t free_head; /* `count` if none */
    rti_atomic_u32 serial;
    struct rti_pool contexts;
    struct rti_cx *spares; /* initialized and clean, linked by `outer` */
    void *mapping;         /* NULL: the static memory is used */
    size_t mapping_size;
    struct rti_async static_slots[RT_MAX_ASYNC];
    RTI_POOL_STORAGE(static_contexts, struct rti_cx, RT_MAX_ASYNC_CONTEXTS);
};

/* Makes an empty module and hangs it at the scheduler. RT_OK; RT_ERR_STATE if there is one. */
rt_status rti_asyncs_init(struct rti_asyncs *asyncs, struct rti_sched *sched);

/* Takes the module away. No task lives; handles that were not consumed name nothing. */
void rti_asyncs_deinit(struct rti_asyncs *asyncs);

/* Marks every task that lives: the next turns of the scheduler end them. */
void rti_asyncs_kill_all(struct rti_asyncs *asyncs);

/* Takes a slot; NULL if none is free. */
struct rti_async *rti_asyncs_take(struct rti_asyncs *asyncs);

/* Gives it back. */
void rti_asyncs_give(struct rti_asyncs *asyncs, struct rti_async *async);

/* A context for a task, or NULL if none is left; and its return. It waits for nothing and holds
 * nothing. */
struct rti_cx *rti_asyncs_context_take(struct rti_asyncs *asyncs, struct rti_async *async);
void rti_asyncs_context_give(struct rti_asyncs *asyncs, struct rti_cx *cx);

/* The handle of a slot in use, and the slot of a handle; NULL if it is none or was consumed. */
rt_async_task *rti_asyncs_handle(const struct rti_asyncs *asyncs, const struct rti_async *async);
struct rti_async *rti_asyncs_lookup(struct rti_asyncs *asyncs, const rt_async_task *handle);

/* Checks I1 and every slot; returns how many tasks there are. */
size_t rti_asyncs_audit(const struct rti_asyncs *asyncs);

/* The module of a worker's runtime; NULL if the worker is, or if it has no poll tasks. */
static inline struct rti_asyncs *rti_asyncs_of(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : worker->sched->modules[RTI_MODULE_ASYNC];
}

#endif
