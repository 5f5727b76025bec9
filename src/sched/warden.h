/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_WARDEN_H
#define RTI_WARDEN_H

/* The warden (the specification's monitor, or sysmon; a monitor here is an actor's): a thread that
 * holds no station and looks after those that do.
 *
 * What it sees and does, at each look:
 *
 *     a station whose worker is in a blocking call      takes it over and gives it to another one,
 *       since the last look                             or to the idle ones if it has no work
 *     a station that has work and made no turn since    wakes an idle worker, to fetch it
 *     a fiber that has run for PREEMPT_NS               interrupts its thread: see sched/preempt.h
 *     turns so short that fewer or more stations        tries it: see sched/width.h
 *       might get more done
 *     the same, for as long as the program has set      asks its thread, which tells:
 * sched/overrun.h a port that nobody asked for POLL_NS              asks it
 *
 * It looks every 20 microseconds at first. If it had nothing to do for 50 looks it doubles the
 * distance, up to 10 milliseconds; if it had, it begins anew. When every station is idle it sleeps
 * without a limit: a program that waits is not woken by it. If there are suspects it sleeps until
 * the first of them is to be asked: a loop that had to let go of its station is no idle program.
 *
 * I1  It sleeps without a limit only while all stations are idle; who takes one wakes it.
 *                                               (announce, fence, look; rti_warden_rouse)
 *
 * Memory order: a station that changes hands does so by a compare-exchange of its state, release by
 * who lets go of it and acquire by who takes it. Everything else it reads is a hint.
 *
 * Rejected: a timer signal per worker (each would wake for itself); timestamps at each dispatch (a
 * clock costs five turns): the warden compares counts of turns instead. */

#include "sched/station.h"
#include "sched/width.h"

struct rti_crew;

struct rti_warden_view {
    uint64_t turns;    /* of the station, at the last look */
    uint64_t since_ns; /* when they were seen first, or its holder was interrupted last */
    uint64_t first_ns; /* when they were seen first */
    uint64_t work;     /* of the station, when the window of the width began */
    bool was_blocked;  /* at the last look */
    bool is_suspected; /* its holder was, in this turn */
};

struct rti_warden {
    struct rti_crew *crew;
    struct rti_warden_view *views; /* one per station */
    struct rti_port_thread thread;
    rti_atomic_u32 is_asleep; /* without a limit; who takes a station wakes it */
    rti_atomic_u32 is_stopping;
    rti_atomic_u64 retakes;  /* statistics: stations taken from blocking calls */
    rti_atomic_u64 preempts; /* interrupts sent */
    rti_atomic_u64 overruns; /* that lasted longer than the limit */
    uint64_t overrun_ns;     /* the limit; RTI_TIME_NEVER: there is none */
    struct rti_member *suspects;
    struct rti_width width; /* how many stations are used */
    uint64_t delay_ns;
    uint32_t calm; /* looks in a row with nothing to do */
    bool is_started;
};

/* Starts the thread. Without one, blocking calls keep their stations and nobody is preempted. */
void rti_warden_start(struct rti_warden *warden);
/* Ends it and joins it. */
void rti_warden_stop(struct rti_warden *warden);

/* A station is about to be used: the warden may not sleep on. After a fence. Any thread. */
void rti_warden_rouse(struct rti_warden *warden);

#endif
