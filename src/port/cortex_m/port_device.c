/* SPDX-License-Identifier: Apache-2.0 */
/* The bare port with a device (port/device.h): ops on descriptors go to it, all else goes the way
 * of port_cortex_m.c. */
#define RTI_MODULE "port_device"
#include "base/assert.h"
#include "port/cortex_m/port_cortex_m.h"

static const struct rti_port_ops *const bare = &rti_port_cortex_m_ops;

static struct rti_device *device_of(struct rti_port *port)
{
    return RTI_CONTAINER_OF(port, struct rti_port_cortex_m, port)->device;
}

static bool op_is_of_descriptor(const struct rti_op *op)
{
    return op->code != RTI_OP_NOP && !rti_op_is_work(op);
}

/* Lets the device work and takes what it has answered. */
static enum rti_wait_end device_wait(struct rti_port *port, uint64_t deadline_ns)
{
    struct rti_port_cortex_m *cortex_m = RTI_CONTAINER_OF(port, struct rti_port_cortex_m, port);
    struct rti_device *device = cortex_m->device;
    uint64_t due_ns = device->ops->turn(device, port->ops->clock_ns(port));
    rti_list_splice_tail(&cortex_m->answered, &device->answered);
    if (due_ns >= deadline_ns) {
        return bare->wait(port, deadline_ns);
    }
    /* Who waits for longer than the device comes again. */
    (void)bare->wait(port, due_ns);
    return RTI_WAIT_WOKEN;
}

/* Ends the wait by which the device's answers are told. */
static void device_tell(struct rti_port *port, const struct rti_device *device)
{
    if (!rti_list_is_empty(&device->answered)) {
        port->ops->wake(port);
    }
}

static void device_submit(struct rti_port *port, struct rti_op *op)
{
    struct rti_device *device = device_of(port);
    if (!op_is_of_descriptor(op)) {
        bare->submit(port, op);
        return;
    }
    rti_op_to_in_flight(op);
    device->ops->submit(device, op);
    device_tell(port, device);
}

static void device_cancel(struct rti_port *port, struct rti_op *op)
{
    struct rti_device *device = device_of(port);
    if (!op_is_of_descriptor(op)) {
        bare->cancel(port, op);
    } else if (!rti_op_is_idle(op) && op->stage == RTI_DEVICE_WAITS) {
        op->is_cancelled = true;
        device->ops->cancel(device, op);
        device_tell(port, device);
    }
}

static bool device_attempt(struct rti_port *port, struct rti_op *op)
{
    struct rti_device *device = device_of(port);
    return op_is_of_descriptor(op) && device->ops->attempt(device, op);
}

static rt_status device_close_fd(struct rti_port *port, int fd)
{
    struct rti_device *device = device_of(port);
    rt_status status = device->ops->close_fd(device, fd);
    device_tell(port, device);
    return status;
}

void rti_port_cortex_m_attach(struct rti_port_cortex_m *cortex_m, struct rti_device *device)
{
    RT_ASSERT(cortex_m->device == NULL && rti_list_is_empty(&cortex_m->answered));
    static struct rti_port_ops ops;
    ops = *bare;
    ops.wait = device_wait;
    ops.submit = device_submit;
    ops.cancel = device_cancel;
    ops.attempt = device_attempt;
    ops.close_fd = device_close_fd;
    cortex_m->device = device;
    cortex_m->port.ops = &ops;
    cortex_m->port.net = device->net;
}
