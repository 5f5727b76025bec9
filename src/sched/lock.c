/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "lock"
#include "sched/lock.h"

#include "base/probe.h"

#if !RTI_ONE_WORKER

/* How long a thread naps that has watched long enough. Nobody ends the nap: the holder does not
 * know of it. */
#define LOCK_NAP_NS 50000

void rti_lock_contend(struct rti_lock *lock, struct rti_sched *sched)
{
    struct rti_port *port = sched->port;
    RTI_PROBE1(contend, lock->rank);
    for (uint32_t spins = 0;; spins++) {
        if (rti_u32_load_relaxed(&lock->is_taken) == 0 &&
            rti_u32_exchange_acqrel(&lock->is_taken, 1) == 0) {
            return;
        }
        if (spins < RTI_LOCK_SPINS_MAX) {
            rti_spin_hint();
        } else {
            (void)port->ops->futex_wait(port, &lock->is_taken, 1,
                                        port->ops->clock_ns(port) + LOCK_NAP_NS);
        }
    }
}

#if RT_CHECKS

void rti_lock_check_order(const struct rti_lock *lock)
{
    const struct rti_worker *worker = rti_worker_current();
    /* A thread outside of the runtime keeps no account of what it holds. */
    RT_ASSERT(worker == NULL || worker->locks_held >> lock->rank == 0);
}

void rti_lock_note(const struct rti_lock *lock, bool is_held)
{
    struct rti_worker *worker = rti_worker_current();
    if (worker != NULL) {
        uint32_t bit = 1U << lock->rank;
        RT_ASSERT(((worker->locks_held & bit) != 0) != is_held);
        worker->locks_held ^= bit;
    }
}

#endif

#endif
