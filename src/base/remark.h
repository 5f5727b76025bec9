/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_REMARK_H
#define RTI_REMARK_H

/* A remark: one line of diagnosis, put together without the heap, stdio or a lock, so that a signal
 * handler can write one too. What does not fit is cut, and the line says so by its last three
 * characters.
 */

#include "base/compiler.h"

#define RTI_REMARK_MAX 255

struct rti_remark {
    size_t length;
    char text[RTI_REMARK_MAX + 1];
};

static inline void rti_remark_init(struct rti_remark *line)
{
    line->length = 0;
    line->text[0] = '\0';
}

static inline void rti_remark_add(struct rti_remark *line, const char *words)
{
    while (*words != '\0' && line->length < RTI_REMARK_MAX) {
        line->text[line->length++] = *words++;
    }
    if (*words != '\0') {
        line->text[RTI_REMARK_MAX - 3] = '.';
        line->text[RTI_REMARK_MAX - 2] = '.';
        line->text[RTI_REMARK_MAX - 1] = '.';
    }
    line->text[line->length] = '\0';
}

static inline void rti_remark_add_number(struct rti_remark *line, rti_count number)
{
    char digits[21];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    rti_remark_add(line, digits + at);
}

/* Adds "0x1a2b". */
static inline void rti_remark_add_address(struct rti_remark *line, uintptr_t address)
{
    char digits[2 + 2 * sizeof(address) + 1];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[address % 16];
        address /= 16;
    } while (address != 0);
    digits[--at] = 'x';
    digits[--at] = '0';
    rti_remark_add(line, digits + at);
}

#endif
