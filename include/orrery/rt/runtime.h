/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_RUNTIME_H
#define ORRERY_RT_RUNTIME_H

/* The life of the runtime:
 *
 *     rt_init      the fixed engine: all memory is the library's own, reserved at compile time
 *     rt_init_ex   or the parallel engine: several workers, every core
 *     rt_spawn     the first actors, from main
 *     rt_run       until all actors have ended, or rt_shutdown
 *     rt_cleanup   ends what still lives; afterwards rt_init may be called again
 *
 * The thread that calls rt_init is the scheduler's thread; all but rt_shutdown belong to it.
 * Between rt_init and rt_run, and after it, nothing runs, so that a wait there would never end:
 * what would wait (a join of a task that has not ended, rt_sleep, a channel) answers
 * RT_ERR_WOULDBLOCK. A main that wants to wait is a task: rt_run_main.
 *
 * A runtime belongs to its process. In the child of a fork, by whatever thread, the library answers
 * as on a thread that has no runtime, and rt_init with RT_ERR_STATE; exec and _exit work, the
 * parent goes on unharmed. A task or handler that forks and then goes on in the child as if nothing
 * had happened, up to its end, is stopped there by a panic that says so. */

#include <stdbool.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* Makes the runtime ready on the calling thread. Uses no heap of its own; the threads that wait for
 * files and names are started here, so that nothing is allocated later.
 * Callable from any thread that has no runtime, outside of signal handlers.
 * Never suspends.
 * Owns nothing of the caller's.
 * Returns RT_OK; RT_ERR_STATE if the runtime is already there, on this or another thread;
 * RT_ERR_UNSUPPORTED if the processor's shadow stack is on; RT_ERR_NOMEM, RT_ERR_RESOURCE_EXHAUSTED
 * or RT_ERR_IO if the system refuses threads or descriptors. On failure nothing is left behind.
 * Nothing is lost on cancel. */
RT_API rt_status rt_init(void);

/* Who tells the runtime that descriptors are ready. */
typedef enum {
    RT_POLLER_AUTO,     /* what the environment variable ORRERY_POLLER says, epoll or io_uring;
                           else epoll */
    RT_POLLER_EPOLL,    /* epoll */
    RT_POLLER_IO_URING, /* io_uring, of Linux 5.17 or later */
} rt_poller_kind;

/* What rt_init_ex starts. Zero in a field is its default. */
typedef struct {
    uint32_t workers;       /* that run at the same time; 0: one per processor this process may use,
                               by its affinity and the quota of its control groups */
    uint32_t workers_min;   /* that may work at any time. While all turns are short the engine tries
                               whether fewer get more done, and keeps to as many as do; it never
                               tries fewer than this. 0: 1; `workers` or more: nothing is tried */
    uint32_t threads_max;   /* threads that the workers may need, those in blocking calls included;
                               more than `workers`, at most 65535; 0: 64 more */
    rt_poller_kind poller;  /* what is asked for and not there is an error, never replaced */
    rt_time deadlock_after; /* as rt_watch_deadlocks; 0: RT_DEADLOCK_AFTER_MS */
    rt_time overrun_after;  /* a task or actor that keeps a worker for longer, without a call that
                               could suspend it, is told of once in a line of diagnosis, with its
                               name, its place of spawn and its backtrace, and counted in rt_stats.
                               Calls after rt_blocking_enter do not count. At least 10 ms; 0:
                               RT_OVERRUN_AFTER_MS; RT_TIME_NEVER: nobody is told of */
    bool observe;           /* let the command `orrery` look at the program, as ORRERY_OBSERVE=1 in
                               its environment does; ORRERY_OBSERVE=0 forbids it all the same */
} rt_config;

