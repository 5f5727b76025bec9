/* SPDX-License-Identifier: Apache-2.0 */
/* The poller: every op that waits for a descriptor, and the one place where the scheduler blocks.
 *
 * An op is tried first. Only if it would block it joins the FIFO queue of its descriptor and
 * direction, and epoll is told to watch, edge-triggered. An event makes the poller try the queue
 * from its head until it is empty or would block again. Ops behind a waiting one are not tried, so
 * a stream's bytes keep the order of the ops.
 *
 * Why no edge is missed: an op waits only after its try said EAGAIN. If epoll watched that
 * direction before the try, whatever makes it ready after the try gives an edge. If not,
 * EPOLL_CTL_ADD and MOD look at the descriptor themselves and give an event if it is ready by then.
 *
 * Interest follows demand, lazily. A direction is watched when the first op waits for it and stays
 * so when the op is answered, for the next will come: steady traffic costs no epoll_ctl. An event
 * for a direction where nobody waits ends the watch: a peer that talks to nobody wakes us once.
 *
 * Going dry. A try that said EAGAIN while its direction was watched has proved that an edge will
 * come before there is anything to read: the direction is dry until the next event, and what is
 * submitted meanwhile waits at once, without a try. So has a read from TCP that left room in its
 * buffer, unless the end of the stream hides behind the bytes in one edge: an event that tells of
 * an end (EPOLLRDHUP is asked for), an error or urgent data, which cuts a read short as well, ends
 * that trust for good. Local sockets never have it: passed descriptors cut their reads without a
 * sign. So a request costs one recv. Writes are attempted: room may be too little for an event.
 *
 * Descriptors are numbers and numbers are used again. A descriptor that ops were submitted for is
 * closed by rti_poller_close: what waits is answered, epoll forgets it, the generation of the
 * number grows, and then it is closed. An event carries the generation it was armed with and is
 * dropped if that is not the number's any more. (A duplicate made by dup keeps the open file alive;
 * that is why epoll is told, and not left to find out by the close.) A descriptor closed behind our
 * back and used again is found out where it shows: EEXIST, ENOENT, EBADF, or accept giving a known
 * number.
 *
 * A descriptor is made non-blocking when it is first used. That is a property of the open file:
 * other processes that share it, a shell and its terminal, see it too. Regular files and
 * directories are refused (RT_ERR_UNSUPPORTED): they never would block, they would stall; they are
 * the pool's.
 *
 * Out of descriptors, an accept can take nothing while its listener stays readable. It stays in
 * flight and is tried again when the port closes a descriptor, when another connection comes, or
 * every RTI_POLLER_STARVED_RETRY_NS. It does not spin and nobody's connection is dropped.
 *
 * Who watches is the sentry (sentry.h), epoll or io_uring; what is said of epoll here holds for
 * both.
 *
 * Blocking: the wake word (wake_word.h) decides, an eventfd is the bell. The eventfd is watched
 * edge-triggered and never read: each write is an edge of its own. Timeouts are relative to the
 * clock read just before, by epoll_pwait2 in nanoseconds; without it epoll_wait in milliseconds,
 * rounded up, so never early. The kernel adds the thread's timer slack (50 us unless changed).
 *
 * All fields are the scheduler thread's except `wake` and `bells`, and the bell which is written
 * once. If several workers share the port, each entry has a lock, held over a try and what follows
 * from it, so that ops on different descriptors do not meet; the ledger's lock is held for a few
 * instructions; and one thread at a time waits, with no lock held while it blocks. What another
 * thread submits meanwhile epoll tells, what another thread answers is told by a wake.
 *
 * I1  An op is in a queue iff its stage is WAITING; waiting_count counts them.  (rti_poller_audit)
 * I2  A queue that is not empty has its direction armed.                        (rti_poller_audit)
 * I3  An UNKNOWN entry has nothing armed and nothing queued.                    (rti_poller_audit)
 * I4  A dry direction is armed.                                                 (rti_poller_audit)
 * I5  No event reaches an op of a number's later owner.            (generation, poller_take_event)
 *
 * Costs: no system call beyond the op's own if it need not wait; one epoll_ctl when a direction is
 * first waited for; fstat and fcntl on first use of a number, none for accepted ones. A poll
 * without waiting ops makes no system call.
 *
 * Rejected: one-shot arming (an epoll_ctl per wait); level-triggered (wakes for ever for what
 * nobody reads, and cannot tell EMFILE); watching both directions always (a wake per packet nobody
 * waits for); calling done from inside the loop over events (done may close what the next event is
 * for). */
