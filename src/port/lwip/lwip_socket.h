/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LWIP_SOCKET_H
#define RTI_LWIP_SOCKET_H

/* One socket over a control block of lwIP; the essay is in lwip_device.h. */

#include "port/lwip/lwip_device.h"

struct pbuf;
struct tcp_pcb;

enum rti_lwip_kind {
    RTI_LWIP_FREE,
    RTI_LWIP_LISTENER,
    RTI_LWIP_STREAM,
};

struct rti_lwip_socket {
    struct rti_link link; /* in `accepted` of its listener */
    struct rti_lwip_socket *listener;
    struct rti_list accepted; /* LISTENER: connections that nobody has taken */
    struct rti_list inward;   /* ops that wait, by direction, in the order they came */
    struct rti_list outward;
    struct tcp_pcb *pcb;   /* NULL: none, or the connection is gone */
    struct pbuf *received; /* bytes that no op has taken */
    uint8_t kind;          /* enum rti_lwip_kind */
    bool is_connecting;
    bool is_connected;
    bool is_ended; /* the peer sends no more */
    int error;     /* why the connection is gone, an errno; 0: it is not */
};

/* Makes a FREE socket a LISTENER or a STREAM to connect. */
rt_status rti_lwip_socket_open(struct rti_lwip_socket *socket,
                               const struct rti_socket_config *config);

/* Ends it, whatever it is. Its ops are answered with RT_ERR_CLOSED into `answered`. */
void rti_lwip_socket_close(struct rti_lwip_socket *socket, struct rti_list *answered);

/* Does the op if that can be done now: it holds its answer. */
bool rti_lwip_socket_try(struct rti_lwip_socket *socket, struct rti_op *op);

/* Does what can be done of what waits. */
void rti_lwip_socket_pump(struct rti_lwip_socket *socket, struct rti_list *answered);

/* The queue that an op of this code waits in. */
struct rti_list *rti_lwip_socket_queue(struct rti_lwip_socket *socket, const struct rti_op *op);

/* The address that it is bound to. */
void rti_lwip_socket_local(const struct rti_lwip_socket *socket, rt_net_address *address);

/* A FREE socket of the one device, NULL if there is none; and the descriptor of a socket. */
struct rti_lwip_socket *rti_lwip_socket_new(void);
int rti_lwip_socket_fd(const struct rti_lwip_socket *socket);

#endif
