/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_SIM_NET_H
#define RTI_SIM_NET_H

/* The network of a simulated world: sockets behind the same ops as the machine's (port/op.h), and
 * a seed between them.
 *
 * Everything that goes from one socket to another travels: it is planned in the agenda for the
 * moment at which it arrives, a latency from the seed later, and what arrives there then is decided
 * by how things are then. A connect, for one, finds out at its arrival whether somebody listens.
 *
 *     sim_net.c       the world: who is bound where, addresses, latency, partition, ops and numbers
 *     sim_stream.c    connections: TCP and local ones, which behave alike
 *     sim_datagram.c  datagrams
 *
 * A connection is two STREAM sockets that know each other as `peer`. What is sent lies in the ring
 * of who will receive it, the travelling part behind the part that has arrived; a ring that is full
 * makes its sender wait. Room that a receiver makes is known to the sender at once: windows do not
 * travel. A socket that is closed is gone at once, too; its peer hears of it a latency later, as an
 * end of the stream, or as a reset if something of what it had sent was never read.
 *
 * Partition: while the network is cut nothing arrives. The agenda stands; healing puts off what has
 * come due meanwhile to one moment, and nothing that is sent later arrives before that.
 *
 * Addresses: one machine has them all. A socket bound to every address is reached under each; a
 * name is known if the program's table has it, and "localhost" always. Text and system's form of an
 * address are those of the host machine.
 *
 * I1  `peer` is symmetric.                                              (rti_sim_net_audit)
 * I2  arrived + what the segments carry = used <= RT_SIM_SOCKET_BUFFER.  (rti_sim_net_audit)
 * I3  An op waits in one queue of one socket, its stage is SIM_OP_WAITS, or is answered.
 * I4  Nothing here depends on an address in memory, nor on anything but seed and calls.
 *
 * Memory is lent by the host machine when the first socket is opened, and given back with the
 * world: a program without sockets costs nothing. Works get no port (port/net.h), so there is one
 * world at a time, `net_world`. */

#include <orrery/rt/sim.h>
#include <orrery/rt_static_config.h>

#include "base/rng.h"
#include "port/net.h"
#include "port/sim/agenda.h"
#include "port/sim/port_sim.h"

/* Numbers of sockets begin here: the lower ones have a meaning elsewhere. */
#define RTI_SIM_SOCKET_FIRST 3

/* Segments of one direction that travel at a time; one more waits, as for room. */
#define RTI_SIM_SEGMENTS 16

/* The largest datagram, in bytes, and how many there are, travelling and not yet received. */
#define RTI_SIM_DATAGRAM_SIZE 2048
#define RTI_SIM_DATAGRAMS     128

enum rti_sim_socket_kind {
    RTI_SIM_FREE,
    RTI_SIM_ENDING, /* being closed: neither there nor free */
    RTI_SIM_LISTENER,
    RTI_SIM_STREAM,
    RTI_SIM_DATAGRAM,
};

enum rti_sim_stage {
    RTI_SIM_NEW,        /* STREAM: made */
    RTI_SIM_CONNECTING, /* its question or the answer travels, or waits for room in a backlog */
    RTI_SIM_CONNECTED,  /* has been, at least */
    RTI_SIM_REFUSED,    /* `error` says why */
};

struct rti_sim_net;
struct rti_sim_socket;

struct rti_sim_segment {
    struct rti_agenda_entry entry;
    struct rti_sim_socket *to;
    uint32_t length;
};

/* Where a socket is bound, or what it is connected to. */
struct rti_sim_place {
    bool is_local;            /* a name, not an address */
    rt_net_address address;   /* unless local */
    struct rti_sockaddr name; /* if local */
};

struct rti_sim_socket {
    uint8_t kind;  /* enum rti_sim_socket_kind */
    uint8_t stage; /* enum rti_sim_stage */
    bool is_shared;
    bool is_v6_only;
    bool is_every; /* bound to every address */
    struct rti_sim_net *net;
    struct rti_sim_place place; /* bound to; of a connected one its own end */
    struct rti_list inward;     /* ops that wait, by direction, in the order they came */
    struct rti_list outward;

