/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CREW_H
#define RTI_CREW_H

/* The crew: the workers of the parallel engine, the stations they run at, and how idle ones sleep
 * and are woken.
 *
 * A member is a thread (M) with a scheduler stack of its own. It runs runnables while it holds a
 * station (P); there are as many stations as the program was given workers, and somewhat more
 * members, because one may lie in the poller and others in blocking calls. A fiber that suspends is
 * made visible to others, in a ring or as PARKED, only when nothing runs on its stack any more: by
 * the member on its own stack, or by the next fiber, if that is found in the member's own station
 * and nothing else is to be done before (sched/passing.h).
 *
 * Looking for work, in this order: its own station; every 61st time the injector first; the
 * injector; the poller, without waiting; other stations, in random order, half of what lies there,
 * and timers that are due there. Stealing is for members that spin, and at most half as many spin
 * as run. Who finds something stops spinning and wakes one other, so that a burst wakes as many
 * members as there is work for, one after the other.
 *
 * Work is left to who is quick (decision 106): where a turn takes less time than its memory takes
 * from one core to another, nothing is gained by stealing it. A member that spins and finds work
 * only at stations whose holders make many short steps leaves it there and looks again soon; it
 * takes it when the holder is quick no longer, or has been for RTI_WATCH_LOOKS_MAX looks. Meanwhile
 * it looks for everything else that a sleeper would be woken for.
 *
 * Going to sleep and waking, so that no work is left with everybody asleep:
 *
 *     who makes work                         who goes to sleep
 *       queues it                              gives its station back: idle_count grows
 *       fence                                  stops spinning: spinning shrinks
 *       idle stations and nobody spins?        fence
 *         then takes on spinning, a station    looks again: all stations, the injector
 *         and a member, and wakes it             found: takes a station and goes on
 *
 * Either the one sees the work or the other sees the sleeper. A member without a station lies in
 * the poller if nobody does, until the earliest deadline of all stations; else on its futex.
 *
 * Not all stations may be used at all times: where turns are so short that fewer workers get more
 * done the warden says so (width.h, decision 109). Who then finds that too many are used gives its
 * station back, with what lies there; at every 61st turn the others take of it, and when they have
 * nothing left. Of the idle stations only as many may be taken as the width allows: idle_count is
 * those, and all of the above is said of those. When the width grows it is as if stations were
 * given back: idle_count grows, fence, looks again.
 *
 * A station that the warden takes from a blocking call or an endless loop and that has nothing to
 * run still goes to a member if nobody is in the poller: who sleeps until a time or for an answer
 * must not wait for the call to end. It looks, finds nothing, and lies down there.
 *
 * The run is over when all stations are idle and as many runnables have ended as were started.
 * Each station counts for itself; with all of them idle, and the lock held so that none is taken,
 * the sum is exact. Who gives back the last station asks, the warden too, and so does a member
 * whose fiber ended without a station. Threads from outside may be about to start a member just
 * then: they are counted, and the end waits for them.
 *
 * I1  A station is held by one member, or in the idle list.              (RT_ASSERT in hold)
 * I2  Work is not left while a station is idle and nobody spins.         (explored; simulated)
 * I3  At least one station may be used: barred < stations_count.         (RT_ASSERT in set_width)
 * I4  A fiber is PARKED or in a queue only when nobody is on its stack.
 *                               (rti_crew_show, by member_settle_leaving and rti_worker_arrive)
 *
 * Memory order: the fence pair above; the parker publishes the station given to a woken member;
 * is_polled is taken and given back with acquire and release, and what the port keeps is its own
 * lock's.
 *
 * Rejected: fibers that make themselves visible and then switch (the one that is left could be
 * taken up elsewhere before its registers are saved); one list of idle pairs of thread and station
 * (a blocking call must part them); a thread of its own for the poller (a hop per event).
 */

#include "base/rng.h"
#include "sched/injector.h"
#include "sched/overrun.h"
#include "sched/parker.h"
#include "sched/station.h"
#include "sched/warden.h"

struct rti_crew;

struct rti_member {
    struct rti_worker *worker; /* the scheduler's own for the first, else `own` */
    struct rti_worker own;
    struct rti_crew *crew;
    struct rti_parker parker;
    struct rti_port_thread thread;
    struct rti_station *given;        /* by the waker, before the unpark; NULL: to look itself */
    struct rti_runnable *given_first; /* what it is to run there first; NULL: what it finds */
    struct rti_runnable *first;       /* the same, once it holds the station */
    struct rti_runnable *pinned;      /* the one it is for alone; crew's lock. See sched/pin.h */
    struct rti_member *idle_next;     /* the crew's, while it sleeps */
    struct rti_rng rng;               /* the order of victims */
    rti_atomic_u32 attention; /* not 0: the running fiber should come to the member's stack */
    int32_t turns_until_look; /* the worker's own stays 0: its yields ask here */
    int32_t look_interval;
    struct rti_overrun overrun; /* whether it keeps its thread for too long */
    rti_atomic_size os_thread;  /* its name for interrupts; 0: it cannot be; the warden reads it */
    uint32_t index;
    uint16_t pin; /* index + 1 while it is pinned; 0: it runs what it finds */
    bool is_spinning;
    bool is_waiting; /* pinned and asleep; crew's lock */
    bool is_absent;  /* pinned, and its thread ended with an earlier run; crew's lock */
    bool is_manned;  /* has a thread in this run, or is about to have; crew's lock */
    bool is_started; /* the thread is there, and is to be joined; crew's lock */
};

