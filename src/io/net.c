/* SPDX-License-Identifier: Apache-2.0 */
/* TCP: the actor specification's functions and what users need beyond them. The manual is
 * <orrery/rt/net.h>.
 *
 * Every call attempts first and waits only if it must; the port gives the bytes straight into the
 * caller's buffer, which is safe because an op on a socket is taken back at once when its caller
 * goes (port/op.h).
 *
 * The end of a stream is RT_OK with 0 bytes to the port and RT_ERR_CLOSED to the program: a loop
 * over rt_net_recv ends by its status alone. A send that moved anything is a success that says how
 * much; why it stopped is told by the next call, as nothing that was sent may be hidden behind an
 * error.
 *
 * A name gives several addresses. Each gets an equal share of the time that is left, so that a
 * first one that does not answer leaves time for the second; the error of the last one is told. */
#define RTI_MODULE "net"
#include <orrery/rt/net.h>

#include <errno.h>
#include <string.h>

#include "io/file_line.h"
#include "time/deadline.h"

rt_status rti_net_bind(const struct rti_io_call *call, struct rti_socket_config *config,
                       const char *address, uint16_t port, int *fd_out)
{
    const struct rti_port_net *net = call->port->net;
    if (net == NULL) {
        return RTI_IO_NO_NETWORK;
    }
    rt_net_address numeric = {.port = 0};
    struct rti_sockaddr bound;
    if (address != NULL && !net->parse(address, &numeric)) {
        return (rt_status){RT_ERR_INVALID, "the address is no numeric one"};
    }
    numeric.is_ipv6 = address == NULL ? 1 : numeric.is_ipv6;
    numeric.port = port;
    net->encode(&numeric, &bound);
    config->address = &bound;
    rt_status status = net->open(config, fd_out);
    if (status.code == RT_ERR_UNSUPPORTED && address == NULL && !config->is_v6_only) {
        numeric.is_ipv6 = 0;
        net->encode(&numeric, &bound);
        status = net->open(config, fd_out);
    }
    config->address = NULL;
    return status;
}

rt_status rt_net_listen_ex(const rt_net_listen_config *config, int *fd_out)
{
    struct rti_io_call call;
    rt_status status = rti_io_enter(&call, 0);
    if (RT_FAILED(status)) {
        return status;
    }
    if (config == NULL || fd_out == NULL) {
        return RTI_IO_NULL;
    }
    if (config->backlog < 0) {
        return (rt_status){RT_ERR_INVALID, "the backlog is negative"};
    }
    struct rti_socket_config socket = {.kind = RTI_SOCKET_LISTENER,
                                       .backlog = config->backlog,
                                       .is_port_shared = config->reuse_port,
                                       .is_v6_only = config->ipv6_only};
    return rti_net_bind(&call, &socket, config->address, config->port, fd_out);
}

rt_status rt_net_listen(uint16_t port, int *fd_out)
{
    return rt_net_listen_ex(&(rt_net_listen_config){.port = port}, fd_out);
}

rt_status rt_net_local_port(int fd, uint16_t *port_out)
{
    struct rti_io_call call;
    struct rti_sockaddr local;
    rt_net_address address;
    rt_status status = rti_io_enter(&call, 0);
    if (RT_FAILED(status)) {
        return status;
    }
    if (port_out == NULL) {
        return RTI_IO_NULL;
    }
    if (call.port->net == NULL) {
        return RTI_IO_NO_NETWORK;
    }
    status = call.port->net->local(fd, &local);
    if (RT_FAILED(status)) {
        return status;
    }
    if (!call.port->net->decode(&local, &address)) {
        return (rt_status){RT_ERR_INVALID, "the socket has no port"};
    }
    *port_out = address.port;
    return RT_SUCCESS;
}

rt_status rt_net_close(int fd)
{
    struct rti_io_call call;
    rt_status status = rti_io_enter(&call, 0);
    if (RT_FAILED(status)) {
        return status;
    }
    if (call.port->net == NULL) {
        return RTI_IO_NO_NETWORK;
    }
    if (!rti_io_blocks(&call) && rti_file_line_is_busy(call.io, fd)) {
        return (rt_status){RT_ERR_INVALID, "this is a file: rt_file_close waits for its work"};
    }
    return rti_io_close_fd(&call, fd);
}

