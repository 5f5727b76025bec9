/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_TASK_H
#define ORRERY_RT_TASK_H

/* Green tasks: functions that run beside each other, each with a stack of its own, and end with a
 * result.
 *
 *     static void *fetch(void *arg);
 *
 *     rt_task *task = rt_go(fetch, "index.html");
 *     void *page = NULL;
 *     rt_status status = rt_join(task, &page);
 *
 * rt_go gives a handle, and a handle is consumed exactly once: by rt_join, rt_detach or rt_cancel.
 * gcc -fanalyzer and clang's analyzer know these four functions and report a handle that is lost or
 * consumed twice. (gcc takes a consumer for a free() that writes nothing: give `value` a value
 * before the join, and its analyzer is content.) At run time a second use is refused, and a handle
 * that was never consumed is found when the runtime ends: a checked build stops there with the
 * place of the rt_go, every other build counts it (rt_stats).
 *
 * Every task belongs to a block: the region of the task that started it, or the one that was named.
 * A region closes, and rt_run_main returns, when all tasks of it have ended, detached ones too.
 *
 * Cancellation is a request. A task that waits is woken at once with RT_ERR_CANCELLED; one that
 * runs learns it at its next call that may wait, or by asking. A task that has seen the request and
 * ends is cancelled; one that ended without seeing it has its result. What the functions lose when
 * their caller is cancelled:
 *
 *     rt_join, rt_cancel     the result: the joined task is cancelled too, and goes on detached
 *     rt_join_until          nothing: the handle is still the caller's
 *     rt_sleep               nothing
 *     rt_timeout             the result of the operation, which is cancelled and waited for
 *     rt_using               nothing: the block's tasks are cancelled and waited for
 *     rt_channel_send        nothing: the value is still the caller's
 *     rt_channel_recv        nothing: the value stays in the channel or goes to another
 *     rt_channel_reserve     nothing
 *     rt_region_close        nothing: it can be called again
 *     rt_net_recv, _send     nothing that was not told; a part that was sent is reported
 *     rt_net_accept, connect nothing: a connection that nobody took is closed
 *     rt_file_*              whether a write that had begun is done: it runs to its end */

#include <stdbool.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/outcome.h>
#include <orrery/rt/region.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>
#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

/* A handle: to be passed on, compared with NULL and consumed; it points to nothing. */
typedef struct rt_task rt_task;

/* What a task runs. Any value is a result, NULL too: errors come by another way. */
typedef void *(*rt_task_fn)(void *arg);

/* The place of a call, for reports; static, made by the macros here. */
typedef struct {
    const char *file;
    uint32_t line;
    const char *what; /* the function that runs, as it was written */
} rt_site;

/* All zero is a task like rt_go's. */
typedef struct {
    const char *name;     /* for reports; a literal, or lives as long as the task; NULL: the code */
    size_t stack_size;    /* bytes, 0 = RT_TASK_STACK_SIZE; 4096 to RT_STACK_SIZE_MAX */
    rt_priority priority; /* 0 means RT_PRIO_NORMAL, unless is_priority_set */
    bool is_priority_set;
    rt_region *region; /* NULL: that of the caller */
    rt_status *status; /* gets why the task could not be started; NULL: nobody asks */
} rt_task_config;

/* How a task came out. */
typedef struct {
    rt_outcome outcome; /* OK, CANCELLED or PANICKED */
    bool has_ended;     /* false: the caller was cancelled first, and the task goes on detached */
    void *value;        /* what the function returned; NULL if it did not return */
    rt_site site;       /* PANICKED: where; of a fault: where the task was started */
    char message[64];   /* PANICKED: what rt_panic_task said, or the name of the fault */
} rt_task_result;

