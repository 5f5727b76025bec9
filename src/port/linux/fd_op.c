/* SPDX-License-Identifier: Apache-2.0 */
/* One try of one op: at most one transfer, by the system call of its code.
 *
 * The try is the truth and readiness only a hint that it is worth one: an event that comes late,
 * twice or for an earlier owner of the number costs one call that says EAGAIN. That is also why a
 * connect asks for its outcome instead of believing an event.
 *
 * EINTR is tried again at once: no call here blocks. SIGPIPE is never raised: sockets are told so
 * per call; for a pipe, the signal, which is directed at the writing thread, is blocked around the
 * write and taken away if it came (three more system calls, and only for pipes). */
#define _GNU_SOURCE
#define RTI_MODULE "fd_op"
#include "port/linux/fd_op.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "port/linux/transfer.h"

rt_status_code rti_fd_op_status(int error)
{
    switch (error) {
    case 0:
        return RT_OK;
    case EBADF:
    case ENOTSOCK:
        return RT_ERR_INVALID;
    case ECONNRESET:
    case EPIPE:
        return RT_ERR_CLOSED;
    case ENOMEM:
        return RT_ERR_NOMEM;
    case EMFILE:
    case ENFILE:
        return RT_ERR_RESOURCE_EXHAUSTED;
    default:
        return RT_ERR_IO;
    }
}

void rti_fd_op_fail(struct rti_op *op, int error)
{
    RT_ASSERT(error > 0);
    rti_op_answer(op, rti_fd_op_status(error), 0, error);
}

static bool error_is_again(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK;
}

/* The answer to a call that failed with `error`. */
static RTI_NOINLINE enum rti_try try_failed(struct rti_op *op, int error)
{
    if (error_is_again(error)) {
        return RTI_TRY_BLOCKED;
    }
    rti_fd_op_fail(op, error);
    return RTI_TRY_ANSWERED;
}

/* The answer to a call that gave `result`, or failed and left errno. */
static inline enum rti_try try_end(struct rti_op *op, ssize_t result)
{
    if (RTI_LIKELY(result >= 0)) {
        rti_op_answer(op, RT_OK, result, 0);
        return RTI_TRY_ANSWERED;
    }
    return try_failed(op, errno);
}

/* Is a read to be made again that failed with `error`? At the mark of urgent data the kernel says
 * EAGAIN to a thread that a signal is pending for, whatever lies behind the mark, and no edge would
 * tell of that: where urgent data was heard of, such an answer is not believed unseen. */
static RTI_NOINLINE bool read_is_repeated(const struct rti_fd *entry, int fd)
{
    int error = errno;
    if (!error_is_again(error) || !entry->is_tcp || !entry->is_ending) {
        return error == EINTR;
    }
    struct pollfd look = {.fd = fd, .events = POLLIN};
    bool is_there = poll(&look, 1, 0) == 1 && (look.revents & POLLIN) != 0;
    errno = error;
    return is_there;
}

static inline enum rti_try try_read(const struct rti_fd *entry, struct rti_op *op)
{
    ssize_t got;
    /* The kernel comes to it after some hundred instructions. */
    RTI_PREFETCH(op->buffer);
    do {
        got = RTI_LIKELY(entry->kind == RTI_FD_SOCKET)
                  ? rti_linux_recv(op->fd, op->buffer, op->length, MSG_DONTWAIT)
                  : read(op->fd, op->buffer, op->length);
    } while (RTI_UNLIKELY(got < 0) && read_is_repeated(entry, op->fd));
    return try_end(op, got);
}