rt_status rt_net_accept(int listen_fd, int *conn_fd_out, int32_t timeout_ms)
{
    struct rti_io_call call;
    rt_status status = rti_io_enter(&call, timeout_ms);
    if (RT_FAILED(status)) {
        return status;
    }
    if (conn_fd_out == NULL) {
        return RTI_IO_NULL;
    }
    struct rti_request *request = rti_net_request_for(&call, RTI_OP_ACCEPT, listen_fd);
    if (request == NULL) {
        return RTI_IO_FULL;
    }
    status = rti_net_request_do(request, &call);
    if (RT_FAILED(status)) {
        return status;
    }
    bool is_accepted = request->op.status == RT_OK;
    if (is_accepted) {
        *conn_fd_out = (int)request->op.result;
    } else if (request->op.error == EINVAL || request->op.error == EOPNOTSUPP) {
        status = (rt_status){RT_ERR_INVALID, "the socket does not listen"};
    } else {
        status = rti_io_failure(&request->op);
    }
    rti_request_end(request, is_accepted);
    return status;
}

/* What the answer to a transfer is to the program. */
static rt_status transfer_outcome(const struct rti_op *op, size_t *result)
{
    if (RTI_UNLIKELY(op->status != RT_OK)) {
        return rti_io_failure(op);
    }
    RT_ASSERT(op->result >= 0 && (uint64_t)op->result <= op->length);
    *result = (size_t)op->result;
    return RT_SUCCESS;
}

/* Makes the transfer if it need not wait; else RT_ERR_WOULDBLOCK, which no transfer ends with. The
 * op is the caller's own while it is only attempted: most transfers take no record. A function of
 * its own, so that who parks has a frame without the op. */
static RTI_NOINLINE rt_status transfer_attempt(const struct rti_io_call *call,
                                               enum rti_op_code code, int fd, void *buf, size_t len,
                                               size_t *result)
{
    struct rti_op op;
    rti_op_init(&op, code, NULL);
    op.fd = fd;
    op.buffer = buf;
    op.length = len;
    op.is_patient = call->timeout_ms != 0;
    return RTI_LIKELY(call->port->ops->attempt(call->port, &op)) ? transfer_outcome(&op, result)
                                                                 : RTI_IO_WOULDBLOCK;
}

/* Makes one that has to wait. */
static RTI_NOINLINE rt_status transfer_wait(struct rti_io_call *call, enum rti_op_code code, int fd,
                                            void *buf, size_t len, size_t *result)
{
    struct rti_request *request = rti_net_request_for(call, code, fd);
    if (request == NULL) {
        return RTI_IO_FULL;
    }
    request->op.buffer = buf;
    request->op.length = len;
    rt_status status = rti_net_request_wait(request, call);
    if (!RT_FAILED(status)) {
        status = transfer_outcome(&request->op, result);
        rti_request_end(request, false);
    }
    return status;
}

/* Is it known that a read would wait, so that an attempt of one that may wait is in vain? */
static inline bool transfer_is_dry(const struct rti_io_call *call, enum rti_op_code code, int fd)
{
    bool (*is_dry)(struct rti_port * port, int fd) = call->port->ops->is_dry;
    return code == RTI_OP_READ && call->timeout_ms != 0 && is_dry != NULL && is_dry(call->port, fd);
}

rt_status rti_net_transfer(struct rti_io_call *call, enum rti_op_code code, int fd, void *buf,
                           size_t len, size_t *result)
{
    if (!transfer_is_dry(call, code, fd)) {
        rt_status status = transfer_attempt(call, code, fd, buf, len, result);
        if (status.code != RT_ERR_WOULDBLOCK || call->timeout_ms == 0) {
            return status;
        }
    }
    return transfer_wait(call, code, fd, buf, len, result);
}

