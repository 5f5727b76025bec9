/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime as one task of FreeRTOS, over the port of port/freertos/. The guards of the stacks,
 * the current worker and the last words are those of the bare Cortex-M. */
#define RTI_MODULE "host"
#include "port/cortex_m/board.h"
#include "port/freertos/port_freertos.h"
#include "runtime/cortex_m/guard.h"
#include "runtime/runtime.h"

#pragma weak rti_part_bus
#pragma weak rti_part_channel
#pragma weak rti_part_task

static struct rti_port_freertos freertos_port;

const struct rti_runtime_part *const rti_host_parts[RTI_HOST_PARTS_MAX] = {
    &rti_part_channel,
    &rti_part_bus,
    &rti_part_task,
};

rt_status rti_host_open(struct rti_port **port, const rt_config *config)
{
    RT_ASSERT(config == NULL);
    rti_port_freertos_init(&freertos_port, rti_board_seed());
    *port = &freertos_port.port;
    rti_guard_start();
    return RT_SUCCESS;
}

void rti_host_close(void)
{
    rti_guard_stop();
    rti_port_freertos_deinit(&freertos_port);
}

void rti_host_nap(rti_atomic_u32 *word, uint32_t expected)
{
    (void)word;
    (void)expected;
    vTaskDelay(1);
}

struct rti_journal *rti_host_journal(void)
{
    return NULL;
}

void rti_host_watch_deadlocks(rt_time after)
{
    (void)after;
}

void rti_host_forget_deadlocks(void)
{
}

struct rti_port *rti_host_outside(void)
{
    return NULL;
}

struct rti_port *rti_host_machine(void)
{
    /* Simulated programs overflow their stacks too. The guard of the main stack is none, so it may
     * stay on. */
    rti_guard_start();
    return NULL;
}
