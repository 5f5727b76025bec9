/* SPDX-License-Identifier: Apache-2.0 */
/* Ports for loops of machines that run in threads of their own; the manual is <orrery/rt/loop.h>.
 */
#define RTI_MODULE "loop_port"
#include <orrery/rt/loop.h>

#include "port/linux/port_linux.h"

_Static_assert(sizeof(struct rti_port_linux) <= sizeof(rt_loop_port), "the port fits its storage");
_Static_assert(sizeof(struct rti_fd) == sizeof(rt_loop_fd), "a descriptor fits its storage");

static struct rti_port_linux *port_inside(rt_loop_port *port)
{
    return (struct rti_port_linux *)port->opaque;
}

rt_status rt_loop_port_init(rt_loop_port *port, const rt_loop_port_config *config)
{
    struct rti_port_linux_config inside = {.pool_threads = 0};
    if (port == NULL) {
        return (rt_status){RT_ERR_INVALID, "the port must be given"};
    }
    if (config != NULL) {
        inside.pool_threads = config->pool_threads;
        inside.fds = (struct rti_fd *)config->fds;
        inside.fds_count = config->fds_count;
    }
    return rti_port_linux_init(port_inside(port), &inside);
}

void rt_loop_port_deinit(rt_loop_port *port)
{
    RT_ASSERT(port != NULL);
    rti_port_linux_deinit(port_inside(port));
}

struct rti_port *rt_loop_port_of(rt_loop_port *port)
{
    RT_ASSERT(port != NULL);
    return &port_inside(port)->port;
}