    /* LISTENER */
    struct rti_list accepted; /* connections that nobody has taken */
    struct rti_list waiting;  /* connecting sockets that found no room */
    uint32_t accepted_count;
    uint32_t backlog;

    /* STREAM */
    struct rti_link link;            /* in `accepted` or `waiting` of `listener` */
    struct rti_sim_socket *listener; /* NULL: in neither */
    struct rti_sim_socket *peer;     /* NULL: none yet, or it is gone */
    struct rti_sim_place target;     /* connecting to */
    struct rti_agenda_entry travel;  /* the question of a connect, then its answer */
    int answer;                      /* what the answer will say, an errno */
    int error;                       /* the connection failed, an errno; 0: it did not */
    bool is_ended;                   /* the peer sends no more */
    bool is_end_reset;               /* what `end` brings is a reset */
    struct rti_agenda_entry end;     /* the peer's end of the connection, travelling */
    uint64_t reset_ns;               /* a reset that follows the end; RTI_TIME_NEVER: none */
    uint64_t last_ns;                /* nothing sent later arrives before */
    uint32_t head;                   /* of the ring: the next byte to be read */
    uint32_t used;
    uint32_t arrived;
    uint32_t segment_first;
    uint32_t segment_count;
    struct rti_sim_segment segments[RTI_SIM_SEGMENTS];
    unsigned char *ring;

    /* DATAGRAM */
    struct rti_list received;
};

struct rti_sim_datagram {
    struct rti_agenda_entry entry;
    struct rti_link link; /* in `received`, or among the free ones; not while it travels */
    struct rti_sim_net *net;
    rt_net_address from;
    rt_net_address to;
    uint32_t length;
    unsigned char bytes[RTI_SIM_DATAGRAM_SIZE];
};

/* What the host lends. */
struct rti_sim_hall {
    struct rti_sim_socket sockets[RT_SIM_SOCKETS];
    struct rti_sim_datagram datagrams[RTI_SIM_DATAGRAMS];
    unsigned char rings[RT_SIM_SOCKETS][RT_SIM_SOCKET_BUFFER];
};

struct rti_sim_net {
    struct rti_port_sim *sim;
    struct rti_port_net table;
    rt_sim_network config;
    struct rti_rng rng;
    struct rti_agenda agenda;
    struct rti_sim_hall *hall; /* NULL: no socket was opened yet */
    struct rti_list datagrams; /* free ones */
    uint64_t floor_ns;         /* nothing arrives before: the network was cut until about then */
    uint64_t digest;           /* over what travelled when */
    uint16_t next_port;
    bool is_cut;
};

/* Gives a simulated port a network, unless its machine has none to lend memory and addresses.
 * `config` is read during the call, its table of hosts as long as the world is. */
void rti_sim_net_attach(struct rti_sim_net *net, struct rti_port_sim *sim,
                        const rt_sim_network *config, uint64_t seed);

/* Takes it away; no op is in flight. */
void rti_sim_net_detach(struct rti_sim_net *net);

/* RT_OK, or RT_ERR_INVALID with a sentence. `machine` is the one that lends addresses, or NULL. */
rt_status rti_sim_net_check(const rt_sim_network *config, const struct rti_port *machine);

/* Cuts or heals. */
void rti_sim_net_cut(struct rti_sim_net *net, bool is_cut);

/* How many sockets are open, those in backlogs included. */
size_t rti_sim_net_open_count(const struct rti_sim_net *net);

/* Checks I1 and I2. */
void rti_sim_net_audit(const struct rti_sim_net *net);

/* ---- What the port asks (port_sim.c). ---- */

