/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of Linux: making them, and addresses in their three forms, as text, as rt_net_address and
 * as sockaddr.
 *
 * An IPv4 peer of an IPv6 socket appears to the system as ::ffff:a.b.c.d and to the program as
 * IPv4: one peer has one address, however it came. The other way needs no care, Linux sends to an
 * IPv4 address from an IPv6 socket.
 *
 * TCP sockets send small data at once (TCP_NODELAY): the runtime's users write messages, and the
 * delay of the other setting is the kind that is found in production. Accepted sockets inherit it.
 *
 * A listener's port may be bound again while connections of an earlier listener linger
 * (SO_REUSEADDR); that does not let two listeners share it, which is asked for by name
 * (SO_REUSEPORT). A local path that a dead listener left is found out by a connect that is refused,
 * and removed. */
#define _GNU_SOURCE
#define RTI_MODULE "socket"
#include "port/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "port/linux/fd_op.h"
#include "port/linux/port_linux.h"
#include "port/linux/socket.h"

_Static_assert(sizeof(((struct rti_sockaddr *)0)->bytes) >= sizeof(struct sockaddr_storage),
               "every address of the system fits");

static rt_status net_failure(int error)
{
    if (error == EAFNOSUPPORT || error == EPROTONOSUPPORT) {
        return (rt_status){RT_ERR_UNSUPPORTED, rti_port_error_text(error)};
    }
    return (rt_status){rti_fd_op_status(error), rti_port_error_text(error)};
}

static const struct sockaddr *sockaddr_of(const struct rti_sockaddr *address)
{
    return (const struct sockaddr *)(const void *)address->bytes;
}

static bool option_on(int fd, int level, int name, bool is_on)
{
    int value = is_on ? 1 : 0;
    return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* The options of a new socket; false with errno set. */
static bool socket_tune(int fd, const struct rti_socket_config *config, int family)
{
    bool is_internet = family == AF_INET || family == AF_INET6;
    bool is_tcp = is_internet && config->kind != RTI_SOCKET_DATAGRAM;
    if (family == AF_INET6 && config->kind != RTI_SOCKET_STREAM &&
        !option_on(fd, IPPROTO_IPV6, IPV6_V6ONLY, config->is_v6_only)) {
        return false;
    }
    if (is_tcp && !option_on(fd, IPPROTO_TCP, TCP_NODELAY, true)) {
        return false;
    }
    if (is_tcp && config->kind == RTI_SOCKET_LISTENER &&
        !option_on(fd, SOL_SOCKET, SO_REUSEADDR, true)) {
        return false;
    }
    return !config->is_port_shared || option_on(fd, SOL_SOCKET, SO_REUSEPORT, true);
}

/* Is this the path of a socket that nobody listens on? Then it is removed. */
static bool path_take_over(const struct rti_sockaddr *address)
{
    const struct sockaddr_un *local = (const void *)address->bytes;
    struct stat about;
    if (local->sun_family != AF_UNIX || local->sun_path[0] == '\0' ||
        lstat(local->sun_path, &about) != 0 || !S_ISSOCK(about.st_mode)) {
        return false;
    }
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe < 0) {
        return false;
    }
    bool is_dead = connect(probe, sockaddr_of(address), (socklen_t)address->length) != 0 &&
                   errno == ECONNREFUSED;
    close(probe);
    return is_dead && unlink(local->sun_path) == 0;
}

static bool socket_bind(int fd, const struct rti_sockaddr *address)
{
    socklen_t length = (socklen_t)address->length;
    if (bind(fd, sockaddr_of(address), length) == 0) {
        return true;
    }
    int error = errno;
    if (error == EADDRINUSE && path_take_over(address)) {
        return bind(fd, sockaddr_of(address), length) == 0;
    }
    errno = error;
    return false;
}

static rt_status net_open(const struct rti_socket_config *config, int *fd_out)
{
    int family = sockaddr_of(config->address)->sa_family;
    int type = config->kind == RTI_SOCKET_DATAGRAM ? SOCK_DGRAM : SOCK_STREAM;
    int backlog = config->backlog > 0 ? config->backlog : SOMAXCONN;
    int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return net_failure(errno);
    }
    bool is_bound = config->kind != RTI_SOCKET_STREAM;
    bool is_listening = config->kind == RTI_SOCKET_LISTENER;
    if (!socket_tune(fd, config, family) || (is_bound && !socket_bind(fd, config->address)) ||
        (is_listening && listen(fd, backlog) != 0)) {
        rt_status failure = net_failure(errno);
        close(fd);
        return failure;
    }
    *fd_out = fd;
    return RT_SUCCESS;
}

static rt_status net_local(int fd, struct rti_sockaddr *address)
{
    socklen_t length = sizeof(address->bytes);
    if (getsockname(fd, (struct sockaddr *)(void *)address->bytes, &length) != 0) {
        return net_failure(errno);
    }
    address->length = length;
    return RT_SUCCESS;
}

