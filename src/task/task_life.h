/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TASK_LIFE_H
#define RTI_TASK_LIFE_H

/* The life of a task as its handle sees it: one word, on which join, detach, cancel and the end of
 * the task meet.
 *
 *                      unwatch
 *              +---------------------+
 *              v                     |
 *     FREE -> HELD --- watch ---> WATCHED --- end ---> TELLING
 *      ^       |  \                                       |
 *      |       |   +---- end -------> COMPLETE <----------+
 *      |    detach                     |
 *      |       v                       |
 *      +--- RELEASED                   |
 *      |   end                         |
 *      +------------- take ------------+
 *
 * Two parties move it: the task that ends, and the one who holds the handle, who is one at a time.
 * Each step is one compare-and-swap from a state that the caller has seen, so of an end and a join
 * that race exactly one finds the other: either the join sees COMPLETE, or the end sees WATCHED.
 *
 * The step to COMPLETE is the last touch of a task by its end: from there on the holder may take
 * the result and give the memory back. In TELLING the end looks at the watcher, which lies on the
 * stack of who waits; the watcher waits for COMPLETE before it goes (rti_task_life_unwatch).
 *
 * I1  Exactly one of end and take moves the word to FREE.                (explored, with mutants)
 * I2  A watcher is woken at most once, and not touched after COMPLETE.   (explored, with mutants)
 * I3  What the task wrote before its end is seen by who sees COMPLETE.   (explored, with mutants)
 * I4  Only the edges of RTI_TASK_LIFE_EDGES are ever taken.              (rti_task_life_move)
 *
 * Memory order: the word is moved with acquire-release. The end's release pairs with the holder's
 * acquire for the result; the watch's release pairs with the end's acquire for the watcher.
 *
 * Costs: with one worker a load and a store per step; else one locked instruction, of which a task
 * that is spawned and joined has two: watch and end, or end alone if the join comes later. Who
 * works alone (sched/solo.h) ends one that nobody watches without a locked instruction.
 *
 * Rejected: a lock per task (the join that sees the end could free the lock before it is released,
 * so even a join that does not wait has to take it). */

#include "base/assert.h"
#include "base/atomic.h"

enum rti_task_life {
    RTI_TASK_FREE,     /* no task */
    RTI_TASK_HELD,     /* it lives, and its handle is somebody's */
    RTI_TASK_WATCHED,  /* the same, and the holder waits for its end */
    RTI_TASK_TELLING,  /* it has ended and is about to tell the watcher */
    RTI_TASK_RELEASED, /* it lives, and nobody wants its result */
    RTI_TASK_COMPLETE, /* it has ended, the result waits to be taken */
    RTI_TASK_LIVES,
};

/* Every edge: from, to, what makes it. */
#define RTI_TASK_LIFE_EDGES(X)                                                                     \
    X(FREE, HELD, "spawn")                                                                         \
    X(HELD, WATCHED, "watch")                                                                      \
    X(WATCHED, HELD, "unwatch")                                                                    \
    X(HELD, COMPLETE, "end")                                                                       \
    X(WATCHED, TELLING, "end")                                                                     \
    X(TELLING, COMPLETE, "told")                                                                   \
    X(HELD, RELEASED, "detach")                                                                    \
    X(RELEASED, FREE, "end")                                                                       \
    X(COMPLETE, FREE, "take")

static inline bool rti_task_life_is_edge(uint32_t from, uint32_t to)
{
#define RTI_TASK_LIFE_IS_EDGE(a, b, what)                                                          \
    if (from == RTI_TASK_##a && to == RTI_TASK_##b) {                                              \
        return true;                                                                               \
    }
    RTI_TASK_LIFE_EDGES(RTI_TASK_LIFE_IS_EDGE)
#undef RTI_TASK_LIFE_IS_EDGE
    return false;
}

/* The word, and whether all who move it are one thread. */
struct rti_task_word {
    rti_atomic_u8 state; /* enum rti_task_life */
    bool is_local;
};

static inline void rti_task_life_init(struct rti_task_word *word, bool is_local)
{
    rti_u8_init(&word->state, RTI_TASK_FREE);
    word->is_local = is_local;
}

/* Acquire pairs with the release of the end: who sees COMPLETE sees the result. */
static inline enum rti_task_life rti_task_life(const struct rti_task_word *word)
{
    return (enum rti_task_life)rti_u8_load_acquire(&word->state);
}

/* Takes one edge if the word is still in `*from`; else false, and *from is where it is. */
static inline bool rti_task_life_move(struct rti_task_word *word, uint8_t *from, uint8_t to)
{
    RT_DCHECK(rti_task_life_is_edge(*from, to));
    if (word->is_local) {
        uint8_t now = rti_u8_load_relaxed(&word->state);
        if (now != *from) {
            *from = now;
            return false;
        }
        rti_u8_store_relaxed(&word->state, to);
        return true;
    }
    /* Acquire-release: see the essay. */
    return rti_u8_cas_acqrel(&word->state, from, to);
}

/* A task is made; its memory is the caller's, and nobody else knows it yet. */
static inline void rti_task_to_held(struct rti_task_word *word)
{
    RT_ASSERT(rti_u8_load_relaxed(&word->state) == RTI_TASK_FREE);
    rti_u8_store_relaxed(&word->state, RTI_TASK_HELD);
}