/* Says of a function that what it returns must be given to exactly one of these three. gcc reads
 * it for -fanalyzer and -Wmismatched-dealloc, clang for its static analyzer. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define RT_GIVES_TASK                                                                              \
    __attribute__((malloc(rt_join, 1), malloc(rt_detach, 1), malloc(rt_cancel, 1),                 \
                   malloc(rt_join_result, 1), warn_unused_result))
#define RT_TAKES_TASK
#elif defined(__clang__)
#define RT_GIVES_TASK __attribute__((ownership_returns(malloc), warn_unused_result))
#define RT_TAKES_TASK __attribute__((ownership_takes(malloc, 1)))
#else
#define RT_GIVES_TASK
#define RT_TAKES_TASK
#endif

/* Waits until a task has ended and takes its result. The handle is consumed.
 * Callable from a task or an actor; elsewhere on the runtime's thread if the task has ended; from
 * another thread beside a runtime with several workers, which blocks.
 * May suspend: until the task ends or the caller is cancelled.
 * `task` is consumed in any case; `value` may be NULL and is written when the task has ended.
 * Returns RT_OK: *value is the result. RT_ERR_CANCELLED: the task saw a cancellation, and *value is
 * what it returned; or the caller is cancelled. RT_ERR_PANICKED: the task panicked or a fault of it
 * was contained. RT_ERR_DEADLOCK: the task waits, perhaps through others, for the caller.
 * RT_ERR_INVALID: this is no handle, it is consumed, or another waits with it, whose it stays.
 * RT_ERR_WOULDBLOCK: the caller cannot wait, and the task goes on detached. RT_ERR_THREAD: this
 * thread has no runtime. RT_ERR_STATE: the runtime ends, and the thread that blocked has lost the
 * handle.
 * On cancel the result is lost: the task is cancelled too and goes on detached. */
RT_API RT_SUSPENDS RT_TAKES_TASK rt_status rt_join(rt_task *task, void **value);

/* Waits like rt_join and tells everything about the end.
 * Callable from a task or an actor; elsewhere on the runtime's thread if the task has ended; from
 * another thread beside a runtime with several workers, which blocks.
 * May suspend: until the task ends or the caller is cancelled.
 * `task` is consumed; `result` stays the caller's and may be NULL.
 * Returns what rt_join does.
 * On cancel the result is lost: the task is cancelled too and goes on detached. */
RT_API RT_SUSPENDS RT_TAKES_TASK rt_status rt_join_result(rt_task *task, rt_task_result *result);

/* Gives up the handle of a task, which goes on. Nobody gets its result; if it panics, one line says
 * so on standard error.
 * Callable from a task or an actor, from main on the runtime's thread, and from any thread beside a
 * runtime with several workers.
 * Never suspends.
 * `task` is consumed.
 * Returns RT_OK; RT_ERR_INVALID if this is no handle, it is consumed, or another waits with it;
 * RT_ERR_THREAD on a thread without a runtime.
 * Nothing is lost on cancel. */
RT_API RT_TAKES_TASK rt_status rt_detach(rt_task *task);

/* Asks a task to stop, waits until it has ended and takes its result. A task that has ended already
 * gives its result as rt_join would.
 * Callable from a task or an actor; elsewhere on the runtime's thread if the task has ended; from
 * another thread beside a runtime with several workers, which blocks.
 * May suspend: until the task ends or the caller is cancelled.
 * `task` is consumed as by rt_join; `value` may be NULL.
 * Returns what rt_join does. Where the caller cannot wait the task is asked and goes on detached:
 * RT_ERR_WOULDBLOCK.
 * On cancel the result is lost: the task goes on detached. */
RT_API RT_SUSPENDS RT_TAKES_TASK rt_status rt_cancel(rt_task *task, void **value);

