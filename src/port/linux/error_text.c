/* SPDX-License-Identifier: Apache-2.0 */
/* What an error of the system means, as a literal. The C library's own texts are translated, may
 * live in a buffer, and are written for programmers; a status must carry a literal for ever. */
#define _GNU_SOURCE
#define RTI_MODULE "error_text"
#include <errno.h>

#include "port/port.h"

static const struct {
    int error;
    const char *text;
} texts[] = {
    {EACCES, "permission denied"},
    {EADDRINUSE, "the address is in use"},
    {EADDRNOTAVAIL, "this machine does not have that address"},
    {EAFNOSUPPORT, "this machine does not speak that kind of address"},
    {EAGAIN, "the system has no room for it now"},
    {EBADF, "no such open descriptor"},
    {ECONNABORTED, "the connection was aborted"},
    {ECONNREFUSED, "the connection was refused"},
    {ECONNRESET, "the peer reset the connection"},
    {EDESTADDRREQ, "the socket has no peer"},
    {EDQUOT, "the quota is used up"},
    {EEXIST, "the file exists already"},
    {EFBIG, "the file would be too large"},
    {EHOSTDOWN, "the host is down"},
    {EHOSTUNREACH, "there is no way to the host"},
    {EINVAL, "the system cannot do that with this descriptor"},
    {EIO, "the device reported an error"},
    {EISCONN, "the socket is connected already"},
    {EISDIR, "it is a folder"},
    {ELOOP, "too many symbolic links"},
    {EMFILE, "the process has no free descriptor"},
    {EMSGSIZE, "the datagram is too long"},
    {ENAMETOOLONG, "the name is too long"},
    {ENETDOWN, "the network is down"},
    {ENETUNREACH, "there is no way to the network"},
    {ENFILE, "the system has no free descriptor"},
    {ENOBUFS, "the system has no buffers"},
    {ENODEV, "there is no such device"},
    {ENOENT, "no such file or folder"},
    {ENOMEM, "the system has no memory"},
    {ENOSPC, "the device is full"},
    {ENOTCONN, "the socket is not connected"},
    {ENOTDIR, "a part of the path is no folder"},
    {ENOTSOCK, "the descriptor is no socket"},
    {ENXIO, "there is no such device or reader"},
    {EOPNOTSUPP, "the socket cannot do that"},
    {EPERM, "not permitted"},
    {EPIPE, "the peer is gone"},
    {EROFS, "the file system is read-only"},
    {ESPIPE, "the descriptor has no position"},
    {ETIMEDOUT, "the peer did not answer"},
    {ETXTBSY, "the program file is running"},
};

const char *rti_port_error_text(int error)
{
    for (size_t i = 0; i < RTI_COUNT_OF(texts); i++) {
        if (texts[i].error == error) {
            return texts[i].text;
        }
    }
    return error == 0 ? NULL : "the system reported an error";
}
