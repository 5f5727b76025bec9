/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SOLO_H
#define RTI_SOLO_H

/* Working alone: what a worker of the parallel engine may do without locked instructions while no
 * other holds a station.
 *
 * A conversation of actors has one message on its way and keeps one worker busy, however many there
 * are: the others sleep. So it is where tasks are so short that one worker is quicker than two. The
 * mailboxes, what is ready at its station, and the words on which the start, the end and the join
 * of a task meet are then nobody else's, but for a thread that comes out of the poller or of a
 * blocking call, now and then. So the one pays that is rare. The worker says that it is inside of a
 * short section and looks whether it still works alone; if so it changes those words with plain
 * loads and stores. Whoever ends this takes the mark away, has all threads of the process pass a
 * barrier (port.h: fence_all), and waits until the worker is not inside:
 *
 *     the worker                             who comes
 *       is_inside = 1                          is_solo = 0
 *       light fence                            fence_all
 *       is_solo?  plain changes                waits for is_inside == 0
 *       is_inside = 0
 *
 * The barrier reaches the worker before the store to is_inside is seen, and then its look finds the
 * mark gone; or after it, and then who comes finds it inside and waits. Sections take no lock, call
 * nothing of the program and do not touch its memory: that may have to be brought by another
 * thread, which comes first. Most are some dozen instructions; some are longer and have in them
 * all that is left of a start, of a join, and of the step from a task that ends to the next one
 * that begins, where those are no more than that (decisions 110 and 113). What they find special
 * they leave as it is, to code for every case.
 *
 * The mark says more than that: while it is there no journal is written, the worker records
 * nothing, and the run is not over. A section asks for none of these. Who begins a journal is a
 * guest meanwhile; who ends the run ends the work alone; and a worker begins to record at a look,
 * where it takes its own mark away.
 *
 * Who comes is, first, everybody who takes a station out of the idle list: it does so before it has
 * the station. Second, a guest: who has no station, and changes such a word all the same (a timer
 * that fires in the poller, a thread that comes back from a blocking call, a kill from there, a
 * thread of the program's that joins a task). It is counted while it does. Both have the crew's
 * lock, under which a worker begins to work alone: it does if all other stations are idle and no
 * guest is counted. The one who wakes another is the worker itself, most of the time; then there is
 * nobody to wait for, and no barrier.
 *
 * What is changed in sections, and who else changes it:
 *
 *     a mailbox, its gate, what its  any station; else a guest (actor/). No other behaviour has a
 *       receiver has taken over        turn meanwhile: one keeps its station for all of its turn
 *     `next`, the heads of rings     any station, nobody else: who takes has one to put it into
 *     the life of a task, to         who runs it, at a station; who watches it or lets it go, at a
 *       COMPLETE                       station or a guest (rti_task_watch, rti_task_release,
 *                                      rti_asyncs_guard). An end without a station is of a task
 *                                      that nobody else ends
 *     the handle of a task, and      any station; else a guest (rti_tasks_use). Who asks with a
 *       its life, to FREE              copy (task_asker.h) is a guest, too, in the place of a
 *                                      fence: in a section nobody is at a slot
 *     what a guard of poll tasks     any station; else a guest (rti_asyncs_guard): in a section no
 *       is over                        guard is taken
 *     the number of the last task    any station; else a guest (task_next_serial)
 *
 * and what is asked for by the mark alone:
 *
 *     is a journal written           a guest (rti_crew_observe)
 *     is the run over                whoever ends it, under the lock (rti_crew_end)
 *     does the worker record         itself, at a look (rti_solo_try)
 *
 * What a section may rely on a turn of a behaviour may rely on too, as long as the mark is there
 * when it looks again: nobody has come, so nobody has ordered anything from elsewhere, and nobody
 * begins to work alone within a chain of turns.
 *
 * Who gives its station out of hand, to whomever, takes its own mark away first: without a station
 * it is a guest, and what it calls may look at the mark before it asks for the station.
 *
 * I1  While a worker works alone all stations but one are idle, and no guest is counted.
 *                                                                        (explored; solo_test)
 * I2  In a section nobody else changes the words that it changes.        (explored)
 * I3  A section is entered by who holds a station.                       (RT_DCHECK)
 * I4  In a section no journal is written, nothing is recorded, and the run is not over.
 *                                                       (RT_DCHECK; solo_test, chain_sim_test)
 *
 * Costs: four instructions for a section, none of them locked. Who comes pays some 15 microseconds,
 * and then nobody works alone for RTI_SOLO_PAUSE_NS. If the barrier is refused in the middle of a
 * run, by a filter that the program has set, who comes waits for that long instead, and nobody
 * works alone any more.
 *
 * Rejected: a home of each mailbox at a station, with a plain list for its neighbours (an actor
 * then moves only with its station's help, and one that computes for ever keeps all others); a
 * barrier by a signal to the worker (slower, and not portable either). */

