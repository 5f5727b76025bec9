/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASK_HANDLE_H
#define RTI_TASK_HANDLE_H

/* The handle of a task as its slot has it: a word that names the one handle that is good, and says
 * whether somebody uses it.
 *
 *     0                  nobody has a handle: the slot is free, or its task was let go
 *     number             who has the number may join, detach or cancel the task
 *     number + IN_USE    one of those is under way; the others are refused
 *
 * A handle is a number that a program may have copied, and several threads may come with it in the
 * same moment. The first takes it into use; whoever does that is the holder that task_life.h speaks
 * of, until the handle is consumed or laid down again. All others are told that there is no such
 * handle, or that another waits with it. Looking at a task, or asking it to stop, needs the number
 * only.
 *
 * I1  At most one has the handle in use.                                 (explored, with mutants)
 * I2  A handle that was consumed is never good again.                    (explored, with mutants)
 *
 * Who works alone (sched/solo.h) takes a handle by a load and a store: the others are guests, or
 * not there.
 *
 * Memory order: taking into use is acquire and laying down is release: what one holder has left
 * behind in the task is seen by the next. */

#include "base/assert.h"
#include "base/atomic.h"

/* Bits of a handle below its generation: the index of the slot, counted from 1, and IN_USE. */
#define RTI_TASK_INDEX_BITS    (sizeof(uintptr_t) == 8 ? 28 : 20)
#define RTI_TASK_HANDLE_IN_USE ((uintptr_t)1 << (RTI_TASK_INDEX_BITS - 1))
#define RTI_TASK_INDEX_MASK    (RTI_TASK_HANDLE_IN_USE - 1)

/* From a handle of a slot to its next. */
#define RTI_TASK_HANDLE_STEP ((uintptr_t)1 << RTI_TASK_INDEX_BITS)

/* Is this number the handle, in use or not? Relaxed: who has a handle has it from who made it; a
 * stale one is compared only. */
static inline bool rti_task_handle_is(const rti_atomic_size *word, uintptr_t number)
{
    return (rti_size_load_relaxed(word) & ~RTI_TASK_HANDLE_IN_USE) == number;
}

static inline bool rti_task_handle_is_in_use(const rti_atomic_size *word)
{
    return (rti_size_load_relaxed(word) & RTI_TASK_HANDLE_IN_USE) != 0;
}

/* Takes the handle into use. False: this is not the handle, or another has it in use. `is_local`:
 * there is one worker. */
static inline bool rti_task_handle_use(rti_atomic_size *word, uintptr_t number, bool is_local)
{
    size_t from = number;
    if (is_local) {
        bool is_it = rti_size_load_relaxed(word) == number;
        if (is_it) {
            rti_size_store_relaxed(word, number | RTI_TASK_HANDLE_IN_USE);
        }
        return is_it;
    }
    /* Acquire pairs with the release of who has laid it down. */
    return rti_size_cas_acqrel(word, &from, number | RTI_TASK_HANDLE_IN_USE);
}

/* Who has it in use does not need it now; the number is as good as before. */
static inline void rti_task_handle_lay_down(rti_atomic_size *word)
{
    size_t now = rti_size_load_relaxed(word);
    RT_ASSERT((now & RTI_TASK_HANDLE_IN_USE) != 0);
    /* Release pairs with the acquire of who takes it next. */
    rti_size_store_release(word, now & ~RTI_TASK_HANDLE_IN_USE);
}

/* Who has it in use needs it no more, and nobody else will. With several workers this is a
 * read-modify-write, behind which whoever asks with the handle is looked for (task_asker.h). */
static inline void rti_task_handle_consume(rti_atomic_size *word, bool is_local)
{
    RT_ASSERT(rti_task_handle_is_in_use(word));
    if (is_local) {
        rti_size_store_relaxed(word, 0);
    } else {
        (void)rti_size_exchange_acqrel(word, 0);
    }
}

/* Takes the handle into use and consumes it, in one step: for who has seen that the task has ended
 * and will not wait. With several workers. False: this is not the handle, or another has it in use.
 */
static inline bool rti_task_handle_take(rti_atomic_size *word, uintptr_t number)
{
    size_t from = number;
    /* Acquire pairs with the release of who has laid it down. */
    return rti_size_cas_acqrel(word, &from, 0);
}

/* The same while nobody else takes it into use, nor asks with it (sched/solo.h). */
static inline bool rti_task_handle_take_alone(rti_atomic_size *word, uintptr_t number)
{
    if (rti_size_load_relaxed(word) != number) {
        return false;
    }
    rti_size_store_relaxed(word, 0);
    return true;
}

#endif
