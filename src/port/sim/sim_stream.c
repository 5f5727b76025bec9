/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the simulated network; the essay is in sim_net.h.
 *
 * A connect is two travels. The question arrives at whoever listens then, and makes the other end
 * of the connection there, in the backlog; without room it waits, and without a listener the answer
 * is a refusal. The answer arrives at who asked.
 *
 * The end of a connection is one travel, `end` of who hears of it: the end of the stream, behind
 * everything that was sent, or a reset. Who sends to a peer that is gone gets a reset, one way
 * there and one way back later, and until then his sends succeed into nothing, as they do
 * everywhere. */
#define RTI_MODULE "sim_stream"
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/marks.h"
#include "port/sim/sim_net.h"

/* What poll(2) calls these. */
#define READABLE 0x0001
#define WRITABLE 0x0004
#define BROKEN   (0x0008 | 0x0010)

/* What travels, for the digest. */
enum {
    TRAVEL_SEGMENT = 1,
    TRAVEL_END = 2,
    TRAVEL_RESET = 3,
    TRAVEL_CONNECT = 4,
    TRAVEL_ANSWER = 5,
};

static uint64_t now_of(const struct rti_sim_socket *socket)
{
    return socket->net->sim->now_ns;
}

/* ---- Ends. ---- */

static void stream_on_end(struct rti_agenda_entry *entry)
{
    struct rti_sim_socket *socket = RTI_CONTAINER_OF(entry, struct rti_sim_socket, end);
    if (socket->is_end_reset) {
        socket->error = ECONNRESET;
    } else {
        socket->is_ended = true;
        if (socket->reset_ns != RTI_TIME_NEVER) {
            uint64_t due_ns = socket->reset_ns > now_of(socket) ? socket->reset_ns : now_of(socket);
            socket->is_end_reset = true;
            rti_sim_net_send(socket->net, entry, due_ns, TRAVEL_RESET);
        }
    }
    rti_sim_socket_pump(socket);
}

/* A socket will hear that its peer is gone, behind what was sent to it. */
static uint64_t stream_tell_end(struct rti_sim_socket *socket, bool is_reset)
{
    uint64_t due_ns = rti_sim_net_arrival(socket->net, socket->last_ns);
    socket->peer = NULL;
    socket->is_end_reset = is_reset;
    rti_agenda_entry_init(&socket->end, stream_on_end);
    rti_sim_net_send(socket->net, &socket->end, due_ns, is_reset ? TRAVEL_RESET : TRAVEL_END);
    /* Whoever waits for room to send need not. */
    rti_sim_socket_pump(socket);
    return due_ns;
}

/* This end is closed: the peer, if there is one, will hear of it. */
static void stream_hang_up(struct rti_sim_socket *socket, bool is_reset)
{
    struct rti_sim_socket *peer = socket->peer;
    if (peer == NULL) {
        return;
    }
    socket->peer = NULL;
    uint64_t end_ns = stream_tell_end(peer, is_reset || socket->arrived > 0);
    if (!peer->is_end_reset && socket->used > 0) {
        /* What still travels here finds nobody, and says so. */
        uint64_t met_ns = socket->last_ns > end_ns ? socket->last_ns : end_ns;
        peer->reset_ns = rti_sim_net_arrival(socket->net, met_ns);
    }
}

/* What travels to this socket is lost. */
static void stream_drop_segments(struct rti_sim_socket *socket)
{
    while (socket->segment_count > 0) {
        struct rti_sim_segment *segment = &socket->segments[socket->segment_first];
        rti_agenda_remove(&segment->entry);
        socket->used -= segment->length;
        socket->segment_first = (socket->segment_first + 1) % RTI_SIM_SEGMENTS;
        socket->segment_count--;
    }
}

void rti_sim_stream_end(struct rti_sim_socket *socket)
{
    if (socket->listener != NULL) {
        rti_list_remove(&socket->link);
        socket->listener = NULL;
    }
    stream_hang_up(socket, false);
    stream_drop_segments(socket);
    rti_agenda_remove(&socket->travel);
    rti_agenda_remove(&socket->end);
}

