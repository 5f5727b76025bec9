/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_WHEEL_API_H
#define RTI_WHEEL_API_H

/* What tests need of the public wheel and programs do not. */

#include <orrery/rt/wheel.h>

struct rti_wheel;

/* The wheel under the public one, to look at. */
const struct rti_wheel *rti_wheel_api_core(const rt_wheel *wheel);

/* Lets the next registration have this generation, which is not 0: to come near its wrap, or near
 * that of the id, which is the generation moved up by the bits of an index. Only while the wheel is
 * empty. */
void rti_wheel_api_start_at(rt_wheel *wheel, uint64_t generation);

/* Checks the invariants of wheel_api.c and of the wheel under it; returns the number of timers. */
size_t rti_wheel_api_audit(rt_wheel *wheel);

#endif
