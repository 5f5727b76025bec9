/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_NET_H
#define ORRERY_RT_NET_H

/* Sockets: TCP over IPv4 and IPv6, local (unix) streams, UDP.
 *
 * Who calls. An actor or a task waits and the others run. A plain thread, without a runtime or
 * beside one with several workers, blocks, and so does main outside of rt_run: the same function
 * works in both, and nothing is asked of a runtime. A thread that blocks is not woken by an
 * rt_net_close elsewhere, and a look-up of a name takes as long as the system takes. Refused with
 * RT_ERR_THREAD are callbacks of the runtime that would have to wait, and other threads beside a
 * runtime with one worker, which is its own thread's alone.
 *
 * A socket is a descriptor of the operating system. It belongs to the program, not to an actor: it
 * may be handed to another actor, and it stays open when the actor that made it ends. It is closed
 * by rt_net_close and never by close(2), because others may wait on it.
 *
 * Time limits, in every function that has `timeout_ms`: 0 asks not to wait (RT_ERR_WOULDBLOCK if it
 * would have to), a negative limit waits for ever, a positive one waits for so many milliseconds
 * and never for less. If the answer and the limit come together, the answer is given. A call that
 * ends with RT_ERR_TIMEOUT or RT_ERR_WOULDBLOCK has taken nothing from the socket and put nothing
 * into it. Output parameters are written only with RT_OK.
 *
 * Two actors may use one socket at the same time, one to send and one to receive; several that do
 * the same are served in the order in which they asked. rt_net_close ends all their waits at once,
 * with RT_ERR_CLOSED.
 *
 * At most RT_COMPLETION_QUEUE_SIZE calls wait at one time; one more gets RT_ERR_NOMEM. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>

RT_EXTERN_C_BEGIN

/* An internet address and a port. Filled by the functions below; compared field by field. */
typedef struct {
    uint8_t ip[16];   /* network byte order; IPv4 is in the first four, the others are 0 */
    uint32_t scope;   /* interface of a link-local IPv6 address, else 0 */
    uint16_t port;    /* host byte order */
    uint8_t is_ipv6;  /* 1 or 0 */
    uint8_t reserved; /* 0 */
} rt_net_address;

/* Room for any text of rt_net_address_format. */
#define RT_NET_ADDRESS_TEXT_SIZE 64

/* The longest name of a host, without its end. */
#define RT_NET_HOST_MAX 253

/* What rt_net_listen_ex listens on. All zero is rt_net_listen(0). */
typedef struct {
    const char *address; /* numeric, "127.0.0.1" or "::1"; NULL: every address of this machine */
    uint16_t port;       /* 0: the system chooses, rt_net_local_port tells */
    int backlog;         /* connections that wait to be accepted; 0: as many as the system allows */
    bool reuse_port;     /* several sockets share the port and the system spreads connections */
    bool ipv6_only;      /* an IPv6 address takes no IPv4 connections */
} rt_net_listen_config;

/* Opens a TCP socket that listens on a port of every address of this machine, IPv4 and IPv6.
 * Callable from an actor, a task or a thread that may block.
 * Never suspends.
 * `fd_out` stays the caller's; the socket is the caller's, until rt_net_close.
 * Returns RT_OK; RT_ERR_INVALID if `fd_out` is NULL; RT_ERR_IO, with a sentence, if the port is
 * taken or not allowed; RT_ERR_RESOURCE_EXHAUSTED without a free descriptor; RT_ERR_NOMEM if the
 * system has no memory; RT_ERR_UNSUPPORTED where there is no network; RT_ERR_THREAD.
 * Nothing is lost on cancel. */
RT_API rt_status rt_net_listen(uint16_t port, int *fd_out);

/* Opens a TCP socket that listens as `config` says.
 * Callable from an actor, a task or a thread that may block.
 * Never suspends.
 * `config` and its address are read during the call only; `fd_out` is as for rt_net_listen.
 * Returns what rt_net_listen returns, and RT_ERR_INVALID if `config` is NULL, the address is no
 * numeric one, or the backlog is negative.
 * Nothing is lost on cancel. */