#define _GNU_SOURCE
#define RTI_MODULE "poller"
#include "port/linux/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/marks.h"
#include "port/linux/fd_op.h"
#include "port/linux/port_linux.h"

#define NS_PER_MS 1000000U

/* Its own table from the first line that begins in it. */
static struct rti_fd *poller_own_table(struct rti_poller *poller)
{
    uintptr_t at = (uintptr_t)poller->fds_own;
    at += -at % RTI_CACHE_LINE;
    return (struct rti_fd *)at;
}

rt_status rti_poller_init(struct rti_poller *poller, const struct rti_port_linux_config *config,
                          struct rti_list *answered, struct rti_spin *ledger)
{
    poller->fds = config->fds != NULL ? config->fds : poller_own_table(poller);
    poller->fds_count = config->fds != NULL ? config->fds_count : RT_MAX_DESCRIPTORS;
    poller->answered = answered;
    poller->ledger = ledger;
    poller->is_shared = config->is_shared;
    rti_wake_word_init(&poller->wake);
    rti_u64_init(&poller->bells, 0);
    rti_u32_init(&poller->is_dead, 0);
    return rti_sentry_open(&poller->sentry, config->poller, config->is_shared, config->is_coarse);
}

void rti_poller_deinit(struct rti_poller *poller)
{
    RT_ASSERT(poller->waiting_count == 0);
    rti_sentry_close(&poller->sentry);
}

static void ledger_lock(struct rti_poller *poller)
{
    rti_spin_acquire(poller->ledger, poller->is_shared);
}

static void ledger_unlock(struct rti_poller *poller)
{
    rti_spin_release(poller->ledger, poller->is_shared);
}

void rti_poller_lock_shared(struct rti_poller *poller, int fd)
{
    if (fd >= 0 && (size_t)fd < poller->fds_count) {
        rti_spin_acquire(&poller->fds[fd].lock, true);
    }
}

void rti_poller_unlock_shared(struct rti_poller *poller, int fd)
{
    if (fd >= 0 && (size_t)fd < poller->fds_count) {
        rti_spin_release(&poller->fds[fd].lock, true);
    }
}

/* The op holds its answer: the port tells it. */
static inline void poller_answered(struct rti_poller *poller, struct rti_op *op)
{
    ledger_lock(poller);
    rti_stage_to_answered(op, poller->answered);
    ledger_unlock(poller);
}

/* Answers an op whose descriptor cannot be watched: `error` is epoll_ctl's. */
static void op_fail_unwatched(struct rti_op *op, int error)
{
    rti_fd_op_fail(op, error);
    if (error == EPERM) {
        op->status = RT_ERR_UNSUPPORTED;
    } else if (error == ENOSPC) {
        op->status = RT_ERR_RESOURCE_EXHAUSTED;
    }
}

static uint64_t event_tag(const struct rti_fd *entry, int fd)
{
    return (uint64_t)entry->generation << 32 | (uint32_t)fd;
}

/* Has exactly the directions `armed` watched. Returns 0 or an errno; then nothing changed. */
static int poller_watch(struct rti_poller *poller, int fd, struct rti_fd *entry, uint8_t armed)
{
    RT_DCHECK(armed < 1U << RTI_DIRECTION_COUNT);
    if (armed == entry->armed) {
        return 0;
    }
    struct rti_sentry_change change = {
        .fd = fd, .old_tag = event_tag(entry, fd), .from = entry->armed, .to = armed};
    if ((entry->armed & ~armed) != 0 && rti_sentry_renames(&poller->sentry)) {
        entry->generation++;
    }
    change.tag = event_tag(entry, fd);
    int error = rti_sentry_watch(&poller->sentry, &change);
    if (error == ENOENT) {
        entry->dry = 0;
        error = 0;
    }
    if (error == 0) {
        entry->armed = armed;
        entry->dry = (uint8_t)(entry->dry & armed);
    }
    return error;
}

