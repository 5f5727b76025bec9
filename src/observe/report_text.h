/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REPORT_TEXT_H
#define RTI_REPORT_TEXT_H

/* A report under construction: lines of fields with tabs between them, in memory of the caller's.
 *
 * Room that runs out is noted and the rest left out, whole lines only, so that a reader never sees
 * half of one. Names come from the program and may hold anything: control characters become '?'.
 *
 * I1  length <= size, and what is there ends with a newline or is empty, once a line is ended.
 *                                                                    (rti_text_end_line) */

#include <stdbool.h>

#include "base/assert.h"
#include "base/compiler.h"

struct rti_text {
    char *bytes;
    size_t size;
    size_t length; /* of the whole lines */
    size_t end;    /* of what is written of the present line */
    bool is_cut;   /* a line did not fit */
};

static inline void rti_text_init(struct rti_text *text, char *bytes, size_t size)
{
    *text = (struct rti_text){.bytes = bytes, .size = size};
}

/* Begins a line with its first field. */
void rti_text_line(struct rti_text *text, const char *first);

/* Adds a field. */
void rti_text_word(struct rti_text *text, const char *word);
void rti_text_number(struct rti_text *text, uint64_t number);
/* Bytes, two digits each; an empty field if there are none. */
void rti_text_bytes(struct rti_text *text, const void *bytes, size_t count);

/* Ends the line; if it did not fit, it is as if it had not been begun. */
void rti_text_end_line(struct rti_text *text);

#endif
