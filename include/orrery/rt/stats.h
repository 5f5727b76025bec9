/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_STATS_H
#define ORRERY_RT_STATS_H

/* What the runtime has done and does now, in numbers and in words. Counting is always on: it costs
 * a few stores per task and nothing per value or message. */

#include <stddef.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>

RT_EXTERN_C_BEGIN

#define RT_STATS_WORKERS_MAX 64

/* The numbers; those of one call are of about the same moment. */
struct rt_stats {
    size_t tasks_running;     /* now; those that are asked to stop are counted where they are */
    size_t tasks_ready;       /* now */
    size_t tasks_waiting;     /* now */
    uint64_t tasks_completed; /* ended so far */
    uint64_t tasks_panicked;  /* of these, by a panic or a fault */

    uint64_t spawn_count;
    uint64_t join_count;
    uint64_t detach_count;
    uint64_t cancel_count;
    uint64_t handles_lost; /* never consumed, in runtimes of this process that have ended */

    size_t workers;
    size_t workers_used; /* that may work now: fewer where turns are so short that fewer do more */
    size_t queue_depths[RT_STATS_WORKERS_MAX]; /* ready now, per worker */
    uint64_t steal_attempts;
    uint64_t steal_successes;

    uint64_t reactor_events;   /* operations that the outside has answered */
    uint64_t reactor_polls;    /* how often it was asked */
    uint64_t reactor_timeouts; /* how often it had nothing until the time was over */

    uint64_t channel_sends;
    uint64_t channel_recvs;

    uint64_t overruns;     /* turns that kept a worker for longer than rt_config.overrun_after */
    uint64_t handoffs_cut; /* rows of some that wake each other, cut short for those that wait */
};

/* Fills in the numbers of the calling thread's runtime.
 * Callable from a task or an actor, and from main on the runtime's thread.
 * Never suspends. Walks the tables of tasks and channels.
 * `stats` stays the caller's.
 * Returns RT_OK; RT_ERR_INVALID if `stats` is NULL; RT_ERR_THREAD on a thread without a runtime.
 * Nothing is lost on cancel. */
RT_API rt_status rt_stats(struct rt_stats *stats);

/* Writes a line for each task and actor that lives: its name, its state, what it waits for and
 * since when, where it was spawned and where those who spawned it were; and a line with its
 * backtrace, the youngest frame first:
 *
 *     task fetch (7): waiting for a channel since 12 ms, spawned at server.c:28, from main.c:15
 *       at server+0x1a2b < server+0x1c00
 *     actor postman (64): waiting for mail since 3 ms, spawned at server+0x2210
 *       at server+0x9410
 *
 * A place in a backtrace is `module+0xoffset`: `addr2line -f -e server 0x1a2b` names the function
 * and the line. Only the program's own frames are told, and as many of them as the line holds. The
 * program needs no frame pointers and no debug information: the walk goes by the unwind tables that
 * compilers write for every function (.eh_frame), and ends where there are none. There is no
 * backtrace of a task that has not begun, or that runs or goes on while it is looked at, other than
 * the caller's own; in a handler that is what the signal has interrupted.
 * Callable from any thread and from a signal handler; what it says about those that run meanwhile
 * may be old.
 * Never suspends. Writes at most RT_DUMP_LINES lines of at most 255 characters.
 * `fd` is a descriptor of the caller's, open for writing.
 * Returns RT_OK; RT_ERR_STATE if there is no runtime; RT_ERR_IO if it cannot be written to.
 * Nothing is lost on cancel. */
RT_API rt_status rt_dump(int fd);

#define RT_DUMP_LINES 2000

RT_EXTERN_C_END

#endif