static void entry_to_known(struct rti_poller *poller, int fd, enum rti_fd_kind kind, bool is_tcp)
{
    struct rti_fd *entry = &poller->fds[fd];
    RT_ASSERT(entry->kind == RTI_FD_UNKNOWN && entry->armed == 0 && entry->dry == 0);
    entry->kind = (uint8_t)kind;
    entry->is_tcp = is_tcp;
    entry->is_ending = false;
    rti_list_init(&entry->queue[RTI_INWARD]);
    rti_list_init(&entry->queue[RTI_OUTWARD]);
    ledger_lock(poller);
    if (poller->fds_top <= (size_t)fd) {
        poller->fds_top = (size_t)fd + 1;
    }
    ledger_unlock(poller);
}

/* Answers all of a queue with `status`. */
static void queue_answer(struct rti_poller *poller, struct rti_list *queue, rt_status_code status)
{
    struct rti_link *link;
    while ((link = rti_list_pop(queue)) != NULL) {
        struct rti_op *op = rti_op_of_link(link);
        rti_op_answer(op, status, 0, 0);
        ledger_lock(poller);
        poller->waiting_count--;
        rti_stage_to_answered(op, poller->answered);
        ledger_unlock(poller);
    }
}

/* The number has no owner any more: what waited is answered, what epoll saw of it is void. */
static void entry_to_unknown(struct rti_poller *poller, int fd)
{
    struct rti_fd *entry = &poller->fds[fd];
    RT_ASSERT(entry->kind != RTI_FD_UNKNOWN);
    queue_answer(poller, &entry->queue[RTI_INWARD], RT_ERR_CLOSED);
    queue_answer(poller, &entry->queue[RTI_OUTWARD], RT_ERR_CLOSED);
    int error = poller_watch(poller, fd, entry, 0);
    RT_ASSERT(error == 0);
    entry->generation++;
    entry->kind = RTI_FD_UNKNOWN;
    entry->is_starved = false;
}

static bool socket_is_tcp(int fd)
{
    int protocol = 0;
    socklen_t length = sizeof(protocol);
    return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 &&
           protocol == IPPROTO_TCP;
}

/* First use of a number: what is it? Returns 0 or an errno. */
static int entry_learn(struct rti_poller *poller, int fd)
{
    struct stat about;
    if (fstat(fd, &about) != 0) {
        return errno;
    }
    if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) || S_ISBLK(about.st_mode)) {
        return EPERM;
    }
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0) {
        return errno;
    }
    if ((flags & O_NONBLOCK) == 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return errno;
    }
    bool is_socket = S_ISSOCK(about.st_mode);
    entry_to_known(poller, fd, is_socket ? RTI_FD_SOCKET : RTI_FD_STREAM,
                   is_socket && socket_is_tcp(fd));
    return 0;
}

/* The entry of a descriptor that is not known yet; NULL, and the op answered, if it has none. */
static RTI_COLD struct rti_fd *poller_entry_new(struct rti_poller *poller, struct rti_op *op)
{
    if (op->fd < 0) {
        rti_fd_op_fail(op, EBADF);
        return NULL;
    }
    if ((size_t)op->fd >= poller->fds_count) {
        rti_op_answer(op, RT_ERR_RESOURCE_EXHAUSTED, 0, 0);
        return NULL;
    }
    int error = entry_learn(poller, op->fd);
    if (error != 0) {
        op_fail_unwatched(op, error);
        return NULL;
    }
    return &poller->fds[op->fd];
}

/* The entry of the op's descriptor, learnt if need be; NULL, and the op answered, if it has none.
 */
static inline struct rti_fd *poller_entry(struct rti_poller *poller, struct rti_op *op)
{
    /* One comparison for both ends: a negative number is a large one. */
    if (RTI_LIKELY((unsigned)op->fd < poller->fds_count)) {
        struct rti_fd *entry = &poller->fds[op->fd];
        if (RTI_LIKELY(entry->kind != RTI_FD_UNKNOWN)) {
            return entry;
        }
    }
    return poller_entry_new(poller, op);
}

