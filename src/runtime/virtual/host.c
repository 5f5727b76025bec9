/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime on virtual threads: every part, over the port of port/virtual/. In the place of
 * runtime/linux/host.c; the program has opened the world before it calls rt_init_ex. */
#define RTI_MODULE "host"
#include "port/virtual/virtual.h"
#include "runtime/runtime.h"

/* How long stop sleeps between two looks at visitors that are still there. */
#define NAP_NS UINT64_C(1000000)

static struct rti_port *virtual_port;

const struct rti_runtime_part *const rti_host_parts[RTI_HOST_PARTS_MAX] = {
    &rti_part_io,    &rti_part_channel,   &rti_part_bus,        &rti_part_task,
    &rti_part_async, &rti_part_behaviour, &rti_part_supervisor, &rti_part_observe,
};

rt_status rti_host_open(struct rti_port **port, const rt_config *config)
{
    (void)config;
    virtual_port = rti_virtual_port_open(rti_virtual_draw(UINT32_MAX));
    *port = virtual_port;
    return RT_SUCCESS;
}

void rti_host_close(void)
{
    rti_virtual_port_close();
}

void rti_host_nap(rti_atomic_u32 *word, uint32_t expected)
{
    const struct rti_port_ops *ops = virtual_port->ops;
    (void)ops->futex_wait(virtual_port, word, expected, ops->clock_ns(virtual_port) + NAP_NS);
}

void rti_host_watch_deadlocks(rt_time after)
{
    (void)after; /* what is told depends on no schedule */
}

void rti_host_forget_deadlocks(void)
{
}

/* Nobody blocks there but on virtual threads. */
struct rti_port *rti_host_outside(void)
{
    return NULL;
}

struct rti_port *rti_host_machine(void)
{
    return NULL;
}
