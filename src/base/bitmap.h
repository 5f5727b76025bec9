/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_BITMAP_H
#define RTI_BITMAP_H

/* A bitmap of fixed size over words of the machine that the caller declares:
 *
 *     rti_bitmap_word slots[RTI_BITMAP_WORDS(256)];
 *     rti_bitmap_clear_all(slots, 256);
 *
 * Every search takes one step per word, not per bit. All functions are inline and take the number
 * of bits as a parameter, so that a constant size (the 256 slots of a wheel level: four words)
 * unrolls. A bitmap belongs to one thread.
 *
 * I1  Bits at and beyond `bits` in the last word are zero, so that a search needs no mask at the
 *     end.                                                                  (rti_bitmap_audit)
 *
 * Costs: set, clear, test constant; searches and count a step per word. */

#include <stdbool.h>

#include "base/assert.h"

typedef uintptr_t rti_bitmap_word;

#define RTI_BITMAP_WORD_BITS   (sizeof(rti_bitmap_word) * 8)
#define RTI_BITMAP_WORDS(bits) (((size_t)(bits) + RTI_BITMAP_WORD_BITS - 1) / RTI_BITMAP_WORD_BITS)

/* What a search returns when no bit is set. */
#define RTI_BITMAP_NONE SIZE_MAX

static inline void rti_bitmap_clear_all(rti_bitmap_word *words, size_t bits)
{
    for (size_t i = 0; i < RTI_BITMAP_WORDS(bits); i++) {
        words[i] = 0;
    }
}

static inline void rti_bitmap_set(rti_bitmap_word *words, size_t bits, size_t bit)
{
    RT_DCHECK(bit < bits);
    (void)bits;
    words[bit / RTI_BITMAP_WORD_BITS] |= (rti_bitmap_word)1 << (bit % RTI_BITMAP_WORD_BITS);
}

static inline void rti_bitmap_clear(rti_bitmap_word *words, size_t bits, size_t bit)
{
    RT_DCHECK(bit < bits);
    (void)bits;
    words[bit / RTI_BITMAP_WORD_BITS] &= ~((rti_bitmap_word)1 << (bit % RTI_BITMAP_WORD_BITS));
}

static inline bool rti_bitmap_test(const rti_bitmap_word *words, size_t bits, size_t bit)
{
    RT_DCHECK(bit < bits);
    (void)bits;
    return (words[bit / RTI_BITMAP_WORD_BITS] >> (bit % RTI_BITMAP_WORD_BITS)) & 1;
}

/* The first set bit at or after `from`, or RTI_BITMAP_NONE. `from` may equal `bits`. */
static inline size_t rti_bitmap_find_from(const rti_bitmap_word *words, size_t bits, size_t from)
{
    RT_DCHECK(from <= bits);
    size_t at = from / RTI_BITMAP_WORD_BITS;
    if (at >= RTI_BITMAP_WORDS(bits)) {
        return RTI_BITMAP_NONE;
    }
    rti_bitmap_word word = words[at] & ((rti_bitmap_word)-1 << (from % RTI_BITMAP_WORD_BITS));
    while (word == 0) {
        if (++at == RTI_BITMAP_WORDS(bits)) {
            return RTI_BITMAP_NONE;
        }
        word = words[at];
    }
    return at * RTI_BITMAP_WORD_BITS + (size_t)(sizeof(word) == sizeof(unsigned)
                                                    ? __builtin_ctz((unsigned)word)
                                                    : __builtin_ctzll(word));
}

/* The lowest set bit, or RTI_BITMAP_NONE. */
static inline size_t rti_bitmap_find_first(const rti_bitmap_word *words, size_t bits)
{
    return rti_bitmap_find_from(words, bits, 0);
}

/* The first set bit at or after `from`, going on at bit 0 after the last; RTI_BITMAP_NONE only if
 * no bit is set. `from` is below `bits`. */
static inline size_t rti_bitmap_find_cyclic(const rti_bitmap_word *words, size_t bits, size_t from)
{
    RT_DCHECK(from < bits);
    size_t bit = rti_bitmap_find_from(words, bits, from);
    return bit != RTI_BITMAP_NONE ? bit : rti_bitmap_find_from(words, bits, 0);
}

/* The number of set bits. */
static inline size_t rti_bitmap_count(const rti_bitmap_word *words, size_t bits)
{
    size_t count = 0;
    for (size_t i = 0; i < RTI_BITMAP_WORDS(bits); i++) {
        count += (size_t)__builtin_popcountll(words[i]);
    }
    return count;
}

/* Checks I1. */
static inline void rti_bitmap_audit(const rti_bitmap_word *words, size_t bits)
{
    if (bits % RTI_BITMAP_WORD_BITS != 0) {
        RT_ASSERT(words[bits / RTI_BITMAP_WORD_BITS] >> (bits % RTI_BITMAP_WORD_BITS) == 0);
    }
}

#endif