static RTI_NOINLINE void poller_note_change(struct rti_poller *poller, struct rti_op *op)
{
    if (op->code == RTI_OP_ACCEPT && op->status == RT_OK) {
        int fd = (int)op->result;
        if ((size_t)fd >= poller->fds_count) {
            close(fd);
            rti_op_answer(op, RT_ERR_RESOURCE_EXHAUSTED, 0, 0);
            return;
        }
        rti_poller_lock_entry(poller, fd);
        if (poller->fds[fd].kind != RTI_FD_UNKNOWN) {
            entry_to_unknown(poller, fd);
        }
        entry_to_known(poller, fd, RTI_FD_SOCKET, poller->fds[op->fd].is_tcp);
        rti_poller_unlock_entry(poller, fd);
    } else if (op->error == EBADF) {
        struct rti_fd *entry = &poller->fds[op->fd];
        if (rti_list_is_empty(&entry->queue[RTI_INWARD]) &&
            rti_list_is_empty(&entry->queue[RTI_OUTWARD])) {
            entry_to_unknown(poller, op->fd);
        }
    }
}

/* Does an answered op mean something for the table? Accept brings a descriptor, EBADF takes one
 * away. */
static inline bool poller_is_change(const struct rti_op *op)
{
    return RTI_UNLIKELY(op->code == RTI_OP_ACCEPT || op->error == EBADF);
}

static inline void poller_note_answer(struct rti_poller *poller, struct rti_op *op)
{
    if (poller_is_change(op)) {
        poller_note_change(poller, op);
    }
}

static RTI_COLD void entry_to_starved(struct rti_poller *poller, struct rti_fd *entry)
{
    if (entry->is_starved) {
        return;
    }
    ledger_lock(poller);
    if (poller->starved_count == 0) {
        poller->starved_retry_ns = rti_linux_clock_now() + RTI_POLLER_STARVED_RETRY_NS;
    }
    poller->starved_count++;
    ledger_unlock(poller);
    RT_SOMETIMES(true, "poller: accept without a free descriptor");
    entry->is_starved = true;
}

static bool entry_is_dry(const struct rti_fd *entry, enum rti_direction direction)
{
    return (entry->dry & 1U << direction) != 0;
}

/* A read that took all there was: it left room, and nothing ends the stream behind the bytes. */
static bool op_drained(const struct rti_fd *entry, const struct rti_op *op)
{
    return op->code == RTI_OP_READ && op->status == RT_OK && op->result > 0 &&
           (size_t)op->result < op->length && entry->is_tcp && !entry->is_ending;
}

/* Tries, and notes whether the direction is dry now. */
static inline enum rti_try poller_try(struct rti_fd *entry, struct rti_op *op)
{
    enum rti_try end = rti_fd_op_try_here(entry, op);
    if (end == RTI_TRY_BLOCKED || (end == RTI_TRY_ANSWERED && op_drained(entry, op))) {
        entry->dry = (uint8_t)(entry->dry | (entry->armed & 1U << rti_op_direction(op)));
    }
    return end;
}

static bool poller_is_dead(const struct rti_poller *poller)
{
    /* Relaxed: who is late is answered by poller_die, or finds the flag with the next op. */
    return RTI_UNLIKELY(rti_u32_load_relaxed(&poller->is_dead) != 0);
}

/* The op waits, behind those that do already. */
static inline void poller_queue(struct rti_poller *poller, struct rti_fd *entry, struct rti_op *op)
{
    rti_stage_to_waiting(op, &entry->queue[rti_op_direction(op)]);
    ledger_lock(poller);
    poller->waiting_count++;
    ledger_unlock(poller);
}

/* Tries an op that nothing waits before, and has its direction watched if it must wait. False: it
 * is answered. */
static RTI_NOINLINE bool poller_begin(struct rti_poller *poller, struct rti_fd *entry,
                                      struct rti_op *op)
{
    enum rti_try end = poller_try(entry, op);
    if (end != RTI_TRY_ANSWERED) {
        uint8_t armed = (uint8_t)(entry->armed | 1U << rti_op_direction(op));
        int error = poller_watch(poller, op->fd, entry, armed);
        if (error != 0) {
            op_fail_unwatched(op, error);
            end = RTI_TRY_ANSWERED;
        }
    }
    if (end == RTI_TRY_ANSWERED) {
        poller_note_answer(poller, op);
        return false;
    }
    if (end == RTI_TRY_STARVED) {
        entry_to_starved(poller, entry);
        rti_poller_call_starved(poller);
    }
    return true;
}

