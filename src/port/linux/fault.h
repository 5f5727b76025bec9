/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LINUX_FAULT_H
#define RTI_LINUX_FAULT_H

/* The Linux body of faults: handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL on an alternate stack.
 * The essay is in fault.c. */

#include "port/fault.h"
#include "port/port.h"

rt_status rti_linux_faults_open(struct rti_port *port, const struct rti_fault_policy *policy);
void rti_linux_faults_attend(struct rti_port *port, void *stack, size_t size);
void rti_linux_faults_close(struct rti_port *port);

#endif
