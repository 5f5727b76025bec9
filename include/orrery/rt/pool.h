/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_POOL_H
#define ORRERY_RT_POOL_H

/* A pool of threads for work that computes: each job runs to its end on a thread of its own kind,
 * beside the runtime, so that tasks and actors go on meanwhile.
 *
 *     rt_pool *pool = rt_pool_open(4, 32);
 *     rt_job *job = rt_pool_spawn(pool, compress, block, NULL);
 *     status = rt_pool_join(job, &result);          parks a task, blocks a thread
 *     rt_pool_close(pool);
 *
 * A job is a function of the program; it must not call what suspends. Jobs begin in the order of
 * their spawn. A job cannot be cancelled: who joins it can. The pool is another one than that of
 * the files, so that neither waits for the other. Where there are no threads, in the simulator
 * and on bare machines, the jobs run one after another on the runtime's own stack.
 *
 * A job's handle, like a task's, is consumed exactly once: by rt_pool_join or rt_pool_detach. */

#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>
#include <orrery/rt/task.h>

RT_EXTERN_C_BEGIN

typedef struct rt_pool rt_pool;
typedef struct rt_job rt_job;

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define RT_GIVES_JOB                                                                               \
    __attribute__((malloc(rt_pool_join, 1), malloc(rt_pool_detach, 1), warn_unused_result))
#define RT_TAKES_JOB
#elif defined(__clang__)
#define RT_GIVES_JOB __attribute__((ownership_returns(malloc), warn_unused_result))
#define RT_TAKES_JOB __attribute__((ownership_takes(malloc, 1)))
#else
#define RT_GIVES_JOB
#define RT_TAKES_JOB
#endif

/* Opens a pool and starts its threads.
 * Callable from a task or an actor, and from main on the runtime's thread.
 * Never suspends.
 * The pool is the runtime's; rt_pool_close gives it back, and the end of the runtime closes it.
 * Returns the pool. Returns NULL, and nothing has changed, if `threads` is 0 or above
 * RT_MAX_POOL_THREADS, `queue` is 0 or above RT_MAX_POOL_JOBS, RT_MAX_POOLS pools are open, the
 * system has no more threads, or this thread has no runtime.
 * Nothing is lost on cancel. */
RT_API rt_pool *rt_pool_open(uint32_t threads, uint32_t queue);

/* Waits until a job is done and takes its result. The handle is consumed.
 * Callable from a task or an actor; on any other thread it blocks the thread.
 * May suspend: until the job is done or the caller is cancelled.
 * `job` is consumed in any case; `value` may be NULL.
 * Returns RT_OK: *value is what the function returned. RT_ERR_CANCELLED,
 * RT_ERR_BUDGET_EXHAUSTED: the caller is; the job goes on. RT_ERR_INVALID: this is no handle, it is
 * consumed, or another waits with it, whose it stays. RT_ERR_WOULDBLOCK: the runtime's own stack
 * cannot wait; the job goes on.
 * On cancel the result is lost: the job goes on detached. */
RT_API RT_SUSPENDS RT_TAKES_JOB rt_status rt_pool_join(rt_job *job, void **value);

/* Gives up the handle of a job, which goes on.
 * Callable from any thread.
 * Never suspends.
 * `job` is consumed.
 * Returns RT_OK; RT_ERR_INVALID if this is no handle, it is consumed, or another waits with it.
 * Nothing is lost on cancel. */
RT_API RT_TAKES_JOB rt_status rt_pool_detach(rt_job *job);

/* Gives a job to the pool.
 * Callable from any thread.
 * Never suspends.
 * `arg` stays the caller's; what it points to must live until the job is done. `status` gets why
 * there is no job, and may be NULL.
 * Returns the handle. Returns NULL, and *status says why: RT_ERR_FULL if the queue is full, or as
 * many jobs wait to be joined; RT_ERR_CLOSED if the pool is being closed; RT_ERR_INVALID if this is
 * no pool or `fn` is NULL.
 * Nothing is lost on cancel. */
RT_API RT_GIVES_JOB rt_job *rt_pool_spawn(rt_pool *pool, rt_task_fn fn, void *arg,
                                          rt_status *status);

/* Closes a pool: no new jobs; those that are there are done, then its threads end. Handles of jobs
 * that nobody has joined name nothing afterwards.
 * Callable from a task or an actor, and from main on the runtime's thread.
 * May suspend: until the last job is done; shielded from cancellation.
 * The pool is gone afterwards; a caller that is killed while it waits leaves it open.
 * Returns RT_OK; RT_ERR_INVALID if this is no pool, or another closes it; RT_ERR_THREAD on a thread
 * without a runtime; RT_ERR_WOULDBLOCK, where there are no threads, from main while jobs are left.
 * Nothing is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_pool_close(rt_pool *pool);

RT_EXTERN_C_END

#endif