/* With the entry locked. True: the op is answered. */
static inline bool poller_take_op(struct rti_poller *poller, struct rti_op *op)
{
    if (poller_is_dead(poller)) {
        rti_op_answer(op, RT_ERR_IO, 0, 0);
        poller_answered(poller, op);
        return true;
    }
    struct rti_fd *entry = poller_entry(poller, op);
    bool is_waiting = entry != NULL;
    if (is_waiting) {
        enum rti_direction direction = rti_op_direction(op);
        if (!entry_is_dry(entry, direction) && rti_list_is_empty(&entry->queue[direction])) {
            is_waiting = poller_begin(poller, entry, op);
        }
    }
    if (is_waiting) {
        poller_queue(poller, entry, op);
    } else {
        poller_answered(poller, op);
    }
    return !is_waiting;
}

bool rti_poller_submit(struct rti_poller *poller, struct rti_op *op)
{
    int fd = op->fd; /* once answered, the op is its initiator's */
    rti_poller_lock_entry(poller, fd);
    bool is_answered = poller_take_op(poller, op);
    rti_poller_unlock_entry(poller, fd);
    return is_answered;
}

/* With the entry locked. */
static inline bool poller_try_now(struct rti_poller *poller, struct rti_op *op)
{
    if (poller_is_dead(poller)) {
        rti_op_answer(op, RT_ERR_IO, 0, 0);
        return true;
    }
    struct rti_fd *entry = poller_entry(poller, op);
    if (entry == NULL) {
        return true;
    }
    enum rti_direction direction = rti_op_direction(op);
    if (!rti_list_is_empty(&entry->queue[direction]) ||
        (op->is_patient && direction == RTI_INWARD && entry_is_dry(entry, direction)) ||
        poller_try(entry, op) != RTI_TRY_ANSWERED) {
        return false;
    }
    poller_note_answer(poller, op);
    return true;
}

bool rti_poller_attempt(struct rti_poller *poller, struct rti_op *op)
{
    rti_poller_lock_entry(poller, op->fd);
    bool is_done = poller_try_now(poller, op);
    rti_poller_unlock_entry(poller, op->fd);
    return is_done;
}

void rti_poller_withdraw(struct rti_poller *poller, struct rti_op *op)
{
    RT_ASSERT(op->stage == RTI_STAGE_WAITING && poller->waiting_count > 0);
    rti_list_remove(&op->link);
    poller->waiting_count--;
}

rt_status rti_poller_close(struct rti_poller *poller, int fd)
{
    if (fd < 0 || fd == poller->sentry.fd || fd == poller->sentry.bell_fd) {
        return (rt_status){RT_ERR_INVALID, "not a descriptor of the program"};
    }
    /* Locked over the close: who is given the number next finds an entry that knows nothing. */
    rti_poller_lock_entry(poller, fd);
    if ((size_t)fd < poller->fds_count && poller->fds[fd].kind != RTI_FD_UNKNOWN) {
        entry_to_unknown(poller, fd);
    }
    /* Linux frees the number even if close reports EINTR or another error. */
    int error = close(fd) == 0 || errno == EINTR ? 0 : errno;
    rti_poller_unlock_entry(poller, fd);
    ledger_lock(poller);
    poller->starved_retry_ns = 0;
    bool is_starved = poller->starved_count > 0;
    ledger_unlock(poller);
    if (RTI_UNLIKELY(is_starved)) {
        rti_poller_call_starved(poller);
    }
    if (error == 0) {
        return RT_SUCCESS;
    }
    return error == EBADF ? (rt_status){RT_ERR_INVALID, "the descriptor is not open"}
                          : (rt_status){RT_ERR_IO, "close reported an error"};
}

