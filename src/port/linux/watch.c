/* SPDX-License-Identifier: Apache-2.0 */
/* The essay is in watch.h. */
#define _GNU_SOURCE
#define RTI_MODULE "watch"
#include "port/linux/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/* How long one who asks may be silent. */
#define WATCH_PATIENCE_MS 2000

/* A wait is cut into pieces, to see that it is time to close. */
#define WATCH_SLICE_NS UINT64_C(20000000)

_Static_assert(RTI_WATCH_PATH_MAX == sizeof(((struct sockaddr_un *)0)->sun_path), "a path fits");

/* Makes sure of a folder that is the user's own and nobody else's. */
static bool folder_is_private(const char *path)
{
    struct stat info;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return false;
    }
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & 0077) == 0;
}

/* Writes the path of the socket; false if there is no private folder for it. */
static bool watch_find_path(char path[static RTI_WATCH_PATH_MAX])
{
    char folder[RTI_WATCH_PATH_MAX - 32];
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int length = runtime == NULL || *runtime != '/'
                     ? -1
                     : snprintf(folder, sizeof(folder), "%s/orrery", runtime);
    bool is_found = length > 0 && (size_t)length < sizeof(folder) && folder_is_private(folder);
    if (!is_found) {
        snprintf(folder, sizeof(folder), "/tmp/orrery-%u", (unsigned)geteuid());
        is_found = folder_is_private(folder);
    }
    if (is_found) {
        snprintf(path, RTI_WATCH_PATH_MAX, "%s/%d.sock", folder, (int)getpid());
    }
    return is_found;
}

static bool watch_listen(struct rti_watch *watch)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, watch->path, sizeof(address.sun_path));
    watch->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (watch->listener < 0) {
        return false;
    }
    /* A process with our number died and left it. */
    (void)unlink(watch->path);
    /* The folder lets nobody else in, so there is no moment in which the mode is too open. */
    return bind(watch->listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
           chmod(watch->path, 0600) == 0 && listen(watch->listener, 8) == 0;
}

static bool peer_is_trusted(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

/* Waits until the client can be read or written; false if it cannot, or it is time to close. */
static bool client_wait(struct rti_watch *watch, short events)
{
    struct pollfd fds[2] = {{.fd = watch->client, .events = events},
                            {.fd = watch->bell, .events = POLLIN}};
    int count = poll(fds, 2, WATCH_PATIENCE_MS);
    return count > 0 && fds[1].revents == 0 && (fds[0].revents & events) != 0;
}

bool rti_watch_write(struct rti_watch *watch, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t count = send(watch->client, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            at += count;
            size -= (size_t)count;
        } else if (errno == EINTR) {
            continue;
        } else if ((errno != EAGAIN && errno != EWOULDBLOCK) || !client_wait(watch, POLLOUT)) {
            return false;
        }
    }
    return true;
}

bool rti_watch_await(struct rti_watch *watch, rti_atomic_u32 *word, uint32_t expected,
                     uint64_t span_ns)
{
    uint64_t deadline_ns = rti_linux_clock_now() + span_ns;
    /* Acquire: what was written before the word changed is seen by who awaited it. */
    while (rti_u32_load_acquire(word) == expected) {
        uint64_t now_ns = rti_linux_clock_now();
        if (now_ns >= deadline_ns || rti_u32_load_relaxed(&watch->is_closing) != 0) {
            return false;
        }
        uint64_t slice_ns = now_ns + WATCH_SLICE_NS;
        (void)rti_linux_futex_wait(watch->port, word, expected,
                                   slice_ns < deadline_ns ? slice_ns : deadline_ns);
    }
    return true;
}

/* A piece that a new pipe takes without waiting. */
#define PEEK_PIECE 4096

