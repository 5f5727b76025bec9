/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_IO_H
#define RTI_IO_H

/* All the memory of network and files: three pools of requests, one per subsystem. The runtime
 * places the struct and hangs it at sched->modules[RTI_MODULE_IO].
 *
 *     net     requests on sockets: they use the caller's buffer, because the port takes them back
 *             at once when the caller goes
 *     names   look-ups, which own question and answer
 *     files   works, which own the bytes they move
 *
 * `line` holds the file requests in the order in which they were asked (file_line.h); `unsafe`
 * remembers the descriptors whose sync has failed.
 *
 * I1  A record is in `line` iff it is in use in `files`.                          (rti_io_audit)
 * I2  Outside of fibers each record in use is awaited or detached.                (rti_io_audit)
 *
 * Costs: about 320 kB with the default limits, most of it the buffers of files. */

#include <orrery/rt_static_config.h>

#include "base/bitmap.h"
#include "io/request.h"
#include "port/file.h"
#include "port/net.h"

/* Descriptors below this number have their own bit in `unsafe`; the others share one. */
#define RTI_IO_UNSAFE_FDS 1024

struct rti_net_request {
    struct rti_request request;
    struct rti_io *io;
};

struct rti_name_request {
    struct rti_request request;
    struct rti_io *io;
    struct rti_resolution resolution;
};

enum rti_file_verb {
    RTI_FILE_OPEN,
    RTI_FILE_CLOSE,
    RTI_FILE_SYNC,
    RTI_FILE_READ,   /* at the position */
    RTI_FILE_WRITE,  /* at the position */
    RTI_FILE_PREAD,  /* at an offset */
    RTI_FILE_PWRITE, /* at an offset */
};

struct rti_file_request {
    struct rti_request request;
    struct rti_io *io;
    struct rti_link link; /* in the line */
    int fd;               /* on what; -1: none yet, or its close is known to be done */
    uint8_t verb;         /* enum rti_file_verb */
    unsigned char chunk[RT_FILE_CHUNK_SIZE];
};

struct rti_io {
    struct rti_sched *sched;
    struct rti_request_guard guard; /* over everything below, if there are several workers */
    struct rti_pool net;
    struct rti_pool names;
    struct rti_pool files;
    struct rti_list line;
    rti_bitmap_word unsafe[RTI_BITMAP_WORDS(RTI_IO_UNSAFE_FDS)];
    bool is_unsafe_beyond; /* a sync of a descriptor from RTI_IO_UNSAFE_FDS on has failed */
    RTI_POOL_STORAGE(net_memory, struct rti_net_request, RT_COMPLETION_QUEUE_SIZE);
    RTI_POOL_STORAGE(names_memory, struct rti_name_request, RT_COMPLETION_QUEUE_SIZE);
    RTI_POOL_STORAGE(files_memory, struct rti_file_request, RT_COMPLETION_QUEUE_SIZE);
};

/* Makes the module and hangs it at the scheduler. RT_OK; RT_ERR_STATE if there is one. */
rt_status rti_io_init(struct rti_io *io, struct rti_sched *sched);

/* Takes the module away. No fiber waits in it; what the port still has is waited for. Before the
 * scheduler's and the port's deinit. */
void rti_io_deinit(struct rti_io *io);

/* Requests in use, all three pools. */
size_t rti_io_in_use(const struct rti_io *io);

/* Checks I1, I2 and the pools. Outside of fibers. */
void rti_io_audit(const struct rti_io *io);

/* One call of the program: who calls, and how long it may take.
 *
 * A caller that has no fiber to park, a plain thread or main outside of rt_run, blocks instead
 * (IO2): its port makes the system calls on the thread itself (sched/visitor.h), its requests lie
 * in the call, and no module is asked. */
struct rti_io_call {
    struct rti_io *io; /* NULL: the caller blocks */
    struct rti_port *port;
    int32_t timeout_ms;
    uint64_t deadline_ns; /* RTI_IO_DEADLINE_LATER until the call has to wait for the first time */
    struct rti_request own; /* of a caller that blocks */
};

/* Does the caller block, instead of parking a fiber? */
static inline bool rti_io_blocks(const struct rti_io_call *call)
{
    return call->io == NULL;
}

/* The limit is counted from the moment the call has to wait: most never read the clock. */
#define RTI_IO_DEADLINE_LATER 0

/* rti_io_enter for who has entered the runtime. */
rt_status rti_io_enter_as(struct rti_worker *worker, struct rti_io_call *call, int32_t timeout_ms);