void rti_poller_answer_all(struct rti_poller *poller, rt_status_code status)
{
    for (size_t i = 0; i < poller->fds_top; i++) {
        if (poller->fds[i].kind != RTI_FD_UNKNOWN) {
            queue_answer(poller, &poller->fds[i].queue[RTI_INWARD], status);
            queue_answer(poller, &poller->fds[i].queue[RTI_OUTWARD], status);
        }
    }
    RT_ASSERT(poller->waiting_count == 0);
}

/* Takes the answered head of a queue out and tells it. */
static inline void poller_serve_one(struct rti_poller *poller, struct rti_op *op)
{
    bool is_change = poller_is_change(op);
    ledger_lock(poller);
    rti_poller_withdraw(poller, op);
    if (RTI_LIKELY(!is_change)) {
        rti_stage_to_answered(op, poller->answered);
    }
    ledger_unlock(poller);
    if (RTI_UNLIKELY(is_change)) {
        /* Not with the ledger locked: it may come to another entry. */
        poller_note_change(poller, op);
        poller_answered(poller, op);
    }
}

/* Tries a queue from its head until it is empty or would block. */
static inline void poller_serve(struct rti_poller *poller, struct rti_fd *entry,
                                enum rti_direction direction)
{
    struct rti_list *queue = &entry->queue[direction];
    while (!rti_list_is_empty(queue) && !entry_is_dry(entry, direction)) {
        struct rti_op *op = rti_op_of_link(queue->head.next);
        enum rti_try end = poller_try(entry, op);
        if (RTI_UNLIKELY(end != RTI_TRY_ANSWERED)) {
            if (end == RTI_TRY_STARVED) {
                entry_to_starved(poller, entry);
            }
            return;
        }
        poller_serve_one(poller, op);
    }
}

/* The sentry has given up a direction by itself: for no fault of the descriptor, and it is watched
 * again if somebody waits, or because it cannot be watched. With the entry locked. */
static void poller_watch_again(struct rti_poller *poller, int fd,
                               const struct rti_sentry_event *event)
{
    struct rti_fd *entry = &poller->fds[fd];
    for (int direction = 0; direction < RTI_DIRECTION_COUNT; direction++) {
        struct rti_list *queue = &entry->queue[direction];
        if ((event->ended & 1U << direction) == 0 || event->tag != event_tag(entry, fd) ||
            rti_list_is_empty(queue)) {
            continue;
        }
        int error = event->error;
        if (error == 0) {
            error = poller_watch(poller, fd, entry, (uint8_t)(entry->armed | 1U << direction));
        }
        while (error != 0 && !rti_list_is_empty(queue)) {
            struct rti_op *op = rti_op_of_link(rti_list_peek(queue));
            ledger_lock(poller);
            rti_poller_withdraw(poller, op);
            ledger_unlock(poller);
            op_fail_unwatched(op, error);
            poller_answered(poller, op);
        }
    }
}

/* Serves the directions an event names, and ends the watch of those nobody waits for. With the
 * entry locked. */
static RTI_NOINLINE void poller_serve_any(struct rti_poller *poller, int fd,
                                          const struct rti_sentry_event *event)
{
    struct rti_fd *entry = &poller->fds[fd];
    if (RTI_UNLIKELY(event->ended != 0)) {
        entry->armed = (uint8_t)(entry->armed & ~event->ended);
        entry->dry = (uint8_t)(entry->dry & entry->armed);
    }
    static const uint32_t means[RTI_DIRECTION_COUNT] = {
        [RTI_INWARD] = EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR,
        [RTI_OUTWARD] = EPOLLOUT | EPOLLHUP | EPOLLERR,
    };
    uint8_t armed = entry->armed;
    if ((event->events & (EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR)) != 0) {
        entry->is_ending = true;
    }
    for (int direction = 0; direction < RTI_DIRECTION_COUNT; direction++) {
        if ((event->events & means[direction]) == 0) {
            continue;
        }
        entry->dry = (uint8_t)(entry->dry & ~(1U << direction));
        if (rti_list_is_empty(&entry->queue[direction])) {
            armed = (uint8_t)(armed & ~(1U << direction));
        } else {
            poller_serve(poller, entry, (enum rti_direction)direction);
        }
    }
    if (RTI_UNLIKELY(event->ended != 0)) {
        poller_watch_again(poller, fd, event);
        return;
    }
    /* A served op's EBADF may have made the entry unknown: then there is nothing to disarm. */
    if (event->tag == event_tag(entry, fd) && armed != entry->armed) {
        poller->events_unwanted++;
        RT_SOMETIMES(armed == 0, "poller: watch ended because nobody waits");
        int error = poller_watch(poller, fd, entry, armed);
        RT_DCHECK(error == 0);
        (void)error;
    }
}

