/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_HASH_H
#define RTI_HASH_H

/* A running digest: 64 bits that stand for a sequence of 64-bit words. Trace hashes are made with
 * it, so equal traces must give equal digests on every machine and in every build: it takes
 * numbers, never bytes in memory, and never an address.
 *
 *     uint64_t digest = rti_digest_init(seed);
 *     digest = rti_digest_mix(digest, event);
 *     print(rti_digest_final(digest));
 *
 * Both the way a word enters and the step that follows are bijections (odd multiplications, xor
 * with a shifted copy, rotation, addition). Hence two sequences of the same length that differ in
 * one word always differ in their digest; other differences collide with a chance near 2^-64. The
 * added constant makes a word of zero count, so sequences of different length differ too.
 *
 * It detects accidents, not attacks. Cost: two multiplications per word. The state is one number
 * and every value of it is valid, so there is nothing to audit; hash_test.c holds known values.
 *
 * Rejected: FNV-1a over bytes (eight times the steps); CRC (linear: planted pairs of changes cancel
 * out). */

#include "base/compiler.h"

/* The digest of the empty sequence; different seeds give unrelated digests. */
static inline uint64_t rti_digest_init(uint64_t seed)
{
    return (seed ^ UINT64_C(0x6f72726572792e31)) * UINT64_C(0x9e3779b97f4a7c15);
}

/* The digest of the sequence so far with `word` added at its end. */
static inline uint64_t rti_digest_mix(uint64_t digest, uint64_t word)
{
    word *= UINT64_C(0xd6e8feb86659fd93);
    word ^= word >> 32;
    digest ^= word;
    digest = (digest << 29) | (digest >> 35);
    return digest * UINT64_C(0xa0761d6478bd642f) + UINT64_C(0x589965cc75374cc3);
}

/* The value to show and to compare: every bit of it depends on every bit of the running digest. */
static inline uint64_t rti_digest_final(uint64_t digest)
{
    digest ^= digest >> 31;
    digest *= UINT64_C(0x7fb5d329728ea185);
    digest ^= digest >> 27;
    digest *= UINT64_C(0x81dadef4bc2dd44d);
    return digest ^ (digest >> 33);
}

#endif
