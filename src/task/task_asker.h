/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASK_ASKER_H
#define RTI_TASK_ASKER_H

/* Who asks a task to stop without being its holder: rt_task_ask_cancel. It has a copy of the
 * handle and nothing else, so while it is at the task the holder may join that, and the slot be
 * another task's. Free slots change hands without a lock (task_desk.h); so the asker, one at a time
 * under the module's lock, says which slot it is at, and who gives a slot back looks there.
 *
 *     who asks                               who gives the slot back
 *       says at which slot it is               ends the handle
 *       fence                                  fence
 *       is the handle still good?              is somebody at the slot?
 *         then it is at the task                 then waits until it has gone
 *
 * Either the one sees that the handle is no good any more or the other sees the asker. Who works
 * alone ends the handle in a section and makes no fence, nor does it have to look: who asks beside
 * it is a guest, who comes when the section is over and sees it ended, or keeps it from beginning
 * one.
 *
 * I1  A slot is no other task's while somebody is at it whom its handle let in.
 *                                                                      (explored, with mutants)
 *
 * Costs: nobody asks, as a rule, and then it is a look at a word that nobody writes.
 *
 * Rejected: a count of askers in the slot (a word more in every task); the handle in use while
 * somebody asks (a join that comes meanwhile would be refused); giving slots back under the lock
 * (every join would pay for it). */

#include "base/atomic.h"
#include "base/compiler.h"

struct rti_task_asker {
    rti_atomic_ptr at; /* the slot that somebody is at; NULL: none */
};

static inline void rti_task_asker_init(struct rti_task_asker *asker)
{
    rti_ptr_init(&asker->at, NULL);
}

/* Comes to a slot; whether the handle is good is asked afterwards. Under the module's lock. */
static inline void rti_task_asker_come(struct rti_task_asker *asker, void *slot)
{
    /* Release hands on what those have done who asked before, known from the lock: who gives back
     * another slot and finds this one here may have missed that they have gone. */
    rti_ptr_store_release(&asker->at, slot);
    /* At the slot, then fence, then the handle: pairs with rti_task_asker_is_at. */
    rti_fence_seqcst();
}

static inline void rti_task_asker_go(struct rti_task_asker *asker)
{
    /* Release pairs with the acquire in rti_task_asker_is_at: what was done to the task is done. */
    rti_ptr_store_release(&asker->at, NULL);
}

/* Is somebody at the slot, whose handle has been ended? Then the module's lock tells when he has
 * gone. The last thing that the caller did to the slot was a read-modify-write. */
static RTI_ALWAYSINLINE bool rti_task_asker_is_at(const struct rti_task_asker *asker,
                                                  const void *slot)
{
    /* The handle is ended, then fence, then who is there. */
    rti_fence_after_rmw();
    return rti_ptr_load_acquire(&asker->at) == slot;
}

#endif