rt_status rt_net_recv(int fd, void *buf, size_t len, size_t *received, int32_t timeout_ms)
{
    struct rti_io_call call;
    rt_status status = rti_io_enter(&call, timeout_ms);
    if (RT_FAILED(status)) {
        return status;
    }
    if (received == NULL || (buf == NULL && len != 0)) {
        return RTI_IO_NULL;
    }
    if (len == 0) {
        *received = 0;
        return RT_SUCCESS;
    }
    size_t count = 0;
    status = rti_net_transfer(&call, RTI_OP_READ, fd, buf, len, &count);
    if (RT_FAILED(status)) {
        return status;
    }
    if (count == 0) {
        return (rt_status){RT_ERR_CLOSED, "the peer has closed the connection"};
    }
    *received = count;
    return RT_SUCCESS;
}

/* What is left of a send after its first `total` bytes. */
static RTI_NOINLINE rt_status transfer_rest(struct rti_io_call *call, int fd, unsigned char *bytes,
                                            size_t len, size_t *total)
{
    rt_status status = RT_SUCCESS;
    while (*total < len && !RT_FAILED(status)) {
        size_t count = 0;
        status = rti_net_transfer(call, RTI_OP_WRITE, fd, bytes + *total, len - *total, &count);
        *total += count;
    }
    return status;
}

rt_status rti_net_transfer_all(struct rti_io_call *call, int fd, const void *buf, size_t len,
                               size_t *sent)
{
    /* The port only reads what a WRITE points to. */
    unsigned char *bytes = (unsigned char *)(uintptr_t)buf;
    size_t total = 0;
    rt_status status = transfer_attempt(call, RTI_OP_WRITE, fd, bytes, len, &total);
    if (status.code == RT_ERR_WOULDBLOCK && call->timeout_ms != 0) {
        status = transfer_wait(call, RTI_OP_WRITE, fd, bytes, len, &total);
    }
    if (RTI_UNLIKELY(total < len) && !RT_FAILED(status)) {
        status = transfer_rest(call, fd, bytes, len, &total);
    }
    if (total == 0) {
        return status;
    }
    *sent = total;
    return RT_SUCCESS;
}

rt_status rt_net_send(int fd, const void *buf, size_t len, size_t *sent, int32_t timeout_ms)
{
    struct rti_io_call call;
    rt_status status = rti_io_enter(&call, timeout_ms);
    if (RT_FAILED(status)) {
        return status;
    }
    if (sent == NULL || (buf == NULL && len != 0)) {
        return RTI_IO_NULL;
    }
    if (len == 0) {
        *sent = 0;
        return RT_SUCCESS;
    }
    return rti_net_transfer_all(&call, fd, buf, len, sent);
}

/* Nobody was connected yet, so nobody is gone: a reset is a refusal. */
static rt_status connect_failure(const struct rti_op *op)
{
    rt_status status = rti_io_failure(op);
    if (op->error == EAGAIN) {
        status.code = RT_ERR_FULL;
    } else if (status.code == RT_ERR_CLOSED && op->error != 0) {
        status.code = RT_ERR_IO;
    }
    return status;
}

rt_status rti_net_connect_to(struct rti_io_call *call, const struct rti_sockaddr *address,
                             int *fd_out)
{
    int fd;
    struct rti_request *request = rti_net_request_for(call, RTI_OP_CONNECT, -1);
    if (request == NULL) {
        return RTI_IO_FULL;
    }
    const struct rti_socket_config config = {.kind = RTI_SOCKET_STREAM, .address = address};
    rt_status status = call->port->net->open(&config, &fd);
    if (RT_FAILED(status)) {
        rti_request_end(request, false);
        return status;
    }
    request->op.fd = fd;
    request->op.buffer = (void *)(uintptr_t)address->bytes;
    request->op.length = address->length;
    /* Near peers answer while the first attempt is still under way: the second one hears it. */
    if (call->timeout_ms == 0 && rti_request_attempt(request)) {
        status = RT_SUCCESS;
    } else {
        status = rti_net_request_do(request, call);
    }
    if (RT_FAILED(status)) {
        return status;
    }
    bool is_connected = request->op.status == RT_OK;
    if (is_connected) {
        *fd_out = fd;
    } else {
        status = connect_failure(&request->op);
    }
    rti_request_end(request, is_connected);
    return status;
}

