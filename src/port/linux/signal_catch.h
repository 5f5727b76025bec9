/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SIGNAL_CATCH_H
#define RTI_SIGNAL_CATCH_H

/* Signals on Linux: who is told of them, and what they did before. One owner of a number in the
 * process, so one table; the caller sees to it that a number is caught and released in turns. */

#include "port/port.h"

/* The bodies of the seam. */
rt_status rti_linux_signal_catch(struct rti_port *port, int number, void (*caught)(int number));
void rti_linux_signal_release(struct rti_port *port, int number);
rt_status rti_linux_signal_raise(struct rti_port *port, int number);

/* In the child of a fork: every signal does again what it did before. */
void rti_linux_signal_release_all(void);

#endif