/* The interface behind the '%' of a link-local address: a number or a name; 0 if it is neither. */
static uint32_t scope_of(const char *text)
{
    char *end;
    if (text[0] >= '0' && text[0] <= '9') {
        errno = 0;
        unsigned long number = strtoul(text, &end, 10);
        return *end == '\0' && errno == 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
    }
    return if_nametoindex(text);
}

static bool net_parse(const char *text, rt_net_address *address)
{
    rt_net_address parsed = {.port = 0};
    if (inet_pton(AF_INET, text, parsed.ip) == 1) {
        *address = parsed;
        return true;
    }
    char bare[INET6_ADDRSTRLEN];
    const char *percent = strchr(text, '%');
    size_t length = percent != NULL ? (size_t)(percent - text) : strlen(text);
    if (length >= sizeof(bare)) {
        return false;
    }
    memcpy(bare, text, length);
    bare[length] = '\0';
    if (inet_pton(AF_INET6, bare, parsed.ip) != 1) {
        return false;
    }
    parsed.is_ipv6 = 1;
    if (percent != NULL) {
        parsed.scope = scope_of(percent + 1);
        if (parsed.scope == 0) {
            return false;
        }
    }
    *address = parsed;
    return true;
}

/* The digits of `number` before `end`; gives where they begin. */
static char *digits_before(char *end, uint32_t number)
{
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return end;
}

static bool net_format(const rt_net_address *address, char *text, size_t size)
{
    char whole[RT_NET_ADDRESS_TEXT_SIZE];
    if (inet_ntop(address->is_ipv6 ? AF_INET6 : AF_INET, address->ip, whole, INET6_ADDRSTRLEN) ==
        NULL) {
        return false;
    }
    if (address->is_ipv6 && address->scope != 0) {
        char number[12];
        char *end = number + sizeof(number) - 1;
        *end = '\0';
        char *start = digits_before(end, address->scope);
        *--start = '%';
        memcpy(whole + strlen(whole), start, (size_t)(end - start) + 1);
    }
    size_t length = strlen(whole);
    if (length >= size) {
        return false;
    }
    memcpy(text, whole, length + 1);
    return true;
}

static void net_encode(const rt_net_address *address, struct rti_sockaddr *to)
{
    memset(to->bytes, 0, sizeof(to->bytes));
    if (address->is_ipv6) {
        struct sockaddr_in6 *in6 = (void *)to->bytes;
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(address->port);
        in6->sin6_scope_id = address->scope;
        memcpy(&in6->sin6_addr, address->ip, sizeof(in6->sin6_addr));
        to->length = sizeof(*in6);
    } else {
        struct sockaddr_in *in = (void *)to->bytes;
        in->sin_family = AF_INET;
        in->sin_port = htons(address->port);
        memcpy(&in->sin_addr, address->ip, sizeof(in->sin_addr));
        to->length = sizeof(*in);
    }
}

bool rti_net_decode(const struct sockaddr *from, rt_net_address *address)
{
    rt_net_address decoded = {.port = 0};
    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)from;
        decoded.port = ntohs(in->sin_port);
        memcpy(decoded.ip, &in->sin_addr, sizeof(in->sin_addr));
    } else if (from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)from;
        decoded.port = ntohs(in6->sin6_port);
        if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
            memcpy(decoded.ip, in6->sin6_addr.s6_addr + 12, 4);
        } else {
            decoded.is_ipv6 = 1;
            decoded.scope = in6->sin6_scope_id;
            memcpy(decoded.ip, &in6->sin6_addr, sizeof(in6->sin6_addr));
        }
    } else {
        return false;
    }
    *address = decoded;
    return true;
}

static bool net_decode(const struct rti_sockaddr *from, rt_net_address *address)
{
    return from->length >= sizeof(sa_family_t) && rti_net_decode(sockaddr_of(from), address);
}

static bool net_encode_local(const char *name, struct rti_sockaddr *to)
{
    struct sockaddr_un *local = (void *)to->bytes;
    size_t length = strlen(name);
    bool is_abstract = name[0] == '@';
    /* A path keeps its end, an abstract name has none and its first byte is 0. */
    if (length == 0 || (is_abstract && length == 1) || length >= sizeof(local->sun_path)) {
        return false;
    }
    memset(to->bytes, 0, sizeof(to->bytes));
    local->sun_family = AF_UNIX;
    memcpy(local->sun_path, name, length);
    if (is_abstract) {
        local->sun_path[0] = '\0';
    }
    to->length = offsetof(struct sockaddr_un, sun_path) + length + (is_abstract ? 0 : 1);
    return true;
}

const struct rti_port_net rti_linux_net = {
    .open = net_open,
    .local = net_local,
    .parse = net_parse,
    .format = net_format,
    .encode = net_encode,
    .decode = net_decode,
    .encode_local = net_encode_local,
    .resolve = rti_linux_resolve,
};
