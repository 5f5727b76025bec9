/* SPDX-License-Identifier: Apache-2.0 */
/* Names to addresses, by the C library: the one that knows this machine's files, caches and
 * servers. It may take seconds and it allocates inside the library, which is why it runs on a
 * thread of its own lane and why numeric addresses never come here.
 *
 * No filter by the addresses this machine has (AI_ADDRCONFIG): it would hide "localhost" on a
 * machine without a network, and an address there is no way to fails at once anyway. */
#define _GNU_SOURCE
#define RTI_MODULE "resolve"
#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "port/linux/socket.h"

static bool resolution_holds(const struct rti_resolution *resolution, const rt_net_address *address)
{
    for (uint32_t i = 0; i < resolution->count; i++) {
        const rt_net_address *other = &resolution->found[i];
        if (other->is_ipv6 == address->is_ipv6 && other->scope == address->scope &&
            memcmp(other->ip, address->ip, sizeof(other->ip)) == 0) {
            return true;
        }
    }
    return false;
}

static void resolution_fill(struct rti_resolution *resolution, const struct addrinfo *list)
{
    for (const struct addrinfo *one = list; one != NULL; one = one->ai_next) {
        rt_net_address address;
        if (resolution->count < RTI_RESOLVED_MAX && rti_net_decode(one->ai_addr, &address) &&
            !resolution_holds(resolution, &address)) {
            resolution->found[resolution->count++] = address;
        }
    }
}

static void resolve_fail(struct rti_op *op, int code, int error)
{
    bool is_unknown = code == EAI_NONAME || code == EAI_FAIL;
#ifdef EAI_NODATA
    is_unknown = is_unknown || code == EAI_NODATA;
#endif
    if (code == EAI_MEMORY) {
        rti_op_answer(op, RT_ERR_NOMEM, 0, ENOMEM);
    } else if (is_unknown) {
        rti_op_answer(op, RT_ERR_NOT_FOUND, 0, 0);
    } else {
        rti_op_answer(op, RT_ERR_IO, 0, code == EAI_SYSTEM ? error : EAGAIN);
    }
}

void rti_linux_resolve(struct rti_op *op)
{
    struct rti_resolution *resolution = op->buffer;
    RT_ASSERT(op->length == sizeof(*resolution));
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    resolution->count = 0;
    int code = getaddrinfo(resolution->name, NULL, &hints, &list);
    if (code != 0) {
        resolve_fail(op, code, errno);
        return;
    }
    resolution_fill(resolution, list);
    freeaddrinfo(list);
    if (resolution->count == 0) {
        rti_op_answer(op, RT_ERR_NOT_FOUND, 0, 0);
    } else {
        rti_op_answer(op, RT_OK, resolution->count, 0);
    }
}
