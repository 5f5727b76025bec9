/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LINUX_INTERRUPT_H
#define RTI_LINUX_INTERRUPT_H

/* The Linux body of interrupts. The essay is in interrupt.c. */

#include "port/port.h"

rt_status rti_linux_interrupts_open(struct rti_port *port,
                                    void (*handler)(const struct rti_frame *frame));
void rti_linux_interrupts_close(struct rti_port *port);
uintptr_t rti_linux_interrupts_attend(struct rti_port *port);
void rti_linux_interrupt(struct rti_port *port, uintptr_t thread);

#endif
