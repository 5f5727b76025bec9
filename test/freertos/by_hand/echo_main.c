/* SPDX-License-Identifier: Apache-2.0 */
/* The echo server of test/cortex_m/net/echo_board.c as a task of a real FreeRTOS kernel; its other
 * side is the same echo_client.py. */
#include <FreeRTOS.h>
#include <string.h>
#include <task.h>

#include "port/cortex_m/board.h"
#include "port/lwip/lwip_lan9118.h"

int echo_main(void);

static void die(const char *text)
{
    rti_board_write(text, strlen(text));
    rti_board_exit(1);
}

void freertos_try_failed(const char *file, int line)
{
    (void)file;
    (void)line;
    die("freertos_echo: an assertion of the kernel failed\n");
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    (void)name;
    die("freertos_echo: the kernel saw an overflow\n");
}

void vApplicationTickHook(void)
{
}

static void runtime_task(void *arg)
{
    (void)arg;
    rti_board_exit(echo_main());
}

int main(void)
{
    static StaticTask_t memory;
    static StackType_t stack[2048];
    /* An interrupt that calls the kernel may not be more urgent than the kernel allows. */
    *(volatile uint8_t *)(0xE000E400u + rti_board_ethernet.interrupt) =
        configKERNEL_INTERRUPT_PRIORITY;
    (void)xTaskCreateStatic(runtime_task, "runtime", 2048, NULL, 2, stack, &memory);
    vTaskStartScheduler();
    return 1;
}
