/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_PORT_H
#define EXPLORE_PORT_H

struct rti_port;

/* The port whose futexes are the explorer's. */
struct rti_port *explore_port(void);

#endif