/* An op whose descriptor is none of another device's. As the functions of the port. */
bool rti_sim_net_attempt(struct rti_sim_net *net, struct rti_op *op);
void rti_sim_net_submit(struct rti_sim_net *net, struct rti_op *op);
void rti_sim_net_cancel(struct rti_op *op);
rt_status rti_sim_net_close_fd(struct rti_sim_net *net, int fd);

/* The socket of a number that the program may know of; NULL: there is none. */
struct rti_sim_socket *rti_sim_socket_of(struct rti_sim_net *net, int fd);

/* When the next thing happens, and letting it happen. */
uint64_t rti_sim_net_next(const struct rti_sim_net *net);
void rti_sim_net_run(struct rti_sim_net *net, uint64_t now_ns);

/* ---- Between the three files. ---- */

/* When something arrives that is sent now, at or after `after_ns`. */
uint64_t rti_sim_net_arrival(struct rti_sim_net *net, uint64_t after_ns);

/* Puts an entry on its way. */
void rti_sim_net_send(struct rti_sim_net *net, struct rti_agenda_entry *entry, uint64_t due_ns,
                      uint64_t what);

/* True with so many chances in a thousand; draws only if there is a chance. */
bool rti_sim_net_chance(struct rti_sim_net *net, uint32_t permille);

/* A FREE socket made `kind`, NULL if there is none. */
struct rti_sim_socket *rti_sim_socket_new(struct rti_sim_net *net, enum rti_sim_socket_kind kind);

/* The number of a socket. */
int rti_sim_socket_fd(const struct rti_sim_socket *socket);

/* Ends a socket, whatever it is; its ops are answered with RT_ERR_CLOSED. */
void rti_sim_socket_close(struct rti_sim_socket *socket);

/* Does what can be done of what waits. */
void rti_sim_socket_pump(struct rti_sim_socket *socket);

/* The bound socket of a kind that is reached under a place; NULL: there is none. */
struct rti_sim_socket *rti_sim_net_find(struct rti_sim_net *net, enum rti_sim_socket_kind kind,
                                        const struct rti_sim_place *place);

/* Reads a place from the system's form; gives back the form of an address. */
void rti_sim_place_decode(const struct rti_sim_net *net, const struct rti_sockaddr *from,
                          struct rti_sim_place *place);

/* Writes an address in the system's form to where an op wants it, if it does. */
void rti_sim_op_tell_address(const struct rti_sim_net *net, struct rti_op *op,
                             const rt_net_address *address);

/* A port that nobody is bound to. */
uint16_t rti_sim_net_free_port(struct rti_sim_net *net);

/* Answers an op with an error of the system; true. */
bool rti_sim_op_fail(struct rti_op *op, int error);

/* What poll(2) would say of a stream or listener now; 0: nothing of what is asked. */
int rti_sim_stream_ready(const struct rti_sim_socket *socket, bool is_inward);

bool rti_sim_stream_read(struct rti_sim_socket *socket, struct rti_op *op);
bool rti_sim_stream_write(struct rti_sim_socket *socket, struct rti_op *op);
bool rti_sim_stream_accept(struct rti_sim_socket *listener, struct rti_op *op);
bool rti_sim_stream_connect(struct rti_sim_socket *socket, struct rti_op *op);

/* The parts of an end that are a stream's or a listener's. */
void rti_sim_stream_end(struct rti_sim_socket *socket);
void rti_sim_listener_end(struct rti_sim_socket *listener);

/* Lets connecting sockets in that found no room, as far as there is some now. */
void rti_sim_listener_admit(struct rti_sim_socket *listener);

bool rti_sim_datagram_receive(struct rti_sim_socket *socket, struct rti_op *op);
bool rti_sim_datagram_send(struct rti_sim_socket *socket, struct rti_op *op);
void rti_sim_datagram_end(struct rti_sim_socket *socket);

/* Makes the datagrams of a new hall free. */
void rti_sim_datagram_prepare(struct rti_sim_net *net);

#endif
