/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "solo"
#include "sched/solo.h"

#include "base/marks.h"

#if !RTI_ONE_WORKER

/* How long who comes naps between two looks at a worker that stays inside of a section: it was
 * interrupted there, and may have to have this very processor. */
#define SOLO_NAP_NS 50000

void rti_solo_open(struct rti_crew *crew)
{
    struct rti_port *port = crew->sched->port;
    crew->can_solo = port->ops->fence_all != NULL && port->ops->fence_all(port);
    rti_u64_store_relaxed(&crew->solo_again_ns, 0);
}

/* May the holder of a station work alone? With the lock held what this says stays so, or whoever
 * changes it ends that. */
static bool solo_is_possible(const struct rti_crew *crew)
{
    return rti_u32_load_relaxed(&crew->listed_count) == crew->stations_count - 1 &&
           rti_sched_journal(crew->sched) == NULL && rti_u32_load_relaxed(&crew->is_over) == 0;
}

void rti_solo_try(struct rti_member *member)
{
    struct rti_crew *crew = member->crew;
    struct rti_worker *worker = member->worker;
    if (RTI_UNLIKELY(rti_worker_records(worker))) {
        rti_solo_quit(worker);
        return;
    }
    if (!crew->can_solo || !solo_is_possible(crew) || rti_u32_load_relaxed(&worker->is_solo) != 0 ||
        worker->now_ns < rti_u64_load_relaxed(&crew->solo_again_ns)) {
        return;
    }
    rti_lock_acquire(&crew->lock, crew->sched);
    if (solo_is_possible(crew) && crew->guests == 0) {
        /* Somebody else's mark may be left from when it had this station. */
        rti_solo_end(crew);
        crew->solo = member;
        rti_u32_store_relaxed(&worker->is_solo, 1);
        RT_SOMETIMES(true, "solo: a worker works alone");
    }
    rti_lock_release(&crew->lock);
}

/* The barrier is refused, though it was not when the run began: the program has set a filter since.
 * Once a thread has looked at the mark its store to is_inside is on its way, and no machine has one
 * on its way for as long as this takes; nor is what it looked up kept over the switch to another
 * thread. So who came inside before is seen there, and who comes later finds no mark. */
static RTI_COLD void solo_outwait(struct rti_port *port, struct rti_worker *worker)
{
    uint64_t until_ns = port->ops->clock_ns(port) + RTI_SOLO_PAUSE_NS;
    while (port->ops->clock_ns(port) < until_ns) {
        /* Nobody wakes it. */
        (void)port->ops->futex_wait(port, &worker->is_solo, 0, until_ns);
    }
}

/* The mark of another worker is taken away. */
static void solo_revoke(struct rti_crew *crew, struct rti_worker *worker)
{
    struct rti_port *port = crew->sched->port;
    rti_u32_store_relaxed(&worker->is_solo, 0);
    /* No mark, then whether it is inside: pairs with the light fence in rti_solo_enter. */
    bool is_passed = port->ops->fence_all(port);
    if (RTI_UNLIKELY(!is_passed)) {
        solo_outwait(port, worker);
    }
    uint32_t spins = 0;
    /* Acquire pairs with the release in rti_solo_leave. */
    while (rti_u32_load_acquire(&worker->is_inside) != 0) {
        RT_SOMETIMES(true, "solo: who comes waits for the end of a section");
        if (spins < RTI_LOCK_SPINS_MAX) {
            spins++;
            rti_spin_hint();
        } else {
            (void)port->ops->futex_wait(port, &worker->is_inside, 1,
                                        port->ops->clock_ns(port) + SOLO_NAP_NS);
        }
    }
    /* Not again in this run if that was what it took. */
    uint64_t again_ns = is_passed ? port->ops->clock_ns(port) + RTI_SOLO_PAUSE_NS : RTI_TIME_NEVER;
    rti_u64_store_relaxed(&crew->solo_again_ns, again_ns);
}

void rti_solo_end(struct rti_crew *crew)
{
    struct rti_member *member = crew->solo;
    crew->solo = NULL;
    if (member == NULL) {
        return;
    }
    struct rti_worker *worker = member->worker;
    if (worker == rti_worker_current()) {
        rti_solo_quit(worker);
    } else if (rti_u32_load_acquire(&worker->is_solo) != 0) {
        /* Acquire pairs with the release in rti_solo_quit: else it has left its last section. */
        solo_revoke(crew, worker);
    }
}

void rti_solo_receive(struct rti_crew *crew)
{
    rti_lock_acquire(&crew->lock, crew->sched);
    crew->guests++;
    rti_solo_end(crew);
    rti_lock_release(&crew->lock);
}

void rti_solo_part(struct rti_crew *crew)
{
    rti_lock_acquire(&crew->lock, crew->sched);
    RT_ASSERT(crew->guests > 0);
    crew->guests--;
    rti_lock_release(&crew->lock);
}

#endif
