/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of a plain thread: it makes the system calls itself and blocks in poll(2) between them.
 *
 * The try is the same as the poller's (fd_op.h), so that what an error means is said once. There is
 * no table of descriptors: what a number is, a socket or a stream, is asked anew with each op, and
 * the open file is made non-blocking as the poller makes it, because a thread blocked in read(2)
 * would not hear of its deadline.
 *
 * Costs: two system calls more than the op's own, and one per wait.
 *
 * Rejected: giving the op to the poller of a runtime and sleeping until the answer. A plain thread
 * would then wait for as long as nobody runs that runtime, and need one in the first place. */
#define _GNU_SOURCE
#define RTI_MODULE "outside"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "port/linux/fd_op.h"
#include "port/linux/port_linux.h"

static uint64_t outside_clock_ns(struct rti_port *port)
{
    (void)port;
    return rti_linux_clock_now();
}

/* What the number is; false, and the op is answered, if nothing that can be waited for. */
static bool outside_learn(struct rti_op *op, struct rti_fd *entry)
{
    struct stat about;
    *entry = (struct rti_fd){.kind = RTI_FD_STREAM};
    int flags = op->fd < 0 ? -1 : fcntl(op->fd, F_GETFL);
    if (flags < 0 || fstat(op->fd, &about) != 0) {
        rti_fd_op_fail(op, EBADF);
        return false;
    }
    if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) || S_ISBLK(about.st_mode)) {
        rti_op_answer(op, RT_ERR_UNSUPPORTED, 0, EPERM);
        return false;
    }
    if ((flags & O_NONBLOCK) == 0 && fcntl(op->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        rti_fd_op_fail(op, errno);
        return false;
    }
    entry->kind = S_ISSOCK(about.st_mode) ? RTI_FD_SOCKET : RTI_FD_STREAM;
    return true;
}

static void outside_prepare(struct rti_op *op)
{
    RT_ASSERT(rti_op_is_idle(op) && op->code != RTI_OP_NOP && !rti_op_is_work(op));
    op->stage = RTI_STAGE_NEW;
    op->is_cancelled = false;
    op->is_truncated = false;
}

static bool outside_attempt(struct rti_port *port, struct rti_op *op)
{
    struct rti_fd entry;
    (void)port;
    outside_prepare(op);
    return !outside_learn(op, &entry) || rti_fd_op_try(&entry, op) == RTI_TRY_ANSWERED;
}

/* Blocks until another try is worth its while; false if the deadline has come. A descriptor that is
 * missing is not told of by poll: an accept looks again after a while. */
static bool outside_wait(const struct rti_op *op, enum rti_try why, uint64_t deadline_ns)
{
    uint64_t now_ns = rti_linux_clock_now();
    if (now_ns >= deadline_ns) {
        return false;
    }
    uint64_t left_ns = deadline_ns - now_ns;
    bool is_starved = why == RTI_TRY_STARVED;
    if (is_starved && left_ns > RTI_POLLER_STARVED_RETRY_NS) {
        left_ns = RTI_POLLER_STARVED_RETRY_NS;
    }
    struct pollfd one = {.fd = op->fd, .events = rti_op_is_inward(op) ? POLLIN : POLLOUT};
    struct timespec timeout = {.tv_sec = (time_t)(left_ns / RTI_NS_PER_S),
                               .tv_nsec = (long)(left_ns % RTI_NS_PER_S)};
    bool is_endless = deadline_ns == RTI_TIME_NEVER && !is_starved;
    int count = ppoll(&one, is_starved ? 0 : 1, is_endless ? NULL : &timeout, NULL);
    /* A failure other than a signal shows in the next try. */
    return count != 0 || is_starved || rti_linux_clock_now() < deadline_ns;
}

static bool outside_perform(struct rti_port *port, struct rti_op *op, uint64_t deadline_ns)
{
    struct rti_fd entry;
    (void)port;
    if (rti_op_is_work(op)) {
        op->work(op);
        return true;
    }
    outside_prepare(op);
    if (!outside_learn(op, &entry)) {
        return true;
    }
    enum rti_try end;
    while ((end = rti_fd_op_try(&entry, op)) != RTI_TRY_ANSWERED) {
        if (!outside_wait(op, end, deadline_ns)) {
            return false;
        }
        /* From the second try on a connect is asked for its outcome. */
        op->stage = RTI_STAGE_WAITING;
    }
    return true;
}

static rt_status outside_close_fd(struct rti_port *port, int fd)
{
    (void)port;
    /* Linux frees the number even if close reports EINTR or another error. */
    if (fd >= 0 && (close(fd) == 0 || errno == EINTR)) {
        return RT_SUCCESS;
    }
    return fd < 0 || errno == EBADF ? (rt_status){RT_ERR_INVALID, "the descriptor is not open"}
                                    : (rt_status){RT_ERR_IO, "close reported an error"};
}

const struct rti_port_ops rti_linux_outside_ops = {
    .name = "outside",
    .clock_ns = outside_clock_ns,
    .attempt = outside_attempt,
    .perform = outside_perform,
    .close_fd = outside_close_fd,
};
