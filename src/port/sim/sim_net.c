/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated network as a whole: numbers, places, ops, time. The essay is in sim_net.h. */
#define RTI_MODULE "sim_net"
#include "port/sim/sim_net.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"

/* The network draws from a stream of its own, away from what the program draws. */
#define NET_SALT UINT64_C(0x6e6574776f726b31)

/* Where ports that nobody asked for begin. */
#define PORT_FIRST 49152

#define BACKLOG_MAX 128

/* The stage of an op that waits in a queue of a socket. */
#define SIM_OP_WAITS 1

/* The one world. Written by attach and detach. */
static struct rti_sim_net *net_world;

/* ---- Time and chance. ---- */

bool rti_sim_net_chance(struct rti_sim_net *net, uint32_t permille)
{
    return permille != 0 && rti_rng_chance(&net->rng, permille, 1000);
}

static uint64_t net_latency(struct rti_sim_net *net)
{
    const rt_sim_network *config = &net->config;
    uint64_t span = config->latency_max - config->latency_min;
    return config->latency_min + (span == 0 ? 0 : rti_rng_below(&net->rng, span + 1));
}

uint64_t rti_sim_net_arrival(struct rti_sim_net *net, uint64_t after_ns)
{
    uint64_t due_ns = rti_agenda_after(net->sim->now_ns, net_latency(net));
    due_ns = due_ns > after_ns ? due_ns : after_ns;
    return due_ns > net->floor_ns ? due_ns : net->floor_ns;
}

void rti_sim_net_send(struct rti_sim_net *net, struct rti_agenda_entry *entry, uint64_t due_ns,
                      uint64_t what)
{
    net->digest = rti_digest_mix(rti_digest_mix(net->digest, what), due_ns);
    rti_agenda_add(&net->agenda, entry, due_ns);
    if (due_ns <= net->sim->now_ns) {
        net->sim->port.ops->wake(&net->sim->port);
    }
}

uint64_t rti_sim_net_next(const struct rti_sim_net *net)
{
    return net->is_cut ? RTI_TIME_NEVER : rti_agenda_next(&net->agenda);
}

void rti_sim_net_run(struct rti_sim_net *net, uint64_t now_ns)
{
    if (!net->is_cut && rti_agenda_next(&net->agenda) <= now_ns) {
        rti_agenda_run(&net->agenda, now_ns);
        RT_AUDIT(rti_sim_net_audit(net));
    }
}

void rti_sim_net_cut(struct rti_sim_net *net, bool is_cut)
{
    if (net->is_cut && !is_cut) {
        /* Never back: what was put off once may still be on its way. */
        uint64_t floor_ns = rti_agenda_after(net->sim->now_ns, net_latency(net));
        net->floor_ns = floor_ns > net->floor_ns ? floor_ns : net->floor_ns;
        rti_agenda_postpone(&net->agenda, net->floor_ns);
    }
    net->is_cut = is_cut;
}

/* ---- Places. ---- */

void rti_sim_place_decode(const struct rti_sim_net *net, const struct rti_sockaddr *from,
                          struct rti_sim_place *place)
{
    *place = (struct rti_sim_place){.is_local = false};
    if (!net->table.decode(from, &place->address)) {
        place->is_local = true;
        place->name = *from;
    }
}

void rti_sim_op_tell_address(const struct rti_sim_net *net, struct rti_op *op,
                             const rt_net_address *address)
{
    struct rti_sockaddr form;
    if (op->address == NULL) {
        return;
    }
    net->table.encode(address, &form);
    size_t length = form.length < op->address_length ? form.length : op->address_length;
    memcpy(op->address, form.bytes, length);
    op->address_length = length;
}

static bool address_is_every(const rt_net_address *address)
{
    static const uint8_t none[sizeof(address->ip)] = {0};
    return memcmp(address->ip, none, sizeof(none)) == 0;
}

static bool address_is_same(const rt_net_address *one, const rt_net_address *other)
{
    return one->is_ipv6 == other->is_ipv6 && memcmp(one->ip, other->ip, sizeof(one->ip)) == 0;
}

static bool name_is_same(const struct rti_sim_place *one, const struct rti_sim_place *other)
{
    return one->name.length == other->name.length &&
           memcmp(one->name.bytes, other->name.bytes, one->name.length) == 0;
}

