/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "rng"
#include "base/rng.h"

#include "base/assert.h"

/* One step of splitmix64: a Weyl sequence whose every value is mixed by two multiplications. */
static uint64_t rng_spread(uint64_t *weyl)
{
    *weyl += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t word = *weyl;
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

void rti_rng_init(struct rti_rng *rng, uint64_t seed)
{
    /* The mixing is a bijection, so at most one of four successive words is zero: I1 holds. */
    for (size_t i = 0; i < RTI_COUNT_OF(rng->state); i++) {
        rng->state[i] = rng_spread(&seed);
    }
    rti_rng_audit(rng);
}

uint64_t rti_rng_below(struct rti_rng *rng, uint64_t n)
{
    RT_ASSERT(n > 0);
    RT_DCHECK((rng->state[0] | rng->state[1] | rng->state[2] | rng->state[3]) != 0);
    /* The smallest mask that covers n - 1; `| 1` only because the count of leading zeros of zero
     * is undefined. */
    uint64_t mask = UINT64_MAX >> __builtin_clzll((n - 1) | 1);
    uint64_t number;
    do {
        number = rti_rng_next(rng) & mask;
    } while (number >= n);
    return number;
}

bool rti_rng_chance(struct rti_rng *rng, uint32_t numerator, uint32_t denominator)
{
    RT_ASSERT(denominator > 0);
    RT_ASSERT(numerator <= denominator);
    return rti_rng_below(rng, denominator) < numerator;
}

void rti_rng_audit(const struct rti_rng *rng)
{
    RT_ASSERT((rng->state[0] | rng->state[1] | rng->state[2] | rng->state[3]) != 0);
}