/* The network ends a connection: what travels is lost, both ends are told. */
static void stream_break(struct rti_sim_socket *socket)
{
    struct rti_sim_socket *peer = socket->peer;
    RT_SOMETIMES(socket->used > socket->arrived || peer->used > peer->arrived,
                 "sim: a reset loses bytes on their way");
    stream_drop_segments(socket);
    stream_drop_segments(peer);
    socket->peer = NULL;
    (void)stream_tell_end(peer, true);
    (void)stream_tell_end(socket, true);
}

/* ---- Bytes. ---- */

static void stream_on_segment(struct rti_agenda_entry *entry)
{
    struct rti_sim_segment *segment = RTI_CONTAINER_OF(entry, struct rti_sim_segment, entry);
    struct rti_sim_socket *socket = segment->to;
    RT_ASSERT(segment == &socket->segments[socket->segment_first] && socket->segment_count > 0);
    socket->segment_first = (socket->segment_first + 1) % RTI_SIM_SEGMENTS;
    socket->segment_count--;
    socket->arrived += segment->length;
    rti_sim_socket_pump(socket);
    if (socket->peer != NULL) {
        rti_sim_socket_pump(socket->peer);
    }
}

static void ring_put(struct rti_sim_socket *socket, const unsigned char *bytes, uint32_t count)
{
    uint32_t at = (socket->head + socket->used) % RT_SIM_SOCKET_BUFFER;
    uint32_t first = RT_SIM_SOCKET_BUFFER - at < count ? RT_SIM_SOCKET_BUFFER - at : count;
    memcpy(socket->ring + at, bytes, first);
    memcpy(socket->ring, bytes + first, count - first);
    socket->used += count;
}

static void ring_take(struct rti_sim_socket *socket, unsigned char *bytes, uint32_t count)
{
    uint32_t at = socket->head;
    uint32_t first = RT_SIM_SOCKET_BUFFER - at < count ? RT_SIM_SOCKET_BUFFER - at : count;
    memcpy(bytes, socket->ring + at, first);
    memcpy(bytes + first, socket->ring, count - first);
    socket->head = (at + count) % RT_SIM_SOCKET_BUFFER;
    socket->used -= count;
    socket->arrived -= count;
}

bool rti_sim_stream_read(struct rti_sim_socket *socket, struct rti_op *op)
{
    if (socket->kind != RTI_SIM_STREAM || socket->stage != RTI_SIM_CONNECTED) {
        return rti_sim_op_fail(op, ENOTCONN);
    }
    op->address_length = 0;
    if (op->length == 0) {
        rti_op_answer(op, RT_OK, 0, 0);
        return true;
    }
    if (socket->arrived == 0) {
        if (socket->error != 0) {
            return rti_sim_op_fail(op, socket->error);
        }
        rti_op_answer(op, RT_OK, 0, 0);
        return socket->is_ended;
    }
    uint32_t count = op->length < socket->arrived ? (uint32_t)op->length : socket->arrived;
    ring_take(socket, op->buffer, count);
    rti_op_answer(op, RT_OK, count, 0);
    if (socket->peer != NULL) {
        rti_sim_socket_pump(socket->peer);
    }
    return true;
}

/* Sends to a peer that is gone: taken, lost, and answered by a reset. */
static void stream_send_to_nobody(struct rti_sim_socket *socket)
{
    uint64_t there_ns = rti_sim_net_arrival(socket->net, 0);
    uint64_t due_ns = rti_sim_net_arrival(socket->net, there_ns);
    if (rti_agenda_entry_is_planned(&socket->end)) {
        bool is_sooner = !socket->is_end_reset && due_ns < socket->reset_ns;
        socket->reset_ns = is_sooner ? due_ns : socket->reset_ns;
        return;
    }
    socket->is_end_reset = true;
    rti_sim_net_send(socket->net, &socket->end, due_ns, TRAVEL_RESET);
}

/* A segment of `length` bytes goes on its way to a socket. */
static void stream_send_segment(struct rti_sim_socket *to, const void *bytes, uint32_t length)
{
    struct rti_sim_net *net = to->net;
    uint32_t at = (to->segment_first + to->segment_count) % RTI_SIM_SEGMENTS;
    struct rti_sim_segment *segment = &to->segments[at];
    to->segment_count++;
    ring_put(to, bytes, length);
    rti_agenda_entry_init(&segment->entry, stream_on_segment);
    segment->to = to;
    segment->length = length;
    to->last_ns = rti_sim_net_arrival(net, to->last_ns);
    rti_sim_net_send(net, &segment->entry, to->last_ns, TRAVEL_SEGMENT + ((uint64_t)length << 8));
}

