/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "uring"
#include "port/linux/uring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/time.h"

/* Requests that fit before the kernel must be told, and completions that fit before it keeps them
 * for later. */
#define REQUESTS 256
#define DONES    4096

/* The tag of requests whose success nobody wants to hear of. */
#define TAG_NOBODY (UINT64_MAX - 1)

/* All of these: mapped in one piece, nothing dropped, a wait with a timeout (5.11), polls that stay
 * (5.13), silent successes (5.17). */
#define FEATURES_NEEDED                                                                            \
    (IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP)

static int uring_enter(const struct rti_uring *uring, uint32_t submit, uint32_t complete,
                       uint32_t flags, void *arg)
{
    size_t size = (flags & IORING_ENTER_EXT_ARG) != 0 ? sizeof(struct io_uring_getevents_arg) : 0;
    return (int)syscall(SYS_io_uring_enter, uring->fd, submit, complete, flags, arg, size);
}

static rt_status uring_map(struct rti_uring *uring, const struct io_uring_params *params)
{
    size_t requests_end = params->sq_off.array + params->sq_entries * sizeof(uint32_t);
    size_t dones_end = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
    uring->ring_size = requests_end > dones_end ? requests_end : dones_end;
    uring->requests_size = params->sq_entries * sizeof(struct io_uring_sqe);
    char *ring = mmap(NULL, uring->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                      uring->fd, IORING_OFF_SQ_RING);
    if (ring == MAP_FAILED) {
        return (rt_status){RT_ERR_NOMEM, "no memory for the rings of io_uring"};
    }
    void *requests = mmap(NULL, uring->requests_size, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_POPULATE, uring->fd, IORING_OFF_SQES);
    if (requests == MAP_FAILED) {
        munmap(ring, uring->ring_size);
        return (rt_status){RT_ERR_NOMEM, "no memory for the requests of io_uring"};
    }
    (void)madvise(ring, uring->ring_size, MADV_DONTFORK);
    (void)madvise(requests, uring->requests_size, MADV_DONTFORK);
    uring->ring = ring;
    uring->requests = requests;
    uring->requests_count = params->sq_entries;
    uring->request_head = (rti_atomic_u32 *)(void *)(ring + params->sq_off.head);
    uring->request_tail = (rti_atomic_u32 *)(void *)(ring + params->sq_off.tail);
    uring->request_flags = (rti_atomic_u32 *)(void *)(ring + params->sq_off.flags);
    uring->request_index = (uint32_t *)(void *)(ring + params->sq_off.array);
    uring->done_head = (rti_atomic_u32 *)(void *)(ring + params->cq_off.head);
    uring->done_tail = (rti_atomic_u32 *)(void *)(ring + params->cq_off.tail);
    uring->done_mask = params->cq_entries - 1;
    uring->done = (struct io_uring_cqe *)(void *)(ring + params->cq_off.cqes);
    return RT_SUCCESS;
}

rt_status rti_uring_open(struct rti_uring *uring, bool is_shared)
{
    struct io_uring_params params = {.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
                                     .cq_entries = DONES};
    *uring = (struct rti_uring){.is_shared = is_shared};
    uring->fd = (int)syscall(SYS_io_uring_setup, REQUESTS, &params);
    if (uring->fd < 0) {
        return errno == EMFILE || errno == ENFILE
                   ? (rt_status){RT_ERR_RESOURCE_EXHAUSTED, "no descriptor for io_uring"}
               : errno == ENOMEM
                   ? (rt_status){RT_ERR_NOMEM, "no memory for io_uring"}
                   : (rt_status){RT_ERR_UNSUPPORTED, "the system has or allows no io_uring"};
    }
    rt_status status = {RT_ERR_UNSUPPORTED, "the io_uring of this system is too old"};
    if ((params.features & FEATURES_NEEDED) == FEATURES_NEEDED) {
        status = uring_map(uring, &params);
    }
    if (status.code != RT_OK) {
        close(uring->fd);
        uring->fd = -1;
    }
    return status;
}

/* Tells the kernel of what was written so far. With the lock held, or by one who alone writes. */
static int uring_flush(struct rti_uring *uring)
{
    while (uring->unsubmitted > 0) {
        int taken = uring_enter(uring, uring->unsubmitted, 0, 0, NULL);
        if (taken < 0 && errno != EINTR && errno != EAGAIN && errno != EBUSY) {
            return errno;
        }
        if (taken < 0 && errno != EINTR) {
            /* Completions wait that found no room: they are taken by who waits. */
            return 0;
        }
        uring->unsubmitted -= taken > 0 ? (uint32_t)taken : 0;
    }
    return 0;
}

/* The next free request, zeroed. With the lock held. */
static struct io_uring_sqe *uring_request(struct rti_uring *uring)
{
    uint32_t tail = rti_u32_load_relaxed(uring->request_tail);
    /* Acquire pairs with the kernel's release: it has read what it took. */
    while (tail - rti_u32_load_acquire(uring->request_head) == uring->requests_count) {
        (void)uring_flush(uring);
    }
    struct io_uring_sqe *request = &uring->requests[tail & (uring->requests_count - 1)];
    memset(request, 0, sizeof(*request));
    return request;
}

