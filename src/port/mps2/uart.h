/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_MPS2_UART_H
#define RTI_MPS2_UART_H

/* A UART of the MPS2 boards (CMSDK): one byte of room each way. Sending waits until the byte before
 * has left; what comes in interrupts, and the handler takes it and posts it (rt_isr_post) to the
 * actor that reads. */

#include <stdbool.h>

#include "base/compiler.h"

struct rti_mps2_uart {
    uintptr_t base;        /* the registers: 0x40004000 and up */
    uint32_t rx_interrupt; /* of the first one 0 */
};

/* Turns both directions on. `divider`: the system's clock by the baud rate, at least 16. */
void rti_mps2_uart_start(const struct rti_mps2_uart *uart, uint32_t divider);
void rti_mps2_uart_stop(const struct rti_mps2_uart *uart);

/* Sends the bytes; busy until the last one is in the register. */
void rti_mps2_uart_write(const struct rti_mps2_uart *uart, const char *bytes, size_t length);

/* In the handler: the byte that has come; false if there is none. */
bool rti_mps2_uart_take(const struct rti_mps2_uart *uart, uint8_t *byte);

#endif
