/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_DEVICE_H
#define RTI_DEVICE_H

/* A device: the part of a small target's port that has descriptors, a network stack for one. The
 * port hands it the ops on them and lets it work; the device says which are answered.
 *
 * Everything here is called by one thread of execution, the device's owner: on bare metal the
 * scheduler, on FreeRTOS whoever holds the device's lock. An interrupt of its hardware only says
 * that there is work, and wakes the owner.
 *
 * I1  An op is in one of three places: with its initiator, waiting inside the device, and then its
 *     `stage` is RTI_DEVICE_WAITS, or in `answered`, decided, from where the port takes it to its
 *     `done`. */

#include "base/assert.h"
#include "base/list.h"
#include "port/op.h"

/* The stage of an op that is undecided inside the device. */
#define RTI_DEVICE_WAITS 1u

struct rti_device;

struct rti_device_ops {
    /* As of a port (port/port.h). */
    bool (*attempt)(struct rti_device *device, struct rti_op *op);

    /* Takes an op that is in flight already. */
    void (*submit)(struct rti_device *device, struct rti_op *op);

    /* Decides an op that waits in the device: it is in `answered` then. */
    void (*cancel)(struct rti_device *device, struct rti_op *op);

    rt_status (*close_fd)(struct rti_device *device, int fd);

    /* Does what is due: what the hardware has brought, timers, ops that can go on. Gives the time
     * at which it wants to be called again at the latest. */
    uint64_t (*turn)(struct rti_device *device, uint64_t now_ns);
};

struct rti_device {
    const struct rti_device_ops *ops;
    const struct rti_port_net *net; /* the network that it is; NULL: none */
    struct rti_list answered;       /* device: decided, not yet told */
};

/* An op begins to wait in a queue of the device. */
static inline void rti_device_await(struct rti_op *op, struct rti_list *queue)
{
    op->stage = RTI_DEVICE_WAITS;
    rti_list_push_tail(queue, &op->link);
}

/* An op that waits is decided: from its queue to those that are answered. */
static inline void rti_device_decided(struct rti_op *op, struct rti_list *answered)
{
    RT_ASSERT(op->stage == RTI_DEVICE_WAITS);
    op->stage = 0;
    rti_list_remove(&op->link);
    rti_list_push_tail(answered, &op->link);
}

#endif
