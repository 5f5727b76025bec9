/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_LOOP_H
#define ORRERY_RT_LOOP_H

/* The event loop of machines: one per thread, with two roots, the app machine and the platform
 * machine, and everything that hangs below them.
 *
 *     static rt_loop loop;
 *     static rt_machine app;
 *     static rt_machine_slot slots[16];
 *     static rt_loop_port port;
 *
 *     rt_loop_config config = {.app = &app, .slots = slots, .slots_count = 16};
 *     config.app_config.tick = app_tick;
 *
 *     rt_loop_port_init(&port, NULL);
 *     config.port = rt_loop_port_of(&port);
 *     rt_loop_init(&loop, &config);
 *
 *     rt_loop_run(&loop);
 *
 *     rt_loop_deinit(&loop);
 *     rt_loop_port_deinit(&port);
 *
 * It runs until rt_loop_close. Or, in a program that has a runtime, rt_loop_host makes it one of
 * the things that run there.
 *
 * A turn: wait for the world or the next timer, in the one call that blocks; complete the timers
 * that are due; take in what other loops have sent; route what machines have said; tick the
 * machines that something came for. It blocks only if nothing is left to route or to tick.
 *
 * Several loops, one per thread, form a group. Their machines send ops to each other by name; only
 * the loops know that threads are in between. All loops of a group are made before the first of
 * them runs, and end together: each goes on answering until all are closed.
 *
 * A loop, a port or a group that is named is never NULL, as in <orrery/rt/machine.h>; what makes
 * one answers RT_ERR_INVALID to it, or panics. */

#include <orrery/rt/journal.h>
#include <orrery/rt/machine.h>
#include <orrery/rt/types.h>
#include <orrery/rt_static_config.h>

RT_EXTERN_C_BEGIN

struct rti_port;

#define RT_LOOP_WORDS ((1280 * sizeof(void *) + 5120) / sizeof(uint64_t))

/* Storage of a loop. Not to be moved or copied. */
typedef struct {
    uint64_t opaque[RT_LOOP_WORDS];
} rt_loop;

#define RT_LOOP_FD_WORDS   8
#define RT_LOOP_PORT_WORDS (1280 + (RT_MAX_DESCRIPTORS + 1) * RT_LOOP_FD_WORDS)

/* Storage of a loop's port to the operating system. Not to be moved or copied. */
typedef struct {
    uint64_t opaque[RT_LOOP_PORT_WORDS];
} rt_loop_port;

/* Storage of one descriptor of a port that uses more than RT_MAX_DESCRIPTORS of them. */
typedef struct {
    uint64_t opaque[RT_LOOP_FD_WORDS];
} rt_loop_fd;

/* All zero is the default. */
typedef struct {
    rt_loop_fd *fds;  /* storage for descriptors, zeroed; NULL: RT_MAX_DESCRIPTORS of its own */
    size_t fds_count; /* descriptors below this number can be used */
    uint32_t pool_threads; /* for files and work; 0: as many as the library thinks right */
} rt_loop_port_config;

/* Storage of one machine's name in its loop. */
typedef struct {
    uintptr_t opaque[2];
} rt_machine_slot;

/* The loops that know each other. */
typedef struct {
    rt_loop **loops; /* by thread_id */
    uint32_t count;
    uint32_t open_count; /* the library's: loops that are not closed yet */
    uint32_t made_count; /* the library's: loops that are made */
} rt_loop_group;

typedef struct {
    struct rti_port *port; /* the world outside; one per loop that runs in its own thread; NULL for
                              rt_loop_host */
    rt_loop_group *group;  /* NULL: this loop is alone, its thread_id 0 */
    uint32_t thread_id;    /* its place in the group */
    rt_machine *app;       /* memory of the app machine */
    rt_machine_config app_config;
    rt_machine_slot *slots; /* one per machine, the two roots included */
    size_t slots_count;     /* 2 to 65,535 */
} rt_loop_config;

/* Opens a port to the operating system for one loop.
 * Callable from any thread.
 * Never suspends.
 * `port` and config->fds stay the caller's and in place until rt_loop_port_deinit; `config` may be
 * NULL and is copied.
 * Returns RT_OK; RT_ERR_INVALID if `port` is NULL or the config out of range;
 * RT_ERR_RESOURCE_EXHAUSTED, RT_ERR_NOMEM or RT_ERR_IO if the system refuses; RT_ERR_UNSUPPORTED
 * where there are no threads: rt_loop_host is for that. On failure nothing is left behind.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_loop_port_init(rt_loop_port *port,
                                                 const rt_loop_port_config *config);

/* Closes a port. All loops of the group that its loop belonged to are ended.
 * Callable from any thread.
 * Never suspends; waits for work that is being done.
 * The memory is the caller's again. Descriptors stay open: they are their makers'.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_loop_port_deinit(rt_loop_port *port);

/* What rt_loop_config.port asks for.
 * Callable from any thread.
 * Never suspends.
 * Owns nothing.
 * Returns the port, valid until rt_loop_port_deinit.
 * Nothing is lost on cancel. */
RT_API struct rti_port *rt_loop_port_of(rt_loop_port *port);