RT_API rt_status rt_net_listen_ex(const rt_net_listen_config *config, int *fd_out);

/* Tells the port a socket is bound to: which one the system chose.
 * Callable from an actor, a task or a thread that may block.
 * Never suspends.
 * `port_out` stays the caller's.
 * Returns RT_OK; RT_ERR_INVALID if `port_out` is NULL, or `fd` is no open socket or one without a
 * port; RT_ERR_UNSUPPORTED where there is no network; RT_ERR_THREAD.
 * Nothing is lost on cancel. */
RT_API rt_status rt_net_local_port(int fd, uint16_t *port_out);

/* Takes the connection that has waited longest at a listening socket. Without a free descriptor it
 * goes on waiting, costs no processor time meanwhile, and the connection stays where it is.
 * Callable from an actor, a task or a thread that may block.
 * Suspends if no connection waits and `timeout_ms` is not 0.
 * `conn_fd_out` stays the caller's; the new socket is the caller's, until rt_net_close.
 * Returns RT_OK; RT_ERR_WOULDBLOCK; RT_ERR_TIMEOUT; RT_ERR_CLOSED if the socket was closed
 * meanwhile; RT_ERR_INVALID if `conn_fd_out` is NULL or `listen_fd` is no listening socket;
 * RT_ERR_NOMEM if too many calls wait; RT_ERR_RESOURCE_EXHAUSTED if the new descriptor is above
 * what the runtime was made for; RT_ERR_IO; RT_ERR_UNSUPPORTED; RT_ERR_THREAD.
 * No connection is lost on cancel: it stays, or is closed if the caller was killed just then. */
RT_API RT_SUSPENDS rt_status rt_net_accept(int listen_fd, int *conn_fd_out, int32_t timeout_ms);

/* Connects to a host by TCP. A numeric address is used as it is; a name is looked up first, on a
 * thread of its own, and its addresses are tried one after another, each with its share of the time
 * that is left.
 * Callable from an actor, a task or a thread that may block.
 * Suspends unless `timeout_ms` is 0; then a name, which would have to be looked up, and a connect
 * that is not complete at once are RT_ERR_WOULDBLOCK.
 * `host` is read during the call only; `fd_out` stays the caller's; the socket is the caller's,
 * until rt_net_close.
 * Returns RT_OK; RT_ERR_WOULDBLOCK; RT_ERR_TIMEOUT; RT_ERR_IO, with a sentence, if the connection
 * is refused or there is no way to the host; RT_ERR_NOT_FOUND if the name has no address;
 * RT_ERR_INVALID if `host` or `fd_out` is NULL, the name is empty or longer than RT_NET_HOST_MAX,
 * or the port is 0; RT_ERR_NOMEM if too many calls wait; RT_ERR_RESOURCE_EXHAUSTED without a free
 * descriptor; RT_ERR_UNSUPPORTED; RT_ERR_THREAD.
 * The connection is lost on cancel: what was begun is closed. */
RT_API RT_SUSPENDS rt_status rt_net_connect(const char *host, uint16_t port, int *fd_out,
                                            int32_t timeout_ms);

/* Closes a socket. Whoever waits on it is told RT_ERR_CLOSED, at once.
 * Callable from an actor, a task or a thread that may block.
 * Never suspends.
 * The descriptor is the system's again and may be given out anew at once.
 * Returns RT_OK; RT_ERR_INVALID if `fd` is not open, or a file that work is under way on; RT_ERR_IO
 * if the system reports an error, and then it is closed all the same; RT_ERR_UNSUPPORTED;
 * RT_ERR_THREAD.
 * Nothing is lost on cancel. */
RT_API rt_status rt_net_close(int fd);