/* Is a bound socket reached under this place? */
static bool socket_answers_to(const struct rti_sim_socket *socket,
                              const struct rti_sim_place *place)
{
    if (socket->place.is_local || place->is_local) {
        return socket->place.is_local && place->is_local && name_is_same(&socket->place, place);
    }
    if (socket->place.address.port != place->address.port) {
        return false;
    }
    if (!socket->is_every) {
        return address_is_same(&socket->place.address, &place->address);
    }
    /* Every address of IPv6 is every address, unless the socket says otherwise. */
    bool is_v6 = socket->place.address.is_ipv6 != 0;
    return is_v6 == (place->address.is_ipv6 != 0) || (is_v6 && !socket->is_v6_only);
}

/* Would two bound sockets be reached under one place? */
static bool socket_collides(const struct rti_sim_socket *one, const struct rti_sim_socket *other)
{
    if (one->is_shared && other->is_shared) {
        return false;
    }
    return socket_answers_to(one, &other->place) || socket_answers_to(other, &one->place);
}

struct rti_sim_socket *rti_sim_net_find(struct rti_sim_net *net, enum rti_sim_socket_kind kind,
                                        const struct rti_sim_place *place)
{
    struct rti_sim_socket *found = NULL;
    uint64_t count = 0;
    for (size_t i = 0; i < RT_SIM_SOCKETS; i++) {
        struct rti_sim_socket *socket = &net->hall->sockets[i];
        if (socket->kind != kind || !socket_answers_to(socket, place)) {
            continue;
        }
        /* Who shares a port is chosen by the seed, each with the same chance. */
        count++;
        if (count == 1 || rti_rng_below(&net->rng, count) == 0) {
            found = socket;
        }
    }
    return found;
}

static bool port_is_used(const struct rti_sim_net *net, uint16_t port)
{
    for (size_t i = 0; i < RT_SIM_SOCKETS; i++) {
        const struct rti_sim_socket *socket = &net->hall->sockets[i];
        if (socket->kind != RTI_SIM_FREE && !socket->place.is_local &&
            socket->place.address.port == port) {
            return true;
        }
    }
    return false;
}

uint16_t rti_sim_net_free_port(struct rti_sim_net *net)
{
    uint16_t port;
    /* There are fewer sockets than ports here. */
    do {
        port = net->next_port;
        net->next_port = port == UINT16_MAX ? PORT_FIRST : (uint16_t)(port + 1);
    } while (port_is_used(net, port));
    return port;
}

/* ---- Sockets and their numbers. ---- */

int rti_sim_socket_fd(const struct rti_sim_socket *socket)
{
    return RTI_SIM_SOCKET_FIRST + (int)(socket - socket->net->hall->sockets);
}

struct rti_sim_socket *rti_sim_socket_of(struct rti_sim_net *net, int fd)
{
    if (net->hall == NULL || fd < RTI_SIM_SOCKET_FIRST ||
        fd >= RTI_SIM_SOCKET_FIRST + RT_SIM_SOCKETS) {
        return NULL;
    }
    struct rti_sim_socket *socket = &net->hall->sockets[fd - RTI_SIM_SOCKET_FIRST];
    bool is_in_backlog = socket->listener != NULL && socket->stage == RTI_SIM_CONNECTED;
    return socket->kind == RTI_SIM_FREE || is_in_backlog ? NULL : socket;
}

/* The hall is there from here on; false: the machine lends none. */
static bool net_enter_hall(struct rti_sim_net *net)
{
    if (net->hall != NULL) {
        return true;
    }
    struct rti_port *host = net->sim->host;
    net->hall = host->ops->memory_map(host, sizeof(*net->hall));
    if (net->hall == NULL) {
        return false;
    }
    rti_sim_datagram_prepare(net);
    return true;
}

struct rti_sim_socket *rti_sim_socket_new(struct rti_sim_net *net, enum rti_sim_socket_kind kind)
{
    size_t index = 0;
    while (index < RT_SIM_SOCKETS && net->hall->sockets[index].kind != RTI_SIM_FREE) {
        index++;
    }
    if (index == RT_SIM_SOCKETS) {
        return NULL;
    }
    struct rti_sim_socket *socket = &net->hall->sockets[index];
    memset(socket, 0, sizeof(*socket));
    socket->kind = (uint8_t)kind;
    socket->net = net;
    socket->reset_ns = RTI_TIME_NEVER;
    socket->ring = net->hall->rings[index];
    rti_list_init(&socket->inward);
    rti_list_init(&socket->outward);
    rti_list_init(&socket->accepted);
    rti_list_init(&socket->waiting);
    rti_list_init(&socket->received);
    return socket;
}

