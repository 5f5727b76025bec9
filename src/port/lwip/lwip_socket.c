/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "lwip_socket"
#include "port/lwip/lwip_socket.h"

#include <errno.h>
#include <string.h>

#include <lwip/tcp.h>

#include "base/assert.h"

/* What poll(2) calls these. */
#define READABLE 0x0001
#define WRITABLE 0x0004

#define BACKLOG_MAX 255

/* ---- What lwIP tells. ---- */

static err_t socket_on_received(void *arg, struct tcp_pcb *pcb, struct pbuf *bytes, err_t err)
{
    struct rti_lwip_socket *socket = arg;
    RT_ASSERT(socket->pcb == pcb && err == ERR_OK);
    if (bytes == NULL) {
        socket->is_ended = true;
    } else if (socket->received == NULL) {
        socket->received = bytes;
    } else {
        pbuf_cat(socket->received, bytes);
    }
    return ERR_OK;
}

/* The control block is gone already. */
static void socket_on_error(void *arg, err_t err)
{
    struct rti_lwip_socket *socket = arg;
    socket->pcb = NULL;
    if (socket->is_connecting) {
        socket->error = err == ERR_RST ? ECONNREFUSED : ETIMEDOUT;
    } else {
        socket->error = err == ERR_RST ? ECONNRESET : ECONNABORTED;
    }
}

static err_t socket_on_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct rti_lwip_socket *socket = arg;
    RT_ASSERT(socket->pcb == pcb && err == ERR_OK);
    socket->is_connecting = false;
    socket->is_connected = true;
    return ERR_OK;
}

/* Binds a control block and a socket to each other. */
static void socket_adopt(struct rti_lwip_socket *socket, struct tcp_pcb *pcb)
{
    socket->kind = RTI_LWIP_STREAM;
    socket->pcb = pcb;
    tcp_arg(pcb, socket);
    tcp_recv(pcb, socket_on_received);
    tcp_err(pcb, socket_on_error);
    /* An answer shall not wait until the peer has confirmed the one before. */
    tcp_nagle_disable(pcb);
}

static err_t socket_on_accepted(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct rti_lwip_socket *listener = arg;
    struct rti_lwip_socket *socket = err == ERR_OK ? rti_lwip_socket_new() : NULL;
    if (socket == NULL) {
        /* lwIP resets the connection. */
        return ERR_MEM;
    }
    socket_adopt(socket, pcb);
    socket->is_connected = true;
    socket->listener = listener;
    rti_list_push_tail(&listener->accepted, &socket->link);
    tcp_backlog_delayed(pcb);
    return ERR_OK;
}

/* ---- Open and close. ---- */

static rt_status socket_listen(struct rti_lwip_socket *socket, struct tcp_pcb *pcb,
                               const struct rti_socket_config *config)
{
    rt_net_address address;
    memcpy(&address, config->address->bytes, sizeof(address));
    ip_addr_t ip;
    IP_ADDR4(&ip, address.ip[0], address.ip[1], address.ip[2], address.ip[3]);
    if (tcp_bind(pcb, &ip, address.port) != ERR_OK) {
        tcp_abort(pcb);
        return (rt_status){RT_ERR_IO, RTI_SENTENCE("the port is in use")};
    }
    bool is_given = config->backlog > 0 && config->backlog < BACKLOG_MAX;
    struct tcp_pcb *listening =
        tcp_listen_with_backlog(pcb, (u8_t)(is_given ? config->backlog : BACKLOG_MAX));
    if (listening == NULL) {
        tcp_abort(pcb);
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("lwIP has no room for a listener")};
    }
    socket->kind = RTI_LWIP_LISTENER;
    socket->pcb = listening;
    tcp_arg(listening, socket);
    tcp_accept(listening, socket_on_accepted);
    return RT_SUCCESS;
}

rt_status rti_lwip_socket_open(struct rti_lwip_socket *socket,
                               const struct rti_socket_config *config)
{
    RT_ASSERT(socket->kind == RTI_LWIP_FREE);
    struct tcp_pcb *pcb = tcp_new();
    if (pcb == NULL) {
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("lwIP has no room for a connection")};
    }
    if (config->kind == RTI_SOCKET_LISTENER) {
        return socket_listen(socket, pcb, config);
    }
    socket_adopt(socket, pcb);
    return RT_SUCCESS;
}

