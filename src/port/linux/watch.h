/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_WATCH_H
#define RTI_WATCH_H

/* A private socket that a program can be asked through, and the thread that answers.
 *
 * The socket is $XDG_RUNTIME_DIR/orrery/PID.sock, or /tmp/orrery-UID/PID.sock where there is no
 * such folder. The folder is the user's own, mode 0700, and refused if it is a link or another's;
 * the socket has mode 0600; who connects must be the same user, or root (SO_PEERCRED). One line
 * asks, the answer is bytes until the end; then the connection is closed. One client at a time, and
 * none may keep the thread longer than WATCH_PATIENCE_MS without reading or writing.
 *
 * The thread runs `answer`; it may take its time, but ends soon when `is_closing` is true.
 *
 * I1  From a successful open to close there is a thread, and its socket is the only one with that
 *     name.                                                                 (rti_watch_close) */

#include "base/atomic.h"
#include "port/linux/port_linux.h"

#define RTI_WATCH_REQUEST_MAX 128
#define RTI_WATCH_PATH_MAX    108

struct rti_watch {
    struct rti_port *port;
    struct rti_port_thread thread;
    int listener;
    int bell; /* eventfd: rung to close */
    int client;
    rti_atomic_u32 is_closing;
    void (*answer)(struct rti_watch *watch, const char *request);
    char path[RTI_WATCH_PATH_MAX];
};

/* Makes the socket and starts the thread. RT_OK; RT_ERR_INVALID if the folder is not the user's
 * own; RT_ERR_RESOURCE_EXHAUSTED, RT_ERR_NOMEM or RT_ERR_IO if the system refuses. */
rt_status rti_watch_open(struct rti_watch *watch, struct rti_port *port,
                         void (*answer)(struct rti_watch *watch, const char *request));

/* Ends the thread and removes the socket. */
void rti_watch_close(struct rti_watch *watch);

/* Sends bytes to who asks. False: it is gone, or does not read. From `answer` only. */
bool rti_watch_write(struct rti_watch *watch, const void *bytes, size_t size);

/* Waits on `word` while it is `expected`, at most for `span_ns`, and not when closing; true if it
 * has changed. From `answer` only. */
bool rti_watch_await(struct rti_watch *watch, rti_atomic_u32 *word, uint32_t expected,
                     uint64_t span_ns);

/* Copies memory of this process; false, and no fault, where there is none. Any thread. */
bool rti_watch_peek(void *to, const void *from, size_t size);

/* Has who asks gone away? */
bool rti_watch_is_abandoned(struct rti_watch *watch);

/* A file that a variable of the environment asks for: its descriptor, or -1 if none is asked for or
 * it cannot be made, which is said on standard error. */
int rti_watch_open_file(const char *variable);
void rti_watch_close_file(int fd);

#endif