/* Binds a fresh socket to its place; an errno, or 0. */
static int socket_bind(struct rti_sim_socket *socket, const struct rti_socket_config *config)
{
    struct rti_sim_net *net = socket->net;
    rti_sim_place_decode(net, config->address, &socket->place);
    rt_net_address *address = &socket->place.address;
    if (!socket->place.is_local && address->port == 0) {
        address->port = rti_sim_net_free_port(net);
    }
    socket->is_every = !socket->place.is_local && address_is_every(address);
    socket->is_shared = config->is_port_shared;
    socket->is_v6_only = config->is_v6_only;
    for (size_t i = 0; i < RT_SIM_SOCKETS; i++) {
        const struct rti_sim_socket *other = &net->hall->sockets[i];
        if (other != socket && other->kind == socket->kind && socket_collides(other, socket)) {
            return EADDRINUSE;
        }
    }
    return 0;
}

static rt_status net_open(const struct rti_socket_config *config, int *fd)
{
    static const enum rti_sim_socket_kind kinds[] = {
        [RTI_SOCKET_LISTENER] = RTI_SIM_LISTENER,
        [RTI_SOCKET_STREAM] = RTI_SIM_STREAM,
        [RTI_SOCKET_DATAGRAM] = RTI_SIM_DATAGRAM,
    };
    struct rti_sim_net *net = net_world;
    RT_ASSERT(net != NULL && config->kind < RTI_COUNT_OF(kinds));
    if (!net_enter_hall(net)) {
        return (rt_status){RT_ERR_NOMEM, RTI_SENTENCE("no memory for a simulated network")};
    }
    struct rti_sim_socket *socket = rti_sim_socket_new(net, kinds[config->kind]);
    if (socket == NULL) {
        return (rt_status){RT_ERR_RESOURCE_EXHAUSTED, RTI_SENTENCE("RT_SIM_SOCKETS are in use")};
    }
    if (socket->kind != RTI_SIM_STREAM) {
        int error = socket_bind(socket, config);
        if (error != 0) {
            socket->kind = RTI_SIM_FREE;
            return (rt_status){RT_ERR_IO, RTI_SENTENCE(rti_port_error_text(error))};
        }
    }
    bool is_given = config->backlog > 0 && config->backlog < BACKLOG_MAX;
    socket->backlog = is_given ? (uint32_t)config->backlog : BACKLOG_MAX;
    *fd = rti_sim_socket_fd(socket);
    return RT_SUCCESS;
}

static void queue_answer_closed(struct rti_sim_net *net, struct rti_list *queue)
{
    struct rti_link *link;
    while ((link = rti_list_pop(queue)) != NULL) {
        struct rti_op *op = RTI_CONTAINER_OF(link, struct rti_op, link);
        op->stage = 0;
        rti_op_answer(op, RT_ERR_CLOSED, 0, 0);
        rti_port_sim_answer(net->sim, op);
    }
}

/* A socket has become free: connects that found none may go on. */
static void net_admit(struct rti_sim_net *net)
{
    for (size_t i = 0; i < RT_SIM_SOCKETS; i++) {
        if (net->hall->sockets[i].kind == RTI_SIM_LISTENER) {
            rti_sim_listener_admit(&net->hall->sockets[i]);
        }
    }
}

void rti_sim_socket_close(struct rti_sim_socket *socket)
{
    struct rti_sim_net *net = socket->net;
    uint8_t kind = socket->kind;
    queue_answer_closed(net, &socket->inward);
    queue_answer_closed(net, &socket->outward);
    socket->kind = RTI_SIM_ENDING;
    if (kind == RTI_SIM_LISTENER) {
        rti_sim_listener_end(socket);
    } else if (kind == RTI_SIM_STREAM) {
        rti_sim_stream_end(socket);
    } else {
        rti_sim_datagram_end(socket);
    }
    socket->kind = RTI_SIM_FREE;
    net_admit(net);
}

rt_status rti_sim_net_close_fd(struct rti_sim_net *net, int fd)
{
    struct rti_sim_socket *socket = rti_sim_socket_of(net, fd);
    if (socket == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the descriptor is not open")};
    }
    rti_sim_socket_close(socket);
    return RT_SUCCESS;
}

/* ---- Ops. ---- */

