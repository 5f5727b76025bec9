/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LINUX_CPUS_H
#define RTI_LINUX_CPUS_H

/* How many processors this process may use: those of its affinity mask, but no more than the quota
 * of its control groups pays for, rounded up. At least 1. */

#include <stdbool.h>
#include <stdint.h>

uint32_t rti_linux_cpus(void);

/* The processors that a quota of `quota` in `period` pays for, rounded up; UINT32_MAX if either is
 * 0: no limit. */
uint32_t rti_linux_cpus_of_quota(uint64_t quota, uint64_t period);

/* Reads the two numbers of a version 2 cpu.max: "200000 100000" or "max 100000". False if it is not
 * one; *quota 0: no limit. */
bool rti_linux_cpus_parse_max(const char *text, uint64_t *quota, uint64_t *period);

#endif
