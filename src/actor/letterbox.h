/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LETTERBOX_H
#define RTI_LETTERBOX_H

/* The mailbox of a behaviour on an engine with several workers: any worker puts letters in, one at
 * a time takes them out. One word says everything that both sides have to agree on:
 *
 *     | entered: what came, and whether somebody is announced | name of the last letter, nudged |
 *                           32 bits                                     32 bits
 *
 * A sender swaps it for one with its own letter as the last and one more that came, in one locked
 * instruction: the queue and its count cannot disagree, and there is no moment at which a letter is
 * half in the box. A letter names the one below it, which came before. Words have no room for an
 * address and a count; the name of a letter is where it lies in the memory of the messages, in
 * units of 4 bytes. A letter begins at a multiple of 8, so a name is even, and what is left of the
 * lower half of the word is the bit that says nudged.
 *
 *     word -> D -> C -> B      new letters, the last one first, down to the one that was seen
 *     first -> A -> B          the receiver's own: taken over, in the order in which they came
 *
 * The receiver takes nothing out of the word. It remembers the last letter that it has seen there
 * (`seen`). If the word names another one, those above `seen` are new: it turns their chain round
 * and has them in the order in which they came. So taking over letters is a load, and a whole turn
 * costs one locked instruction, in which it goes idle. Nobody looks into a letter that is below
 * another, so the receiver may use or free it; only the one that is named by `seen` stays until the
 * word names another. Was it given away before, it could come again, on top of others, and those
 * would never be found. Who needs it earlier has the box let go of it (rti_letterbox_let_go).
 *
 * To turn a chain round is to wait for one letter after the other, each of which another core or a
 * flood has made cold. A sender that works alone (sched/solo.h) is beside nobody, neither a sender
 * nor the receiver: if all that came before is taken over it takes its letter over, too, and names
 * it both in the word and in `seen`, as if the receiver had just looked.
 *
 * Idle is the name of no letter. The receiver that has handled all it has seen swaps the word for
 * idle, which fails if anything came. Exactly one push finds the box idle, and its sender makes the
 * receiver ready. An order from outside that is no letter (kill, stop) nudges: that wakes an idle
 * receiver as well, and keeps one that is about to go idle awake. The receiver that is kept awake
 * takes the nudge away (rti_letterbox_calm) and looks for orders once more before it tries to rest
 * again, so that an order is seen now or nudges again.
 *
 * The upper half and `ceiling` are a gate: what they mean is in gate.h. A sender that finds too
 * many waiting announces itself, looks at the room once more, and only then waits. The receiver
 * that takes a letter makes room, and as long as that is enough for those who wait (its `mark`)
 * looks whether anybody has announced himself. Each side writes its own word and then reads the
 * other's, with a fence between, so at least one of the two sees the other: either the sender finds
 * room and does not wait, or the receiver finds the announcement and releases. The receiver reads
 * how many came before its fence, and may see fewer than there are, but never fewer than it has
 * taken: the last that is taken finds all the room there is, and looks. The list of those who wait
 * has a lock: an announcement and its withdrawal are made under it.
 *
 * I1  From the word, `below` leads to `seen`.                                  (audit; explored)
 * I2  The box is idle iff the word names RTI_LETTER_IDLE and is not nudged.    (explored)
 * I3  Between two times of being idle exactly one push or nudge answers true.  (explored)
 * I4  Who waits was announced before, and the room was below the mark after that. (explored)
 *
 * I5  If there is a `first`, `seen` names the last of those behind it.         (audit; explored)
 *
 * Who writes: `word` everyone, by read-modify-write; `ceiling`, `seen` and `first` the receiver;
 * `below` of a letter its sender, before the push, `next` the receiver. Of these `word`, `seen`,
 * `first` and `next` also a sender in a section in which it is alone.
 * Pairs: the swap in push releases the letter to the acquire load in rti_letterbox_collect. A push
 * on top of it goes on with the same release sequence, so one load is enough for all letters. The
 * swap to idle releases what the receiver did to the push or nudge that finds the mark. The fences
 * of rti_letterbox_is_awaited and _announce pair with each other.
 *
 * Costs: a push one compare-exchange, more if others push at the same time; a letter two loads; a
 * turn one compare-exchange. A letter that is forwarded while `seen` names it one more. What came
 * since the last time is gone through once before the first of it is handled: where a receiver was
 * kept from its turns while very many came, that is one long step.
 *
 * Rejected: the queue of base/mpsc.h, which links behind the last one (a sender writes into a line
 * that another has just written, taking the last one and going idle are two locked instructions,
 * and the count is another); an exchange instead of the compare-exchange (a count has no place in
 * it); taking all by an exchange (one more locked instruction for each turn). */

