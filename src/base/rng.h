/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_RNG_H
#define RTI_RNG_H

/* A seeded generator of pseudo-random numbers: the same seed gives the same stream on every
 * machine, compiler and word size, for ever. Simulation runs are named by their seed, so a change
 * of this stream would make every recorded failure unrepeatable; rng_test.c holds known outputs.
 *
 * The generator is xoshiro256** (Blackman and Vigna): 256 bits of state, period 2^256 - 1, all 64
 * output bits usable, four shifts and a rotation per number. The seed is spread over the state by
 * splitmix64, so that neighbouring seeds give unrelated streams. It predicts nothing hard: never
 * use it for secrets.
 *
 * A generator belongs to one thread; nothing here is atomic. Seeds come from the port or from the
 * user, never from this module.
 *
 * I1  The state is not all zero: zero is the one state that never leaves itself.  (rti_rng_audit)
 *
 * Rejected: a remainder instead of rejection in `below` (biased for large n); the multiply-shift
 * method (wants 128-bit products, which 32-bit targets lack); a remainder with a rejection zone
 * (two 64-bit divisions, about 200 instructions on a Cortex-M3). Masking and drawing again needs
 * less than two draws on average and no division. */

#include <stdbool.h>

#include "base/compiler.h"

struct rti_rng {
    uint64_t state[4];
};

/* Starts the stream that `seed` names; every seed is good, 0 included. */
void rti_rng_init(struct rti_rng *rng, uint64_t seed);

static inline uint64_t rti_rng_rotate(uint64_t word, unsigned bits)
{
    return (word << bits) | (word >> (64 - bits));
}

/* The next number of the stream, uniform over all 64 bits. */
static inline uint64_t rti_rng_next(struct rti_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t number = rti_rng_rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rti_rng_rotate(s[3], 45);
    return number;
}

/* A number in 0 .. n - 1, each equally likely. `n` is at least 1. Draws one or more numbers from
 * the stream, less than two on average; how many depends on the stream and on `n` only. */
uint64_t rti_rng_below(struct rti_rng *rng, uint64_t n);

/* True with probability numerator / denominator; draws from the stream even when the answer is
 * certain. `denominator` is at least 1 and `numerator` at most `denominator`. */
bool rti_rng_chance(struct rti_rng *rng, uint32_t numerator, uint32_t denominator);

/* Checks I1. */
void rti_rng_audit(const struct rti_rng *rng);

#endif
