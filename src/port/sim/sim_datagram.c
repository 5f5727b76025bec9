/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams of the simulated network; the essay is in sim_net.h.
 *
 * A datagram knows where it goes and finds out at its arrival who is there. Nobody, or nothing left
 * to carry it in: it is lost, and nobody is told. */
#define RTI_MODULE "sim_datagram"
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/marks.h"
#include "port/sim/sim_net.h"

#define TRAVEL_DATAGRAM 6

static void datagram_free(struct rti_sim_datagram *datagram)
{
    rti_list_push_tail(&datagram->net->datagrams, &datagram->link);
}

static void datagram_on_arrival(struct rti_agenda_entry *entry)
{
    struct rti_sim_datagram *datagram = RTI_CONTAINER_OF(entry, struct rti_sim_datagram, entry);
    const struct rti_sim_place place = {.address = datagram->to};
    struct rti_sim_socket *socket = rti_sim_net_find(datagram->net, RTI_SIM_DATAGRAM, &place);
    if (socket == NULL) {
        datagram_free(datagram);
        return;
    }
    rti_list_push_tail(&socket->received, &datagram->link);
    rti_sim_socket_pump(socket);
}

void rti_sim_datagram_prepare(struct rti_sim_net *net)
{
    rti_list_init(&net->datagrams);
    for (size_t i = 0; i < RTI_SIM_DATAGRAMS; i++) {
        struct rti_sim_datagram *datagram = &net->hall->datagrams[i];
        datagram->net = net;
        rti_link_init(&datagram->link);
        rti_agenda_entry_init(&datagram->entry, datagram_on_arrival);
        datagram_free(datagram);
    }
}

bool rti_sim_datagram_receive(struct rti_sim_socket *socket, struct rti_op *op)
{
    struct rti_link *link = rti_list_pop(&socket->received);
    if (link == NULL) {
        return false;
    }
    struct rti_sim_datagram *datagram = RTI_CONTAINER_OF(link, struct rti_sim_datagram, link);
    size_t count = op->length < datagram->length ? op->length : datagram->length;
    if (count > 0) {
        memcpy(op->buffer, datagram->bytes, count);
    }
    rti_sim_op_tell_address(socket->net, op, &datagram->from);
    rti_op_answer(op, RT_OK, (int64_t)count, 0);
    op->is_truncated = datagram->length > op->length;
    datagram_free(datagram);
    return true;
}

/* The address that a socket speaks from: of one bound to all, the one that it speaks to. */
static rt_net_address datagram_from(const struct rti_sim_socket *socket, const rt_net_address *to)
{
    rt_net_address from = socket->place.address;
    if (socket->is_every) {
        from = *to;
        from.port = socket->place.address.port;
    }
    return from;
}

static void datagram_send(struct rti_sim_socket *socket, const struct rti_op *op,
                          const rt_net_address *to)
{
    struct rti_sim_net *net = socket->net;
    struct rti_link *link = rti_list_pop(&net->datagrams);
    if (link == NULL) {
        RT_SOMETIMES(true, "sim: a datagram is lost for want of room");
        return;
    }
    struct rti_sim_datagram *datagram = RTI_CONTAINER_OF(link, struct rti_sim_datagram, link);
    datagram->from = datagram_from(socket, to);
    datagram->to = *to;
    datagram->length = (uint32_t)op->length;
    if (op->length > 0) {
        memcpy(datagram->bytes, op->buffer, op->length);
    }
    rti_sim_net_send(net, &datagram->entry, rti_sim_net_arrival(net, 0),
                     TRAVEL_DATAGRAM + ((uint64_t)op->length << 8));
}

bool rti_sim_datagram_send(struct rti_sim_socket *socket, struct rti_op *op)
{
    struct rti_sim_net *net = socket->net;
    struct rti_sockaddr form = {.length = op->address_length};
    struct rti_sim_place place;
    if (op->address == NULL) {
        return rti_sim_op_fail(op, EDESTADDRREQ);
    }
    if (op->length > RTI_SIM_DATAGRAM_SIZE) {
        return rti_sim_op_fail(op, EMSGSIZE);
    }
    RT_ASSERT(op->address_length <= sizeof(form.bytes));
    memcpy(form.bytes, op->address, op->address_length);
    rti_sim_place_decode(net, &form, &place);
    if (place.is_local) {
        return rti_sim_op_fail(op, EDESTADDRREQ);
    }
    if (!rti_sim_net_chance(net, net->config.loss)) {
        datagram_send(socket, op, &place.address);
        if (rti_sim_net_chance(net, net->config.duplicate)) {
            datagram_send(socket, op, &place.address);
        }
    }
    rti_op_answer(op, RT_OK, (int64_t)op->length, 0);
    return true;
}

void rti_sim_datagram_end(struct rti_sim_socket *socket)
{
    struct rti_link *link;
    while ((link = rti_list_pop(&socket->received)) != NULL) {
        datagram_free(RTI_CONTAINER_OF(link, struct rti_sim_datagram, link));
    }
}
