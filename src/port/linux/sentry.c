/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "sentry"
#include "port/linux/sentry.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "port/linux/fd_op.h"
#include "port/linux/port_linux.h"

#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define HAS_PWAIT2 1
#endif
#endif
#ifndef HAS_PWAIT2
#define HAS_PWAIT2 0
#endif

/* Which direction a poll of io_uring is for. */
#define TAG_OUTWARD (UINT64_C(1) << 30)

#define NS_PER_S  1000000000U
#define NS_PER_MS 1000000U

static rt_status sentry_failure(int error, const char *what)
{
    return (rt_status){rti_fd_op_status(error), what};
}

static uint32_t inward_events(void)
{
    return EPOLLIN | EPOLLRDHUP | EPOLLPRI;
}

/* epoll. */

static rt_status epoll_open(struct rti_sentry *sentry)
{
    sentry->fd = epoll_create1(EPOLL_CLOEXEC);
    if (sentry->fd < 0) {
        return sentry_failure(errno, "epoll_create1 failed");
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = RTI_SENTRY_BELL};
    if (epoll_ctl(sentry->fd, EPOLL_CTL_ADD, sentry->bell_fd, &event) != 0) {
        rt_status failure = sentry_failure(errno, "epoll_ctl of the eventfd failed");
        close(sentry->fd);
        return failure;
    }
    return RT_SUCCESS;
}

static int epoll_watch(struct rti_sentry *sentry, const struct rti_sentry_change *change)
{
    int verb = change->from == 0 ? EPOLL_CTL_ADD : change->to == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    struct epoll_event event = {.events = EPOLLET, .data.u64 = change->tag};
    event.events |= (change->to & 1U << RTI_INWARD) != 0 ? inward_events() : 0;
    event.events |= (change->to & 1U << RTI_OUTWARD) != 0 ? (uint32_t)EPOLLOUT : 0;
    int error = epoll_ctl(sentry->fd, verb, change->fd, &event) == 0 ? 0 : errno;
    /* Closed or duplicated behind our back: what epoll knows is not what we know. */
    if (verb == EPOLL_CTL_ADD && error == EEXIST) {
        return epoll_ctl(sentry->fd, EPOLL_CTL_MOD, change->fd, &event) == 0 ? 0 : errno;
    }
    if (verb == EPOLL_CTL_MOD && error == ENOENT) {
        return epoll_ctl(sentry->fd, EPOLL_CTL_ADD, change->fd, &event) == 0 ? ENOENT : errno;
    }
    return verb == EPOLL_CTL_DEL ? 0 : error;
}

/* epoll_pwait2 where it exists, else whole milliseconds, rounded up. Returns as epoll_wait. */
static int epoll_block(struct rti_sentry *sentry, struct epoll_event *events, int max,
                       uint64_t deadline_ns)
{
    uint64_t now = rti_linux_clock_now();
    uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
#if HAS_PWAIT2
    if (sentry->has_pwait2) {
        struct timespec timeout = {
            .tv_sec = (time_t)(left / NS_PER_S),
            .tv_nsec = (long)(left % NS_PER_S),
        };
        int count = epoll_pwait2(sentry->fd, events, max,
                                 deadline_ns == RTI_TIME_NEVER ? NULL : &timeout, NULL);
        /* EPERM is what old container filters answer to a call they do not know. */
        if (count >= 0 || (errno != ENOSYS && errno != EPERM)) {
            return count;
        }
        sentry->has_pwait2 = false;
    }
#endif
    uint64_t ms = left / NS_PER_MS + (left % NS_PER_MS != 0);
    int timeout_ms = deadline_ns == RTI_TIME_NEVER ? -1 : ms > INT_MAX ? INT_MAX : (int)ms;
    return epoll_wait(sentry->fd, events, max, timeout_ms);
}

static int epoll_collect(struct rti_sentry *sentry, struct rti_sentry_event *events, int max,
                         bool may_block, uint64_t deadline_ns)
{
    struct epoll_event found[RTI_POLLER_BATCH];
    RT_ASSERT(max <= RTI_POLLER_BATCH);
    int count = may_block ? epoll_block(sentry, found, max, deadline_ns)
                          : epoll_wait(sentry->fd, found, max, 0);
    for (int i = 0; i < count; i++) {
        events[i] = (struct rti_sentry_event){.tag = found[i].data.u64, .events = found[i].events};
    }
    return count;
}

/* io_uring. */

/* Begins a poll of the bell that belongs to this thread, then ends the one before. */
static void uring_own_bell(struct rti_sentry *sentry)
{
    uintptr_t self = (uintptr_t)pthread_self();
    if (sentry->bell_owner == self) {
        return;
    }
    uint64_t old = (uint64_t)sentry->bell_number << 32 | RTI_SENTRY_BELL;
    sentry->bell_number++;
    rti_uring_poll(&sentry->uring, sentry->bell_fd, EPOLLIN,
                   (uint64_t)sentry->bell_number << 32 | RTI_SENTRY_BELL);
    if (sentry->bell_owner != 0) {
        rti_uring_unpoll(&sentry->uring, old);
    }
    sentry->bell_owner = self;
}

static rt_status uring_open(struct rti_sentry *sentry)
{
    rt_status status = rti_uring_open(&sentry->uring, sentry->is_shared);
    if (status.code == RT_OK) {
        sentry->fd = sentry->uring.fd;
    }
    return status;
}

