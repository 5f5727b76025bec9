/* SPDX-License-Identifier: Apache-2.0 */
/* The other machine, for support that can use it and is never asked to here. */
#include "port/linux/port_linux.h"

rt_status rti_port_linux_init(struct rti_port_linux *linux_port,
                              const struct rti_port_linux_config *config)
{
    (void)linux_port;
    (void)config;
    return (rt_status){RT_ERR_UNSUPPORTED, "this is no Linux"};
}

void rti_port_linux_deinit(struct rti_port_linux *linux_port)
{
    (void)linux_port;
}
