/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_SIM_H
#define ORRERY_RT_SIM_H

/* The simulator: the same program in a world made from one seed.
 *
 * The clock stands still while an actor runs and jumps to the next deadline when none can, so an
 * hour of waiting takes no time. The order among equally urgent actors is drawn from the seed. One
 * seed gives one run, to the last decision; the trace hash is the proof.
 *
 * The network is the world's own, inside the run: whoever the program listens as, the program can
 * connect to, by rt_net_*, rt_unix_*, rt_udp_*, select and machines alike, and nobody else is
 * there. Every byte travels for a while, which the seed says; what a network does to programs, it
 * does when it is asked to (rt_sim_network). Actors that wait for bytes that nobody will ever send
 * are a deadlock as any other.
 *
 * The disk is the world's own, too: rt_file_* and machines find the files that the program has made
 * there, and no others. It is empty at the begin of a run and gone at its end, unless the program
 * brings one that it keeps (rt_sim_disk): then the next run finds what this one has left, or what a
 * crash has left of that (rt_sim_disk_crash). */

#include <orrery/rt/actor.h>
#include <orrery/rt/journal.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* What a simulated run came to. */
typedef struct {
    uint64_t seed;       /* the one that was used */
    uint64_t trace_hash; /* over every decision: equal iff two runs decided alike */
    uint64_t steps;      /* how often an actor was given its turn */
    rt_time time;        /* nanoseconds of simulated time that passed */
    size_t actors_left;  /* how many still lived when it ended */
    size_t sockets_left; /* how many were still open, those that nobody had accepted included */
    size_t files_left;   /* how many were still open */
} rt_sim_report;

/* A name of a host in the simulated world. */
typedef struct {
    const char *name;
    const char *address; /* numeric, IPv4 or IPv6 */
} rt_sim_host;

/* What the network of a run is like. All zero is a kind one: everything arrives whole, in order and
 * 50 microseconds after it was sent. Chances are in a thousand.
 *
 * What a kind network already does, as any: a sender that the receiver does not keep up with waits,
 * or sends a part; what is read is not what was written at once, but what has arrived; a peer that
 * is gone is noticed late.
 *
 * A datagram overtakes another one if the latencies say so; a connection keeps its order. All
 * addresses are the world's own, each can be bound to; a socket bound to every address is reached
 * under each. */
typedef struct {
    rt_time latency_min; /* nanoseconds; both 0: RT_SIM_LATENCY */
    rt_time latency_max;
    uint16_t split;     /* that a send moves only a part, as large as the seed says */
    uint16_t reset;     /* that a connection ends at a send or connect, what travels is lost, and
                           both ends are told */
    uint16_t loss;      /* that a datagram is lost */
    uint16_t duplicate; /* that it comes twice */
    const rt_sim_host *hosts; /* names beyond "localhost"; the caller's, unchanged during the run */
    size_t hosts_count;
} rt_sim_network;

#define RT_SIM_LATENCY     (50 * RT_NS_PER_US)
#define RT_SIM_LATENCY_MAX (3600 * RT_NS_PER_S)

/* A disk that outlives a run, in memory of the caller's. */
typedef struct {
    uint64_t opaque[2];
} rt_sim_disk;

/* What the disk of a run is like. All zero is a kind one, empty, on which each call takes 100
 * microseconds. Chances are in a thousand.
 *
 * Files have names, which are whole paths, of at most 119 bytes, and there are at most 32 of them;
 * there are no folders, devices or permissions. A full disk is RT_ERR_IO with a sentence. */
typedef struct {
    rt_sim_disk *disk;   /* NULL: one of the run's own, of RT_SIM_DISK_SIZE bytes */
    bool machine_files;  /* no disk: files are the machine's, as they are, and done in no time */
    rt_time latency_min; /* nanoseconds; both 0: RT_SIM_DISK_LATENCY */
    rt_time latency_max;
    uint16_t read_error;  /* that a read fails */
    uint16_t write_error; /* that a write fails, and writes nothing */
    uint16_t sync_error;  /* that a sync fails, and keeps nothing */
    uint16_t short_write; /* that a write takes a part, which shows if the next one fails */
} rt_sim_storage;

#define RT_SIM_DISK_LATENCY (100 * RT_NS_PER_US)