#include <stddef.h>

#include "actor/gate.h"

struct rti_letter {
    union {
        uint32_t below;          /* in the box: the name of the one that came before */
        struct rti_letter *next; /* taken over: the one after it; NULL: that is not taken over */
    };
};

struct rti_letterbox {
    rti_atomic_u64 word;
    rti_atomic_u32 ceiling;
    uint32_t seen;
    struct rti_letter *first;
};

/* Names that are no letter's. */
#define RTI_LETTER_NONE  UINT32_C(0) /* nothing was ever there, or the box has let go of it */
#define RTI_LETTER_IDLE  UINT32_C(2)
#define RTI_LETTER_FIRST UINT32_C(4) /* the first that is one's */

/* The memory in which letters can lie, in units of 8 bytes. */
#define RTI_LETTERS_SPAN_MAX ((size_t)INT32_MAX - RTI_LETTER_FIRST / 2)

#define RTI_LETTERBOX_NUDGED    UINT64_C(1)
#define RTI_LETTERBOX_GATE      (~(uint64_t)UINT32_MAX)
#define RTI_LETTERBOX_ANNOUNCED (UINT64_C(1) << 32)
#define RTI_LETTERBOX_ONE       (UINT64_C(2) << 32)

/* Where names count from, if the letters lie from `memory` on. */
static inline uintptr_t rti_letters_origin(const void *memory)
{
    return (uintptr_t)memory - (uintptr_t)RTI_LETTER_FIRST * 4;
}

static inline uint32_t rti_letter_name(uintptr_t origin, const struct rti_letter *letter)
{
    uintptr_t name = ((uintptr_t)letter - origin) / 4;
    RTI_ASSUME(name <= UINT32_MAX);
    return (uint32_t)name;
}

static inline struct rti_letter *rti_letter_named(uintptr_t origin, uint32_t name)
{
    RT_DCHECK(name >= RTI_LETTER_FIRST && name % 2 == 0);
    return (struct rti_letter *)(origin + (uintptr_t)name * 4);
}

/* The parts of a word. */
static inline uint32_t rti_letterbox_name(uint64_t word)
{
    return (uint32_t)word & ~(uint32_t)RTI_LETTERBOX_NUDGED;
}

