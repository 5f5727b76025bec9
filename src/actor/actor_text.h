/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_ACTOR_TEXT_H
#define RTI_ACTOR_TEXT_H

/* One line of diagnosis, put together without the heap and without stdio; what does not fit is cut.
 */

#include <string.h>

#include "base/compiler.h"

#define RTI_ACTOR_TEXT_MAX 255

struct rti_actor_text {
    size_t length;
    char line[RTI_ACTOR_TEXT_MAX + 1];
};

static inline void rti_actor_text_init(struct rti_actor_text *text)
{
    text->length = 0;
    text->line[0] = '\0';
}

static inline void rti_actor_text_add(struct rti_actor_text *text, const char *words)
{
    while (*words != '\0' && text->length < RTI_ACTOR_TEXT_MAX) {
        text->line[text->length++] = *words++;
    }
    text->line[text->length] = '\0';
}

static inline void rti_actor_text_add_number(struct rti_actor_text *text, uint32_t number)
{
    char digits[11];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    rti_actor_text_add(text, digits + at);
}

#endif