static void uring_push(struct rti_uring *uring)
{
    uint32_t tail = rti_u32_load_relaxed(uring->request_tail);
    uint32_t index = tail & (uring->requests_count - 1);
    uring->request_index[index] = index;
    /* Release pairs with the kernel's acquire: the request is written. */
    rti_u32_store_release(uring->request_tail, tail + 1);
    uring->unsubmitted++;
}

void rti_uring_poll(struct rti_uring *uring, int fd, uint32_t events, uint64_t tag)
{
    rti_spin_acquire(&uring->lock, uring->is_shared);
    struct io_uring_sqe *request = uring_request(uring);
    request->opcode = IORING_OP_POLL_ADD;
    request->fd = fd;
    request->len = IORING_POLL_ADD_MULTI;
    request->poll32_events = events;
    request->user_data = tag;
    uring_push(uring);
    rti_spin_release(&uring->lock, uring->is_shared);
}

void rti_uring_unpoll(struct rti_uring *uring, uint64_t tag)
{
    rti_spin_acquire(&uring->lock, uring->is_shared);
    struct io_uring_sqe *request = uring_request(uring);
    request->opcode = IORING_OP_POLL_REMOVE;
    request->fd = -1;
    request->flags = IOSQE_CQE_SKIP_SUCCESS;
    request->addr = tag;
    request->user_data = TAG_NOBODY;
    uring_push(uring);
    rti_spin_release(&uring->lock, uring->is_shared);
}

int rti_uring_submit(struct rti_uring *uring)
{
    rti_spin_acquire(&uring->lock, uring->is_shared);
    int error = uring_flush(uring);
    rti_spin_release(&uring->lock, uring->is_shared);
    return error;
}

int rti_uring_take(struct rti_uring *uring, struct rti_uring_done *done, int max)
{
    uint32_t head = rti_u32_load_relaxed(uring->done_head);
    int count = 0;
    /* Acquire pairs with the kernel's release: the completions are written. */
    uint32_t tail = rti_u32_load_acquire(uring->done_tail);
    while (head != tail && count < max) {
        const struct io_uring_cqe *entry = &uring->done[head & uring->done_mask];
        if (entry->user_data != TAG_NOBODY) {
            done[count++] = (struct rti_uring_done){entry->user_data, entry->res,
                                                    (entry->flags & IORING_CQE_F_MORE) == 0};
        }
        head++;
    }
    /* Release pairs with the kernel's acquire: the places are free. */
    rti_u32_store_release(uring->done_head, head);
    if (head == tail && (rti_u32_load_relaxed(uring->request_flags) & IORING_SQ_CQ_OVERFLOW) != 0) {
        /* The kernel keeps some that found no room: they come by a call. */
        (void)uring_enter(uring, 0, 0, IORING_ENTER_GETEVENTS, NULL);
    }
    return count;
}

int rti_uring_wait(struct rti_uring *uring, uint64_t timeout_ns)
{
    struct __kernel_timespec timeout = {.tv_sec = (long long)(timeout_ns / RTI_NS_PER_S),
                                        .tv_nsec = (long long)(timeout_ns % RTI_NS_PER_S)};
    struct io_uring_getevents_arg arg = {
        .ts = timeout_ns == RTI_TIME_NEVER ? 0 : (uint64_t)(uintptr_t)&timeout};
    rti_spin_acquire(&uring->lock, uring->is_shared);
    uint32_t submit = uring->unsubmitted;
    uring->unsubmitted = 0;
    rti_spin_release(&uring->lock, uring->is_shared);
    int rc = uring_enter(uring, submit, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg);
    uint32_t left = rc < 0 ? submit : submit - (uint32_t)rc;
    if (left > 0) {
        int saved = errno;
        rti_spin_acquire(&uring->lock, uring->is_shared);
        uring->unsubmitted += left;
        rti_spin_release(&uring->lock, uring->is_shared);
        errno = saved;
    }
    if (rc >= 0 || errno == EINTR || errno == ETIME || errno == EBUSY || errno == EAGAIN) {
        return 0;
    }
    return errno;
}

void rti_uring_close(struct rti_uring *uring)
{
    struct rti_uring_done done[64];
    struct io_uring_sqe *request = uring_request(uring);
    request->opcode = IORING_OP_ASYNC_CANCEL;
    request->fd = -1;
    request->cancel_flags = IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY;
    request->user_data = TAG_NOBODY;
    uring_push(uring);
    (void)uring_flush(uring);
    while (rti_uring_take(uring, done, 64) > 0) {
    }
    munmap(uring->requests, uring->requests_size);
    munmap(uring->ring, uring->ring_size);
    close(uring->fd);
    uring->fd = -1;
}