static uint32_t stream_room(const struct rti_sim_socket *to)
{
    return to->segment_count == RTI_SIM_SEGMENTS ? 0 : RT_SIM_SOCKET_BUFFER - to->used;
}

bool rti_sim_stream_write(struct rti_sim_socket *socket, struct rti_op *op)
{
    struct rti_sim_net *net = socket->net;
    if (socket->kind != RTI_SIM_STREAM || socket->stage != RTI_SIM_CONNECTED ||
        socket->error != 0) {
        return rti_sim_op_fail(op, EPIPE);
    }
    if (socket->peer == NULL) {
        stream_send_to_nobody(socket);
        rti_op_answer(op, RT_OK, (int64_t)op->length, 0);
        return true;
    }
    uint32_t room = stream_room(socket->peer);
    if (room == 0) {
        return false;
    }
    uint32_t count = op->length < room ? (uint32_t)op->length : room;
    if (count > 1 && rti_sim_net_chance(net, net->config.split)) {
        count = 1 + (uint32_t)rti_rng_below(&net->rng, count - 1);
    }
    rti_op_answer(op, RT_OK, count, 0);
    if (count == 0) {
        return true;
    }
    stream_send_segment(socket->peer, op->buffer, count);
    if (rti_sim_net_chance(net, net->config.reset)) {
        stream_break(socket);
    }
    return true;
}

/* ---- Connecting. ---- */

static void stream_on_answer(struct rti_agenda_entry *entry)
{
    struct rti_sim_socket *socket = RTI_CONTAINER_OF(entry, struct rti_sim_socket, travel);
    socket->error = socket->answer;
    socket->stage = socket->error == 0 ? RTI_SIM_CONNECTED : RTI_SIM_REFUSED;
    rti_sim_socket_pump(socket);
}

static void stream_answer(struct rti_sim_socket *socket, int error)
{
    uint64_t due_ns = rti_sim_net_arrival(socket->net, 0);
    socket->answer = error;
    /* What the other end sends at once arrives behind. */
    socket->last_ns = due_ns;
    rti_agenda_entry_init(&socket->travel, stream_on_answer);
    rti_sim_net_send(socket->net, &socket->travel, due_ns, TRAVEL_ANSWER + ((uint64_t)error << 8));
}

/* Makes the other end of a connection, in the backlog. False: there is no room. */
static bool listener_take(struct rti_sim_socket *listener, struct rti_sim_socket *socket)
{
    struct rti_sim_net *net = listener->net;
    struct rti_sim_socket *other = listener->accepted_count < listener->backlog
                                       ? rti_sim_socket_new(net, RTI_SIM_STREAM)
                                       : NULL;
    if (other == NULL) {
        return false;
    }
    other->stage = RTI_SIM_CONNECTED;
    other->place = socket->target;
    other->target = socket->place;
    other->peer = socket;
    socket->peer = other;
    other->listener = listener;
    rti_agenda_entry_init(&other->end, stream_on_end);
    rti_agenda_entry_init(&other->travel, stream_on_answer);
    rti_list_push_tail(&listener->accepted, &other->link);
    listener->accepted_count++;
    stream_answer(socket, 0);
    return true;
}

void rti_sim_listener_admit(struct rti_sim_socket *listener)
{
    struct rti_link *link;
    while ((link = rti_list_peek(&listener->waiting)) != NULL) {
        struct rti_sim_socket *socket = RTI_CONTAINER_OF(link, struct rti_sim_socket, link);
        if (!listener_take(listener, socket)) {
            return;
        }
        rti_list_remove(&socket->link);
        socket->listener = NULL;
        rti_sim_socket_pump(listener);
    }
}

static void stream_on_question(struct rti_agenda_entry *entry)
{
    struct rti_sim_socket *socket = RTI_CONTAINER_OF(entry, struct rti_sim_socket, travel);
    struct rti_sim_net *net = socket->net;
    struct rti_sim_socket *listener = rti_sim_net_find(net, RTI_SIM_LISTENER, &socket->target);
    if (listener == NULL) {
        stream_answer(socket, ECONNREFUSED);
    } else if (rti_sim_net_chance(net, net->config.reset)) {
        stream_answer(socket, ECONNRESET);
    } else if (listener_take(listener, socket)) {
        rti_sim_socket_pump(listener);
    } else if (socket->target.is_local) {
        stream_answer(socket, EAGAIN);
    } else {
        RT_SOMETIMES(true, "sim: a connect waits for room in a backlog");
        socket->listener = listener;
        rti_list_push_tail(&listener->waiting, &socket->link);
    }
}