/* The share of one address: what is left, divided by the addresses that are. */
static uint64_t connect_share(struct rti_io_call *call, uint32_t addresses_left)
{
    uint64_t deadline_ns = rti_io_deadline(call);
    uint64_t now_ns = call->port->ops->clock_ns(call->port);
    if (deadline_ns == RTI_TIME_NEVER || addresses_left <= 1 || now_ns >= deadline_ns) {
        return deadline_ns;
    }
    return now_ns + (deadline_ns - now_ns) / addresses_left;
}

/* Tries the addresses of a name, one after another. */
static rt_status connect_any(struct rti_io_call *call, rt_net_address *addresses, uint32_t count,
                             uint16_t port, int *fd_out)
{
    rt_status status = RTI_IO_TIMEOUT;
    for (uint32_t i = 0; i < count; i++) {
        struct rti_sockaddr to;
        struct rti_io_call one = *call;
        one.deadline_ns = connect_share(call, count - i);
        addresses[i].port = port;
        call->port->net->encode(&addresses[i], &to);
        status = rti_net_connect_to(&one, &to, fd_out);
        if (!RT_FAILED(status) || status.code == RT_ERR_NOMEM || status.code == RT_ERR_CANCELLED) {
            break;
        }
    }
    return status;
}

/* A host by name or number, as every function takes it. */
static rt_status host_check(const char *host, const struct rti_io_call *call)
{
    if (call->port->net == NULL) {
        return RTI_IO_NO_NETWORK;
    }
    size_t length = rti_io_text_length(host, RT_NET_HOST_MAX + 1);
    if (length == 0 || length > RT_NET_HOST_MAX) {
        return (rt_status){RT_ERR_INVALID, "the name of the host is empty or too long"};
    }
    return RT_SUCCESS;
}

rt_status rt_net_connect(const char *host, uint16_t port, int *fd_out, int32_t timeout_ms)
{
    struct rti_io_call call;
    rt_status status = rti_io_enter(&call, timeout_ms);
    if (RT_FAILED(status)) {
        return status;
    }
    if (host == NULL || fd_out == NULL) {
        return RTI_IO_NULL;
    }
    if (port == 0) {
        return (rt_status){RT_ERR_INVALID, "there is no port 0 to connect to"};
    }
    status = host_check(host, &call);
    if (RT_FAILED(status)) {
        return status;
    }
    rt_net_address addresses[RTI_RESOLVED_MAX];
    if (call.port->net->parse(host, &addresses[0])) {
        struct rti_sockaddr to;
        addresses[0].port = port;
        call.port->net->encode(&addresses[0], &to);
        status = rti_net_connect_to(&call, &to, fd_out);
    } else {
        uint32_t count;
        status = rti_name_resolve(&call, host, addresses, &count);
        status = RT_FAILED(status) ? status : connect_any(&call, addresses, count, port, fd_out);
    }
    status.code = status.code == RT_ERR_FULL ? RT_ERR_IO : status.code;
    return status;
}

rt_status rt_net_resolve(const char *host, uint16_t port, rt_net_address *address_out,
                         int32_t timeout_ms)
{
    struct rti_io_call call;
    rt_status status = rti_io_enter(&call, timeout_ms);
    if (RT_FAILED(status)) {
        return status;
    }
    if (host == NULL || address_out == NULL) {
        return RTI_IO_NULL;
    }
    status = host_check(host, &call);
    if (RT_FAILED(status)) {
        return status;
    }
    rt_net_address addresses[RTI_RESOLVED_MAX];
    if (!call.port->net->parse(host, &addresses[0])) {
        uint32_t count;
        status = rti_name_resolve(&call, host, addresses, &count);
        if (RT_FAILED(status)) {
            return status;
        }
    }
    addresses[0].port = port;
    *address_out = addresses[0];
    return RT_SUCCESS;
}

rt_status rt_net_address_format(const rt_net_address *address, char *text, size_t size)
{
    struct rti_io_call call;
    rt_status status = rti_io_enter(&call, 0);
    if (RT_FAILED(status)) {
        return status;
    }
    if (address == NULL || text == NULL) {
        return RTI_IO_NULL;
    }
    if (call.port->net == NULL) {
        return RTI_IO_NO_NETWORK;
    }
    return call.port->net->format(address, text, size)
               ? RT_SUCCESS
               : (rt_status){RT_ERR_INVALID, "there is no room for the address"};
}