/* Waits like rt_join, but not longer than until `deadline`.
 * Callable as rt_join; on the runtime's thread outside of tasks and actors it does not wait.
 * May suspend: until the task ends, the deadline comes or the caller is cancelled.
 * `*task` is consumed, and set to NULL, if the task has ended; else it stays the caller's. `value`
 * may be NULL.
 * Returns as rt_join if the task has ended; else RT_ERR_TIMEOUT, RT_ERR_CANCELLED, RT_ERR_DEADLOCK,
 * RT_ERR_WOULDBLOCK or, when the runtime ends, RT_ERR_STATE, and *task is not NULL.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_join_until(rt_task **task, void **value,
                                                         rt_time deadline);

/* Starts a task; the macros rt_go and rt_region_go call it with the place they stand in. It first
 * runs when its turn comes, not inside this call.
 * Callable from a task or an actor, and from main on the runtime's thread.
 * Never suspends.
 * `arg` stays the caller's; what it points to must live as long as the task uses it. `site` is
 * static. `config` is read during the call only; NULL: the defaults.
 * Returns the handle. Returns NULL, and nothing has changed, if `fn` is NULL, RT_MAX_TASKS tasks
 * (and those reserved) exist, there is no memory for the stack, the configuration is none, the
 * region is not open, or this thread has no runtime, which one line tells.
 * Nothing is lost on cancel. */
RT_API RT_GIVES_TASK rt_task *rt_go_at(const rt_site *site, rt_task_fn fn, void *arg,
                                       const rt_task_config *config);

/* The place where this is written, running `code`. */
#define RT_SITE(code)                                                                              \
    __extension__({                                                                                \
        static const rt_site rt_site_here = {__FILE__, __LINE__, code};                            \
        &rt_site_here;                                                                             \
    })

/* Starts a task that runs fn(arg): see rt_go_at. */
#define rt_go(fn, arg) rt_go_at(RT_SITE(#fn), fn, arg, NULL)

/* The same with a configuration. */
#define rt_go_ex(fn, arg, config) rt_go_at(RT_SITE(#fn), fn, arg, config)

/* Starts a task in a region of the caller's choice: rt_go_at with config->region set.
 * Callable from a task or an actor, and from main on the runtime's thread.
 * Never suspends.
 * `arg` stays the caller's; `site` is static; the region is its opener's.
 * Returns the handle, or NULL for the reasons of rt_go_at, or if `region` is NULL.
 * Nothing is lost on cancel. */
RT_API RT_GIVES_TASK rt_task *rt_region_go_at(const rt_site *site, rt_region *region, rt_task_fn fn,
                                              void *arg);

#define rt_region_go(region, fn, arg) rt_region_go_at(RT_SITE(#fn), region, fn, arg)

/* What rt_task_reserve makes room for. */
typedef struct {
    size_t tasks;      /* that may exist beside the RT_MAX_TASKS that always may */
    size_t stack_size; /* of tasks that name no size, bytes; 0 = RT_TASK_STACK_SIZE */
} rt_task_room;

/* Makes room for more tasks, once in the life of a runtime: slots, and a stack for each, in memory
 * that the system gives page by page when a task first needs it and that is used again by later
 * ones. From here on a task that names no stack size has one of room->stack_size, and takes it when
 * it first runs: one that waits for its first turn has none.
 * Callable from tasks, actors and the thread of the runtime; on several workers before others start
 * tasks.
 * Never suspends.
 * `room` is the caller's.
 * Returns RT_OK; RT_ERR_INVALID if so many there cannot be, or the stack is smaller than 4096 or
 * larger than RT_STACK_SIZE_MAX; RT_ERR_STATE if room was made already; RT_ERR_NOMEM if the system
 * has no addresses for it; RT_ERR_UNSUPPORTED where memory cannot be mapped; RT_ERR_THREAD outside
 * of a runtime. On failure nothing has changed. Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_task_reserve(const rt_task_room *room);

/* Tells whether a task has ended; rt_join would not wait.
 * Callable from a task or an actor, from main on the runtime's thread, and from any thread beside a
 * runtime with several workers.
 * Never suspends.
 * The handle stays the caller's.
 * Returns true or false; false also if this is no handle, or it is consumed.
 * Nothing is lost on cancel. */
RT_API bool rt_task_has_ended(const rt_task *task);

/* Asks a task to stop and leaves the handle with the caller, who joins or detaches it later.
 * Callable from a task or an actor, from main on the runtime's thread, and from any thread beside a
 * runtime with several workers.
 * Never suspends.
 * The handle stays the caller's.
 * Returns RT_OK, also if the task was asked before or has ended; RT_ERR_INVALID if this is no
 * handle, or it is consumed; RT_ERR_THREAD on a thread without a runtime.
 * Nothing is lost on cancel. */