/* With the entry locked. */
static inline void poller_serve_event(struct rti_poller *poller, int fd,
                                      const struct rti_sentry_event *event)
{
    struct rti_fd *entry = &poller->fds[fd];
    RT_SOMETIMES(event->tag != event_tag(entry, fd), "poller: event of an earlier generation");
    if (RTI_UNLIKELY(entry->kind == RTI_FD_UNKNOWN || event->tag != event_tag(entry, fd))) {
        return;
    }
    poller->events++;
    /* Bytes came, somebody waits for them, and that is all: most events are of this kind. */
    if (RTI_LIKELY(event->events == EPOLLIN && event->ended == 0 &&
                   !rti_list_is_empty(&entry->queue[RTI_INWARD]))) {
        entry->dry = (uint8_t)(entry->dry & ~(1U << RTI_INWARD));
        poller_serve(poller, entry, RTI_INWARD);
    } else {
        poller_serve_any(poller, fd, event);
    }
}

static inline void poller_take_event(struct rti_poller *poller,
                                     const struct rti_sentry_event *event)
{
    int fd = (int)(uint32_t)event->tag;
    if (RTI_UNLIKELY(event->tag == RTI_SENTRY_BELL)) {
        poller->events++;
        return;
    }
    /* One comparison for both ends: a negative number is a large one. */
    RT_ASSERT((unsigned)fd < poller->fds_count);
    rti_poller_lock_entry(poller, fd);
    poller_serve_event(poller, fd, event);
    rti_poller_unlock_entry(poller, fd);
}

/* The entry of an event; NULL if it is for no descriptor. */
static inline struct rti_fd *event_entry(const struct rti_poller *poller,
                                         const struct rti_sentry_event *event)
{
    uint32_t fd = (uint32_t)event->tag;
    return fd < poller->fds_count ? &poller->fds[fd] : NULL;
}

/* Fetches what the events after the first of `left` are for, while its system call is made: the
 * entry of the one after next, and of the next the op that waits to read, with what its initiator
 * has before it. With many connections none of it is in a near cache. If workers share the port an
 * op may be gone while it is looked at, and nothing is fetched. */
static inline void poller_fetch(const struct rti_poller *poller,
                                const struct rti_sentry_event *events, int left)
{
    if (left > 2) {
        RTI_PREFETCH(event_entry(poller, &events[2]));
    }
    if (left > 1 && !poller->is_shared) {
        const struct rti_fd *entry = event_entry(poller, &events[1]);
        if (entry != NULL && entry->kind != RTI_FD_UNKNOWN) {
            const char *op = (const char *)entry->queue[RTI_INWARD].head.next;
            RTI_PREFETCH_PAIR(op - RTI_CACHE_LINE * 2);
            RTI_PREFETCH_PAIR(op);
        }
    }
}

/* Looks again at the accepts that lacked a descriptor, when it is time. */
static void poller_retry_starved(struct rti_poller *poller)
{
    ledger_lock(poller);
    bool is_time = poller->starved_count > 0 && rti_linux_clock_now() >= poller->starved_retry_ns;
    size_t top = poller->fds_top;
    if (is_time) {
        poller->starved_count = 0;
    }
    ledger_unlock(poller);
    for (size_t i = 0; is_time && i < top; i++) {
        struct rti_fd *entry = &poller->fds[i];
        rti_poller_lock_entry(poller, (int)i);
        if (entry->is_starved) {
            entry->is_starved = false;
            poller_serve(poller, entry, RTI_INWARD);
        }
        rti_poller_unlock_entry(poller, (int)i);
    }
}

/* The sentry has failed, for good: somebody has closed its descriptor. Everything that waits is
 * answered with RT_ERR_IO, and so is everything that comes; timers, files and posts go on. */
