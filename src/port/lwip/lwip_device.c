/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "lwip_device"
#include "port/lwip/lwip_device.h"

#include <errno.h>
#include <string.h>

#include <lwip/init.h>
#include <lwip/sys.h>
#include <lwip/timeouts.h>

#include "base/assert.h"
#include "port/lwip/lwip_socket.h"

static struct {
    struct rti_device device;
    struct rti_port *port; /* NULL: closed */
    const struct rti_lwip_link *link;
    bool was_started; /* lwIP itself, which starts once */
    struct rti_lwip_socket sockets[RT_LWIP_SOCKETS];
} lwip;

/* lwIP's clock, in milliseconds that wrap. */
u32_t sys_now(void)
{
    return (u32_t)(lwip.port->ops->clock_ns(lwip.port) / RTI_NS_PER_MS);
}

int rti_lwip_socket_fd(const struct rti_lwip_socket *socket)
{
    return (int)(socket - lwip.sockets);
}

struct rti_lwip_socket *rti_lwip_socket_new(void)
{
    for (size_t i = 0; i < RT_LWIP_SOCKETS; i++) {
        if (lwip.sockets[i].kind == RTI_LWIP_FREE) {
            return &lwip.sockets[i];
        }
    }
    return NULL;
}

/* The socket of a descriptor that the program may know of; NULL: there is none. */
static struct rti_lwip_socket *socket_of(int fd)
{
    if (fd < 0 || fd >= RT_LWIP_SOCKETS) {
        return NULL;
    }
    struct rti_lwip_socket *socket = &lwip.sockets[fd];
    return socket->kind == RTI_LWIP_FREE || socket->listener != NULL ? NULL : socket;
}

/* ---- The device. ---- */

static bool lwip_attempt(struct rti_device *device, struct rti_op *op)
{
    (void)device;
    struct rti_lwip_socket *socket = socket_of(op->fd);
    if (socket == NULL) {
        rti_op_answer(op, RT_ERR_INVALID, 0, EBADF);
        return true;
    }
    return rti_list_is_empty(rti_lwip_socket_queue(socket, op)) && rti_lwip_socket_try(socket, op);
}

static void lwip_submit(struct rti_device *device, struct rti_op *op)
{
    if (lwip_attempt(device, op)) {
        rti_list_push_tail(&device->answered, &op->link);
    } else {
        rti_device_await(op, rti_lwip_socket_queue(&lwip.sockets[op->fd], op));
    }
}

static void lwip_cancel(struct rti_device *device, struct rti_op *op)
{
    rti_op_answer(op, RT_ERR_CANCELLED, 0, 0);
    rti_device_decided(op, &device->answered);
}

static rt_status lwip_close_fd(struct rti_device *device, int fd)
{
    struct rti_lwip_socket *socket = socket_of(fd);
    if (socket == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the descriptor is not open")};
    }
    rti_lwip_socket_close(socket, &device->answered);
    return RT_SUCCESS;
}

static uint64_t lwip_turn(struct rti_device *device, uint64_t now_ns)
{
    lwip.link->poll();
    sys_check_timeouts();
    for (size_t i = 0; i < RT_LWIP_SOCKETS; i++) {
        rti_lwip_socket_pump(&lwip.sockets[i], &device->answered);
    }
    u32_t sleep_ms = sys_timeouts_sleeptime();
    return sleep_ms == SYS_TIMEOUTS_SLEEPTIME_INFINITE ? RTI_TIME_NEVER
                                                       : now_ns + sleep_ms * RTI_NS_PER_MS;
}

static const struct rti_device_ops lwip_ops = {
    .attempt = lwip_attempt,
    .submit = lwip_submit,
    .cancel = lwip_cancel,
    .close_fd = lwip_close_fd,
    .turn = lwip_turn,
};

/* ---- The network's own functions. ---- */

static rt_status lwip_open(const struct rti_socket_config *config, int *fd)
{
    rt_net_address address;
    memcpy(&address, config->address->bytes, sizeof(address));
    if (config->kind == RTI_SOCKET_DATAGRAM) {
        return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("there are no datagrams here")};
    }
    if (address.is_ipv6) {
        return (rt_status){RT_ERR_UNSUPPORTED, RTI_SENTENCE("there is no IPv6 here")};
    }
    struct rti_lwip_socket *socket = rti_lwip_socket_new();
    if (socket == NULL) {
        return (rt_status){RT_ERR_RESOURCE_EXHAUSTED, RTI_SENTENCE("RT_LWIP_SOCKETS are in use")};
    }
    rt_status status = rti_lwip_socket_open(socket, config);
    if (!RT_FAILED(status)) {
        *fd = rti_lwip_socket_fd(socket);
    }
    return status;
}

static void lwip_encode(const rt_net_address *address, struct rti_sockaddr *to)
{
    to->length = sizeof(*address);
    memcpy(to->bytes, address, sizeof(*address));
}