/* Makes a group of loops, which need not be made yet.
 * Callable from any thread, before the first loop of the group is made.
 * Never suspends.
 * `group` and `loops` stay the caller's and in place until all loops are ended.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_loop_group_init(rt_loop_group *group, rt_loop **loops, uint32_t count);

/* Makes a loop with its platform machine and its app machine, which gets a first tick.
 * Callable from any thread; the loop belongs to the thread that runs it.
 * Never suspends.
 * `loop`, the port, the group, the app's memory and the slots stay in place until rt_loop_deinit;
 * `config` is copied.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is missing, the app has no tick, there are fewer than
 * two or too many slots, the state is not aligned as it says, or the group has another loop at
 * thread_id.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_loop_init(rt_loop *loop, const rt_loop_config *config);

/* Makes a loop as rt_loop_init does, over the port and the timers of the caller's runtime, and runs
 * it there: machines beside actors and tasks, in the simulator too. With one worker all is on its
 * thread. With several a turn of the loop runs on any of them, and one turn at a time: machines
 * share nothing with each other, but what they keep in thread-locals is not there in the next turn.
 * rt_run goes on until the loop is closed. Other loops of its group may be hosted as well or run in
 * threads of their own; it begins to turn when all of them are made.
 * Callable on a thread of the runtime, from an actor or a task or between rt_init and rt_run.
 * Never suspends.
 * As rt_loop_init; config->port is NULL. The memory is the caller's again after rt_run has
 * returned and rt_loop_deinit was called.
 * Returns what rt_loop_init returns; RT_ERR_INVALID also if a port is given or the priority is
 * none; RT_ERR_THREAD outside of a runtime.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_loop_host(rt_loop *loop, const rt_loop_config *config,
                                            rt_priority priority);

/* Has a loop write what happens to its ops into a journal from here on; NULL: no more. A journal is
 * written by one thread: loops that run in threads of their own have one each, and the tree of
 * their ops is made of all of them (`orrery journal --tree A B C`). A hosted loop writes into the
 * journal of its runtime, rt_journal_start.
 * Callable on the loop's thread, or before it runs.
 * Never suspends.
 * The journal and its ring are the loop's until NULL or another one is given, or the loop is ended.
 * Returns RT_OK; RT_ERR_INVALID if it is no journal; RT_ERR_STATE for a hosted loop.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_loop_journal(rt_loop *loop, rt_journal *journal);

/* Ends a loop. All loops of its group are closed.
 * Callable from any thread, when no loop of the group runs any more.
 * Never suspends.
 * All memory is the caller's again.
 * Returns nothing. A loop that is not closed is a bug and panics.
 * Nothing is lost on cancel. */
RT_API void rt_loop_deinit(rt_loop *loop);

/* Turns until all loops of the group are closed.
 * Callable from the one thread that this loop belongs to, outside of ticks.
 * Never suspends: it blocks the thread.
 * Owns nothing.
 * Returns RT_OK; RT_ERR_DEADLOCK in the simulator if nothing can ever happen again.
 * Nothing is lost on cancel. */
RT_API rt_status rt_loop_run(rt_loop *loop);

/* Makes one turn. It waits for the world at most until `until`, a time of the port's clock, and not
 * at all if that has passed or something is left to do.
 * Callable as rt_loop_run, instead of it.
 * Never suspends; blocks as said.
 * Owns nothing.
 * Returns true while the loop is to be turned again; false when all loops of the group are closed.
 * Nothing is lost on cancel. */
RT_API bool rt_loop_turn(rt_loop *loop, rt_time until);

/* Asks a loop to close its app machine, then its platform machine. Asking again does nothing.
 * Callable from any thread, and from ticks.
 * Never suspends.
 * Owns nothing.
 * Returns nothing: rt_loop_run returns when all is done.
 * Nothing is lost on cancel: every op in flight is answered first, with RT_ERR_CANCELLED,
 * RT_ERR_CLOSED or its result. */
RT_API void rt_loop_close(rt_loop *loop);

/* When the earliest timer op is due.
 * Callable on the loop's thread.
 * Never suspends.
 * Owns nothing.
 * Returns the time; 0 if there is something to do at once; RT_TIME_NEVER if there is no timer.
 * Nothing is lost on cancel. */
RT_API rt_time rt_loop_next_deadline(rt_loop *loop);

/* The platform machine: the default destination of the app, and a name to give to others.
 * Callable on the loop's thread, or before it runs.
 * Never suspends.
 * Owns nothing.
 * Returns its name.
 * Nothing is lost on cancel. */
RT_API rt_machine_ref rt_loop_platform(const rt_loop *loop);

/* The loop a machine belongs to.
 * Callable on the loop's thread.
 * Never suspends.
 * Owns nothing.
 * Returns the loop.
 * Nothing is lost on cancel. */
RT_API rt_loop *rt_machine_loop(const rt_machine *machine);

/* What a loop has done so far. */
typedef struct {
    uint64_t turns;     /* of the loop */
    uint64_t waits;     /* calls of the port's wait, blocking or not */
    uint64_t ticks;     /* of machines */
    uint64_t routed;    /* legs that were routed, of all four kinds */
    uint64_t received;  /* legs that came from other loops */
    uint64_t submitted; /* ops */
    uint64_t completed; /* ops whose completion was delivered to a machine here */
    uint64_t cancels;   /* wishes that were sent */
    uint64_t rings;     /* doorbells delivered */
    uint32_t machines;  /* that live now */
} rt_loop_stats;

/* Tells what a loop has done.
 * Callable on the loop's thread.
 * Never suspends.
 * `stats` stays the caller's.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_loop_get_stats(const rt_loop *loop, rt_loop_stats *stats);

RT_EXTERN_C_END

#endif