/* Receives what has come, at least one byte and at most `len`.
 * Callable from an actor, a task or a thread that may block.
 * Suspends if nothing has come and `timeout_ms` is not 0.
 * `buf` and `received` stay the caller's; `buf` may be NULL if `len` is 0.
 * Returns RT_OK, with the number of bytes in `received`: never 0 unless `len` is 0, which asks
 * nothing of the socket; RT_ERR_CLOSED if the peer has closed and everything it sent was received,
 * if it is gone, or if the socket was closed here meanwhile; RT_ERR_WOULDBLOCK; RT_ERR_TIMEOUT;
 * RT_ERR_INVALID if `buf` or `received` is NULL or `fd` is not open; RT_ERR_NOMEM if too many calls
 * wait; RT_ERR_IO; RT_ERR_UNSUPPORTED; RT_ERR_THREAD.
 * No byte is lost on cancel unless it came in the moment of a kill. */
RT_API RT_SUSPENDS rt_status rt_net_recv(int fd, void *buf, size_t len, size_t *received,
                                         int32_t timeout_ms);

/* Sends. With `timeout_ms` 0 it sends what the system takes at once; otherwise it goes on until all
 * is sent, the time is over or the connection ends. Sent means taken by the system, not read by the
 * peer.
 * Callable from an actor, a task or a thread that may block.
 * Suspends if the system takes no more and `timeout_ms` is not 0.
 * `buf` is read during the call only and may be NULL if `len` is 0; `sent` stays the caller's.
 * Returns RT_OK, with the number of bytes in `sent`: all, or fewer if time, connection or
 * `timeout_ms` 0 ended it, and then the next call tells why, but never 0 unless `len` is 0;
 * if nothing was sent: RT_ERR_CLOSED if the peer is gone or the socket was closed here meanwhile;
 * RT_ERR_WOULDBLOCK; RT_ERR_TIMEOUT; RT_ERR_INVALID if `buf` or `sent` is NULL or `fd` is not open;
 * RT_ERR_NOMEM if too many calls wait; RT_ERR_IO; RT_ERR_UNSUPPORTED; RT_ERR_THREAD.
 * How much was sent is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_net_send(int fd, const void *buf, size_t len, size_t *sent,
                                         int32_t timeout_ms);

/* Finds the first address of a name; a numeric one is taken as it is.
 * Callable from an actor, a task or a thread that may block.
 * Suspends if it is a name and `timeout_ms` is not 0.
 * `host` is read during the call only; `address_out` stays the caller's and gets `port` too.
 * Returns RT_OK; RT_ERR_NOT_FOUND if the name has no address; RT_ERR_WOULDBLOCK; RT_ERR_TIMEOUT;
 * RT_ERR_INVALID if a pointer is NULL or the name is empty or longer than RT_NET_HOST_MAX;
 * RT_ERR_NOMEM if too many calls wait; RT_ERR_IO; RT_ERR_UNSUPPORTED; RT_ERR_THREAD.
 * Nothing is lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_net_resolve(const char *host, uint16_t port,
                                            rt_net_address *address_out, int32_t timeout_ms);

/* Writes an address as text, without its port: "127.0.0.1", "fe80::1%2".
 * Callable from an actor, a task or a thread that may block.
 * Never suspends.
 * `address` and `text`, of `size` bytes, stay the caller's; RT_NET_ADDRESS_TEXT_SIZE always does.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL or `size` is too small; RT_ERR_UNSUPPORTED;
 * RT_ERR_THREAD.
 * Nothing is lost on cancel. */
RT_API rt_status rt_net_address_format(const rt_net_address *address, char *text, size_t size);

/* Opens a UDP socket on a numeric address, or on every address if it is NULL; with port 0 the
 * system chooses the port.
 * Callable from an actor, a task or a thread that may block.
 * Never suspends.
 * `address` is read during the call only; `fd_out` stays the caller's; the socket is the caller's,
 * until rt_net_close.
 * Returns what rt_net_listen_ex returns.
 * Nothing is lost on cancel. */
RT_API rt_status rt_udp_open(const char *address, uint16_t port, int *fd_out);