/* Makes the runtime ready on the parallel engine: actors and tasks run on `workers` threads, steal
 * work from each other, and all that the fixed engine promises holds, but for the order among
 * those that are ready. The calling thread is one of the workers while it is in rt_run; the other
 * threads are started when there is work for them.
 * One that runs for 10 ms and does not wait, with calls of the runtime or without, does not stop
 * the others: it gives its place to another thread, goes on beside it, and queues at its next wait.
 * For that its thread is interrupted by SIGURG: a call of the system that does not begin anew by
 * itself (nanosleep, poll) may end with EINTR. What has no stack, a handler or a poll task, keeps
 * its place. Code that is compiled with -fsanitize-coverage=trace-pc yields after 4000 blocks, on
 * every engine. If threads_max threads are too few for all that computes and blocks at the same
 * time, a line of diagnosis says so once, and what is ready waits.
 * Callable from any thread that has no runtime, outside of signal handlers.
 * Never suspends.
 * Owns nothing of the caller's; the configuration is copied.
 * Returns RT_OK; RT_ERR_INVALID if `config` is NULL, `workers` is above RT_MAX_WORKERS or
 * `threads_max` is not more than `workers` or above 65535; RT_ERR_UNSUPPORTED if the poller is not
 * to be had or the library was built with RT_MAX_WORKERS 1, RT_ERR_INVALID if there is no poller of
 * the kind; RT_ERR_STATE if the runtime is already there; RT_ERR_NOMEM, RT_ERR_RESOURCE_EXHAUSTED,
 * RT_ERR_IO and RT_ERR_UNSUPPORTED as rt_init. On failure nothing is left behind.
 * Nothing is lost on cancel. */
RT_API rt_status rt_init_ex(const rt_config *config);

/* Has the runtime look for deadlocks every `after` nanoseconds: tasks and actors that wait, for as
 * long at least, for each other's end, mutex, receipt or answer, or that wait for values, mail and
 * the like while nobody is left who could bring any. Each circle is told once, in lines of
 * diagnosis with the places of spawn. Nobody is told of whom a deadline, a timer, input or output
 * may wake, and nobody of who waits for values while a channel of signals is open. That a thread
 * outside may send to a channel is known once one has. Where more than RT_MAX_TASKS tasks
 * were started (rt_task_reserve) a line says once that nobody looks. A checked build looks every
 * RT_DEADLOCK_AFTER_MS milliseconds without being asked. The simulator looks by itself, at once.
 * Callable from main on the runtime's thread, outside of rt_run. Never suspends. There is no
 * pointer to own. Returns RT_OK, with 0 as often as without this call, with RT_TIME_NEVER not at
 * all; RT_ERR_STATE in a run; RT_ERR_THREAD on a thread without a runtime. Nothing is lost on
 * cancel. */
RT_API rt_status rt_watch_deadlocks(rt_time after);

/* Runs actors until none lives or rt_shutdown was called. Called again after a shutdown it goes on
 * where it was.
 * Callable from the thread of rt_init, outside of actors.
 * Never suspends: it blocks the thread, asleep while every actor waits.
 * Owns nothing.
 * Returns nothing. A call that is not allowed (no runtime, another thread, inside an actor) returns
 * at once with one line of diagnosis on standard error.
 * Nothing is lost on cancel. */
RT_API void rt_run(void);

/* Asks rt_run to return once the running actor waits, yields or ends. Actors that still live stay
 * as they are until rt_cleanup ends them. Callable from any thread, from actors and from signal
 * handlers. Never suspends. Owns nothing. Returns nothing; without a runtime it does nothing. A
 * request made before rt_run is kept. Nothing is lost on cancel. */
RT_API void rt_shutdown(void);

/* Ends every actor that still lives, as rt_actor_kill would, and gives back threads and
 * descriptors. Callable from the thread of rt_init, after rt_run has returned or instead of it.
 * Never suspends; waits for file work that is being done.
 * Owns nothing. Ids, buses and timers of the runtime name nothing afterwards.
 * Returns nothing. A call that is not allowed (no runtime, another thread, inside an actor) changes
 * nothing and leaves one line of diagnosis.
 * Nothing is lost on cancel. */
RT_API void rt_cleanup(void);

RT_EXTERN_C_END

#endif
