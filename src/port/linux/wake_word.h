/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_WAKE_WORD_H
#define RTI_WAKE_WORD_H

/* The protocol between one sleeper and any number of wakers, in one word.
 *
 *     AWAKE     the sleeper runs, nobody has called
 *     ASLEEP    the sleeper has announced that it blocks, nobody has called since
 *     CALLED    somebody has called since the sleeper last answered
 *
 *     AWAKE  -> ASLEEP   announce, by the sleeper    AWAKE, ASLEEP -> CALLED   call, by any thread
 *     CALLED -> AWAKE    answer, by the sleeper      ASLEEP -> AWAKE           answer, uncalled
 *
 * Only the call that finds ASLEEP has to ring the bell (a system call); all others cost one
 * exchange. The bell is what ends the block: an eventfd, a futex.
 *
 * No call is lost. Every change is a read-modify-write of one word, so they have one order. A call
 * before the announcement makes the announcement fail: the sleeper does not block. A call after it
 * finds ASLEEP, or finds CALLED and then an earlier call has found ASLEEP: the bell is rung, before
 * or after the sleeper blocks, and a bell that was rung stays rung until it is heard. There is no
 * store followed by a load of another word, hence no fence.
 *
 * The bell may be rung late, when the sleeper has answered already for another reason: one spurious
 * end of a later block, at most one per call that found ASLEEP.
 *
 * I1  The sleeper blocks only between a successful announce and the answer.   (RT_ASSERT, answer)
 *
 * What a waker wrote before its call, the sleeper sees after the answer or the failed announcement
 * that found it: call's exchange releases, answer's exchange and announce's compare acquire. */

#include "base/assert.h"
#include "base/atomic.h"

#define RTI_WAKE_AWAKE  0U
#define RTI_WAKE_ASLEEP 1U
#define RTI_WAKE_CALLED 2U

struct rti_wake_word {
    rti_atomic_u32 word;
};

static inline void rti_wake_word_init(struct rti_wake_word *wake)
{
    rti_u32_init(&wake->word, RTI_WAKE_AWAKE);
}

/* Any thread, signal handler. True: the caller must ring the bell. */
static inline bool rti_wake_word_call(struct rti_wake_word *wake)
{
    /* Releases what the waker wrote; pairs with the acquire in announce and in answer. */
    return rti_u32_exchange_acqrel(&wake->word, RTI_WAKE_CALLED) == RTI_WAKE_ASLEEP;
}

/* The sleeper, before it blocks. False: somebody has called, do not block, answer. */
static inline bool rti_wake_word_announce(struct rti_wake_word *wake)
{
    uint32_t seen = RTI_WAKE_AWAKE;
    /* On failure acquires what the caller released in call. */
    return rti_u32_cas_acqrel(&wake->word, &seen, RTI_WAKE_ASLEEP);
}

/* The sleeper, when it does not block or no longer does. True: somebody has called. */
static inline bool rti_wake_word_answer(struct rti_wake_word *wake)
{
    /* Acquires what the caller released in call. */
    uint32_t old = rti_u32_exchange_acqrel(&wake->word, RTI_WAKE_AWAKE);
    RT_ASSERT(old <= RTI_WAKE_CALLED);
    return old == RTI_WAKE_CALLED;
}

#endif