static int uring_watch(struct rti_sentry *sentry, const struct rti_sentry_change *change)
{
    static const uint64_t bits[RTI_DIRECTION_COUNT] = {
        [RTI_INWARD] = 0, [RTI_OUTWARD] = TAG_OUTWARD};
    bool is_same_tag = change->tag == change->old_tag;
    bool is_less = false;
    for (int direction = 0; direction < RTI_DIRECTION_COUNT; direction++) {
        bool was = (change->from & 1U << direction) != 0;
        bool is = (change->to & 1U << direction) != 0;
        if (was && !(is && is_same_tag)) {
            rti_uring_unpoll(&sentry->uring, change->old_tag | bits[direction]);
            is_less = true;
        }
        if (is && !(was && is_same_tag)) {
            rti_uring_poll(&sentry->uring, change->fd,
                           direction == RTI_INWARD ? inward_events() : (uint32_t)EPOLLOUT,
                           change->tag | bits[direction]);
        }
    }
    /* What is ended must be so before the descriptor is closed. Another worker may be asleep in a
     * wait that knows nothing of this. */
    return is_less || sentry->is_shared ? rti_uring_submit(&sentry->uring) : 0;
}

/* Turns a completion into an event. False if it is none. */
static bool uring_event(struct rti_sentry *sentry, const struct rti_uring_done *done,
                        struct rti_sentry_event *event)
{
    if ((uint32_t)done->tag == RTI_SENTRY_BELL) {
        if (done->is_last && done->tag >> 32 == sentry->bell_number) {
            sentry->bell_owner = 0;
        }
        *event = (struct rti_sentry_event){.tag = RTI_SENTRY_BELL};
        return true;
    }
    bool is_outward = (done->tag & TAG_OUTWARD) != 0;
    *event = (struct rti_sentry_event){.tag = done->tag & ~TAG_OUTWARD};
    if (done->result >= 0) {
        event->events = (uint32_t)done->result;
    } else if (done->result != -ECANCELED) {
        event->error = -done->result;
    }
    if (done->is_last) {
        event->ended = (uint8_t)(1U << (is_outward ? RTI_OUTWARD : RTI_INWARD));
    }
    return true;
}

static int uring_collect(struct rti_sentry *sentry, struct rti_sentry_event *events, int max,
                         bool may_block, uint64_t deadline_ns)
{
    struct rti_uring_done done[RTI_POLLER_BATCH];
    int error = 0;
    RT_ASSERT(max <= RTI_POLLER_BATCH);
    int found = rti_uring_take(&sentry->uring, done, max);
    if (found == 0 && may_block) {
        uint64_t now = deadline_ns == RTI_TIME_NEVER ? 0 : rti_linux_clock_now();
        uring_own_bell(sentry);
        error = rti_uring_wait(&sentry->uring, deadline_ns == RTI_TIME_NEVER ? RTI_TIME_NEVER
                                               : deadline_ns > now           ? deadline_ns - now
                                                                             : 0);
    } else if (!sentry->is_shared) {
        error = rti_uring_submit(&sentry->uring);
    }
    if (error != 0) {
        errno = error;
        return -1;
    }
    if (found == 0) {
        found = rti_uring_take(&sentry->uring, done, max);
    }
    int count = 0;
    for (int i = 0; i < found; i++) {
        count += uring_event(sentry, &done[i], &events[count]) ? 1 : 0;
    }
    return count;
}

/* Both. */

/* What the environment asks for where the program does not. */
static rt_status kind_of_environment(rt_poller_kind *kind)
{
    const char *name = getenv("ORRERY_POLLER");
    *kind = RT_POLLER_EPOLL;
    if (name == NULL || strcmp(name, "") == 0 || strcmp(name, "epoll") == 0) {
        return RT_SUCCESS;
    }
    if (strcmp(name, "io_uring") == 0) {
        *kind = RT_POLLER_IO_URING;
        return RT_SUCCESS;
    }
    return (rt_status){RT_ERR_INVALID, "ORRERY_POLLER is neither epoll nor io_uring"};
}

rt_status rti_sentry_open(struct rti_sentry *sentry, rt_poller_kind kind, bool is_shared,
                          bool is_coarse)
{
    rt_status status = RT_SUCCESS;
    if (kind == RT_POLLER_AUTO) {
        status = kind_of_environment(&kind);
    } else if (kind != RT_POLLER_EPOLL && kind != RT_POLLER_IO_URING) {
        status = (rt_status){RT_ERR_INVALID, "there is no such kind of poller"};
    }
    if (status.code != RT_OK) {
        return status;
    }
    *sentry = (struct rti_sentry){.fd = -1,
                                  .is_uring = kind == RT_POLLER_IO_URING,
                                  .is_shared = is_shared,
                                  .has_pwait2 = HAS_PWAIT2 && !is_coarse};
    sentry->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sentry->bell_fd < 0) {
        return sentry_failure(errno, "eventfd failed");
    }
    status = sentry->is_uring ? uring_open(sentry) : epoll_open(sentry);
    if (status.code != RT_OK) {
        close(sentry->bell_fd);
    }
    return status;
}

void rti_sentry_close(struct rti_sentry *sentry)
{
    if (sentry->is_uring) {
        rti_uring_close(&sentry->uring);
    } else {
        close(sentry->fd);
    }
    close(sentry->bell_fd);
    sentry->fd = -1;
    sentry->bell_fd = -1;
}

int rti_sentry_watch(struct rti_sentry *sentry, const struct rti_sentry_change *change)
{
    return sentry->is_uring ? uring_watch(sentry, change) : epoll_watch(sentry, change);
}

int rti_sentry_collect(struct rti_sentry *sentry, struct rti_sentry_event *events, int max,
                       bool may_block, uint64_t deadline_ns)
{
    return sentry->is_uring ? uring_collect(sentry, events, max, may_block, deadline_ns)
                            : epoll_collect(sentry, events, max, may_block, deadline_ns);
}
