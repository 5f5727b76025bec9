/* SPDX-License-Identifier: Apache-2.0 */
/* The network on FreeRTOS: a device (port/device.h) that a servant owns; port_freertos.h has the
 * picture.
 *
 * The mutex is held by whoever is inside the device, for one call or one turn of it. An op travels:
 *
 *     submit --- SPSC ---> the servant gives it to the device; it waits there (RTI_DEVICE_WAITS)
 *     done  <--- SPSC ---- the device has decided it, and the servant has sent it back
 *
 * A cancel looks under the mutex where the op is. If it waits in the device, it is decided there
 * and then. If it is still on its way there, it is marked, and the servant decides it when it
 * comes. If it is on its way back, it has its answer.
 *
 * There is room in the queue for RTI_FREERTOS_ASKED_MAX ops, because each is with the servant until
 * it is back; those beyond wait in `waiting`. So that many requests may wait at the same time on
 * sockets, and more come in turn. */
#define RTI_MODULE "freertos_net"
#include "base/assert.h"
#include "port/freertos/port_freertos.h"
#include "port/net.h"

static struct rti_freertos_net *net_of(struct rti_port *port)
{
    return RTI_CONTAINER_OF(port, struct rti_freertos_net, port);
}

static void net_lock(struct rti_freertos_net *net)
{
    (void)xSemaphoreTake(net->lock, portMAX_DELAY);
}

static void net_unlock(struct rti_freertos_net *net)
{
    (void)xSemaphoreGive(net->lock);
}

/* What the device takes for its port. */

static uint64_t net_clock_ns(struct rti_port *port)
{
    return rti_freertos_clock_ns(&net_of(port)->clock);
}

static void net_wake(struct rti_port *port)
{
    rti_servant_poke(&net_of(port)->servant);
}

static const struct rti_port_ops net_ops = {
    .name = "freertos net", .clock_ns = net_clock_ns, .wake = net_wake};

/* Gives the device the ops that have come. Under the lock. */
static void net_receive(struct rti_freertos_net *net)
{
    struct rti_device *device = net->device;
    uintptr_t entry;
    while (rti_servant_next(&net->servant, &entry)) {
        struct rti_op *op = (struct rti_op *)entry;
        if (op->is_cancelled) {
            rti_op_answer(op, RT_ERR_CANCELLED, 0, 0);
            rti_list_push_tail(&device->answered, &op->link);
        } else {
            device->ops->submit(device, op);
        }
    }
}

static void net_serve(void *arg)
{
    struct rti_freertos_net *net = arg;
    for (;;) {
        struct rti_link *link;
        struct rti_list answered;
        rti_list_init(&answered);
        net_lock(net);
        net_receive(net);
        uint64_t now_ns = rti_freertos_clock_ns(&net->clock);
        uint64_t due_ns = net->device->ops->turn(net->device, now_ns);
        rti_list_splice_tail(&answered, &net->device->answered);
        net_unlock(net);
        while ((link = rti_list_pop(&answered)) != NULL) {
            rti_servant_answer(&net->servant,
                               (uintptr_t)RTI_CONTAINER_OF(link, struct rti_op, link));
        }
        rti_servant_sleep(&net->servant, rti_freertos_ticks_until(now_ns, due_ns));
    }
}

/* ---- The runtime's task. ---- */

/* The functions of the network that enter the device; they are given no port, hence one network. */
static struct {
    struct rti_freertos_net *net;
    struct rti_port_net table;
} entered;

static rt_status net_open(const struct rti_socket_config *config, int *fd)
{
    net_lock(entered.net);
    rt_status status = entered.net->device->net->open(config, fd);
    net_unlock(entered.net);
    rti_servant_poke(&entered.net->servant);
    return status;
}

static rt_status net_local(int fd, struct rti_sockaddr *address)
{
    net_lock(entered.net);
    rt_status status = entered.net->device->net->local(fd, address);
    net_unlock(entered.net);
    return status;
}