/* Through a pipe: the system refuses to write what is not there, and does not fault either. */
static bool peek_by_pipe(char *to, const char *from, size_t size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    size_t done = 0;
    while (done < size) {
        size_t piece = size - done < PEEK_PIECE ? size - done : PEEK_PIECE;
        if (write(ends[1], from + done, piece) != (ssize_t)piece ||
            read(ends[0], to + done, piece) != (ssize_t)piece) {
            break;
        }
        done += piece;
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
    return done == size;
}

bool rti_watch_peek(void *to, const void *from, size_t size)
{
    struct iovec local = {.iov_base = to, .iov_len = size};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (got < 0 && (errno == ENOSYS || errno == EPERM)) {
        /* Emulators do not have the call, and sandboxes forbid it. */
        return peek_by_pipe(to, from, size);
    }
    return got == (ssize_t)size;
}

bool rti_watch_is_abandoned(struct rti_watch *watch)
{
    char byte;
    ssize_t count = recv(watch->client, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

/* Reads one line; false if none comes. */
static bool client_read_line(struct rti_watch *watch, char line[static RTI_WATCH_REQUEST_MAX])
{
    size_t length = 0;
    while (length < RTI_WATCH_REQUEST_MAX - 1) {
        ssize_t count = recv(watch->client, line + length, 1, MSG_DONTWAIT);
        if (count == 1) {
            if (line[length] == '\n') {
                line[length] = '\0';
                return true;
            }
            length++;
        } else if (count == 0 || (errno != EAGAIN && errno != EINTR) ||
                   !client_wait(watch, POLLIN)) {
            return false;
        }
    }
    return false;
}

static void watch_main(void *arg)
{
    struct rti_watch *watch = arg;
    while (rti_u32_load_relaxed(&watch->is_closing) == 0) {
        struct pollfd fds[2] = {{.fd = watch->listener, .events = POLLIN},
                                {.fd = watch->bell, .events = POLLIN}};
        char line[RTI_WATCH_REQUEST_MAX];
        (void)poll(fds, 2, -1);
        if (fds[1].revents != 0) {
            return;
        }
        watch->client = accept4(watch->listener, NULL, NULL, SOCK_CLOEXEC);
        if (watch->client < 0) {
            continue;
        }
        if (peer_is_trusted(watch->client) && client_read_line(watch, line)) {
            watch->answer(watch, line);
        }
        close(watch->client);
    }
}

static void watch_close_descriptors(struct rti_watch *watch)
{
    if (watch->listener >= 0) {
        close(watch->listener);
        (void)unlink(watch->path);
    }
    if (watch->bell >= 0) {
        close(watch->bell);
    }
}

rt_status rti_watch_open(struct rti_watch *watch, struct rti_port *port,
                         void (*answer)(struct rti_watch *watch, const char *request))
{
    RT_ASSERT(answer != NULL);
    *watch = (struct rti_watch){.port = port, .listener = -1, .bell = -1, .answer = answer};
    rti_u32_init(&watch->is_closing, 0);
    if (!watch_find_path(watch->path)) {
        return (rt_status){RT_ERR_INVALID, "no folder of the user's own for the socket"};
    }
    watch->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watch->bell < 0 || !watch_listen(watch)) {
        watch_close_descriptors(watch);
        return (rt_status){RT_ERR_IO, "the socket for tools cannot be made"};
    }
    rt_status status = rti_linux_thread_start(port, &watch->thread, watch_main, watch);
    if (RT_FAILED(status)) {
        watch_close_descriptors(watch);
    }
    return status;
}

void rti_watch_close(struct rti_watch *watch)
{
    uint64_t one = 1;
    rti_u32_store_relaxed(&watch->is_closing, 1);
    ssize_t count = write(watch->bell, &one, sizeof(one));
    RT_ASSERT(count == (ssize_t)sizeof(one));
    rti_linux_thread_join(watch->port, &watch->thread);
    watch_close_descriptors(watch);
}

int rti_watch_open_file(const char *variable)
{
    const char *path = getenv(variable);
    if (path == NULL || *path == '\0') {
        return -1;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        rti_port_log("ORRERY_JOURNAL or ORRERY_RECORD names a file that cannot be written");
    }
    return fd;
}

void rti_watch_close_file(int fd)
{
    (void)close(fd);
}