/* Sends one datagram, whole or not at all.
 * Callable from an actor, a task or a thread that may block.
 * Suspends if the system takes no more now and `timeout_ms` is not 0.
 * `buf` and `to` are read during the call only; `buf` may be NULL if `len` is 0, and an empty
 * datagram is sent.
 * Returns RT_OK; RT_ERR_WOULDBLOCK; RT_ERR_TIMEOUT; RT_ERR_INVALID if `buf` or `to` is NULL, the
 * port of `to` is 0, or `fd` is not open or a stream that took a part; RT_ERR_IO, with a sentence,
 * if it is too long or there is no way; RT_ERR_CLOSED if the socket was closed meanwhile;
 * RT_ERR_NOMEM if too many calls wait; RT_ERR_UNSUPPORTED; RT_ERR_THREAD. Whether it was sent is
 * lost on cancel. */
RT_API RT_SUSPENDS rt_status rt_udp_send(int fd, const void *buf, size_t len,
                                         const rt_net_address *to, int32_t timeout_ms);

/* Receives one datagram. What does not fit into `len` bytes is dropped: a datagram that fills the
 * buffer may have been longer.
 * Callable from an actor, a task or a thread that may block.
 * Suspends if none has come and `timeout_ms` is not 0.
 * `buf`, `received` and `from` stay the caller's; `from` may be NULL; `buf` may be NULL if `len` is
 * 0, which takes one datagram and drops its bytes.
 * Returns RT_OK, with the number of bytes in `received`, 0 for an empty datagram;
 * RT_ERR_WOULDBLOCK; RT_ERR_TIMEOUT; RT_ERR_CLOSED if the socket was closed meanwhile;
 * RT_ERR_INVALID if `buf` or `received` is NULL or `fd` is not open; RT_ERR_NOMEM if too many calls
 * wait; RT_ERR_IO; RT_ERR_UNSUPPORTED; RT_ERR_THREAD.
 * No datagram is lost on cancel unless it came in the moment of a kill. */
RT_API RT_SUSPENDS rt_status rt_udp_recv(int fd, void *buf, size_t len, size_t *received,
                                         rt_net_address *from, int32_t timeout_ms);

/* Opens a local stream socket that listens under a name: a path of the file system or, after an
 * '@', a name that only sockets know. A path whose socket nobody listens on any more is taken over;
 * rt_net_close leaves the path.
 * Callable from an actor, a task or a thread that may block.
 * Never suspends.
 * `name` is read during the call only; `fd_out` stays the caller's; the socket is the caller's,
 * until rt_net_close. rt_net_accept, rt_net_recv and rt_net_send work as with TCP.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL or the name is empty or too long for the
 * system, 107 bytes on Linux; RT_ERR_IO, with a sentence, if the name is taken or not allowed;
 * RT_ERR_RESOURCE_EXHAUSTED; RT_ERR_NOMEM; RT_ERR_UNSUPPORTED; RT_ERR_THREAD.
 * Nothing is lost on cancel. */
RT_API rt_status rt_unix_listen(const char *name, int *fd_out);

/* Connects to a local stream socket by its name.
 * Callable from an actor, a task or a thread that may block.
 * Suspends if the listener's backlog is full and `timeout_ms` is not 0.
 * `name` is read during the call only; `fd_out` stays the caller's; the socket is the caller's,
 * until rt_net_close.
 * Returns RT_OK; RT_ERR_WOULDBLOCK; RT_ERR_TIMEOUT; RT_ERR_IO, with a sentence, if nobody listens;
 * RT_ERR_INVALID if a pointer is NULL or the name is empty or too long; RT_ERR_NOMEM if too many
 * calls wait; RT_ERR_RESOURCE_EXHAUSTED without a free descriptor; RT_ERR_UNSUPPORTED;
 * RT_ERR_THREAD.
 * The connection is lost on cancel: what was begun is closed. */
RT_API RT_SUSPENDS rt_status rt_unix_connect(const char *name, int *fd_out, int32_t timeout_ms);

RT_EXTERN_C_END

#endif