static bool lwip_decode(const struct rti_sockaddr *from, rt_net_address *address)
{
    memcpy(address, from->bytes, sizeof(*address));
    return from->length == sizeof(*address);
}

static rt_status lwip_local(int fd, struct rti_sockaddr *local)
{
    struct rti_lwip_socket *socket = socket_of(fd);
    rt_net_address address;
    if (socket == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the descriptor is not open")};
    }
    rti_lwip_socket_local(socket, &address);
    lwip_encode(&address, local);
    return RT_SUCCESS;
}

/* Reads a number up to 255 without leading zeros, and moves on. -1: there is none. */
static int text_octet(const char **text)
{
    const char *at = *text;
    int number = 0;
    while (*at >= '0' && *at <= '9' && number <= 255 && !(number == 0 && at != *text)) {
        number = number * 10 + (*at++ - '0');
    }
    bool is_one = at != *text && number <= 255;
    *text = at;
    return is_one ? number : -1;
}

static bool lwip_parse(const char *text, rt_net_address *address)
{
    rt_net_address parsed = {.port = 0};
    for (size_t i = 0; i < 4; i++) {
        int octet = text_octet(&text);
        if (octet < 0 || *text != (i < 3 ? '.' : '\0')) {
            return false;
        }
        parsed.ip[i] = (uint8_t)octet;
        text++;
    }
    *address = parsed;
    return true;
}

/* Writes a number and a character behind it; gives where the text goes on. */
static char *text_number(char *at, unsigned number, char end)
{
    char digits[5];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count > 0) {
        *at++ = digits[--count];
    }
    *at = end;
    return at + 1;
}

static bool lwip_format(const rt_net_address *address, char *text, size_t size)
{
    char made[sizeof("255.255.255.255:65535")];
    char *at = made;
    for (size_t i = 0; i < 4; i++) {
        at = text_number(at, address->ip[i], i < 3 ? '.' : ':');
    }
    at = text_number(at, address->port, '\0');
    if (size < (size_t)(at - made)) {
        return false;
    }
    memcpy(text, made, (size_t)(at - made));
    return true;
}

static bool lwip_encode_local(const char *name, struct rti_sockaddr *to)
{
    (void)name;
    (void)to;
    return false;
}

static void lwip_resolve(struct rti_op *op)
{
    rti_op_answer(op, RT_ERR_NOT_FOUND, 0, 0);
}

static const struct rti_port_net lwip_net = {
    .open = lwip_open,
    .local = lwip_local,
    .parse = lwip_parse,
    .format = lwip_format,
    .encode = lwip_encode,
    .decode = lwip_decode,
    .encode_local = lwip_encode_local,
    .resolve = lwip_resolve,
};

rt_status rti_lwip_open(struct rti_port *port, const struct rti_lwip_link *link,
                        struct rti_device **device)
{
    if (lwip.port != NULL) {
        return (rt_status){RT_ERR_STATE, RTI_SENTENCE("lwIP is in use")};
    }
    lwip.port = port;
    lwip.link = link;
    lwip.device.ops = &lwip_ops;
    lwip.device.net = &lwip_net;
    rti_list_init(&lwip.device.answered);
    for (size_t i = 0; i < RT_LWIP_SOCKETS; i++) {
        struct rti_lwip_socket *socket = &lwip.sockets[i];
        *socket = (struct rti_lwip_socket){.kind = RTI_LWIP_FREE};
        rti_link_init(&socket->link);
        rti_list_init(&socket->accepted);
        rti_list_init(&socket->inward);
        rti_list_init(&socket->outward);
    }
    if (!lwip.was_started) {
        lwip.was_started = true;
        lwip_init();
    } else {
        sys_restart_timeouts();
    }
    if (!link->start(port)) {
        lwip.port = NULL;
        return (rt_status){RT_ERR_IO, RTI_SENTENCE("the network interface does not come up")};
    }
    *device = &lwip.device;
    return RT_SUCCESS;
}

void rti_lwip_close(void)
{
    RT_ASSERT(lwip.port != NULL);
    for (int fd = 0; fd < RT_LWIP_SOCKETS; fd++) {
        if (socket_of(fd) != NULL) {
            (void)lwip_close_fd(&lwip.device, fd);
        }
    }
    RT_ASSERT(rti_list_is_empty(&lwip.device.answered));
    lwip.link->stop();
    lwip.port = NULL;
}

void rti_lwip_audit(void)
{
    for (size_t i = 0; i < RT_LWIP_SOCKETS; i++) {
        const struct rti_lwip_socket *socket = &lwip.sockets[i];
        RT_ASSERT((socket->listener != NULL) == rti_link_is_linked(&socket->link));
        if (socket->kind == RTI_LWIP_FREE) {
            RT_ASSERT(socket->pcb == NULL && socket->received == NULL);
            RT_ASSERT(rti_list_is_empty(&socket->inward) && rti_list_is_empty(&socket->outward));
        }
    }
}
