/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASK_H
#define RTI_TASK_H

/* A task is a fiber with a result, a context and a handle.
 *
 * Its life: rt_go takes a slot of the table and a stack, and starts the fiber, whose main calls the
 * program's function, then the ensure hooks, then the destructors of its locals. It ends by
 * returning, by rt_panic_task, by a contained fault, an overflow or a kill. The rest happens on the
 * worker's stack: the context leaves its region, the stack goes back, and the life word
 * (task_life.h) tells who holds the handle.
 *
 * A task that was killed or faulted cannot run its own hooks. Its stack stays as it is, and the
 * undertaker, a fiber of the module, runs them (task_hooks.h); only then the task concludes.
 *
 * The handle that the program has is a number in a pointer's clothes: the slot's index and its
 * generation. It is compared with `handle`, which becomes 0 when it is consumed, so that every
 * later use is refused, whatever has become of the slot. Of several who come with the same handle
 * one uses it (task_handle.h) and is the holder; the others are refused.
 *
 * I1  `handle` is 0 iff the life is FREE or RELEASED, or its holder is taking it.  (audit)
 * I2  The result is written before the life leaves HELD or WATCHED for its end.   (task_conclude)
 * I3  `watcher` is not NULL while the life is WATCHED or TELLING.                 (rti_task_watch)
 * I4  A free slot has no hooks, no locals, no message and joins nobody, so a spawn has nothing
 *     to empty.                                      (rti_task_conclude, rti_tasks_give)
 *
 * Of its fiber, `fn_valued` and `arg` are the program's function, until it runs; `next_slot` is the
 * next free slot, or the next in the undertaker's line, and `arg` what the function has returned.
 *
 * Who writes: the spawner until the start; the task itself while it runs; the module's end
 * (task_on_done) after it; who has the handle in use `handle`, `watcher` and `joins` of the one
 * that joins. */

#include <orrery/rt/ensure.h>
#include <orrery/rt/task.h>
#include <orrery/rt/trace.h>
#include <orrery/rt_static_config.h>

#include "sched/fiber.h"
#include "sched/stacks.h"
#include "sync/cx.h"
#include "task/task_handle.h"
#include "task/task_life.h"

/* Spawns that are remembered of a task's ancestry, its own included. */
#define RTI_TASK_SITES 4

#define RTI_TASK_MESSAGE_MAX 63

/* A task-local value, and the key that it was set under. */
struct rti_local {
    void *value;
    uint32_t key;
};

/* A bit for each key. */
#if RT_MAX_LOCALS <= 16
typedef uint16_t rti_local_bits;
#else
typedef uint32_t rti_local_bits;
#endif

/* An ensure hook. */
struct rti_hook {
    rt_ensure_fn fn;
    void *arg;
    const rt_site *site;
};

/* What few tasks have. It lies apart from the slots, in a table of its own (rti_task_annex), whose
 * memory is not touched until the first of them needs it. What of it counts is said in the slot:
 * nothing here has to be emptied. */
struct rti_task_annex {
    struct rti_hook hooks[RT_MAX_HOOKS];    /* hook_count of them, the latest last */
    struct rti_local locals[RT_MAX_LOCALS]; /* those of locals_set */
    struct rt_trace trace;                  /* if has_trace; else it has none */
    const rt_site *panic_site;              /* if has_message: where, NULL for a fault or a kill; */
    char message[RTI_TASK_MESSAGE_MAX + 1]; /* and what was said */
};

/* What many tasks have and many have not: a stack that is not of the slab, a region, a budget, a
 * context inside their own. It lies in a table of its own too (rti_task_side), and what of it
 * counts is said in the slot: `slab` of the fiber is NULL, `has_rest` of the context is set. */
struct rti_task_side {
    struct rti_cx_rest rest;      /* of `cx` */
    struct rti_stack_block stack; /* of a stack that is not of the slab */
    const char *name;             /* if has_name */
    const rt_site *site;          /* if the origin of the fiber has no number: its spawn */
};

/* What every task has. A parked one costs this and a page of its stack: its size is a bound of
 * test/unit/tasks_test.c. */