RT_API rt_status rt_task_ask_cancel(const rt_task *task);

/* Tells whether the caller was asked to stop. From a true on the request counts as seen: if the
 * task ends now, it is cancelled.
 * Callable from anywhere.
 * Never suspends.
 * There is no pointer to own.
 * Returns true or false; false outside of tasks and actors.
 * Nothing is lost on cancel. */
RT_API bool rt_cancelled(void);

/* Ends the calling task by a panic: its ensure hooks run, then who joins it gets RT_ERR_PANICKED.
 * The macro rt_panic_task calls it with the place it stands in. The worker and all other tasks go
 * on.
 * Callable from a task; anywhere else the process ends.
 * Never suspends: it does not come back at all. The hooks may.
 * `message` is copied, up to 63 bytes of it; NULL: none.
 * Returns never.
 * What the task held without a hook is lost, and there is nothing to cancel. */
RT_NORETURN
RT_API void rt_panic_task_at(const rt_site *site, const char *message);

#define rt_panic_task(message) rt_panic_task_at(RT_SITE(__func__), message)

/* Lets `duration` nanoseconds pass.
 * Callable from a task or an actor; on any other thread without a runtime it blocks the thread.
 * May suspend: until the time has passed or the caller is cancelled.
 * There is no pointer to own.
 * Returns RT_OK; RT_ERR_CANCELLED; RT_ERR_BUDGET_EXHAUSTED if the budget's deadline came first;
 * RT_ERR_WOULDBLOCK on the runtime's own stack, where nothing may wait.
 * Nothing is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_sleep(rt_time duration);

/* Runs fn(arg) as a task of its own and gives it `duration` nanoseconds: then it is cancelled, and
 * waited for. The macro rt_timeout calls it with the place it stands in.
 * Callable from a task.
 * May suspend: until the operation has ended. If the caller is cancelled, so is the operation.
 * `arg` stays the caller's, and is not used any more when this returns; `value` may be NULL.
 * Returns RT_OK: *value is the result. RT_ERR_TIMEOUT: the time was over and the operation saw it.
 * RT_ERR_CANCELLED: the caller was cancelled. RT_ERR_PANICKED: the operation panicked.
 * RT_ERR_NOMEM: it could not be started, or the caller has
 * RT_MAX_HOOKS hooks. RT_ERR_THREAD outside of tasks.
 * On cancel the result of the operation is lost. */
RT_API RT_SUSPENDS rt_status rt_timeout_at(const rt_site *site, rt_time duration, rt_task_fn fn,
                                           void *arg, void **value);

#define rt_timeout(duration, fn, arg, value) rt_timeout_at(RT_SITE(#fn), duration, fn, arg, value)

/* Runs fn(arg) as the first task of a new block and waits until every task of the block has ended,
 * detached ones too. The macro rt_using calls it with the place it stands in.
 * Callable from a task.
 * May suspend: until the last task of the block has ended. If the caller is cancelled, so are they.
 * `budget` is copied and bounds all of them; NULL: no limit. `arg` stays the caller's; `value` may
 * be NULL.
 * Returns what fn's end is, as rt_join does; RT_ERR_BUDGET_EXHAUSTED if the deadline of the budget
 * cut the block short; RT_ERR_NOMEM if it could not be started; RT_ERR_THREAD outside of
 * tasks.
 * Nothing is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_using_at(const rt_site *site, const rt_budget *budget,
                                         rt_task_fn fn, void *arg, void **value);

#define rt_using(budget, fn, arg, value) rt_using_at(RT_SITE(#fn), budget, fn, arg, value)

/* The region that new tasks of the caller join: that of its task.
 * Callable from anywhere.
 * Never suspends.
 * The region is its opener's.
 * Returns NULL outside of a task, and in one that belongs to the runtime alone.
 * Nothing is lost on cancel. */
RT_API rt_region *rt_region_current(void);

RT_EXTERN_C_END

#endif
