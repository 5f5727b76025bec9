/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_PORT_FILE_H
#define RTI_PORT_FILE_H

/* What files ask of a port: the works of ops, which block and run on the pool, and two questions
 * that do not. A port without files has no such table.
 *
 * Each work answers its op, RT_OK with a result or the system's error. */

#include "port/op.h"

/* The offset that stands for the position of the file. */
#define RTI_FILE_POSITION UINT64_MAX

/* The largest offset a transfer may reach. */
#define RTI_FILE_OFFSET_MAX ((uint64_t)INT64_MAX)

enum rti_file_kind {
    RTI_FILE_NONE,   /* no open descriptor */
    RTI_FILE_SEEKED, /* has a position: its transfers are works */
    RTI_FILE_STREAM, /* has none: it is waited for as a socket is */
};

/* How a file is opened; the path is the op's buffer and this its offset. */
static inline uint64_t rti_file_open_word(int flags, int mode)
{
    return (uint64_t)(uint32_t)flags << 32 | (uint32_t)mode;
}

struct rti_port_file {
    void (*open)(struct rti_op *op);  /* buffer: path; offset: rti_file_open_word; result: fd */
    void (*close)(struct rti_op *op); /* fd */
    void (*sync)(struct rti_op *op);  /* fd */

    /* fd, buffer, length, offset; result: bytes. A read at RTI_FILE_POSITION leaves the position
     * and stores it in `offset`: who takes the bytes calls `move`, so that a read nobody takes
     * reads nothing. A file that turns out to have none is read as it comes. */
    void (*read)(struct rti_op *op);
    void (*write)(struct rti_op *op);

    /* Sets the position. Does not block. */
    void (*move)(int fd, uint64_t position);

    /* Does not block. */
    enum rti_file_kind (*kind)(int fd);
};

#endif