bool rti_sim_op_fail(struct rti_op *op, int error)
{
    rt_status_code status = RT_ERR_IO;
    if (error == ECONNRESET || error == EPIPE) {
        status = RT_ERR_CLOSED;
    } else if (error == EBADF) {
        status = RT_ERR_INVALID;
    }
    rti_op_answer(op, status, 0, error);
    return true;
}

static bool socket_try_poll(const struct rti_sim_socket *socket, struct rti_op *op)
{
    bool is_inward = op->code == RTI_OP_POLL_IN;
    int ready = rti_sim_stream_ready(socket, is_inward);
    if (ready != 0) {
        rti_op_answer(op, RT_OK, ready, 0);
    }
    return ready != 0;
}

/* Does the op if that can be done now: it holds its answer. */
static bool socket_try(struct rti_sim_socket *socket, struct rti_op *op)
{
    bool is_datagram = socket->kind == RTI_SIM_DATAGRAM;
    switch (op->code) {
    case RTI_OP_ACCEPT:
        return rti_sim_stream_accept(socket, op);
    case RTI_OP_READ:
    case RTI_OP_RECVFROM:
        return is_datagram ? rti_sim_datagram_receive(socket, op) : rti_sim_stream_read(socket, op);
    case RTI_OP_WRITE:
    case RTI_OP_SENDTO:
        return is_datagram ? rti_sim_datagram_send(socket, op) : rti_sim_stream_write(socket, op);
    case RTI_OP_CONNECT:
        return rti_sim_stream_connect(socket, op);
    case RTI_OP_POLL_IN:
    case RTI_OP_POLL_OUT:
        return socket_try_poll(socket, op);
    default:
        rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, 0);
        return true;
    }
}

static struct rti_list *socket_queue(struct rti_sim_socket *socket, const struct rti_op *op)
{
    return rti_op_is_inward(op) ? &socket->inward : &socket->outward;
}

static void socket_pump_queue(struct rti_sim_socket *socket, struct rti_list *queue)
{
    struct rti_link *link;
    /* Out of the queue before it is tried: what it does to the peer may come back to this queue. */
    while ((link = rti_list_pop(queue)) != NULL) {
        struct rti_op *op = RTI_CONTAINER_OF(link, struct rti_op, link);
        if (!socket_try(socket, op)) {
            rti_list_push_head(queue, link);
            return;
        }
        op->stage = 0;
        rti_port_sim_answer(socket->net->sim, op);
    }
}

void rti_sim_socket_pump(struct rti_sim_socket *socket)
{
    socket_pump_queue(socket, &socket->inward);
    socket_pump_queue(socket, &socket->outward);
}

bool rti_sim_net_attempt(struct rti_sim_net *net, struct rti_op *op)
{
    struct rti_sim_socket *socket = rti_sim_socket_of(net, op->fd);
    if (socket == NULL) {
        return rti_sim_op_fail(op, EBADF);
    }
    return rti_list_is_empty(socket_queue(socket, op)) && socket_try(socket, op);
}

void rti_sim_net_submit(struct rti_sim_net *net, struct rti_op *op)
{
    if (rti_sim_net_attempt(net, op)) {
        rti_port_sim_answer(net->sim, op);
        return;
    }
    op->stage = SIM_OP_WAITS;
    rti_list_push_tail(socket_queue(rti_sim_socket_of(net, op->fd), op), &op->link);
}

void rti_sim_net_cancel(struct rti_op *op)
{
    if (op->stage != SIM_OP_WAITS) {
        return;
    }
    op->stage = 0;
    rti_list_remove(&op->link);
    rti_op_answer(op, RT_ERR_CANCELLED, 0, 0);
    rti_port_sim_answer(net_world->sim, op);
}

/* ---- The rest of the table. ---- */

static rt_status net_local(int fd, struct rti_sockaddr *address)
{
    struct rti_sim_socket *socket = rti_sim_socket_of(net_world, fd);
    if (socket == NULL) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the descriptor is not open")};
    }
    if (socket->place.is_local) {
        *address = socket->place.name;
    } else {
        net_world->table.encode(&socket->place.address, address);
    }
    return RT_SUCCESS;
}

