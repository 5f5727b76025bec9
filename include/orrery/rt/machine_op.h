/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_MACHINE_OP_H
#define ORRERY_RT_MACHINE_OP_H

/* The ops that every loop knows: timers, and what the platform machine asks of the world.
 *
 *     rt_io_op recv;
 *     rt_op_init(&recv.base, RT_OP_RECV);
 *     recv.fd = fd; recv.buffer = bytes; recv.length = sizeof(bytes);
 *     rt_op_submit(machine, &recv.base);
 *     ... rt_machine_next(machine, RT_QUEUE_COMPLETIONS) gives &recv.base with status and result
 *
 * Statuses, unless an op says more: RT_OK with a result; RT_ERR_CLOSED if the peer is gone or the
 * descriptor was closed; RT_ERR_CANCELLED; RT_ERR_INVALID for a descriptor or an argument that is
 * none; RT_ERR_RESOURCE_EXHAUSTED at a limit of the system; RT_ERR_UNSUPPORTED where the platform
 * has no such thing, also for a code that it does not know; RT_ERR_IO for anything else.
 *
 * The two that close a descriptor cannot be cancelled, and a machine that is closing may still
 * submit them: what was opened is given back in any case.
 *
 * A buffer is the platform's until the completion. A cancel that comes too late finds the result:
 * a descriptor that was accepted, bytes that were read. */

#include <orrery/rt/machine.h>
#include <orrery/rt/net.h>
#include <orrery/rt/spsc.h>

RT_EXTERN_C_BEGIN

typedef enum {
    RT_OP_TIMER = 1,     /* rt_timer_op: deadline; completes when it has come, never before */
    RT_OP_NOP,           /* completes with the next wait */
    RT_OP_WORK,          /* work, arg: called on the blocking pool; result: what it returns */
    RT_OP_LISTEN,        /* address, flags = backlog, 0: the system's most; result: fd */
    RT_OP_UDP_OPEN,      /* address; result: fd */
    RT_OP_LOCAL_ADDRESS, /* fd; fills address */
    RT_OP_CONNECT,       /* address; result: fd */
    RT_OP_ACCEPT,        /* fd; result: the new fd */
    RT_OP_RECV,          /* fd, buffer, length; result: bytes; the end of the stream is RT_OK, 0 */
    RT_OP_SEND,          /* fd, buffer, length; result: bytes, all unless something went wrong */
    RT_OP_RECV_RING,     /* standing: fd, ring; rings for each arrival, ends with RT_ERR_CLOSED at
                            the end of the stream; from the platform's own thread only */
    RT_OP_UDP_RECV,      /* fd, buffer, length; result: bytes; fills address */
    RT_OP_UDP_SEND,      /* fd, buffer, length, address; result: bytes */
    RT_OP_UDP_RING,      /* standing: as RT_OP_RECV_RING, each datagram an entry with its sender */
    RT_OP_FILE_OPEN,     /* buffer = path, flags and mode of open(2); result: fd */
    RT_OP_FILE_READ,     /* fd, buffer, length, offset; result: bytes; 0 at the end */
    RT_OP_FILE_WRITE,    /* fd, buffer, length, offset; result: bytes */
    RT_OP_FILE_SYNC,     /* fd */
    RT_OP_FILE_CLOSE,    /* fd */
    RT_OP_FD_CLOSE,      /* fd of a socket; what waits on it ends with RT_ERR_CLOSED */
    RT_OP_CHANNEL,       /* standing, between machines: rt_channel_op */
    RT_OP_KNOWN_COUNT
} rt_op_code;

/* The offset that stands for the position of the file. */
#define RT_FILE_POSITION UINT64_MAX

#define RT_TIMER_OP_WORDS 8
#define RT_IO_OP_WORDS    40

/* A timer. A deadline that has passed completes in the next turn; RT_TIME_NEVER never does. */
typedef struct {
    rt_op base;       /* first */
    rt_time deadline; /* of the loop's clock, as `now` in a tick */
    void *loop;       /* the library's, as is the next */
    uint64_t opaque[RT_TIMER_OP_WORDS];
} rt_timer_op;

