/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/report_text.h"

#include "support/test.h"

static char memory[64];

static const char *written(struct rti_text *text)
{
    static char copy[sizeof(memory) + 1];
    memcpy(copy, text->bytes, text->length);
    copy[text->length] = '\0';
    return copy;
}

TEST(report_text_puts_tabs_between_fields)
{
    struct rti_text text;
    rti_text_init(&text, memory, sizeof(memory));
    rti_text_line(&text, "task");
    rti_text_number(&text, 0);
    rti_text_number(&text, UINT64_MAX);
    rti_text_word(&text, "");
    rti_text_bytes(&text, "\x00\xff", 2);
    rti_text_end_line(&text);
    CHECK_STR(written(&text), "task\t0\t18446744073709551615\t\t00ff\n");
    CHECK(!text.is_cut);
}

TEST(report_text_lets_no_name_break_a_line)
{
    struct rti_text text;
    rti_text_init(&text, memory, sizeof(memory));
    rti_text_line(&text, "task");
    rti_text_word(&text, "a\nb\tc\x7f");
    rti_text_end_line(&text);
    CHECK_STR(written(&text), "task\ta?b?c?\n");
}

TEST(report_text_leaves_out_a_line_that_does_not_fit)
{
    struct rti_text text;
    rti_text_init(&text, memory, 8);
    rti_text_line(&text, "1234567");
    rti_text_end_line(&text);
    CHECK_STR(written(&text), "1234567\n");
    CHECK(!text.is_cut);
    rti_text_line(&text, "x");
    rti_text_end_line(&text);
    CHECK(text.is_cut);
    CHECK_STR(written(&text), "1234567\n");
    rti_text_init(&text, memory, 0);
    rti_text_line(&text, "x");
    rti_text_bytes(&text, "abc", 3);
    rti_text_end_line(&text);
    CHECK(text.is_cut);
    CHECK_EQ(text.length, 0);
}
