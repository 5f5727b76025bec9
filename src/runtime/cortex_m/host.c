/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime on a bare Cortex-M, over the port of port/cortex_m/.
 *
 * A part is in the program if its file is linked: the references are weak, so that a program pays
 * only for the parts that it names to the linker (-u rti_part_bus, -u rti_part_channel, -u
 * rti_part_task, -u rti_part_async, -u rti_part_supervisor, -u rti_part_io). The network is the
 * board's, and there if the board's file for it is linked (-u rti_board_network_open). */
#define RTI_MODULE "host"
#include "port/cortex_m/board.h"
#include "port/cortex_m/port_cortex_m.h"
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
#pragma weak rti_port_cortex_m_attach

static struct rti_port_cortex_m cortex_m_port;

const struct rti_runtime_part *const rti_host_parts[RTI_HOST_PARTS_MAX] = {
    &rti_part_io,    &rti_part_channel,   &rti_part_bus,        &rti_part_task,
    &rti_part_async, &rti_part_behaviour, &rti_part_supervisor,
};

/* Ends all but the network. */
static void host_close(void)
{
    rti_guard_stop();
    rti_port_cortex_m_deinit(&cortex_m_port);
}

rt_status rti_host_open(struct rti_port **port, const rt_config *config)
{
    RT_ASSERT(config == NULL);
    rti_port_cortex_m_init(&cortex_m_port, rti_board_seed());
    *port = &cortex_m_port.port;
    rti_guard_start();
    if (rti_board_network_open == NULL) {
        return RT_SUCCESS;
    }
    /* -u rti_port_cortex_m_attach goes with the network. */
    RT_ASSERT(rti_port_cortex_m_attach != NULL);
    struct rti_device *device;
    rt_status status = rti_board_network_open(*port, &device);
    if (RT_FAILED(status)) {
        host_close();
        return status;
    }
    rti_port_cortex_m_attach(&cortex_m_port, device);
    return status;
}

void rti_host_close(void)
{
    if (cortex_m_port.device != NULL) {
        rti_board_network_close();
    }
    host_close();
}

void rti_host_nap(rti_atomic_u32 *word, uint32_t expected)
{
    /* A handler that visits is over before thread mode goes on. */
    (void)word;
    (void)expected;
    rti_panic(RTI_MODULE, __LINE__, "a handler stopped in the middle of rt_shutdown");
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

void SysTick_Handler(void);

void SysTick_Handler(void)
{
    uint32_t mask = rti_irq_mask();
    rti_systick_expired(&cortex_m_port.systick);
    rti_irq_restore(mask);
}
