/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_TIME_H
#define ORRERY_RT_TIME_H

#include <stdint.h>

/* A point in time or a duration: nanoseconds of a monotonic clock since an arbitrary start. */
typedef uint64_t rt_time;

/* Later than every clock reading. */
#define RT_TIME_NEVER UINT64_MAX

#define RT_NS_PER_US UINT64_C(1000)
#define RT_NS_PER_MS UINT64_C(1000000)
#define RT_NS_PER_S  UINT64_C(1000000000)

#endif