#include "sched/crew.h"

/* How long nobody works alone after somebody from outside has ended it. */
#define RTI_SOLO_PAUSE_NS UINT64_C(1000000)

#if !RTI_ONE_WORKER

/* Asks the port whether it has the barrier. No other thread runs yet. */
void rti_solo_open(struct rti_crew *crew);

/* Begins to work alone, if nobody else works. Holder of a station, at a look. */
void rti_solo_try(struct rti_member *member);

/* Nobody works alone any more. Under the lock of the crew. */
void rti_solo_end(struct rti_crew *crew);

/* The worker does not work alone any more. Itself, outside of a section. */
static inline void rti_solo_quit(struct rti_worker *worker)
{
    if (rti_u32_load_relaxed(&worker->is_solo) != 0) {
        /* Release: who finds it gone comes after the last section. Pairs with rti_solo_end. */
        rti_u32_store_release(&worker->is_solo, 0);
    }
}

/* Begins a section, if the worker works alone; else nothing has happened. */
static RTI_ALWAYSINLINE bool rti_solo_enter(struct rti_worker *worker)
{
    rti_u32_store_relaxed(&worker->is_inside, 1);
    /* Inside, then the mark: pairs with fence_all in rti_solo_end. */
    rti_fence_light();
    /* Acquire: what others did before it worked alone comes before the section. */
    if (RTI_LIKELY(rti_u32_load_acquire(&worker->is_solo) != 0)) {
        RT_DCHECK(worker->station != NULL);
        RT_DCHECK(!rti_worker_records(worker) && rti_sched_journal(worker->sched) == NULL);
        return true;
    }
    rti_u32_store_release(&worker->is_inside, 0);
    return false;
}

/* Does it still work alone? Who sees that knows that nobody has come since it was seen before in
 * this turn: nobody begins to work alone but at a look. */
static RTI_ALWAYSINLINE bool rti_solo_goes_on(const struct rti_worker *worker)
{
    return rti_u32_load_relaxed(&worker->is_solo) != 0;
}

static RTI_ALWAYSINLINE void rti_solo_leave(struct rti_worker *worker)
{
    /* Release: what the section did comes before whoever waits for its end. */
    rti_u32_store_release(&worker->is_inside, 0);
}

/* rti_station_pop and rti_station_pick_next at the worker's own station. Holder. */
static RTI_ALWAYSINLINE struct rti_runnable *rti_solo_pop(struct rti_worker *worker, uint32_t below)
{
    bool is_solo = rti_solo_enter(worker);
    struct rti_runnable *runnable = rti_station_pop(worker->station, below, is_solo);
    if (is_solo) {
        rti_solo_leave(worker);
    }
    return runnable;
}

static RTI_ALWAYSINLINE struct rti_runnable *rti_solo_pick_next(struct rti_worker *worker)
{
    bool is_solo = rti_solo_enter(worker);
    struct rti_runnable *runnable = rti_station_pick_next(worker->station, is_solo);
    if (is_solo) {
        rti_solo_leave(worker);
    }
    return runnable;
}

/* A guest comes and goes; see above. */
void rti_solo_receive(struct rti_crew *crew);
void rti_solo_part(struct rti_crew *crew);

#endif

/* rti_solo_enter and _leave for code that is built for one worker, too. */
static RTI_ALWAYSINLINE bool rti_solo_begin(struct rti_worker *worker)
{
#if !RTI_ONE_WORKER
    return rti_solo_enter(worker);
#else
    (void)worker;
    return false;
#endif
}

static RTI_ALWAYSINLINE void rti_solo_finish(struct rti_worker *worker, bool is_solo)
{
#if !RTI_ONE_WORKER
    if (RTI_LIKELY(is_solo)) {
        rti_solo_leave(worker);
    }
#else
    (void)worker, (void)is_solo;
#endif
}

/* The same for who is about to change a mailbox: false, and nothing is to be ended, if it has a
 * station of this scheduler. Any thread. */
static inline bool rti_solo_knock(struct rti_sched *sched)
{
#if !RTI_ONE_WORKER
#if RTI_EXPLORED
    /* A model says who its threads are. */
    const struct rti_worker *worker = rti_worker_current();
#else
    const struct rti_worker *worker = rti_worker_here();
#endif
    if (worker != NULL && worker->sched == sched && worker->station != NULL) {
        return false;
    }
    rti_solo_receive(rti_sched_crew(sched));
    return true;
#else
    (void)sched;
    return false;
#endif
}

static inline void rti_solo_go(struct rti_sched *sched, bool is_begun)
{
#if !RTI_ONE_WORKER
    if (is_begun) {
        rti_solo_part(rti_sched_crew(sched));
    }
#else
    (void)sched, (void)is_begun;
#endif
}

#endif
