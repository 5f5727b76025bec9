/* SPDX-License-Identifier: Apache-2.0 */
/* Local streams; the manual is <orrery/rt/net.h>. Only making and connecting differ from TCP.
 *
 * A local connect to a listener whose backlog is full fails at once and nothing tells when there is
 * room again. A caller that may wait therefore tries again, after 1 ms and then ever less often, up
 * to every 64 ms. */
#define RTI_MODULE "unix_socket"
#include <orrery/rt/net.h>

#include "io/io.h"
#include "time/deadline.h"

#define RETRY_FIRST_NS RTI_NS_PER_MS
#define RETRY_LAST_NS  (64 * RTI_NS_PER_MS)

/* The common start: who calls, and the name in the system's form. */
static rt_status unix_enter(struct rti_io_call *call, const char *name, const int *fd_out,
                            struct rti_sockaddr *address)
{
    if (name == NULL || fd_out == NULL) {
        return RTI_IO_NULL;
    }
    if (call->port->net == NULL) {
        return RTI_IO_NO_NETWORK;
    }
    if (!call->port->net->encode_local(name, address)) {
        return (rt_status){RT_ERR_INVALID, "the name of the socket is empty or too long"};
    }
    return RT_SUCCESS;
}

rt_status rt_unix_listen(const char *name, int *fd_out)
{
    struct rti_io_call call;
    struct rti_sockaddr address;
    rt_status status = rti_io_enter(&call, 0);
    if (!RT_FAILED(status)) {
        status = unix_enter(&call, name, fd_out, &address);
    }
    if (RT_FAILED(status)) {
        return status;
    }
    const struct rti_socket_config config = {.kind = RTI_SOCKET_LISTENER, .address = &address};
    return call.port->net->open(&config, fd_out);
}

/* Waits before the next try, no longer than the call may. False: the caller is cancelled. */
static bool connect_pause(const struct rti_io_call *call, uint64_t pause_ns, uint64_t deadline_ns,
                          bool *is_last)
{
    uint64_t now_ns = call->port->ops->clock_ns(call->port);
    *is_last = pause_ns > RTI_TIME_NEVER - now_ns || now_ns + pause_ns >= deadline_ns;
    uint64_t until_ns = *is_last ? deadline_ns : now_ns + pause_ns;
    if (rti_io_blocks(call)) {
        rti_port_sleep(until_ns > now_ns ? until_ns - now_ns : 0);
        return true;
    }
    return rti_fiber_sleep_until(rti_worker_current(), until_ns);
}

rt_status rt_unix_connect(const char *name, int *fd_out, int32_t timeout_ms)
{
    struct rti_io_call call;
    struct rti_sockaddr address;
    rt_status status = rti_io_enter(&call, timeout_ms);
    if (!RT_FAILED(status)) {
        status = unix_enter(&call, name, fd_out, &address);
    }
    if (RT_FAILED(status)) {
        return status;
    }
    uint64_t pause_ns = RETRY_FIRST_NS;
    for (;;) {
        status = rti_net_connect_to(&call, &address, fd_out);
        if (status.code != RT_ERR_FULL) {
            return status;
        }
        if (timeout_ms == 0) {
            return RTI_IO_WOULDBLOCK;
        }
        uint64_t deadline_ns = rti_io_deadline(&call);
        bool is_last = false;
        if (!connect_pause(&call, pause_ns, deadline_ns, &is_last) || is_last) {
            return rti_io_unanswered(&call);
        }
        pause_ns = pause_ns * 2 < RETRY_LAST_NS ? pause_ns * 2 : RETRY_LAST_NS;
    }
}