/* The same where only free ones are taken from. */
static inline void rti_task_to_held_here(struct rti_task_word *word)
{
    RT_DCHECK(rti_u8_load_relaxed(&word->state) == RTI_TASK_FREE);
    rti_u8_store_relaxed(&word->state, RTI_TASK_HELD);
}

/* The holder is about to wait; the watcher is in its place. False: the task has ended. */
static inline bool rti_task_to_watched(struct rti_task_word *word)
{
    uint8_t from = RTI_TASK_HELD;
    if (rti_task_life_move(word, &from, RTI_TASK_WATCHED)) {
        return true;
    }
    RT_ASSERT(from == RTI_TASK_COMPLETE);
    return false;
}

/* The holder waits no longer. When this returns nobody looks at the watcher. */
static inline void rti_task_to_unwatched(struct rti_task_word *word)
{
    uint8_t from = RTI_TASK_WATCHED;
    while (!rti_task_life_move(word, &from, RTI_TASK_HELD)) {
        if (from == RTI_TASK_COMPLETE || from == RTI_TASK_HELD) {
            return;
        }
        RT_ASSERT(from == RTI_TASK_TELLING);
        rti_spin_hint();
        from = RTI_TASK_WATCHED;
    }
}

/* What the end of a task has to do next. */
enum rti_task_end {
    RTI_TASK_END_LEAVE, /* nothing: the memory is the holder's */
    RTI_TASK_END_TELL,  /* claim the watcher, rti_task_to_told, then wake it if the claim was won */
    RTI_TASK_END_FREE,  /* give the memory back: nobody holds it */
};

/* The task has ended and its result is written. */
static inline enum rti_task_end rti_task_to_ended(struct rti_task_word *word)
{
    uint8_t from = RTI_TASK_HELD;
    for (;;) {
        switch (from) {
        case RTI_TASK_HELD:
            if (rti_task_life_move(word, &from, RTI_TASK_COMPLETE)) {
                return RTI_TASK_END_LEAVE;
            }
            break;
        case RTI_TASK_WATCHED:
            if (rti_task_life_move(word, &from, RTI_TASK_TELLING)) {
                return RTI_TASK_END_TELL;
            }
            break;
        default:
            RT_ASSERT(from == RTI_TASK_RELEASED);
            /* Nobody else moves it any more. */
            rti_u8_store_relaxed(&word->state, RTI_TASK_FREE);
            return RTI_TASK_END_FREE;
        }
    }
}

/* The same if nobody waits for the end and nobody has let go of the handle, which is most often so:
 * nothing is to be done next. False: nothing has changed. */
static RTI_ALWAYSINLINE bool rti_task_to_complete(struct rti_task_word *word)
{
    uint8_t from = RTI_TASK_HELD;
    return RTI_LIKELY(rti_u8_load_relaxed(&word->state) == RTI_TASK_HELD) &&
           RTI_LIKELY(rti_task_life_move(word, &from, RTI_TASK_COMPLETE));
}

/* The same while nobody else moves the word (sched/solo.h). */
static RTI_ALWAYSINLINE bool rti_task_to_complete_alone(struct rti_task_word *word)
{
    if (RTI_UNLIKELY(rti_u8_load_relaxed(&word->state) != RTI_TASK_HELD)) {
        return false;
    }
    /* Release: who looks and does not move it sees the result, too. */
    rti_u8_store_release(&word->state, RTI_TASK_COMPLETE);
    return true;
}

/* The same at such a time, for who has seen that the word is HELD. */
static RTI_ALWAYSINLINE void rti_task_to_complete_seen(struct rti_task_word *word)
{
    RT_DCHECK(rti_u8_load_relaxed(&word->state) == RTI_TASK_HELD);
    /* Release: as above. */
    rti_u8_store_release(&word->state, RTI_TASK_COMPLETE);
}

/* The same with one worker, for who has seen that the word is HELD: nothing is to be done next. */
static inline void rti_task_to_complete_here(struct rti_task_word *word)
{
    RT_DCHECK(word->is_local && rti_u8_load_relaxed(&word->state) == RTI_TASK_HELD);
    rti_u8_store_relaxed(&word->state, RTI_TASK_COMPLETE);
}

/* The watcher was looked at; from here on the task is the holder's. */
static inline void rti_task_to_told(struct rti_task_word *word)
{
    RT_ASSERT(rti_u8_load_relaxed(&word->state) == RTI_TASK_TELLING);
    /* Release pairs with the holder's acquire: the result is seen. */
    rti_u8_store_release(&word->state, RTI_TASK_COMPLETE);
}

/* The holder wants nothing more. False: the task has ended, the caller takes it. */
static inline bool rti_task_to_released(struct rti_task_word *word)
{
    uint8_t from = RTI_TASK_HELD;
    if (rti_task_life_move(word, &from, RTI_TASK_RELEASED)) {
        return true;
    }
    RT_ASSERT(from == RTI_TASK_COMPLETE);
    return false;
}

/* The holder has taken the result; the memory is the caller's to give back. */
static inline void rti_task_to_free(struct rti_task_word *word)
{
    RT_ASSERT(rti_u8_load_relaxed(&word->state) == RTI_TASK_COMPLETE);
    rti_u8_store_relaxed(&word->state, RTI_TASK_FREE);
}

/* The same for who has seen that the word is COMPLETE. */
static inline void rti_task_to_free_here(struct rti_task_word *word)
{
    RT_DCHECK(rti_u8_load_relaxed(&word->state) == RTI_TASK_COMPLETE);
    rti_u8_store_relaxed(&word->state, RTI_TASK_FREE);
}

#endif
