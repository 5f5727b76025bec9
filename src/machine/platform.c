/* SPDX-License-Identifier: Apache-2.0 */
/* The platform machine; the essay is in platform.h. */
#define RTI_MODULE "platform"
#include "machine/platform.h"

#include "base/marks.h"
#include "machine/recv_ring.h"
#include "port/file.h"
#include "port/net.h"

/* Reads of one standing receive in one go: others have their turn after that. */
#define RING_READS_MAX 8

/* What the platform keeps in an rt_io_op. */
struct errand {
    struct rti_op op;
    void (*done)(struct rti_op *op); /* hears the answer, in a turn of the loop */
    size_t moved;                    /* SEND: bytes that are out already */
    struct rti_sockaddr address;     /* last: streams do without */
};

_Static_assert(sizeof(struct errand) <= sizeof(((rt_io_op *)0)->opaque), "it fits its storage");
_Static_assert(RT_FILE_POSITION == RTI_FILE_POSITION, "one position");

static struct errand *errand_of(rt_io_op *io)
{
    return (struct errand *)io->opaque;
}

static rt_io_op *io_of(struct rti_op *op)
{
    return RTI_CONTAINER_OF((uint64_t *)RTI_CONTAINER_OF(op, struct errand, op), rt_io_op, opaque);
}

static struct rti_loop *loop_of(rt_io_op *io)
{
    return rti_machine_of(rti_travel_of(&io->base)->holder)->loop;
}

static void answer(rt_io_op *io, rt_status_code status, int64_t result)
{
    RT_ASSERT(rti_op_is_idle(&errand_of(io)->op));
    rt_op_complete(rti_travel_of(&io->base)->holder, &io->base, status, result);
}

/* Nobody wants the rest: the initiator has asked to cancel, or the platform closes. */
static bool is_unwanted(rt_io_op *io)
{
    return rti_travel_of(&io->base)->has_cancel_arrived ||
           rt_machine_is_closing(rti_travel_of(&io->base)->holder);
}

static void errand_submit(rt_io_op *io)
{
    struct rti_port *port = loop_of(io)->port;
    port->ops->submit(port, &errand_of(io)->op);
}

/* The port has answered, on a thread that may not touch the loop. */
static void errand_bring(struct rti_op *op)
{
    struct rti_loop *loop = loop_of(io_of(op));
    loop->bring(loop, op);
}

void rti_platform_answered(struct rti_op *op)
{
    RTI_CONTAINER_OF(op, struct errand, op)->done(op);
}

/* Says who hears the answer of the port. */
static void errand_hear(rt_io_op *io, void (*done)(struct rti_op *op))
{
    struct errand *errand = errand_of(io);
    errand->done = done;
    errand->op.done = loop_of(io)->bring == NULL ? done : errand_bring;
}

static void errand_make(rt_io_op *io, enum rti_op_code code, void (*done)(struct rti_op *op))
{
    struct rti_op *op = &errand_of(io)->op;
    rti_op_init(op, code, done);
    errand_hear(io, done);
    op->fd = io->fd;
    op->buffer = io->buffer;
    op->length = io->length;
    op->offset = io->offset;
}

/* The answer of the port is the answer. */
static void plain_done(struct rti_op *op)
{
    answer(io_of(op), op->status, op->result);
}

static void begin_plain(rt_io_op *io, enum rti_op_code code)
{
    errand_make(io, code, plain_done);
    errand_submit(io);
}

/* ---- work and files ---- */

static void work_call(struct rti_op *op)
{
    rt_io_op *io = io_of(op);
    rti_op_answer(op, RT_OK, io->work(io->arg), 0);
}

static void begin_work(rt_io_op *io)
{
    if (io->work == NULL) {
        answer(io, RT_ERR_INVALID, 0);
        return;
    }
    errand_make(io, RTI_OP_WORK, plain_done);
    errand_of(io)->op.work = work_call;
    errand_submit(io);
}

static void read_done(struct rti_op *op)
{
    rt_io_op *io = io_of(op);
    if (op->status == RT_OK && io->offset == RT_FILE_POSITION && op->result > 0 &&
        op->offset != RTI_FILE_POSITION) {
        loop_of(io)->port->file->move(io->fd, op->offset + (uint64_t)op->result);
    }
    answer(io, op->status, op->result);
}