/* lwIP shall not speak of this control block any more. */
static void socket_forget(struct tcp_pcb *pcb, bool is_listener)
{
    tcp_arg(pcb, NULL);
    if (is_listener) {
        tcp_accept(pcb, NULL);
    } else {
        tcp_recv(pcb, NULL);
        tcp_err(pcb, NULL);
    }
}

/* Lets the connection go: what was sent still arrives. */
static void socket_release(struct rti_lwip_socket *socket)
{
    struct tcp_pcb *pcb = socket->pcb;
    socket->pcb = NULL;
    if (pcb != NULL) {
        bool is_listener = socket->kind == RTI_LWIP_LISTENER;
        socket_forget(pcb, is_listener);
        if (tcp_close(pcb) != ERR_OK) {
            RT_ASSERT(!is_listener);
            tcp_abort(pcb);
        }
    }
    if (socket->received != NULL) {
        (void)pbuf_free(socket->received);
        socket->received = NULL;
    }
}

static void queue_answer_closed(struct rti_list *queue, struct rti_list *answered)
{
    struct rti_link *link;
    while ((link = rti_list_peek(queue)) != NULL) {
        rti_op_answer(RTI_CONTAINER_OF(link, struct rti_op, link), RT_ERR_CLOSED, 0, 0);
        rti_device_decided(RTI_CONTAINER_OF(link, struct rti_op, link), answered);
    }
}

void rti_lwip_socket_close(struct rti_lwip_socket *socket, struct rti_list *answered)
{
    RT_ASSERT(socket->kind != RTI_LWIP_FREE && socket->listener == NULL);
    struct rti_link *link;
    while ((link = rti_list_pop(&socket->accepted)) != NULL) {
        struct rti_lwip_socket *waiting = RTI_CONTAINER_OF(link, struct rti_lwip_socket, link);
        waiting->listener = NULL;
        if (waiting->pcb != NULL) {
            tcp_backlog_accepted(waiting->pcb);
        }
        rti_lwip_socket_close(waiting, answered);
    }
    socket_release(socket);
    queue_answer_closed(&socket->inward, answered);
    queue_answer_closed(&socket->outward, answered);
    socket->kind = RTI_LWIP_FREE;
    socket->is_connecting = false;
    socket->is_connected = false;
    socket->is_ended = false;
    socket->error = 0;
}

/* ---- The ops. ---- */

static bool answer(struct rti_op *op, rt_status_code status, int64_t result, int error)
{
    rti_op_answer(op, status, result, error);
    return true;
}

static bool socket_try_accept(struct rti_lwip_socket *listener, struct rti_op *op)
{
    if (listener->kind != RTI_LWIP_LISTENER) {
        return answer(op, RT_ERR_INVALID, 0, EINVAL);
    }
    struct rti_link *link = rti_list_pop(&listener->accepted);
    if (link == NULL) {
        return false;
    }
    struct rti_lwip_socket *socket = RTI_CONTAINER_OF(link, struct rti_lwip_socket, link);
    socket->listener = NULL;
    if (socket->pcb != NULL) {
        tcp_backlog_accepted(socket->pcb);
    }
    return answer(op, RT_OK, rti_lwip_socket_fd(socket), 0);
}

static bool socket_try_read(struct rti_lwip_socket *socket, struct rti_op *op)
{
    if (socket->received != NULL) {
        size_t most = op->length < UINT16_MAX ? op->length : UINT16_MAX;
        u16_t count = pbuf_copy_partial(socket->received, op->buffer, (u16_t)most, 0);
        socket->received = pbuf_free_header(socket->received, count);
        if (socket->pcb != NULL) {
            tcp_recved(socket->pcb, count);
        }
        return answer(op, RT_OK, count, 0);
    }
    if (socket->error != 0) {
        return answer(op, RT_ERR_CLOSED, 0, socket->error);
    }
    if (socket->is_ended) {
        return answer(op, RT_OK, 0, 0);
    }
    return socket->is_connected ? false : answer(op, RT_ERR_INVALID, 0, ENOTCONN);
}

static bool socket_try_write(struct rti_lwip_socket *socket, struct rti_op *op)
{
    if (socket->error != 0) {
        return answer(op, RT_ERR_CLOSED, 0, EPIPE);
    }
    if (!socket->is_connected) {
        return answer(op, RT_ERR_INVALID, 0, ENOTCONN);
    }
    size_t count = tcp_sndbuf(socket->pcb);
    count = op->length < count ? op->length : count;
    if (count == 0) {
        return false;
    }
    err_t err = tcp_write(socket->pcb, op->buffer, (u16_t)count, TCP_WRITE_FLAG_COPY);
    if (err == ERR_MEM && count > TCP_MSS) {
        count = TCP_MSS;
        err = tcp_write(socket->pcb, op->buffer, (u16_t)count, TCP_WRITE_FLAG_COPY);
    }
    if (err == ERR_MEM) {
        /* Until lwIP has sent something; each turn tries again. */
        return false;
    }
    if (err != ERR_OK) {
        return answer(op, RT_ERR_CLOSED, 0, EPIPE);
    }
    (void)tcp_output(socket->pcb);
    return answer(op, RT_OK, (int64_t)count, 0);
}