static void net_resolve(struct rti_op *op)
{
    const struct rti_sim_net *net = net_world;
    struct rti_resolution *resolution = op->buffer;
    RT_ASSERT(op->length == sizeof(*resolution));
    resolution->count = 0;
    for (size_t i = 0; i < net->config.hosts_count && resolution->count < RTI_RESOLVED_MAX; i++) {
        const rt_sim_host *host = &net->config.hosts[i];
        if (strcmp(host->name, resolution->name) == 0 &&
            net->table.parse(host->address, &resolution->found[resolution->count])) {
            resolution->count++;
        }
    }
    if (resolution->count == 0 && strcmp(resolution->name, "localhost") == 0) {
        bool is_address = net->table.parse("127.0.0.1", &resolution->found[0]);
        RT_ASSERT(is_address);
        resolution->count = 1;
    }
    bool is_known = resolution->count > 0;
    rti_op_answer(op, is_known ? RT_OK : RT_ERR_NOT_FOUND, resolution->count, 0);
}

/* ---- The world. ---- */

/* Can the table of hosts be used? Whether an address is one, the host machine says. */
static bool hosts_are_valid(const rt_sim_network *config, const struct rti_port *machine)
{
    rt_net_address address;
    bool are_valid = config->hosts != NULL || config->hosts_count == 0;
    for (size_t i = 0; are_valid && i < config->hosts_count; i++) {
        const rt_sim_host *host = &config->hosts[i];
        are_valid = host->name != NULL && host->address != NULL &&
                    (machine == NULL || machine->net == NULL ||
                     machine->net->parse(host->address, &address));
    }
    return are_valid;
}

rt_status rti_sim_net_check(const rt_sim_network *config, const struct rti_port *machine)
{
    if (config->latency_min > config->latency_max || config->latency_max > RT_SIM_LATENCY_MAX) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("the latency is no span of time")};
    }
    if (config->split > 1000 || config->reset > 1000 || config->loss > 1000 ||
        config->duplicate > 1000) {
        return (rt_status){RT_ERR_INVALID, RTI_SENTENCE("a chance is above 1000 in 1000")};
    }
    if (!hosts_are_valid(config, machine)) {
        return (rt_status){RT_ERR_INVALID,
                           RTI_SENTENCE("a host has no name or no numeric address")};
    }
    return RT_SUCCESS;
}

void rti_sim_net_attach(struct rti_sim_net *net, struct rti_port_sim *sim,
                        const rt_sim_network *config, uint64_t seed)
{
    RT_ASSERT(net_world == NULL);
    *net = (struct rti_sim_net){.sim = sim, .config = *config, .next_port = PORT_FIRST};
    rti_agenda_init(&net->agenda);
    if (sim->host == NULL || sim->host->net == NULL) {
        return;
    }
    if (net->config.latency_max == 0) {
        net->config.latency_min = RT_SIM_LATENCY;
        net->config.latency_max = RT_SIM_LATENCY;
    }
    rti_rng_init(&net->rng, seed ^ NET_SALT);
    net->digest = rti_digest_init(0);
    net->table = *sim->host->net;
    net->table.is_simulated = true;
    net->table.open = net_open;
    net->table.local = net_local;
    net->table.resolve = net_resolve;
    net_world = net;
    sim->net = net;
    sim->port.net = &net->table;
}

void rti_sim_net_detach(struct rti_sim_net *net)
{
    struct rti_port_sim *sim = net->sim;
    if (sim->net != net) {
        return;
    }
    if (net->hall != NULL) {
        sim->host->ops->memory_unmap(sim->host, net->hall, sizeof(*net->hall));
        net->hall = NULL;
    }
    sim->net = NULL;
    sim->port.net = NULL;
    net_world = NULL;
}

size_t rti_sim_net_open_count(const struct rti_sim_net *net)
{
    size_t count = 0;
    for (size_t i = 0; net->hall != NULL && i < RT_SIM_SOCKETS; i++) {
        count += net->hall->sockets[i].kind != RTI_SIM_FREE;
    }
    return count;
}

void rti_sim_net_audit(const struct rti_sim_net *net)
{
    rti_agenda_audit(&net->agenda);
    for (size_t i = 0; net->hall != NULL && i < RT_SIM_SOCKETS; i++) {
        const struct rti_sim_socket *socket = &net->hall->sockets[i];
        if (socket->kind == RTI_SIM_FREE) {
            continue;
        }
        RT_ASSERT(socket->peer == NULL || socket->peer->peer == socket);
        uint32_t travelling = 0;
        for (uint32_t k = 0; k < socket->segment_count; k++) {
            travelling += socket->segments[(socket->segment_first + k) % RTI_SIM_SEGMENTS].length;
        }
        RT_ASSERT(socket->arrived + travelling == socket->used);
        RT_ASSERT(socket->used <= RT_SIM_SOCKET_BUFFER);
    }
}
