/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "client.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* How often and how long to wait for the socket of a program that was just started. */
#define CONNECT_TRIES    10
#define CONNECT_PAUSE_NS 30000000

/* How long a program may be silent. Another tool may have its turn before us. */
#define PATIENCE_S 10

/* The places where a program of this user may have put its socket. */
static int connect_to(uint64_t pid, uid_t user)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    for (int place = 0; place < 3; place++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        char *path = address.sun_path;
        size_t room = sizeof(address.sun_path);
        int length = 0;
        if (place == 0 && runtime != NULL) {
            length = snprintf(path, room, "%s/orrery/%" PRIu64 ".sock", runtime, pid);
        } else if (place == 1) {
            length = snprintf(path, room, "/run/user/%u/orrery/%" PRIu64 ".sock", user, pid);
        } else if (place == 2) {
            length = snprintf(path, room, "/tmp/orrery-%u/%" PRIu64 ".sock", user, pid);
        }
        if (length <= 0 || (size_t)length >= room) {
            continue;
        }
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
            return fd;
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    return -1;
}

/* The same, and again for a moment: a program that was just started is about to make its socket. */
static int connect_patiently(uint64_t pid, uid_t user)
{
    int fd = connect_to(pid, user);
    for (int i = 0; fd < 0 && i < CONNECT_TRIES; i++) {
        struct timespec while_ns = {.tv_nsec = CONNECT_PAUSE_NS};
        nanosleep(&while_ns, NULL);
        fd = connect_to(pid, user);
    }
    return fd;
}

/* The user that a process belongs to; false if there is no such process. */
static bool owner_of(uint64_t pid, uid_t *user)
{
    char path[64];
    struct stat info;
    snprintf(path, sizeof(path), "/proc/%" PRIu64, pid);
    if (stat(path, &info) != 0) {
        return false;
    }
    *user = info.st_uid;
    return true;
}

/* Is it really the process that answers, and not another that has taken its name? */
static bool answers_for(int fd, uint64_t pid)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (uint64_t)peer.pid == pid;
}

/* A program that is stopped takes the question and never answers. */
static void limit_silence(int fd, uint64_t span_ms)
{
    struct timeval limit = {.tv_sec = (time_t)(span_ms / 1000 + PATIENCE_S)};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static char *read_answer(FILE *stream, uint64_t pid, size_t *size)
{
    char *bytes = tool_read_all(stream, size);
    if (ferror(stream) != 0) {
        tool_complain("process %" PRIu64 " does not answer: it is stopped, or another tool looks "
                      "at it",
                      pid);
        free(bytes);
        return NULL;
    }
    bytes = tool_realloc(bytes, *size + 1, 1);
    bytes[*size] = '\0';
    if (strncmp(bytes, "error\t", 6) == 0) {
        tool_complain("process %" PRIu64 ": %.*s", pid, (int)strcspn(bytes + 6, "\n"), bytes + 6);
        free(bytes);
        return NULL;
    }
    return bytes;
}

char *client_ask(uint64_t pid, const char *request, uint64_t span_ms, size_t *size)
{
    uid_t user = 0;
    if (!owner_of(pid, &user)) {
        tool_complain("there is no process %" PRIu64, pid);
        return NULL;
    }
    int fd = connect_patiently(pid, user);
    if (fd < 0) {
        tool_complain("process %" PRIu64 " does not let itself be looked at: start it with "
                      "ORRERY_OBSERVE=1 in its environment, as the same user",
                      pid);
        return NULL;
    }
    char line[128];
    snprintf(line, sizeof(line), "%s\n", request);
    limit_silence(fd, span_ms);
    FILE *stream = answers_for(fd, pid) ? fdopen(fd, "rb") : NULL;
    if (stream == NULL || send(fd, line, strlen(line), MSG_NOSIGNAL) < 0) {
        tool_complain("process %" PRIu64 " does not answer", pid);
        if (stream != NULL) {
            fclose(stream);
        } else {
            close(fd);
        }
        return NULL;
    }
    char *answer = read_answer(stream, pid, size);
    fclose(stream);
    return answer;
}