/* All zero is a fair start. */
typedef struct {
    uint64_t seed;
    bool fixed_order;      /* first come, first served among equals, as on the fixed engine */
    uint64_t steps_max;    /* turns before the run is given up; 0: RT_SIM_STEPS_MAX */
    rt_sim_report *report; /* filled at the end, unless NULL */
    rt_journal *journal;   /* begun anew and written by the run, unless NULL */
    rt_sim_network network;
    rt_sim_storage storage;
} rt_sim_config;

#define RT_SIM_STEPS_MAX UINT64_C(100000000)

/* Runs a program in the simulator: `main_fn(arg)` is its first actor, of normal priority. Returns
 * when no actor lives, rt_shutdown was called, nothing can ever happen again or the steps are used
 * up; actors that still live are ended then. The environment variable ORRERY_SEED, if set, takes
 * the place of config->seed: a run that fails prints the command that repeats it. Callable from a
 * thread without a runtime. Blocks the thread for the length of the run, in real time as short as
 * the work is. `config`, its report and its journal stay the caller's; `config` may be NULL for all
 * defaults. Returns RT_OK; RT_ERR_DEADLOCK if actors were left waiting for ever; RT_ERR_LIMIT at
 * the end of the steps; RT_ERR_INVALID if `main_fn` is NULL, the journal is none that
 * rt_journal_init has prepared, the disk none that rt_sim_disk_init has, a chance is above 1000, a
 * latency's least above its most or that above RT_SIM_LATENCY_MAX, or a host has no name or no
 * numeric address; RT_ERR_STATE if there is a runtime already; RT_ERR_UNSUPPORTED as rt_init.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_sim_run(const rt_sim_config *config, actor_fn main_fn, void *arg);

/* Puts a mark of the program's own into the trace: what is marked becomes part of the hash.
 * Callable from an actor; elsewhere it does nothing.
 * Never suspends.
 * Owns nothing.
 * Returns nothing; outside of the simulator it does nothing.
 * Nothing is lost on cancel. */
RT_API void rt_sim_mark(uint64_t value);

/* Cuts the simulated network, or heals it. While it is cut nothing arrives: bytes, ends, connects
 * and datagrams wait on their way, and go on when it is healed. What is asked of a socket here is
 * answered as before: a send still finds room, a close closes.
 * Callable from an actor or a task of a simulated run.
 * Never suspends.
 * Owns nothing.
 * Returns RT_OK, also if it is so already; RT_ERR_UNSUPPORTED outside of the simulator;
 * RT_ERR_THREAD from a thread without a runtime.
 * Nothing is lost on cancel. */
RT_API rt_status rt_sim_net_partition(bool is_cut);

/* Makes an empty disk of memory, aligned for uint64_t; a little less than half of it is room for
 * what files hold.
 * Callable from any thread; not while a run uses the disk.
 * Never suspends.
 * `disk` and `memory` stay the caller's; the disk is of use as long as the memory is.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL, the memory is not aligned, or too small.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_sim_disk_init(rt_sim_disk *disk, void *memory, size_t size);

/* Does to a disk what the crash of its machine does. What was synced, and not written to since, is
 * there. Of what was not synced each sector of 512 bytes is there, or is not, or its first part is,
 * as the seed says; a file that had grown ends anywhere between; one that was made and never synced
 * may be gone.
 * Callable from any thread; not while a run uses the disk. A run that is to be cut short anywhere
 * is given few `steps_max`.
 * Never suspends.
 * `disk` stays the caller's.
 * Returns RT_OK; RT_ERR_INVALID if it is NULL or was not prepared.
 * Nothing is lost on cancel. */
RT_API rt_status rt_sim_disk_crash(rt_sim_disk *disk, uint64_t seed);

/* Draws the next number of the run's own stream of randomness.
 * Callable from an actor of any engine, and from main between rt_init and rt_run.
 * Never suspends.
 * Owns nothing.
 * Returns 64 random bits: from the seed in the simulator, from the system elsewhere; 0 without a
 * runtime.
 * Nothing is lost on cancel. */
RT_API uint64_t rt_random(void);

/* Gives the runtime's clock.
 * Callable from an actor of any engine, and from main between rt_init and rt_run.
 * Never suspends.
 * Owns nothing.
 * Returns nanoseconds of a clock that never goes back: simulated in the simulator; 0 without a
 * runtime.
 * Nothing is lost on cancel. */
RT_API rt_time rt_clock(void);

RT_EXTERN_C_END

#endif
