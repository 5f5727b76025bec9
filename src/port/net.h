/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PORT_NET_H
#define RTI_PORT_NET_H

/* What the network asks of a port beyond ops: to make sockets, to turn addresses into the system's
 * form and back, to look up names. A port without a network has no such table.
 *
 * Nothing here blocks but `resolve`, which is the work of an op and runs on the lane of names. */

#include <orrery/rt/net.h>

#include "port/op.h"

/* An address in the system's form; opaque above the port. */
struct rti_sockaddr {
    size_t length; /* bytes in use */
    _Alignas(8) unsigned char bytes[128];
};

enum rti_socket_kind {
    RTI_SOCKET_LISTENER, /* bound, listens */
    RTI_SOCKET_STREAM,   /* to be connected */
    RTI_SOCKET_DATAGRAM, /* bound */
};

struct rti_socket_config {
    enum rti_socket_kind kind;
    const struct rti_sockaddr *address; /* to bind to; of a STREAM only its family counts */
    int backlog;                        /* 0: the system's most */
    bool is_port_shared;
    bool is_v6_only;
};

/* How many addresses of one name are looked at. */
#define RTI_RESOLVED_MAX 8

/* The question and the answer of `resolve`, in memory of the op. */
struct rti_resolution {
    char name[RT_NET_HOST_MAX + 1];
    uint32_t count; /* addresses found */
    rt_net_address found[RTI_RESOLVED_MAX];
};

struct rti_port_net {
    /* A world of its own, which nobody outside of its scheduler reaches. */
    bool is_simulated;

    /* Makes a socket that does not block. RT_OK; what its error is to a caller otherwise, and
     * nothing is left behind. */
    rt_status (*open)(const struct rti_socket_config *config, int *fd);

    /* The address a socket is bound to. */
    rt_status (*local)(int fd, struct rti_sockaddr *address);

    /* Reads a numeric address; false, and nothing written, if the text is none. */
    bool (*parse)(const char *text, rt_net_address *address);

    /* Writes it as text; false if there is no room. */
    bool (*format)(const rt_net_address *address, char *text, size_t size);

    /* To the system's form and back; decode is false for what is no internet address. */
    void (*encode)(const rt_net_address *address, struct rti_sockaddr *to);
    bool (*decode)(const struct rti_sockaddr *from, rt_net_address *address);

    /* The system's form of a local name; false if it is empty or too long. */
    bool (*encode_local)(const char *name, struct rti_sockaddr *to);

    /* The work of an op whose buffer is a rti_resolution. Its status is RT_OK, RT_ERR_NOT_FOUND or
     * RT_ERR_IO. */
    void (*resolve)(struct rti_op *op);
};

#endif
