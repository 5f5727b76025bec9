/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "report_text"
#include "observe/report_text.h"

/* Behind `size` nothing more is written, but it is counted, so that the line is known not to fit.
 */
static void text_put(struct rti_text *text, char letter)
{
    if (text->end < text->size) {
        text->bytes[text->end] = letter;
    }
    text->end++;
}

void rti_text_line(struct rti_text *text, const char *first)
{
    RT_ASSERT(text->length <= text->size);
    text->end = text->length;
    while (*first != '\0') {
        text_put(text, *first++);
    }
}

void rti_text_word(struct rti_text *text, const char *word)
{
    text_put(text, '\t');
    for (; *word != '\0'; word++) {
        bool is_control = (unsigned char)*word < 0x20 || *word == 0x7f;
        text_put(text, is_control ? '?' : *word);
    }
}

void rti_text_number(struct rti_text *text, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    text_put(text, '\t');
    while (count > 0) {
        text_put(text, digits[--count]);
    }
}

void rti_text_bytes(struct rti_text *text, const void *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = bytes;
    text_put(text, '\t');
    for (size_t i = 0; i < count; i++) {
        text_put(text, digits[at[i] >> 4]);
        text_put(text, digits[at[i] & 15]);
    }
}

void rti_text_end_line(struct rti_text *text)
{
    text_put(text, '\n');
    if (text->end <= text->size) {
        text->length = text->end;
    } else {
        text->is_cut = true;
    }
    RT_ASSERT(text->length <= text->size);
}