/* write(2) that does not raise SIGPIPE. One that is pending already is not ours to take. */
static RTI_NOINLINE ssize_t write_quietly(int fd, const void *buffer, size_t length)
{
    sigset_t pipe_set;
    sigset_t pending;
    sigset_t old;
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigemptyset(&pending);
    sigpending(&pending);
    bool is_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
    ssize_t put = write(fd, buffer, length);
    int error = errno;
    if (put < 0 && error == EPIPE && !is_pending) {
        const struct timespec none = {0, 0};
        while (sigtimedwait(&pipe_set, NULL, &none) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return put;
}

static inline enum rti_try try_write(const struct rti_fd *entry, struct rti_op *op)
{
    ssize_t put;
    do {
        put = RTI_LIKELY(entry->kind == RTI_FD_SOCKET)
                  ? rti_linux_send(op->fd, op->buffer, op->length, MSG_DONTWAIT | MSG_NOSIGNAL)
                  : write_quietly(op->fd, op->buffer, op->length);
    } while (RTI_UNLIKELY(put < 0) && errno == EINTR);
    return try_end(op, put);
}

/* A connection that died in the backlog, or an error its network had: look at the next one. */
static bool error_is_of_dead_connection(int error)
{
    return error == ECONNABORTED || error == EPROTO || error == ENETDOWN || error == ENOPROTOOPT ||
           error == EHOSTDOWN || error == ENONET || error == EHOSTUNREACH || error == ENETUNREACH;
}

static enum rti_try try_accept(struct rti_op *op)
{
    int fd;
    socklen_t length;
    do {
        length = (socklen_t)op->address_length;
        fd = accept4(op->fd, op->address, op->address != NULL ? &length : NULL,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (fd < 0 && (errno == EINTR || error_is_of_dead_connection(errno)));
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        return RTI_TRY_STARVED;
    }
    if (fd >= 0 && op->address != NULL) {
        op->address_length = length;
    }
    return try_end(op, fd);
}

static enum rti_try connect_begin(struct rti_op *op)
{
    if (connect(op->fd, op->buffer, (socklen_t)op->length) == 0) {
        rti_op_answer(op, RT_OK, 0, 0);
        return RTI_TRY_ANSWERED;
    }
    /* EALREADY: an attempt has begun it. EINTR: it goes on by itself. EAGAIN is none of these: a
     * full backlog of a local socket or no free port, and nothing would tell when that ends. */
    if (errno == EINPROGRESS || errno == EALREADY || errno == EINTR) {
        return RTI_TRY_BLOCKED;
    }
    rti_op_answer(op, errno == EAGAIN ? RT_ERR_IO : rti_fd_op_status(errno), 0, errno);
    return RTI_TRY_ANSWERED;
}

/* Asks how a connect ended. No error is not yet success: an event may have come too early. */
static enum rti_try connect_end(struct rti_op *op)
{
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(op->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
        error = errno;
    }
    if (error != 0) {
        rti_fd_op_fail(op, error);
        return RTI_TRY_ANSWERED;
    }
    struct sockaddr_storage peer;
    length = sizeof(peer);
    if (getpeername(op->fd, (struct sockaddr *)&peer, &length) != 0 && errno == ENOTCONN) {
        return RTI_TRY_BLOCKED;
    }
    rti_op_answer(op, RT_OK, 0, 0);
    return RTI_TRY_ANSWERED;
}

static enum rti_try try_recvfrom(struct rti_op *op)
{
    struct iovec piece = {.iov_base = op->buffer, .iov_len = op->length};
    struct msghdr message = {
        .msg_name = op->address,
        .msg_namelen = op->address != NULL ? (socklen_t)op->address_length : 0,
        .msg_iov = &piece,
        .msg_iovlen = 1,
    };
    ssize_t got;
    do {
        got = recvmsg(op->fd, &message, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got >= 0) {
        op->is_truncated = (message.msg_flags & MSG_TRUNC) != 0;
        op->address_length = message.msg_namelen;
    }
    return try_end(op, got);
}

static enum rti_try try_sendto(struct rti_op *op)
{
    ssize_t put;
    do {
        put = sendto(op->fd, op->buffer, op->length, MSG_DONTWAIT | MSG_NOSIGNAL, op->address,
                     op->address != NULL ? (socklen_t)op->address_length : 0);
    } while (put < 0 && errno == EINTR);
    return try_end(op, put);
}

static enum rti_try try_poll(struct rti_op *op, short wanted)
{
    struct pollfd one = {.fd = op->fd, .events = wanted};
    int count;
    do {
        count = poll(&one, 1, 0);
    } while (count < 0 && errno == EINTR);
    if (count == 0) {
        return RTI_TRY_BLOCKED;
    }
    if (count < 0 || (one.revents & POLLNVAL) != 0) {
        rti_fd_op_fail(op, count < 0 ? errno : EBADF);
    } else {
        rti_op_answer(op, RT_OK, one.revents, 0);
    }
    return RTI_TRY_ANSWERED;
}

/* All but the two that move the bytes of a stream. */
static RTI_NOINLINE enum rti_try try_other(struct rti_op *op)
{
    switch (op->code) {
    case RTI_OP_ACCEPT:
        return try_accept(op);
    case RTI_OP_CONNECT:
        return op->stage == RTI_STAGE_WAITING ? connect_end(op) : connect_begin(op);
    case RTI_OP_RECVFROM:
        return try_recvfrom(op);
    case RTI_OP_SENDTO:
        return try_sendto(op);
    case RTI_OP_POLL_IN:
        return try_poll(op, POLLIN);
    case RTI_OP_POLL_OUT:
        return try_poll(op, POLLOUT);
    default:
        break;
    }
    rti_panic(RTI_MODULE, __LINE__, "an op without a descriptor came to the poller");
}

enum rti_try rti_fd_op_try_failed(const struct rti_fd *entry, struct rti_op *op)
{
    bool is_repeated = op->code == RTI_OP_READ ? read_is_repeated(entry, op->fd) : errno == EINTR;
    return is_repeated ? rti_fd_op_try(entry, op) : try_failed(op, errno);
}

enum rti_try rti_fd_op_try(const struct rti_fd *entry, struct rti_op *op)
{
    RT_ASSERT(entry->kind != RTI_FD_UNKNOWN);
    /* Two comparisons instead of a jump through a table, and no frame for what they do not need. */
    if (op->code == RTI_OP_READ) {
        return try_read(entry, op);
    }
    if (op->code == RTI_OP_WRITE) {
        return try_write(entry, op);
    }
    return try_other(op);
}
