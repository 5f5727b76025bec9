/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime as one task of FreeRTOS, over the port of port/freertos/. The guards of the stacks,
 * the current worker and the last words are those of the bare Cortex-M.
 *
 * Parts, the network and files are in the program if they are named to the linker, as there: -u
 * rti_part_io with -u rti_board_network_open and -u rti_port_freertos_attach for sockets, with -u
 * rti_storage_file for files. */
#define RTI_MODULE "host"
#include "port/cortex_m/board.h"
#include "port/freertos/port_freertos.h"
#include "port/storage/storage.h"
#include "runtime/cortex_m/guard.h"
#include "runtime/runtime.h"

#pragma weak rti_part_bus
#pragma weak rti_part_channel
#pragma weak rti_part_task
#pragma weak rti_part_async
#pragma weak rti_part_behaviour
#pragma weak rti_part_io
#pragma weak rti_part_supervisor
#pragma weak rti_board_network_open
#pragma weak rti_board_network_close
#pragma weak rti_port_freertos_attach
#pragma weak rti_port_freertos_detach
#pragma weak rti_storage_file

static struct rti_port_freertos freertos_port;
static struct rti_freertos_net freertos_net;

const struct rti_runtime_part *const rti_host_parts[RTI_HOST_PARTS_MAX] = {
    &rti_part_io,    &rti_part_channel,   &rti_part_bus,        &rti_part_task,
    &rti_part_async, &rti_part_behaviour, &rti_part_supervisor,
};

rt_status rti_host_open(struct rti_port **port, const rt_config *config)
{
    RT_ASSERT(config == NULL);
    rti_port_freertos_init(&freertos_port, rti_board_seed());
    *port = &freertos_port.port;
    rti_guard_start();
    if (&rti_storage_file != NULL) {
        freertos_port.port.file = &rti_storage_file;
    }
    if (rti_board_network_open == NULL) {
        return RT_SUCCESS;
    }
    RT_ASSERT(rti_port_freertos_attach != NULL);
    rt_status status =
        rti_port_freertos_attach(&freertos_port, &freertos_net, rti_board_network_open);
    if (RT_FAILED(status)) {
        rti_guard_stop();
        rti_port_freertos_deinit(&freertos_port);
    }
    return status;
}

void rti_host_close(void)
{
    rti_guard_stop();
    if (freertos_port.net != NULL) {
        rti_port_freertos_detach(&freertos_port, rti_board_network_close);
    }
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