struct rti_task {
    struct rti_fiber fiber;
    struct rti_task_word life;
    uint8_t outcome;       /* rt_outcome, from the end on */
    bool is_panicking : 1; /* rt_panic_task was called */
    bool has_value : 1;    /* its function returned */
    bool has_name : 1;     /* the side has its name; else it is called as its function is */
    bool has_message : 1;  /* the annex says how it ended */
    bool has_trace : 1;    /* the annex has its trace context */
    uint8_t unused : 3;
    bool is_doomed;      /* killed while a hook runs: it ends when the hook has */
    bool is_staked;      /* its holder waits; killed meanwhile, nobody has the handle */
    uint16_t hook_depth; /* hooks of it that run on its own fiber now, one inside another */
    uint16_t hook_count;
    rti_local_bits locals_set; /* a bit per key */
    uint32_t joins;         /* whom it waits for in a join: the index, counted from 1; 0: nobody */
    rti_atomic_size handle; /* task_handle.h */
    uintptr_t next_handle;  /* of its next life */
    struct rti_waiter *watcher; /* of the holder */
#if RTI_ONE_WORKER
    const rt_site *sites[RTI_TASK_SITES]; /* youngest first; NULL ends the chain */
#endif
    struct rti_cx cx;
};

/* The ids of tasks in traces are apart from those of actors: this, and the serial. */
#define RTI_TASK_TRACE_ID UINT32_C(0x80000000)

/* Which spawn it is, counted from 1; what reports call it. */
static inline uint32_t rti_task_serial(const struct rti_task *task)
{
    return task->fiber.run.id & ~RTI_TASK_TRACE_ID;
}

/* The index of its slot. */
static inline uint32_t rti_task_index(const struct rti_task *task)
{
    return (uint32_t)(task->next_handle & RTI_TASK_INDEX_MASK) - 1;
}

/* What the fiber of a task runs: the function, and what is to be done after it. */
void rti_task_main(struct rti_fiber *fiber);

/* What tells a task's fiber from any other. */
extern const struct rti_fiber_kind rti_task_kind;

/* The task that a fiber is; NULL if it is none. */
static inline struct rti_task *rti_task_of_fiber(struct rti_fiber *fiber)
{
    if (fiber == NULL || fiber->run.kind != &rti_task_kind) {
        return NULL;
    }
    return RTI_CONTAINER_OF(fiber, struct rti_task, fiber);
}

/* The task that runs on this worker; NULL if none does. */
static inline struct rti_task *rti_task_of(const struct rti_worker *worker)
{
    return worker == NULL ? NULL : rti_task_of_fiber(worker->fiber);
}

/* The task that a handle of the calling thread's runtime names; NULL if it is none, or consumed. */
struct rti_task *rti_task_lookup(const struct rti_worker *worker, const rt_task *handle);

/* The handle's end: the caller has it in use, and is the one who takes the result. */
static inline void rti_task_consume(struct rti_task *task)
{
    rti_task_handle_consume(&task->handle, task->life.is_local);
}

/* Makes `waiter`, which was added to a wait with rti_task_unwatch, the one that the end wakes.
 * False: the task has ended, nothing is linked. Who has the handle in use. */
bool rti_task_watch(struct rti_task *task, struct rti_waiter *waiter);

/* Does somebody wait with the handle? Then it is his, and nobody else can use it up. */
static inline bool rti_task_is_awaited(const struct rti_task *task)
{
    return rti_task_handle_is_in_use(&task->handle);
}

/* The `unlink` of such a waiter, whose slot is the task: the wait was not for it. The handle is
 * laid down, or given up if it is staked. NULL as its slot: nothing is done. */
void rti_task_unwatch(struct rti_waiter *waiter);

/* Has it ended? Then rti_task_take gives its result. */
static inline bool rti_task_is_complete(const struct rti_task *task)
{
    return rti_task_life(&task->life) == RTI_TASK_COMPLETE;
}

/* The status of an end, as rt_join gives it. */
rt_status rti_task_status(const struct rti_task *task);

/* Takes the result of a task that is complete and gives the slot back. The handle is consumed.
 * `result` may be NULL. */
rt_status rti_task_take(struct rti_task *task, rt_task_result *result);

/* Lets a task go whose handle was consumed: its end gives it back. */
void rti_task_release(struct rti_task *task);

/* Ends a task without another line of its function; its hooks are run. One that is in a hook ends
 * when that has: hooks are begun once, and come to their end. */
void rti_task_kill(struct rti_task *task);

/* The end: what is left when the fiber is over and no hook remains. On a worker's own stack. */
void rti_task_conclude(struct rti_task *task);

#endif
