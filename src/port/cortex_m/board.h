/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_CORTEX_M_BOARD_H
#define RTI_CORTEX_M_BOARD_H

/* What the port asks of the board. semihost.c answers for an emulator or a debugger; an application
 * gives its own file instead. Each may be called in a fault handler: no interrupts, little stack.
 */

#include <orrery/rt/status.h>

#include "base/compiler.h"

/* Writes text for people. */
void rti_board_write(const char *text, size_t length);

/* Ends the program: an emulator stops with this status, a product resets. */
_Noreturn void rti_board_exit(int status);

/* What randomness grows from. */
uint64_t rti_board_seed(void);

/* The network of the board, if the program has one: both are there or neither is. Called by rt_init
 * and rt_cleanup, not in a fault. lwip/lwip_lan9118.c answers for the MPS2 boards. */
struct rti_device;
struct rti_port;
rt_status rti_board_network_open(struct rti_port *port, struct rti_device **device);
void rti_board_network_close(void);

#endif