static void begin_file(rt_io_op *io)
{
    const struct rti_port_file *file = loop_of(io)->port->file;
    if (file == NULL) {
        answer(io, RT_ERR_UNSUPPORTED, 0);
        return;
    }
    errand_make(io, RTI_OP_WORK, plain_done);
    struct rti_op *op = &errand_of(io)->op;
    switch (io->base.code) {
    case RT_OP_FILE_OPEN:
        op->work = file->open;
        op->offset = rti_file_open_word(io->flags, io->mode);
        break;
    case RT_OP_FILE_READ:
        op->work = file->read;
        errand_hear(io, read_done);
        break;
    case RT_OP_FILE_WRITE:
        op->work = file->write;
        break;
    case RT_OP_FILE_SYNC:
        op->work = file->sync;
        break;
    default:
        op->work = file->close;
        break;
    }
    errand_submit(io);
}

/* ---- sockets ---- */

static void open_socket(rt_io_op *io, enum rti_socket_kind kind)
{
    const struct rti_port_net *net = loop_of(io)->port->net;
    int fd = -1;
    struct rti_sockaddr address;
    net->encode(&io->address, &address);
    const struct rti_socket_config config = {
        .kind = kind, .address = &address, .backlog = kind == RTI_SOCKET_LISTENER ? io->flags : 0};
    rt_status status = net->open(&config, &fd);
    answer(io, status.code, status.code == RT_OK ? fd : 0);
}

static void local_address(rt_io_op *io)
{
    const struct rti_port_net *net = loop_of(io)->port->net;
    struct rti_sockaddr local;
    rt_status status = net->local(io->fd, &local);
    if (status.code == RT_OK && !net->decode(&local, &io->address)) {
        status.code = RT_ERR_INVALID;
    }
    answer(io, status.code, 0);
}

static void close_socket(rt_io_op *io)
{
    struct rti_port *port = loop_of(io)->port;
    rt_status status = port->ops->close_fd(port, io->fd);
    answer(io, status.code, 0);
}

static void connect_done(struct rti_op *op)
{
    rt_io_op *io = io_of(op);
    struct rti_port *port = loop_of(io)->port;
    if (op->status != RT_OK) {
        (void)port->ops->close_fd(port, op->fd);
        /* Nobody was connected yet, so nobody is gone: a reset is a refusal. */
        answer(io, op->status == RT_ERR_CLOSED ? RT_ERR_IO : op->status, 0);
        return;
    }
    answer(io, RT_OK, op->fd);
}

static void begin_connect(rt_io_op *io)
{
    const struct rti_port_net *net = loop_of(io)->port->net;
    struct errand *errand = errand_of(io);
    int fd = -1;
    net->encode(&io->address, &errand->address);
    const struct rti_socket_config config = {.kind = RTI_SOCKET_STREAM,
                                             .address = &errand->address};
    rt_status status = net->open(&config, &fd);
    if (RT_FAILED(status)) {
        answer(io, status.code, 0);
        return;
    }
    errand_make(io, RTI_OP_CONNECT, connect_done);
    errand->op.fd = fd;
    errand->op.buffer = errand->address.bytes;
    errand->op.length = errand->address.length;
    errand_submit(io);
}

static void send_go_on(rt_io_op *io);

static void send_done(struct rti_op *op)
{
    rt_io_op *io = io_of(op);
    struct errand *errand = errand_of(io);
    if (op->status == RT_OK) {
        errand->moved += (size_t)op->result;
        if (errand->moved < io->length && !is_unwanted(io)) {
            RT_SOMETIMES(true, "platform_sends_in_pieces");
            send_go_on(io);
            return;
        }
    }
    /* What moved is told as a success; why it stopped is told by the next op. */
    bool is_told = op->status == RT_OK || errand->moved > 0;
    answer(io, is_told ? RT_OK : op->status, (int64_t)errand->moved);
}

static void send_go_on(rt_io_op *io)
{
    struct errand *errand = errand_of(io);
    struct rti_port *port = loop_of(io)->port;
    errand_make(io, RTI_OP_WRITE, send_done);
    errand->op.buffer = (unsigned char *)io->buffer + errand->moved;
    errand->op.length = io->length - errand->moved;
    if (port->ops->attempt(port, &errand->op)) {
        send_done(&errand->op);
    } else {
        port->ops->submit(port, &errand->op);
    }
}

static void begin_send(rt_io_op *io)
{
    errand_of(io)->moved = 0;
    if (io->length == 0) {
        errand_make(io, RTI_OP_NOP, plain_done);
        answer(io, RT_OK, 0);
        return;
    }
    send_go_on(io);
}

static void recvfrom_done(struct rti_op *op)
{
    rt_io_op *io = io_of(op);
    struct errand *errand = errand_of(io);
    errand->address.length = op->address_length;
    if (op->status == RT_OK) {
        (void)loop_of(io)->port->net->decode(&errand->address, &io->address);
    }
    answer(io, op->status, op->result);
}