static void stream_begin_connect(struct rti_sim_socket *socket, const struct rti_op *op)
{
    struct rti_sim_net *net = socket->net;
    struct rti_sockaddr to = {.length = op->length};
    RT_ASSERT(op->length <= sizeof(to.bytes));
    memcpy(to.bytes, op->buffer, op->length);
    rti_sim_place_decode(net, &to, &socket->target);
    socket->place.is_local = socket->target.is_local;
    if (!socket->target.is_local) {
        /* It speaks from the address that it speaks to: one machine has them all. */
        socket->place.address = socket->target.address;
        socket->place.address.port = rti_sim_net_free_port(net);
    }
    socket->stage = RTI_SIM_CONNECTING;
    rti_agenda_entry_init(&socket->end, stream_on_end);
    rti_agenda_entry_init(&socket->travel, stream_on_question);
    rti_sim_net_send(net, &socket->travel, rti_sim_net_arrival(net, 0), TRAVEL_CONNECT);
}

bool rti_sim_stream_connect(struct rti_sim_socket *socket, struct rti_op *op)
{
    if (socket->kind != RTI_SIM_STREAM) {
        return rti_sim_op_fail(op, EINVAL);
    }
    if (socket->stage == RTI_SIM_NEW) {
        stream_begin_connect(socket, op);
    }
    if (socket->stage == RTI_SIM_REFUSED) {
        return rti_sim_op_fail(op, socket->error);
    }
    rti_op_answer(op, RT_OK, 0, 0);
    return socket->stage == RTI_SIM_CONNECTED;
}

bool rti_sim_stream_accept(struct rti_sim_socket *listener, struct rti_op *op)
{
    if (listener->kind != RTI_SIM_LISTENER) {
        return rti_sim_op_fail(op, EINVAL);
    }
    struct rti_link *link = rti_list_pop(&listener->accepted);
    if (link == NULL) {
        return false;
    }
    struct rti_sim_socket *socket = RTI_CONTAINER_OF(link, struct rti_sim_socket, link);
    socket->listener = NULL;
    listener->accepted_count--;
    rti_sim_op_tell_address(listener->net, op, &socket->target.address);
    rti_op_answer(op, RT_OK, rti_sim_socket_fd(socket), 0);
    rti_sim_listener_admit(listener);
    return true;
}

void rti_sim_listener_end(struct rti_sim_socket *listener)
{
    struct rti_link *link;
    while ((link = rti_list_pop(&listener->accepted)) != NULL) {
        struct rti_sim_socket *socket = RTI_CONTAINER_OF(link, struct rti_sim_socket, link);
        socket->listener = NULL;
        stream_hang_up(socket, true);
        rti_sim_socket_close(socket);
    }
    while ((link = rti_list_pop(&listener->waiting)) != NULL) {
        struct rti_sim_socket *socket = RTI_CONTAINER_OF(link, struct rti_sim_socket, link);
        socket->listener = NULL;
        stream_answer(socket, ECONNREFUSED);
    }
}

int rti_sim_stream_ready(const struct rti_sim_socket *socket, bool is_inward)
{
    if (socket->kind == RTI_SIM_DATAGRAM) {
        bool is_any = !is_inward || !rti_list_is_empty(&socket->received);
        return !is_any ? 0 : is_inward ? READABLE : WRITABLE;
    }
    int broken = socket->error != 0 ? BROKEN : 0;
    if (is_inward) {
        bool is_any = socket->arrived > 0 || !rti_list_is_empty(&socket->accepted);
        return is_any || socket->is_ended || broken != 0 ? READABLE | broken : 0;
    }
    bool is_connected = socket->kind == RTI_SIM_STREAM && socket->stage == RTI_SIM_CONNECTED;
    bool has_room = is_connected && (socket->peer == NULL || stream_room(socket->peer) > 0);
    return has_room || broken != 0 ? WRITABLE | broken : 0;
}
