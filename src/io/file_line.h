/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_FILE_LINE_H
#define RTI_FILE_LINE_H

/* The line: all file requests, in the order they were asked, and what may run beside what.
 *
 * A thread that was told to write may be late, and a number that is closed may be given out again:
 * the late write would land in a stranger's file. Therefore a request stands in the line until its
 * record is released, whether its caller still waits or not, and
 *
 *     a close is not begun before every earlier request on its descriptor has left,
 *     while a close stands in the line, no new request on its descriptor is taken,
 *     a read or write at the position of a file is not begun before an earlier one has left.
 *
 * The last makes them atomic among each other and lets the reader move the position itself, when it
 * takes the bytes. Requests at an offset, and syncs, pass each other freely.
 *
 * A close goes on when its caller is killed. An open whose caller was killed becomes a close of
 * what it opened, in the same record.
 *
 * I1  A record in the line that is not begun has an earlier one it must wait for.
 *                                                                      (rti_file_line_audit)
 * I2  A record is in the line iff it is in use.                        (rti_io_audit)
 *
 * Costs: joining and leaving walk the line, at most RT_COMPLETION_QUEUE_SIZE records; leaving walks
 * it once per record that was held back. */

#include "io/io.h"

static inline bool rti_file_verb_is_positional(enum rti_file_verb verb)
{
    return verb == RTI_FILE_READ || verb == RTI_FILE_WRITE;
}

/* A record for a request on `fd`, -1 for an open, its buffer the record's own; NULL if there is
 * none. What the verb needs beyond is set by hand. */
struct rti_file_request *rti_file_request_new(struct rti_io *io, enum rti_file_verb verb, int fd);

/* Makes the record's request a close of `fd`. */
void rti_file_request_to_close(struct rti_file_request *record, int fd);

/* Puts a request at the end of the line and begins it, now or when it may. */
void rti_file_line_join(struct rti_file_request *record);

/* A close of this descriptor stands in the line. */
bool rti_file_line_is_closing(struct rti_io *io, int fd);

/* A request that works on this descriptor stands in the line; a close is none. */
bool rti_file_line_is_busy(struct rti_io *io, int fd);

/* An open gave this number: whatever close of it stands in the line has been done. */
void rti_file_line_reuse(struct rti_io *io, int fd);

/* A sync of this descriptor has failed since it was opened. */
bool rti_file_line_is_unsafe(struct rti_io *io, int fd);

/* Checks I1; returns the number of records. */
size_t rti_file_line_audit(const struct rti_io *io);

#endif
