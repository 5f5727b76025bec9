/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_JOURNAL_FILE_H
#define RTI_JOURNAL_FILE_H

/* A journal as a file: written in pieces, read from one block of bytes. The layout is told in
 * <orrery/rt/journal.h>.
 *
 * Nothing of a file is believed: each size is checked against the bytes that are there before
 * anything behind it is looked at, so a file that was cut, damaged or made up is refused with the
 * sentence that says where.
 *
 * I1  What rti_journal_file_write gives, rti_journal_file_parse takes and finds the same in.
 *                                                                        (journal_file_test) */

#include "base/journal.h"

/* Gives the file to `sink`, piece by piece: RT_OK, or RT_ERR_IO if the sink said false. */
rt_status rti_journal_file_write(const struct rti_journal *journal, rt_journal_sink sink,
                                 void *arg);

/* Finds the parts of a file: RT_OK, or RT_ERR_INVALID with what is wrong. */
rt_status rti_journal_file_parse(const void *bytes, size_t size, rt_journal_view *out_view);

#endif
