/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SOCKET_H
#define RTI_SOCKET_H

/* The network of Linux: socket.c makes sockets and addresses, resolve.c looks up names. */

#include <sys/socket.h>

#include "port/net.h"

/* An internet address of the system; false for any other. */
bool rti_net_decode(const struct sockaddr *from, rt_net_address *address);

/* The work of rti_port_net.resolve. */
void rti_linux_resolve(struct rti_op *op);

#endif
