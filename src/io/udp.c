/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams; the manual is <orrery/rt/net.h>. A datagram goes and comes whole, so there is no
 * partial count; an empty one is one too, so 0 bytes are no end. */
#define RTI_MODULE "udp"
#include <orrery/rt/net.h>

#include "io/io.h"

rt_status rt_udp_open(const char *address, uint16_t port, int *fd_out)
{
    struct rti_io_call call;
    rt_status status = rti_io_enter(&call, 0);
    if (RT_FAILED(status)) {
        return status;
    }
    if (fd_out == NULL) {
        return RTI_IO_NULL;
    }
    struct rti_socket_config socket = {.kind = RTI_SOCKET_DATAGRAM};
    return rti_net_bind(&call, &socket, address, port, fd_out);
}

/* Does an op with an address. RT_OK: `request` holds an answer that is RT_OK; the caller ends it.
 */
static rt_status udp_do(struct rti_request *request, struct rti_io_call *call,
                        struct rti_sockaddr *address)
{
    request->op.address = address->bytes;
    request->op.address_length = address->length;
    rt_status status = rti_net_request_do(request, call);
    if (!RT_FAILED(status) && request->op.status != RT_OK) {
        status = rti_io_failure(&request->op);
        rti_request_end(request, false);
    }
    return status;
}

rt_status rt_udp_send(int fd, const void *buf, size_t len, const rt_net_address *to,
                      int32_t timeout_ms)
{
    struct rti_io_call call;
    struct rti_sockaddr address;
    rt_status status = rti_io_enter(&call, timeout_ms);
    if (RT_FAILED(status)) {
        return status;
    }
    if (to == NULL || (buf == NULL && len != 0)) {
        return RTI_IO_NULL;
    }
    if (to->port == 0) {
        return (rt_status){RT_ERR_INVALID, "there is no port 0 to send to"};
    }
    if (call.port->net == NULL) {
        return RTI_IO_NO_NETWORK;
    }
    call.port->net->encode(to, &address);
    struct rti_request *request = rti_net_request_for(&call, RTI_OP_SENDTO, fd);
    if (request == NULL) {
        return RTI_IO_FULL;
    }
    request->op.buffer = (void *)(uintptr_t)buf; /* only read */
    request->op.length = len;
    status = udp_do(request, &call, &address);
    if (RT_FAILED(status)) {
        return status;
    }
    /* A datagram goes whole: what took a part is a stream. */
    bool is_whole = request->op.result == (int64_t)len;
    rti_request_end(request, false);
    return is_whole ? RT_SUCCESS : (rt_status){RT_ERR_INVALID, "the socket takes no datagrams"};
}

rt_status rt_udp_recv(int fd, void *buf, size_t len, size_t *received, rt_net_address *from,
                      int32_t timeout_ms)
{
    struct rti_io_call call;
    struct rti_sockaddr address;
    rt_status status = rti_io_enter(&call, timeout_ms);
    if (RT_FAILED(status)) {
        return status;
    }
    if (received == NULL || (buf == NULL && len != 0)) {
        return RTI_IO_NULL;
    }
    if (call.port->net == NULL) {
        return RTI_IO_NO_NETWORK;
    }
    struct rti_request *request = rti_net_request_for(&call, RTI_OP_RECVFROM, fd);
    if (request == NULL) {
        return RTI_IO_FULL;
    }
    request->op.buffer = buf;
    request->op.length = len;
    address.length = sizeof(address.bytes);
    status = udp_do(request, &call, &address);
    if (RT_FAILED(status)) {
        return status;
    }
    RT_ASSERT(request->op.result >= 0 && (uint64_t)request->op.result <= len);
    *received = (size_t)request->op.result;
    address.length = request->op.address_length;
    if (from != NULL && !call.port->net->decode(&address, from)) {
        *from = (rt_net_address){.port = 0};
    }
    rti_request_end(request, false);
    return RT_SUCCESS;
}