static void begin_datagram(rt_io_op *io, enum rti_op_code code)
{
    const struct rti_port_net *net = loop_of(io)->port->net;
    struct errand *errand = errand_of(io);
    errand_make(io, code, code == RTI_OP_RECVFROM ? recvfrom_done : plain_done);
    errand->op.address = errand->address.bytes;
    errand->op.address_length = sizeof(errand->address.bytes);
    if (code == RTI_OP_SENDTO) {
        net->encode(&io->address, &errand->address);
        errand->op.address_length = errand->address.length;
    }
    errand_submit(io);
}

/* ---- standing receives ---- */

static void ring_wait(rt_io_op *io);
static void ring_wait_anew(rt_io_op *io);

static void ring_put_datagram(rt_io_op *io, const unsigned char *bytes)
{
    struct errand *errand = errand_of(io);
    rt_net_address from = {.port = 0};
    errand->address.length = errand->op.address_length;
    (void)loop_of(io)->port->net->decode(&errand->address, &from);
    io->ring->stats.truncated_entries += errand->op.is_truncated;
    rti_recv_ring_put_datagram(io->ring, bytes, (size_t)errand->op.result, &from);
}

/* Reads once, without waiting. True: something came, or the end; *status says which. */
static bool ring_read_once(rt_io_op *io, rt_status_code *status)
{
    struct rti_loop *loop = loop_of(io);
    struct rti_op *op = &errand_of(io)->op;
    bool is_stream = io->base.code == RT_OP_RECV_RING;
    size_t size = 0;
    unsigned char *space = is_stream ? rti_recv_ring_space(io->ring, &size) : NULL;
    errand_make(io, is_stream ? RTI_OP_READ : RTI_OP_RECVFROM, plain_done);
    op->buffer = space == NULL ? loop->scratch : space;
    op->length = space == NULL ? sizeof(loop->scratch) : size;
    op->is_patient = true; /* ring_wait follows */
    op->address = is_stream ? NULL : errand_of(io)->address.bytes;
    op->address_length = is_stream ? 0 : sizeof(errand_of(io)->address.bytes);
    if (!loop->port->ops->attempt(loop->port, op)) {
        return false;
    }
    *status = op->status;
    if (op->status != RT_OK) {
        return true;
    }
    if (!is_stream) {
        ring_put_datagram(io, loop->scratch);
    } else if (op->result == 0) {
        *status = RT_ERR_CLOSED;
    } else if (space != NULL) {
        rti_recv_ring_commit(io->ring, (size_t)op->result);
    } else {
        rti_recv_ring_put(io->ring, loop->scratch, (size_t)op->result);
    }
    return true;
}

static void ring_answer(rt_io_op *io, rt_status_code status)
{
    if (io->ring->filler == io) {
        io->ring->filler = NULL;
    }
    answer(io, status, 0);
}

/* Reads what is there, up to a number of times, and waits for more. */
static void ring_go_on(rt_io_op *io, rt_status_code status, unsigned reads_max)
{
    for (unsigned i = 0; i < reads_max && status == RT_OK; i++) {
        if (!ring_read_once(io, &status)) {
            break;
        }
        if (status == RT_OK) {
            rt_op_ring(rti_travel_of(&io->base)->holder, &io->base);
        }
    }
    if (status == RT_OK && is_unwanted(io)) {
        status = RT_ERR_CANCELLED;
    }
    if (status != RT_OK) {
        ring_answer(io, status);
        return;
    }
    ring_wait(io);
}

static void ring_ready(struct rti_op *op)
{
    ring_go_on(io_of(op), op->status, RING_READS_MAX);
}

/* The port has read into the ring. */
static void ring_filled(struct rti_op *op)
{
    rt_io_op *io = io_of(op);
    rt_status_code status = op->status;
    if (status == RT_OK && op->result == 0) {
        status = RT_ERR_CLOSED;
    } else if (status == RT_OK) {
        rti_recv_ring_commit(io->ring, (size_t)op->result);
        rt_op_ring(rti_travel_of(&io->base)->holder, &io->base);
        if (!RTI_ONE_WORKER && RTI_LIKELY((size_t)op->result < op->length && !is_unwanted(io))) {
            /* It has left room, so there was no more; what has come since, submit finds. */
            ring_wait_anew(io);
            return;
        }
    }
    ring_go_on(io, status, RING_READS_MAX - 1);
}

