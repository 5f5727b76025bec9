/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SPSC_H
#define RTI_SPSC_H

/* What the rest of the library may ask of an rt_spsc_queue beyond its public functions. */

#include <orrery/rt/spsc.h>

/* Checks I1 and I2 of spsc.c and returns the number of entries. Callable by the producer, for whom
 * the number is the most there can be, or the consumer, for whom it is the least. */
size_t rti_spsc_audit(const rt_spsc_queue *q);

#endif
