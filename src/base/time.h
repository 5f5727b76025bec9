/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_TIME_H
#define RTI_TIME_H

/* Time inside the library: nanoseconds of a monotonic clock since an arbitrary start, as uint64_t.
 * It does not wrap within 580 years. */

#include <stdint.h>

#define RTI_NS_PER_US UINT64_C(1000)
#define RTI_NS_PER_MS UINT64_C(1000000)
#define RTI_NS_PER_S  UINT64_C(1000000000)

/* No point in time: later than every clock reading. */
#define RTI_TIME_NEVER UINT64_MAX

#endif