static inline uint32_t rti_letterbox_entered(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static inline bool rti_letterbox_is_idle(uint64_t word)
{
    return (uint32_t)word == RTI_LETTER_IDLE;
}

/* An empty box that is not idle: its receiver is at work, and finds what comes. No limit. */
static inline void rti_letterbox_init(struct rti_letterbox *box)
{
    rti_u64_init(&box->word, RTI_LETTER_NONE);
    rti_u32_init(&box->ceiling, 2 * RTI_GATE_OPEN);
    box->seen = RTI_LETTER_NONE;
    box->first = NULL;
}

/* What a sender reads first. */
static inline uint64_t rti_letterbox_look(const struct rti_letterbox *box)
{
    return rti_u64_load_relaxed(&box->word);
}

/* The word after a letter of this name has come. A letter does what a nudge does: the receiver
 * looks for orders before and after it. */
static inline uint64_t rti_letterbox_with(uint64_t word, uint32_t name)
{
    RT_DCHECK(name >= RTI_LETTER_FIRST && name % 2 == 0);
    return ((word >> 32) + (RTI_LETTERBOX_ONE >> 32)) << 32 | name;
}

/* Puts a letter in that is in no box, `word` being what the caller has seen. Any worker. True if
 * the box was idle: the caller is then the one to make the receiver ready. */
static inline bool rti_letterbox_push(struct rti_letterbox *box, uintptr_t origin,
                                      struct rti_letter *letter, uint64_t word)
{
    uint32_t name = rti_letter_name(origin, letter);
    uint64_t after;
    do {
        RTI_PLAIN_WRITE(&letter->below, sizeof(letter->below));
        letter->below = rti_letterbox_name(word);
        after = rti_letterbox_with(word, name);
        /* Release pairs with the acquire in rti_letterbox_collect. Acquire: who finds the mark has
         * the receiver's state from here on; pairs with rti_letterbox_try_idle. */
    } while (RTI_UNLIKELY(!rti_u64_cas_acqrel(&box->word, &word, after)));
    return rti_letterbox_is_idle(word);
}

/* The same by who is alone with it for this moment (sched/solo.h), and has seen `word` in it: no
 * locked instruction. If the receiver has taken over all that came before it has taken over this
 * one, too: it is hung behind those that were, in the receiver's place. */
static RTI_ALWAYSINLINE bool rti_letterbox_push_solo(struct rti_letterbox *box, uintptr_t origin,
                                                     struct rti_letter *letter, uint64_t word)
{
    uint32_t name = rti_letter_name(origin, letter);
    uint32_t last = (uint32_t)word;
    bool was_idle = rti_letterbox_is_idle(word);
    RTI_PLAIN_WRITE(&box->seen, sizeof(box->seen));
    RTI_PLAIN_WRITE(&letter->next, sizeof(letter->next));
    if (was_idle) {
        RTI_PLAIN_WRITE(&box->first, sizeof(box->first));
        letter->next = NULL;
        box->first = letter;
        box->seen = name;
    } else if (RTI_LIKELY(last == box->seen)) {
        RTI_PLAIN_WRITE(&box->first, sizeof(box->first));
        letter->next = NULL;
        if (box->first == NULL) {
            box->first = letter;
        } else {
            struct rti_letter *before = rti_letter_named(origin, last);
            RTI_PLAIN_WRITE(&before->next, sizeof(before->next));
            before->next = letter;
        }
        box->seen = name;
    } else {
        /* Others came, or it is nudged. */
        letter->below = rti_letterbox_name(word);
    }
    /* Release as in rti_letterbox_push; the receiver may be another worker when it collects. */
    rti_u64_store_release(&box->word, rti_letterbox_with(word, name));
    return was_idle;
}

/* Takes over what came since the last time; false if nothing did. Receiver, which has taken all
 * that it took over before. */
static inline bool rti_letterbox_collect(struct rti_letterbox *box, uintptr_t origin)
{
    /* Pairs with the release in rti_letterbox_push. */
    uint32_t last = rti_letterbox_name(rti_u64_load_acquire(&box->word));
    RTI_PLAIN_WRITE(&box->seen, sizeof(box->seen));
    uint32_t seen = box->seen;
    RT_DCHECK(box->first == NULL);
    if (last == seen) {
        return false;
    }
    struct rti_letter *first = NULL;
    uint32_t name = last;
    do {
        struct rti_letter *letter = rti_letter_named(origin, name);
        RTI_PLAIN_WRITE(letter, sizeof(*letter));
        name = letter->below;
        letter->next = first;
        first = letter;
    } while (name != seen);
    box->seen = last;
    box->first = first;
    return true;
}

/* Takes the oldest letter of those that were taken over; NULL if there is none. Receiver. */
static inline struct rti_letter *rti_letterbox_take(struct rti_letterbox *box)
{
    RTI_PLAIN_WRITE(&box->first, sizeof(box->first));
    struct rti_letter *letter = box->first;
    if (letter != NULL) {
        box->first = letter->next;
    }
    return letter;
}

/* Must a letter that was taken stay as it is, because the word may still name it? Receiver. */
static inline bool rti_letterbox_keeps(const struct rti_letterbox *box, uintptr_t origin,
                                       const struct rti_letter *letter)
{
    return box->seen == rti_letter_name(origin, letter);
}

/* Makes the letter free that `seen` names; more letters may be taken over meanwhile. Receiver,
 * which has taken it, and so all of them. */
static inline void rti_letterbox_let_go(struct rti_letterbox *box, uintptr_t origin)
{
    uint64_t word = rti_u64_load_relaxed(&box->word);
    RT_DCHECK(box->seen >= RTI_LETTER_FIRST && box->first == NULL);
    while (rti_letterbox_name(word) == box->seen) {
        uint64_t after = (word & (RTI_LETTERBOX_GATE | RTI_LETTERBOX_NUDGED)) | RTI_LETTER_NONE;
        /* Acquire-release because there is no weaker one; pairs with nothing. */
        if (rti_u64_cas_acqrel(&box->word, &word, after)) {
            box->seen = RTI_LETTER_NONE;
            return;
        }
    }
    bool is_more = rti_letterbox_collect(box, origin);
    RT_ASSERT(is_more);
}

/* Marks the box idle if nothing came that was not taken, and nobody nudged; true if it is idle now.
 * Receiver, which is it no longer after true: the next one is whom a push or nudge wakes. The
 * letter that was named before is free then. `is_solo`: nobody else changes the word meanwhile
 * (sched/solo.h), and there is no locked instruction. */
static inline bool rti_letterbox_try_idle(struct rti_letterbox *box, bool is_solo)
{
    uint64_t word = rti_u64_load_relaxed(&box->word);
    uint32_t seen = box->seen;
    if (RTI_UNLIKELY((uint32_t)word != seen)) {
        return false;
    }
    RT_DCHECK(seen != RTI_LETTER_IDLE && box->first == NULL);
    RTI_PLAIN_WRITE(&box->seen, sizeof(box->seen));
    /* Before the swap: the box is another's right after it. */
    box->seen = RTI_LETTER_IDLE;
    uint64_t after = (word & RTI_LETTERBOX_GATE) | RTI_LETTER_IDLE;
    /* Release: what the receiver did so far comes before the push that finds the mark, and thereby
     * before the next receiver. Pairs with rti_letterbox_push and _nudge. */
    if (is_solo) {
        rti_u64_store_release(&box->word, after);
        return true;
    }
    if (RTI_LIKELY(rti_u64_cas_acqrel(&box->word, &word, after))) {
        return true;
    }
    box->seen = seen;
    return false;
}

/* Has the receiver look for what is no letter. Any worker. True if the box was idle: the caller is
 * then the one to make the receiver ready. */
static inline bool rti_letterbox_nudge(struct rti_letterbox *box)
{
    /* Acquire pairs with rti_letterbox_try_idle; release, of the order, with rti_letterbox_calm. */
    return rti_letterbox_is_idle(rti_u64_or_acqrel(&box->word, RTI_LETTERBOX_NUDGED));
}

/* Takes a nudge away, if there was one. Receiver, which looks for orders afterwards. */
static inline void rti_letterbox_calm(struct rti_letterbox *box)
{
    uint64_t word = rti_u64_load_relaxed(&box->word);
    while ((word & RTI_LETTERBOX_NUDGED) != 0) {
        bool was_idle = rti_letterbox_name(word) == RTI_LETTER_IDLE;
        uint64_t after = word & ~RTI_LETTERBOX_NUDGED;
        if (was_idle) {
            /* Not idle without the nudge: the receiver is at work. */
            after = (word & RTI_LETTERBOX_GATE) | RTI_LETTER_NONE;
        }
        /* Acquire pairs with the release in rti_letterbox_nudge: the order is seen. */
        if (rti_u64_cas_acqrel(&box->word, &word, after)) {
            if (was_idle) {
                box->seen = RTI_LETTER_NONE;
            }
            return;
        }
    }
}

/* ---- The gate ---- */

/* The limit becomes another. Receiver. */
static inline void rti_letterbox_set_limit(struct rti_letterbox *box, uint32_t before, uint32_t now)
{
    RT_DCHECK(before <= RTI_GATE_OPEN && now <= RTI_GATE_OPEN);
    rti_u32_store_relaxed(&box->ceiling,
                          rti_u32_load_relaxed(&box->ceiling) + 2 * now - 2 * before);
}

/* Letters that wait; as rti_gate_depth. */
static inline uint32_t rti_letterbox_depth(const struct rti_letterbox *box, uint32_t limit)
{
    /* Acquire so that what left is read after what came; there is no pair. */
    uint32_t entered = rti_letterbox_entered(rti_u64_load_acquire(&box->word));
    return rti_gate_waiting(rti_u32_load_relaxed(&box->ceiling), entered, limit);
}

/* Is there no room for one more, when this word was seen? */
static inline bool rti_letterbox_is_full_at(const struct rti_letterbox *box, uint64_t word)
{
    /* That there is none, said the other way round: a sign, and no comparison. */
    return rti_gate_room(rti_letterbox_entered(word), rti_u32_load_relaxed(&box->ceiling)) >= 0;
}

/* The ceiling at which there may be room enough for those who wait. `entered` is what the caller
 * has seen there, at any time in this turn: there are no fewer now, and so no more room than that
 * says. An open gate does not come so far. Receiver. */
static RTI_ALWAYSINLINE uint32_t rti_letterbox_stile(int32_t mark, uint32_t entered)
{
    return entered + (uint32_t)mark;
}

/* One letter less. May there be room enough now? Receiver. */
static RTI_ALWAYSINLINE bool rti_letterbox_leave_to(struct rti_letterbox *box, uint32_t stile)
{
    uint32_t ceiling = rti_u32_load_relaxed(&box->ceiling) + 2;
    rti_u32_store_relaxed(&box->ceiling, ceiling);
    return RTI_UNLIKELY(rti_gate_room(ceiling, stile) >= 0);
}

/* Is there room enough now for those who wait, if anybody does? The word, which others write, is
 * looked at. Receiver. */
static inline bool rti_letterbox_has_room(const struct rti_letterbox *box, int32_t mark,
                                          uint32_t *entered)
{
    uint32_t ceiling = rti_u32_load_relaxed(&box->ceiling);
    *entered = rti_letterbox_entered(rti_letterbox_look(box));
    return rti_gate_room(ceiling, *entered) >= mark;
}

/* One letter less, and both questions, the second if the first says so. Receiver. */
static RTI_ALWAYSINLINE bool rti_letterbox_leave(struct rti_letterbox *box, int32_t mark,
                                                 uint32_t *entered)
{
    return rti_letterbox_leave_to(box, rti_letterbox_stile(mark, *entered)) &&
           rti_letterbox_has_room(box, mark, entered);
}

/* Has anybody announced himself, whom the caller then has to release? After a leave. `is_solo`: in
 * a section in which nobody does (sched/solo.h), and there is no fence. Receiver. */
static inline bool rti_letterbox_is_awaited(const struct rti_letterbox *box, bool is_solo)
{
    if (!is_solo) {
        /* Between our word and our look; pairs with the fence in rti_letterbox_announce. */
        rti_fence_seqcst();
    }
    return (rti_letterbox_look(box) & RTI_LETTERBOX_ANNOUNCED) != 0;
}

/* The same of a box without a limit. */
static RTI_ALWAYSINLINE void rti_letterbox_leave_open(struct rti_letterbox *box)
{
    rti_u32_store_relaxed(&box->ceiling, rti_u32_load_relaxed(&box->ceiling) + 2);
}

/* Says that somebody is about to wait, under the lock of the list. True if there is reason to. */
static inline bool rti_letterbox_announce(struct rti_letterbox *box, int32_t mark)
{
    /* Acquire-release because there is no weaker one; the fence is what pairs. */
    (void)rti_u64_or_acqrel(&box->word, RTI_LETTERBOX_ANNOUNCED);
    /* Between our word and our look; pairs with the fence in rti_letterbox_is_awaited. */
    rti_fence_seqcst();
    uint32_t ceiling = rti_u32_load_relaxed(&box->ceiling);
    return rti_gate_room(ceiling, rti_letterbox_entered(rti_letterbox_look(box))) < mark;
}

/* Nobody waits any more, under the lock of the list. */
static inline void rti_letterbox_withdraw(struct rti_letterbox *box)
{
    /* Acquire-release because there is no weaker one; the lock is what pairs. */
    (void)rti_u64_and_acqrel(&box->word, ~RTI_LETTERBOX_ANNOUNCED);
}

/* Checks I1 and returns how many letters wait. Nobody is at work. */
size_t rti_letterbox_audit(const struct rti_letterbox *box, uintptr_t origin);

#endif