bool rti_freertos_net_attempt(struct rti_freertos_net *net, struct rti_op *op)
{
    net_lock(net);
    bool is_done = net->device->ops->attempt(net->device, op);
    net_unlock(net);
    /* What the attempt began may have times of its own. */
    rti_servant_poke(&net->servant);
    return is_done;
}

static void net_send(struct rti_freertos_net *net)
{
    struct rti_link *link;
    while ((link = rti_list_peek(&net->waiting)) != NULL) {
        struct rti_op *op = RTI_CONTAINER_OF(link, struct rti_op, link);
        rti_list_remove(link);
        if (!rti_servant_ask(&net->servant, (uintptr_t)op)) {
            rti_list_push_head(&net->waiting, link);
            return;
        }
    }
}

void rti_freertos_net_submit(struct rti_freertos_net *net, struct rti_op *op)
{
    rti_list_push_tail(&net->waiting, &op->link);
    net_send(net);
}

void rti_freertos_net_cancel(struct rti_freertos_net *net, struct rti_op *op)
{
    net_lock(net);
    op->is_cancelled = true;
    if (op->stage == RTI_DEVICE_WAITS) {
        net->device->ops->cancel(net->device, op);
    }
    net_unlock(net);
    rti_servant_poke(&net->servant);
}

rt_status rti_freertos_net_close(struct rti_freertos_net *net, int fd)
{
    net_lock(net);
    rt_status status = net->device->ops->close_fd(net->device, fd);
    net_unlock(net);
    rti_servant_poke(&net->servant);
    return status;
}

struct rti_op *rti_freertos_net_take(struct rti_freertos_net *net)
{
    uintptr_t entry;
    if (!rti_servant_take(&net->servant, &entry)) {
        return NULL;
    }
    net_send(net);
    return (struct rti_op *)entry;
}

rt_status rti_port_freertos_attach(struct rti_port_freertos *freertos, struct rti_freertos_net *net,
                                   rt_status (*open)(struct rti_port *port,
                                                     struct rti_device **device))
{
    net->port = (struct rti_port){.ops = &net_ops};
    net->clock = (struct rti_freertos_clock){.last = xTaskGetTickCount()};
    rti_list_init(&net->waiting);
    net->lock = xSemaphoreCreateMutexStatic(&net->lock_memory);
    RT_ASSERT(net->lock != NULL && freertos->net == NULL);
    const struct rti_servant_config config = {.name = "orrery net",
                                              .serve = net_serve,
                                              .arg = net,
                                              .priority = RT_FREERTOS_HELPER_PRIORITY,
                                              .stack = net->stack,
                                              .stack_words = RT_FREERTOS_HELPER_STACK,
                                              .port = &freertos->port,
                                              .news = freertos->news};
    net_lock(net);
    /* The servant first, because the device's interrupt pokes it; it waits for the lock. */
    rti_servant_start(&net->servant, &config);
    rt_status status = open(&net->port, &net->device);
    if (RT_FAILED(status)) {
        rti_servant_stop(&net->servant);
        net_unlock(net);
        vSemaphoreDelete(net->lock);
        return status;
    }
    net_unlock(net);
    freertos->net = net;
    entered.net = net;
    entered.table = *net->device->net;
    entered.table.open = net_open;
    entered.table.local = net_local;
    freertos->port.net = &entered.table;
    return status;
}

void rti_port_freertos_detach(struct rti_port_freertos *freertos, void (*close)(void))
{
    struct rti_freertos_net *net = freertos->net;
    RT_ASSERT(net != NULL && rti_list_is_empty(&net->waiting));
    net_lock(net);
    /* The device first: its interrupt pokes the servant. */
    close();
    rti_servant_stop(&net->servant);
    net_unlock(net);
    vSemaphoreDelete(net->lock);
    freertos->net = NULL;
    freertos->port.net = NULL;
}
