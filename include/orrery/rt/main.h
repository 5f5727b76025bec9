/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_MAIN_H
#define ORRERY_RT_MAIN_H

/* A whole program in one call: the runtime is made, a first task runs, and the call comes back when
 * every task and actor has ended and the runtime is gone.
 *
 *     int main(void)
 *     {
 *         return RT_FAILED(rt_run_main(NULL, first, NULL));
 *     } */

#include <orrery/rt/runtime.h>
#include <orrery/rt/sim.h>
#include <orrery/rt/task.h>

RT_EXTERN_C_BEGIN

/* All zero is a fair start: the fixed engine, for as long as it takes. `parallel` or `sim` chooses
 * another engine for the same program. */
typedef struct {
    rt_time time_max;          /* then every task is cancelled; 0: no limit */
    const rt_config *parallel; /* run on the parallel engine, as rt_init_ex; NULL: on one thread */
    const rt_sim_config *sim;  /* run in the simulator; NULL: in the world */
    const char *name;          /* of the first task; NULL: "main" */
    size_t stack_size;         /* of the first task; 0: RT_DEFAULT_STACK_SIZE */
    rt_time deadlock_after;    /* in the world: as rt_watch_deadlocks; 0: as the engine does */
    bool observe;              /* in the world: as in rt_config */
    void **value;              /* gets the result of the first task; NULL: nobody asks */
} rt_main_config;

/* Makes a runtime on the calling thread, runs fn(arg) as its first task, waits until all tasks,
 * detached ones too, and all actors have ended, and takes the runtime apart. Afterwards it may be
 * called again.
 * Callable from a thread that has no runtime.
 * Never suspends: it blocks the thread.
 * `config` is read during the call; NULL: the defaults. `arg` stays the caller's.
 * Returns RT_OK if the first task returned; RT_ERR_CANCELLED, RT_ERR_PANICKED as rt_join, the
 * former also if rt_shutdown ended the run before the first task came to its end; RT_ERR_TIMEOUT if
 * time_max cut the program short; RT_ERR_DEADLOCK if, in the simulator, tasks were left waiting for
 * ever; RT_ERR_STATE if there is a runtime; RT_ERR_INVALID if `fn` is NULL or two engines are
 * chosen; what else rt_init, rt_init_ex and rt_sim_run give. A checked build stops here if a handle
 * was never consumed. Nothing is lost on cancel. */
RT_API rt_status rt_run_main(const rt_main_config *config, rt_task_fn fn, void *arg);

RT_EXTERN_C_END

#endif