/* Bytes that a datagram takes in a ring beside its own. */
#define RT_RECV_ENTRY_OVERHEAD (sizeof(uint32_t) + sizeof(rt_net_address))

/* What happens to bytes that do not fit. */
typedef enum {
    RT_RECV_DROP_NEWEST,      /* what comes is read and thrown away */
    RT_RECV_OVERWRITE_OLDEST, /* what was there longest makes room */
} rt_recv_policy;

typedef struct {
    uint64_t received_bytes;    /* that came, kept or not */
    uint64_t received_entries;  /* reads of a stream, or datagrams */
    uint64_t dropped_bytes;     /* thrown away as newest */
    uint64_t dropped_entries;   /* datagrams thrown away as newest, or reads that lost bytes */
    uint64_t overwritten_bytes; /* thrown away as oldest */
    uint64_t overwritten_entries;
    uint64_t truncated_entries; /* datagrams longer than the platform can take, cut */
} rt_recv_stats;

/* A ring that a standing receive fills. The fields are the library's but `stats`, which may be
 * read. A ring is for streams or for datagrams, as the first op that fills it is; one op fills it
 * at a time, another is answered with RT_ERR_STATE. */
typedef struct {
    unsigned char *memory;
    size_t capacity;
    size_t head;  /* offset of the oldest byte */
    size_t count; /* bytes in it */
    rt_recv_policy policy;
    rt_recv_stats stats;
    const void *filler; /* the op that fills it now; NULL: none */
} rt_recv_ring;

/* An op of the world outside. Which fields count is said at its code. */
typedef struct {
    rt_op base; /* first */
    uint64_t offset;
    rt_net_address address;
    int mode;
    int64_t (*work)(void *arg);
    void *arg;
    rt_recv_ring *ring;
    int fd;
    int flags;
    void *buffer;
    size_t length;
    uint64_t opaque[RT_IO_OP_WORDS];
} rt_io_op;

/* A channel between two machines: the receiver submits it to the sender, which pushes entries and
 * ends it when there are no more. Any two threads. */
typedef struct {
    rt_op base; /* first */
    rt_spsc_queue *queue;
} rt_channel_op;

/* Makes an empty ring over `capacity` bytes, at least 8.
 * Callable from any thread, before the ring is given to an op.
 * Never suspends.
 * `ring` and `memory` are the caller's and stay until the op that uses them is completed.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL or the capacity too small.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_recv_ring_init(rt_recv_ring *ring, void *memory, size_t capacity,
                                                 rt_recv_policy policy);

/* Moves the oldest bytes of a stream out of the ring.
 * Callable on the thread of the platform that fills it.
 * Never suspends.
 * `buffer` is the caller's.
 * Returns how many, at most `size`; 0 if the ring is empty.
 * Nothing is lost on cancel. */
RT_API size_t rt_recv_ring_read(rt_recv_ring *ring, void *buffer, size_t size);

/* Moves the oldest datagram out of the ring; of one that is longer than `size` the rest is lost.
 * Callable on the thread of the platform that fills it.
 * Never suspends.
 * `buffer` and `length` are the caller's; *length is the datagram's own length.
 * Returns true; false, and nothing is written, if the ring is empty.
 * Nothing is lost on cancel. */
RT_API bool rt_recv_ring_next(rt_recv_ring *ring, void *buffer, size_t size, size_t *length);

/* The same, and tells who sent it.
 * Callable on the thread of the platform that fills it.
 * Never suspends.
 * As rt_recv_ring_next; `from` is the caller's.
 * Returns as rt_recv_ring_next.
 * Nothing is lost on cancel. */
RT_API bool rt_recv_ring_next_from(rt_recv_ring *ring, void *buffer, size_t size, size_t *length,
                                   rt_net_address *from);

/* Pushes an entry into a channel whose op the machine holds, and rings.
 * Callable from the tick of the machine that sends.
 * Never suspends.
 * `entry` is copied.
 * Returns true; false if the queue is full, and then nothing is changed.
 * Nothing is lost on cancel. */
RT_API bool rt_channel_op_push(rt_machine *machine, rt_channel_op *op, const void *entry);

RT_EXTERN_C_END

#endif