struct rti_crew {
    struct rti_sched *sched;
    struct rti_station *stations;
    struct rti_member *members;
    uint32_t stations_count;
    uint32_t members_max;
    struct rti_injector injector;
    struct rti_warden warden;
    bool is_preemptive;                /* threads can be interrupted */
    struct rti_lock lock;              /* the two idle lists and members_count */
    struct rti_lock journal_lock;      /* what sched->journal names, and the naming */
    struct rti_station *idle_stations; /* a stack: the last one given back is warm */
    struct rti_member *idle_members;
    uint32_t members_count;
    uint32_t pinned_count;        /* fibers that are pinned; lock */
    struct rti_member *solo;      /* who was the last to work alone (sched/solo.h); lock */
    uint32_t guests;              /* who has no station and may not be overlooked; lock */
    bool can_solo;                /* the port has what it takes */
    rti_atomic_u64 solo_again_ns; /* nobody works alone before this time */
    rti_atomic_u32 listed_count;  /* stations in the list; written under the lock */
    rti_atomic_u32 used_most;     /* stations held at a time since the warden asked last; a hint */
    rti_atomic_u32 barred;        /* how many may not be used; written under the lock */
    rti_atomic_u32 idle_count; /* stations in the list that may be taken; written under the lock */
    rti_atomic_u32 spinning;   /* members that spin, and promises to */
    rti_atomic_u32 senders;    /* who gives a station to a member right now */
    rti_atomic_u32 is_polled;  /* somebody is in the poller */
    rti_atomic_u64 poll_until_ns;   /* the deadline it sleeps for; 0: it does not sleep */
    rti_atomic_u64 polled_ns;       /* when the port was last asked */
    rti_atomic_u32 is_over;         /* members leave their loops */
    rti_atomic_u64 live_elsewhere;  /* started and ended by who held no station */
    rti_atomic_u32 is_member_short; /* said once that there are no more members */
};

struct rti_crew_config {
    uint32_t workers;                      /* at least 1 */
    uint32_t workers_min;                  /* that may work at any time; 0: 1; at most `workers` */
    uint32_t members_max;                  /* threads, the caller's included; more than `workers` */
    uint64_t seed;                         /* of the order of victims */
    struct rti_station *stations;          /* `workers` of them */
    struct rti_member *members;            /* `members_max` of them */
    const struct rti_timer_source *timers; /* one per station */
    struct rti_warden_view *views;         /* one per station, zeroed */
    uint64_t overrun_ns;                   /* after which an overrun is told of; 0: never */
};

/* Makes `sched`, which has run nothing yet, the scheduler of a crew. The calling thread is its
 * first member and holds a station. */
void rti_crew_init(struct rti_crew *crew, struct rti_sched *sched,
                   const struct rti_crew_config *config);

/* Runs until nothing is live or rti_crew_stop. The thread of rti_crew_init; the other threads are
 * started when there is work for them and have ended when this returns. */
rt_status rti_crew_run(struct rti_crew *crew);

/* The most members of a crew: a pin names one of them in 16 bits. */
#define RTI_CREW_MEMBERS_MAX 65535

/* Makes rti_crew_run return soon. Any member's thread. */
void rti_crew_stop(struct rti_crew *crew);

/* rti_sched_start, _start_first, _end and _wake of a crew. Any thread that may call those. */
void rti_crew_start(struct rti_crew *crew, struct rti_runnable *runnable);
void rti_crew_start_early(struct rti_crew *crew, struct rti_runnable *runnable);
void rti_crew_ended(struct rti_crew *crew);
void rti_crew_wake(struct rti_crew *crew, struct rti_runnable *runnable);

/* rti_crew_wake of one that has waited for the end of another: as on the other engines it comes
 * behind those of its level that are ready here, who are likely to end what it joins next. */
void rti_crew_wake_behind(struct rti_crew *crew, struct rti_runnable *runnable);

/* Queues a runnable that is READY and that the caller alone has, behind those of its level. */
void rti_crew_queue(struct rti_crew *crew, struct rti_runnable *runnable);

/* The same for who was just woken: it runs next. */
void rti_crew_queue_next(struct rti_crew *crew, struct rti_runnable *runnable);

/* Says that a timer with this deadline was armed at a station: whoever sleeps in the poller for
 * longer is woken. Any thread. */
void rti_crew_armed(struct rti_crew *crew, uint64_t deadline_ns);

/* Has all workers write `journal` instead of `before`; NULL: none. False if that was not so. When
 * it returns nobody writes `before` any more. */
bool rti_crew_observe(struct rti_crew *crew, const struct rti_journal *before,
                      struct rti_journal *journal);

/* rti_sched_write of a crew. */
void rti_crew_write(struct rti_crew *crew, const struct rti_journal_event *event);

/* The sum of what is live. Exact while all stations are idle or the caller is the only member. */
uint64_t rti_crew_live(const struct rti_crew *crew);

#endif
