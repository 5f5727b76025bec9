/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "histogram"
#include "base/histogram.h"

#include "base/assert.h"

/* The largest value of a bucket: one below the smallest of the next. */
static uint64_t histogram_bucket_max(size_t bucket)
{
    size_t group = bucket >> RTI_HISTOGRAM_BITS;
    if (group <= 1) {
        return bucket;
    }
    /* Undoes rti_histogram_bucket: group is shift + 1, and the low bits carry the leading one. */
    unsigned shift = (unsigned)group - 1;
    uint64_t mantissa = bucket - ((size_t)shift << RTI_HISTOGRAM_BITS);
    return (mantissa << shift) + ((UINT64_C(1) << shift) - 1);
}

void rti_histogram_init(struct rti_histogram *histogram)
{
    histogram->count = 0;
    histogram->max = 0;
    for (size_t i = 0; i < RTI_HISTOGRAM_BUCKETS; i++) {
        histogram->buckets[i] = 0;
    }
}

/* How many values the percentile covers: ppm of count, rounded up, without overflow. */
static uint64_t histogram_rank(uint64_t count, uint32_t ppm)
{
    uint64_t rest = count % RTI_HISTOGRAM_PPM * ppm;
    uint64_t rank = count / RTI_HISTOGRAM_PPM * ppm;
    rank += (rest + RTI_HISTOGRAM_PPM - 1) / RTI_HISTOGRAM_PPM;
    RT_ASSERT(rank <= count);
    return rank > 0 ? rank : 1;
}

uint64_t rti_histogram_percentile(const struct rti_histogram *histogram, uint32_t ppm)
{
    RT_ASSERT(ppm <= RTI_HISTOGRAM_PPM);
    if (histogram->count == 0) {
        return 0;
    }
    uint64_t left = histogram_rank(histogram->count, ppm);
    size_t bucket = 0;
    while (histogram->buckets[bucket] < left) {
        left -= histogram->buckets[bucket];
        bucket++;
        RT_ASSERT(bucket < RTI_HISTOGRAM_BUCKETS);
    }
    uint64_t value = histogram_bucket_max(bucket);
    return value < histogram->max ? value : histogram->max;
}

void rti_histogram_merge(struct rti_histogram *to, const struct rti_histogram *from)
{
    RT_ASSERT(to != from);
    RT_ASSERT(to->count <= UINT64_MAX - from->count);
    for (size_t i = 0; i < RTI_HISTOGRAM_BUCKETS; i++) {
        to->buckets[i] += from->buckets[i];
    }
    to->count += from->count;
    to->max = from->max > to->max ? from->max : to->max;
    RT_AUDIT(rti_histogram_audit(to));
}

void rti_histogram_audit(const struct rti_histogram *histogram)
{
    uint64_t count = 0;
    size_t highest = 0;
    for (size_t i = 0; i < RTI_HISTOGRAM_BUCKETS; i++) {
        count += histogram->buckets[i];
        highest = histogram->buckets[i] > 0 ? i : highest;
    }
    RT_ASSERT(count == histogram->count);
    RT_ASSERT(rti_histogram_bucket(histogram->max) == highest);
}
