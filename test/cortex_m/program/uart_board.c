/* SPDX-License-Identifier: Apache-2.0 */
/* An actor that reads the UART: bytes come by its interrupt as messages, whole lines go back. The
 * line `end` ends the program. test/cortex_m/uart_test.sh is the other side. */
#include <string.h>

#include <orrery/rt.h>

#include "port/mps2/uart.h"

static const struct rti_mps2_uart uart = {0x40004000u, 0};

static rt_isr source;
static uint8_t bytes[1024]; /* all that is sent: how soon the actor comes to it is not tried here */
static uint32_t lost;

void Interrupt_Handler(void);

void Interrupt_Handler(void)
{
    uint8_t byte;
    while (rti_mps2_uart_take(&uart, &byte)) {
        lost += rt_isr_post(&source, &byte) ? 0 : 1;
    }
}

static void reader(void *arg)
{
    char line[80];
    size_t length = 0;
    (void)arg;
    if (RT_FAILED(rt_isr_open(&source, rt_self(), bytes, 1, sizeof(bytes)))) {
        return;
    }
    rti_mps2_uart_start(&uart, 16);
    for (;;) {
        rt_message msg;
        if (RT_FAILED(rt_ipc_recv(&msg, -1))) {
            return;
        }
        line[length++] = *(const char *)msg.data;
        if (line[length - 1] != '\n' && length < sizeof(line)) {
            continue;
        }
        rti_mps2_uart_write(&uart, line, length);
        if (length == 4 && memcmp(line, "end\n", 4) == 0) {
            rti_mps2_uart_stop(&uart);
            rt_exit();
        }
        length = 0;
    }
}

int main(void)
{
    if (RT_FAILED(rt_init()) || rt_spawn(reader, NULL) == ACTOR_ID_INVALID) {
        return 1;
    }
    rt_run();
    rt_cleanup();
    return lost == 0 ? 0 : 2;
}
