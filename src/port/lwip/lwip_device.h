/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LWIP_DEVICE_H
#define RTI_LWIP_DEVICE_H

/* TCP over lwIP, as a device (port/device.h): sockets with descriptors from 0, and the ops on them.
 *
 * lwIP runs without an operating system of its own (NO_SYS=1): its raw functions are called by one
 * thread of execution, the device's owner, and its callbacks run inside those calls. A callback
 * here only writes down what happened, in the socket: bytes that came, the peer's end, an error.
 * All that follows from it is done afterwards by the pump of the turn, which goes over the sockets
 * and lets the ops at the head of their queues try again. So no callback reaches back into lwIP,
 * and there is one place where an op is decided.
 *
 *     FREE --open--> LISTENER --close--> FREE
 *      |  \--open--> STREAM: to connect --close--> FREE
 *      \--a peer comes--> STREAM: in `accepted` of its listener until an ACCEPT takes it
 *
 * A receiver that does not read closes the window of its peer, because bytes are told to lwIP as
 * taken only when an op takes them; so the memory of a socket is bounded by TCP_WND. A socket that
 * is closed with bytes unread resets its peer, as elsewhere.
 *
 * lwIP's state is the program's, hence there is one device. Its options are the application's
 * (lwipopts.h); needed are NO_SYS 1, LWIP_TCP 1, TCP_LISTEN_BACKLOG 1.
 *
 * I1  The argument of a control block is its socket, and `pcb` of the socket that block, until one
 *     of close, abort and the error callback, which ends both.               (socket_forget)
 * I2  A socket waits in `accepted` iff it has a `listener`.                  (rti_lwip_audit)
 * I3  FREE sockets have neither ops nor bytes.                               (rti_lwip_audit)
 *
 * Costs: an op that can be done at once is done in `attempt`; a turn looks at each socket once.
 *
 * Rejected: lwIP's own sockets (they need its threads and copy once more); ops decided inside the
 * callbacks (tcp_close inside tcp_recv needs a special return value, and `done` would run deep
 * inside the stack). */

#include "port/device.h"
#include "port/net.h"

#ifndef RT_LWIP_SOCKETS
#define RT_LWIP_SOCKETS 8 /* sockets at the same time, those included that nobody has accepted */
#endif

/* The interface that carries the frames: one, of the board. */
struct rti_lwip_link {
    /* Adds the interface to lwIP; its interrupt wakes the port. False: no such hardware. */
    bool (*start)(struct rti_port *port);
    /* Gives lwIP the frames that have come. */
    void (*poll)(void);
    void (*stop)(void);
};

/* Starts lwIP over the link; `port` is whose clock it has. RT_OK and the one device; RT_ERR_STATE
 * if it has been started already; RT_ERR_IO if the link does not come up. */
rt_status rti_lwip_open(struct rti_port *port, const struct rti_lwip_link *link,
                        struct rti_device **device);

/* Closes every socket. No op is in the device. What lwIP has begun stays in its memory: it cannot
 * be ended, only be taken up again by the next rti_lwip_open. */
void rti_lwip_close(void);

void rti_lwip_audit(void);

#endif