/* The first act. Looks at the caller: RT_OK, or RT_ERR_THREAD with a sentence. One that may wait,
 * `timeout_ms` not 0, must not be a callback of the runtime, and one that is cancelled gets
 * RT_ERR_CANCELLED. */
static RTI_ENTERING rt_status rti_io_enter(struct rti_io_call *call, int32_t timeout_ms)
{
    return rti_io_enter_as(rti_worker_enter(), call, timeout_ms);
}

/* A limit for calls that give something back: they have as long as it takes, and a caller that is
 * cancelled makes them all the same. */
#define RTI_IO_GIVING_BACK INT32_MIN

/* The status of a call whose request was not answered: the caller is cancelled, its budget is used
 * up, or the call's time is over. */
rt_status rti_io_unanswered(const struct rti_io_call *call);

/* When the call's time is over; counted from now if it was not before. Never later than the
 * deadline of the caller's budget. */
uint64_t rti_io_deadline(struct rti_io_call *call);

/* A record for a request on a socket; NULL if there is none. */
struct rti_request *rti_net_request_new(struct rti_io *io, enum rti_op_code code, int fd);

/* The same for a call: its own one if the caller blocks. */
struct rti_request *rti_net_request_for(struct rti_io_call *call, enum rti_op_code code, int fd);

/* Does work for a caller that blocks, now and here. The op has its fields. */
void rti_io_work(const struct rti_io_call *call, struct rti_op *op);

/* Closes a descriptor, so that the poller that knows it hears of it: that of the caller's runtime,
 * or of the one that a plain thread is beside. */
rt_status rti_io_close_fd(const struct rti_io_call *call, int fd);

/* Attempts, then waits as long as the call may. RT_OK: ANSWERED, whatever the answer is.
 * RT_ERR_WOULDBLOCK or RT_ERR_TIMEOUT: the request is gone. */
rt_status rti_net_request_do(struct rti_request *request, struct rti_io_call *call);

/* The same for a request that was attempted before; the call may wait. */
rt_status rti_net_request_wait(struct rti_request *request, struct rti_io_call *call);

/* The length of a text of the caller's, looked at no further than `max`: `max` if it has no end
 * before. */
size_t rti_io_text_length(const char *text, size_t max);

/* What an answer that is not RT_OK is to the program. */
rt_status rti_io_failure(const struct rti_op *op);

/* Does a transfer of `op_code` on a socket or a stream: `result` gets what the op gave. */
rt_status rti_net_transfer(struct rti_io_call *call, enum rti_op_code code, int fd, void *buf,
                           size_t len, size_t *result);

/* Sends all, or as much as the call's time allows; RT_OK if that is anything. */
rt_status rti_net_transfer_all(struct rti_io_call *call, int fd, const void *buf, size_t len,
                               size_t *sent);

/* Looks up a name. The answer is copied to the caller, who may be killed later. */
rt_status rti_name_resolve(struct rti_io_call *call, const char *name,
                           rt_net_address found[RTI_RESOLVED_MAX], uint32_t *count);

/* Makes a socket and connects it to `address`. RT_ERR_FULL: the system has no room for it now, and
 * will not say when it has. */
rt_status rti_net_connect_to(struct rti_io_call *call, const struct rti_sockaddr *address,
                             int *fd_out);

/* Makes a bound socket of `config` on a numeric address, on every address if that is NULL. */
rt_status rti_net_bind(const struct rti_io_call *call, struct rti_socket_config *config,
                       const char *address, uint16_t port, int *fd_out);

/* Statuses that several functions give. */
#define RTI_IO_NULL       ((rt_status){RT_ERR_INVALID, "a pointer is NULL"})
#define RTI_IO_FULL       ((rt_status){RT_ERR_NOMEM, "too many requests are in use"})
#define RTI_IO_TIMEOUT    ((rt_status){RT_ERR_TIMEOUT, "the time is over"})
#define RTI_IO_CANCELLED  ((rt_status){RT_ERR_CANCELLED, "the caller is cancelled"})
#define RTI_IO_WOULDBLOCK ((rt_status){RT_ERR_WOULDBLOCK, "it would have to wait"})
#define RTI_IO_CLOSED     ((rt_status){RT_ERR_CLOSED, "the connection is closed"})
#define RTI_IO_NO_NETWORK ((rt_status){RT_ERR_UNSUPPORTED, "there is no network here"})
#define RTI_IO_NO_FILES   ((rt_status){RT_ERR_UNSUPPORTED, "there are no files here"})

#endif
