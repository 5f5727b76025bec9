/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LINE_H
#define RTI_LINE_H

/* One line of diagnosis, put together without the heap, stdio or a lock, so that a signal handler
 * can write one too. What does not fit is cut, and the line says so by its last three characters.
 */

#include "base/compiler.h"

#define RTI_LINE_MAX 255

struct rti_line {
    size_t length;
    char text[RTI_LINE_MAX + 1];
};

static inline void rti_line_init(struct rti_line *line)
{
    line->length = 0;
    line->text[0] = '\0';
}

static inline void rti_line_add(struct rti_line *line, const char *words)
{
    while (*words != '\0' && line->length < RTI_LINE_MAX) {
        line->text[line->length++] = *words++;
    }
    if (*words != '\0') {
        line->text[RTI_LINE_MAX - 3] = '.';
        line->text[RTI_LINE_MAX - 2] = '.';
        line->text[RTI_LINE_MAX - 1] = '.';
    }
    line->text[line->length] = '\0';
}

static inline void rti_line_add_number(struct rti_line *line, rti_count number)
{
    char digits[21];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    rti_line_add(line, digits + at);
}

#endif