/* The same for an errand that has been a read into the ring: only where to is new. */
static void ring_wait_anew(rt_io_op *io)
{
    struct rti_op *op = &errand_of(io)->op;
    RT_DCHECK(op->code == RTI_OP_READ && op->fd == io->fd && !op->is_patient);
    size_t size = 0;
    op->buffer = rti_recv_ring_space(io->ring, &size);
    op->length = size;
    /* What was read left room. */
    RT_ASSERT(op->buffer != NULL);
    errand_submit(io);
}

static void ring_wait(rt_io_op *io)
{
    size_t size = 0;
    unsigned char *space =
        io->base.code == RT_OP_RECV_RING ? rti_recv_ring_space(io->ring, &size) : NULL;
    if (space == NULL) {
        errand_make(io, RTI_OP_POLL_IN, ring_ready);
    } else {
        errand_make(io, RTI_OP_READ, ring_filled);
        errand_of(io)->op.buffer = space;
        errand_of(io)->op.length = size;
    }
    errand_submit(io);
}

static void begin_ring(rt_io_op *io)
{
    errand_make(io, RTI_OP_NOP, plain_done);
    if (io->ring == NULL) {
        answer(io, RT_ERR_INVALID, 0);
    } else if (io->base.source.thread_id != loop_of(io)->thread_id) {
        /* The ring has no lock. */
        answer(io, RT_ERR_THREAD, 0);
    } else if (io->ring->filler != NULL) {
        answer(io, RT_ERR_STATE, 0);
    } else {
        io->ring->filler = io;
        ring_wait(io);
    }
}

/* ---- the machine ---- */

/* Ops that need a network. */
static void begin_net(rt_io_op *io)
{
    if (loop_of(io)->port->net == NULL) {
        answer(io, RT_ERR_UNSUPPORTED, 0);
        return;
    }
    switch (io->base.code) {
    case RT_OP_LISTEN:
        open_socket(io, RTI_SOCKET_LISTENER);
        break;
    case RT_OP_UDP_OPEN:
        open_socket(io, RTI_SOCKET_DATAGRAM);
        break;
    case RT_OP_LOCAL_ADDRESS:
        local_address(io);
        break;
    case RT_OP_CONNECT:
        begin_connect(io);
        break;
    case RT_OP_UDP_RECV:
        begin_datagram(io, RTI_OP_RECVFROM);
        break;
    default:
        begin_datagram(io, RTI_OP_SENDTO);
        break;
    }
}

void rti_platform_begin(rt_machine *machine, rt_op *op)
{
    rt_io_op *io = (rt_io_op *)op;
    if (op->code == RT_OP_TIMER || op->code >= RT_OP_CHANNEL || op->code == 0) {
        /* Nothing behind the rt_op may be touched: it may be all there is. */
        rt_op_complete(machine, op, RT_ERR_UNSUPPORTED, 0);
        return;
    }
    errand_of(io)->op.state = RTI_OP_IDLE;
    switch (op->code) {
    case RT_OP_NOP:
        begin_plain(io, RTI_OP_NOP);
        break;
    case RT_OP_WORK:
        begin_work(io);
        break;
    case RT_OP_ACCEPT:
        begin_plain(io, RTI_OP_ACCEPT);
        break;
    case RT_OP_RECV:
        begin_plain(io, RTI_OP_READ);
        break;
    case RT_OP_SEND:
        begin_send(io);
        break;
    case RT_OP_RECV_RING:
    case RT_OP_UDP_RING:
        begin_ring(io);
        break;
    case RT_OP_FD_CLOSE:
        close_socket(io);
        break;
    case RT_OP_FILE_OPEN:
    case RT_OP_FILE_READ:
    case RT_OP_FILE_WRITE:
    case RT_OP_FILE_SYNC:
    case RT_OP_FILE_CLOSE:
        begin_file(io);
        break;
    default:
        begin_net(io);
        break;
    }
}

static void platform_tick(rt_machine *machine, rt_time now)
{
    struct rti_port *port = rti_machine_of(machine)->loop->port;
    rt_op *op;
    (void)now;
    while ((op = rt_machine_next(machine, RT_QUEUE_SUBMISSIONS)) != NULL) {
        rti_platform_begin(machine, op);
    }
    while ((op = rt_machine_next(machine, RT_QUEUE_CANCELLATIONS)) != NULL) {
        port->ops->cancel(port, &errand_of((rt_io_op *)op)->op);
    }
    if (rt_machine_is_closing(machine)) {
        for (op = rt_machine_held(machine, NULL); op != NULL; op = rt_machine_held(machine, op)) {
            port->ops->cancel(port, &errand_of((rt_io_op *)op)->op);
        }
    }
}

const rt_machine_config rti_platform_config = {.tick = platform_tick, .answers_on_close = true};
