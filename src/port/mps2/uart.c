/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "mps2_uart"
#include "port/mps2/uart.h"

#include "base/assert.h"
#include "port/cortex_m/core.h"

#define UART_DATA(uart)    RTI_REGISTER((uart)->base)
#define UART_STATE(uart)   RTI_REGISTER((uart)->base + 0x4u)
#define UART_CTRL(uart)    RTI_REGISTER((uart)->base + 0x8u)
#define UART_CLEAR(uart)   RTI_REGISTER((uart)->base + 0xCu)
#define UART_DIVIDER(uart) RTI_REGISTER((uart)->base + 0x10u)

#define STATE_TX_FULL 0x1u
#define STATE_RX_FULL 0x2u
#define CTRL_TX       0x1u
#define CTRL_RX       0x2u
#define CTRL_RX_INT   0x8u
#define CLEAR_RX      0x2u

void rti_mps2_uart_start(const struct rti_mps2_uart *uart, uint32_t divider)
{
    RT_ASSERT(divider >= 16);
    UART_DIVIDER(uart) = divider;
    UART_CTRL(uart) = CTRL_TX | CTRL_RX | CTRL_RX_INT;
    RTI_NVIC_ISER(uart->rx_interrupt) = RTI_NVIC_BIT(uart->rx_interrupt);
}

void rti_mps2_uart_stop(const struct rti_mps2_uart *uart)
{
    UART_CTRL(uart) = 0;
}

void rti_mps2_uart_write(const struct rti_mps2_uart *uart, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        while ((UART_STATE(uart) & STATE_TX_FULL) != 0) {
        }
        UART_DATA(uart) = (uint8_t)bytes[i];
    }
}

bool rti_mps2_uart_take(const struct rti_mps2_uart *uart, uint8_t *byte)
{
    /* Forgotten before the look: what comes after it interrupts anew. */
    UART_CLEAR(uart) = CLEAR_RX;
    if ((UART_STATE(uart) & STATE_RX_FULL) == 0) {
        return false;
    }
    *byte = (uint8_t)UART_DATA(uart);
    return true;
}