static bool socket_try_connect(struct rti_lwip_socket *socket, struct rti_op *op)
{
    if (socket->error != 0) {
        return answer(op, RT_ERR_IO, 0, socket->error);
    }
    if (socket->is_connected) {
        return answer(op, RT_OK, 0, 0);
    }
    if (!socket->is_connecting) {
        rt_net_address address;
        RT_ASSERT(op->length == sizeof(address));
        memcpy(&address, op->buffer, sizeof(address));
        ip_addr_t ip;
        IP_ADDR4(&ip, address.ip[0], address.ip[1], address.ip[2], address.ip[3]);
        socket->is_connecting = true;
        if (tcp_connect(socket->pcb, &ip, address.port, socket_on_connected) != ERR_OK) {
            return answer(op, RT_ERR_IO, 0, EHOSTUNREACH);
        }
    }
    return false;
}

/* What poll would say now; 0: nothing of what is asked. */
static int socket_ready(const struct rti_lwip_socket *socket, bool is_inward)
{
    bool is_over = socket->error != 0;
    if (is_inward) {
        bool is_any = socket->received != NULL || !rti_list_is_empty(&socket->accepted);
        return is_any || socket->is_ended || is_over ? READABLE : 0;
    }
    bool has_room = socket->is_connected && socket->pcb != NULL && tcp_sndbuf(socket->pcb) > 0;
    return has_room || is_over ? WRITABLE : 0;
}

static bool socket_try_poll(struct rti_lwip_socket *socket, struct rti_op *op)
{
    int ready = socket_ready(socket, op->code == RTI_OP_POLL_IN);
    return ready != 0 && answer(op, RT_OK, ready, 0);
}

bool rti_lwip_socket_try(struct rti_lwip_socket *socket, struct rti_op *op)
{
    bool is_transfer = op->code == RTI_OP_READ || op->code == RTI_OP_WRITE;
    if (socket->kind == RTI_LWIP_LISTENER && (is_transfer || op->code == RTI_OP_CONNECT)) {
        return answer(op, RT_ERR_INVALID, 0, ENOTCONN);
    }
    switch (op->code) {
    case RTI_OP_ACCEPT:
        return socket_try_accept(socket, op);
    case RTI_OP_READ:
        return socket_try_read(socket, op);
    case RTI_OP_WRITE:
        return socket_try_write(socket, op);
    case RTI_OP_CONNECT:
        return socket_try_connect(socket, op);
    case RTI_OP_POLL_IN:
    case RTI_OP_POLL_OUT:
        return socket_try_poll(socket, op);
    default:
        return answer(op, RT_ERR_UNSUPPORTED, 0, 0);
    }
}

struct rti_list *rti_lwip_socket_queue(struct rti_lwip_socket *socket, const struct rti_op *op)
{
    return rti_op_is_inward(op) ? &socket->inward : &socket->outward;
}

static void socket_pump_queue(struct rti_lwip_socket *socket, struct rti_list *queue,
                              struct rti_list *answered)
{
    struct rti_link *link;
    while ((link = rti_list_peek(queue)) != NULL) {
        struct rti_op *op = RTI_CONTAINER_OF(link, struct rti_op, link);
        if (!rti_lwip_socket_try(socket, op)) {
            return;
        }
        rti_device_decided(op, answered);
    }
}

void rti_lwip_socket_pump(struct rti_lwip_socket *socket, struct rti_list *answered)
{
    socket_pump_queue(socket, &socket->inward, answered);
    socket_pump_queue(socket, &socket->outward, answered);
}

void rti_lwip_socket_local(const struct rti_lwip_socket *socket, rt_net_address *address)
{
    *address = (rt_net_address){.port = socket->pcb == NULL ? 0 : socket->pcb->local_port};
    if (socket->pcb != NULL) {
        uint32_t ip = ip4_addr_get_u32(ip_2_ip4(&socket->pcb->local_ip));
        memcpy(address->ip, &ip, sizeof(ip));
    }
}
