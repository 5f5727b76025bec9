/* SPDX-License-Identifier: Apache-2.0 */
/* Ports for loops that run in threads of their own; the manual is <orrery/rt/loop.h>. There are no
 * threads on a bare Cortex-M, and the one clock is the runtime's: loops are hosted there. */
#define RTI_MODULE "loop_port"
#include <orrery/rt/loop.h>

rt_status rt_loop_port_init(rt_loop_port *port, const rt_loop_port_config *config)
{
    (void)config;
    if (port == NULL) {
        return (rt_status){RT_ERR_INVALID, "the port must be given"};
    }
    return (rt_status){RT_ERR_UNSUPPORTED, "there are no threads: rt_loop_host"};
}

void rt_loop_port_deinit(rt_loop_port *port)
{
    (void)port;
}

struct rti_port *rt_loop_port_of(rt_loop_port *port)
{
    (void)port;
    return NULL;
}