static RTI_COLD void poller_die(struct rti_poller *poller)
{
    rti_u32_store_relaxed(&poller->is_dead, 1);
    rti_port_log(
        "the poller has failed: was its descriptor closed? Sockets are of no use any more");
    for (size_t i = 0; i < poller->fds_top; i++) {
        rti_poller_lock_entry(poller, (int)i);
        if (poller->fds[i].kind != RTI_FD_UNKNOWN) {
            queue_answer(poller, &poller->fds[i].queue[RTI_INWARD], RT_ERR_IO);
            queue_answer(poller, &poller->fds[i].queue[RTI_OUTWARD], RT_ERR_IO);
        }
        rti_poller_unlock_entry(poller, (int)i);
    }
}

/* The wait of a poller without a sentry: for calls and the time. */
static bool poller_wait_for_calls(struct rti_poller *poller, bool may_block, uint64_t deadline_ns)
{
    if (may_block && rti_list_is_empty(poller->answered) && rti_wake_word_announce(&poller->wake)) {
        uint64_t now = rti_linux_clock_now();
        uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
        uint64_t ms = left / NS_PER_MS + (left % NS_PER_MS != 0);
        int timeout_ms = deadline_ns == RTI_TIME_NEVER ? -1 : ms > INT_MAX ? INT_MAX : (int)ms;
        struct pollfd one = {.fd = poller->sentry.bell_fd, .events = POLLIN};
        uint64_t bells;
        if (poll(&one, 1, timeout_ms) > 0) {
            ssize_t got = read(poller->sentry.bell_fd, &bells, sizeof(bells));
            (void)got;
        }
    }
    return rti_wake_word_answer(&poller->wake);
}

bool rti_poller_wait(struct rti_poller *poller, bool may_block, uint64_t deadline_ns)
{
    if (poller_is_dead(poller)) {
        return poller_wait_for_calls(poller, may_block, deadline_ns);
    }
    poller_retry_starved(poller);
    ledger_lock(poller);
    may_block = may_block && rti_list_is_empty(poller->answered);
    bool is_watched = poller->waiting_count > 0;
    if (poller->starved_count > 0 && poller->starved_retry_ns < deadline_ns) {
        deadline_ns = poller->starved_retry_ns;
    }
    ledger_unlock(poller);
    /* What is answered by another worker from here on calls: then we do not block. */
    bool is_asleep = may_block && rti_wake_word_announce(&poller->wake);
    RT_SOMETIMES(may_block && !is_asleep, "poller: wake between the last look and the wait");
    if (!is_asleep && !is_watched) {
        return rti_wake_word_answer(&poller->wake);
    }
    struct rti_sentry_event events[RTI_POLLER_BATCH];
    poller->blocks += is_asleep ? 1 : 0;
    int count =
        rti_sentry_collect(&poller->sentry, events, RTI_POLLER_BATCH, is_asleep, deadline_ns);
    bool is_called = rti_wake_word_answer(&poller->wake);
    for (int round = 1;; round++) {
        if (RTI_UNLIKELY(count < 0 && errno != EINTR)) {
            poller_die(poller);
            return is_called;
        }
        for (int i = 0; i < count; i++) {
            poller_fetch(poller, &events[i], count - i);
            poller_take_event(poller, &events[i]);
        }
        if (count < RTI_POLLER_BATCH || round == RTI_POLLER_ROUNDS_MAX) {
            return is_called;
        }
        count = rti_sentry_collect(&poller->sentry, events, RTI_POLLER_BATCH, false, 0);
    }
}

void rti_poller_wake(struct rti_poller *poller)
{
    if (!rti_wake_word_call(&poller->wake)) {
        return;
    }
    /* A signal handler may be the caller: the interrupted code keeps its errno. */
    int saved = errno;
    uint64_t one = 1;
    ssize_t written;
    rti_u64_add_relaxed(&poller->bells, 1);
    do {
        written = write(poller->sentry.bell_fd, &one, sizeof(one));
    } while (written < 0 && errno == EINTR);
    RT_ASSERT(written == (ssize_t)sizeof(one));
    errno = saved;
}
