/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_HISTOGRAM_H
#define RTI_HISTOGRAM_H

/* A log-linear histogram of 64-bit values: nanoseconds, depths, bytes. Storage is fixed, recording
 * is constant time, and every value of the 64 bits has a bucket: nothing is out of range.
 *
 * With B = RTI_HISTOGRAM_BITS, values below 2^B have a bucket each. Above, each power of two is cut
 * into 2^B buckets of equal width; so a bucket that starts at v is at most v / 2^B wide.
 *
 * A percentile is answered with the largest value of its bucket, but at most the largest value
 * recorded. Hence it is never below the exact answer, and above it by less than 1 / 2^B of it:
 * 3.125 % with B = 5, exact below 64. Integers throughout: the same records give the same answers
 * everywhere.
 *
 * I1  `count` is the sum of all buckets.                                   (rti_histogram_audit)
 * I2  `max` lies in the highest bucket that is not empty; both 0 if none is.               (audit)
 *
 * A histogram has one writer at a time and no atomics: each worker has its own, a reader merges
 * copies. Costs with B = 5: 1,920 counters, 15 KiB; record about eight instructions.
 *
 * Rejected: powers of two only (an error of 100 %); keeping samples (unbounded, or a lottery);
 * floating-point logarithms (slow, and different from machine to machine). */

#include "base/compiler.h"

/* More bits, more precision: storage doubles with each. A microcontroller may build with fewer. */
#ifndef RTI_HISTOGRAM_BITS
#define RTI_HISTOGRAM_BITS 5
#endif

_Static_assert(RTI_HISTOGRAM_BITS >= 1 && RTI_HISTOGRAM_BITS <= 10, "a useful precision");

#define RTI_HISTOGRAM_BUCKETS ((size_t)(65 - RTI_HISTOGRAM_BITS) << RTI_HISTOGRAM_BITS)

/* The whole, for rti_histogram_percentile: 990000 is the 99th percentile, 500000 the median. */
#define RTI_HISTOGRAM_PPM UINT32_C(1000000)

struct rti_histogram {
    uint64_t count; /* values recorded */
    uint64_t max;   /* the largest of them, exactly */
    uint64_t buckets[RTI_HISTOGRAM_BUCKETS];
};

/* The bucket of a value. Values and buckets are in the same order. */
static inline size_t rti_histogram_bucket(uint64_t value)
{
    /* The position of the highest bit, but at least B: below 2^B all values share a shift of 0. */
    unsigned high = 63U - (unsigned)__builtin_clzll(value | (UINT64_C(1) << RTI_HISTOGRAM_BITS));
    unsigned shift = high - RTI_HISTOGRAM_BITS;
    return ((size_t)shift << RTI_HISTOGRAM_BITS) + (size_t)(value >> shift);
}

/* Makes an empty histogram. */
void rti_histogram_init(struct rti_histogram *histogram);

static inline void rti_histogram_record(struct rti_histogram *histogram, uint64_t value)
{
    histogram->buckets[rti_histogram_bucket(value)]++;
    histogram->count++;
    histogram->max = value > histogram->max ? value : histogram->max;
}

/* The value that at least `ppm` of a million of the recorded values do not exceed, within the error
 * above; 0 if nothing is recorded. 0 asks for the smallest value, RTI_HISTOGRAM_PPM for the
 * largest, which is exact. One step per bucket. */
uint64_t rti_histogram_percentile(const struct rti_histogram *histogram, uint32_t ppm);

/* Adds all that `from` has recorded to `to`; `from` is unchanged. One step per bucket. */
void rti_histogram_merge(struct rti_histogram *to, const struct rti_histogram *from);

/* Checks I1 and I2. */
void rti_histogram_audit(const struct rti_histogram *histogram);

#endif
