/* SPDX-License-Identifier: Apache-2.0 */
#include <orrery/rt/status.h>

#include "support/test.h"

#define STATUS_WANTED(name, sentence) {name, #name, sentence},
static const struct {
    rt_status_code code;
    const char *name;
    const char *text;
} wanted[] = {RT_STATUS_TABLE(STATUS_WANTED)};

TEST(status_numbers_of_the_actor_specification_never_change)
{
    CHECK_EQ(RT_OK, 0);
    CHECK_EQ(RT_ERR_NOMEM, 1);
    CHECK_EQ(RT_ERR_INVALID, 2);
    CHECK_EQ(RT_ERR_TIMEOUT, 3);
    CHECK_EQ(RT_ERR_CLOSED, 4);
    CHECK_EQ(RT_ERR_WOULDBLOCK, 5);
    CHECK_EQ(RT_ERR_IO, 6);
}

TEST(status_every_code_has_its_name_and_its_sentence)
{
    CHECK_EQ(sizeof(wanted) / sizeof(wanted[0]), RT_STATUS_COUNT);
    for (size_t i = 0; i < RT_STATUS_COUNT; i++) {
        CHECK_EQ(wanted[i].code, i);
        CHECK_STR(rt_status_name(wanted[i].code), wanted[i].name);
        CHECK_STR(rt_status_text(wanted[i].code), wanted[i].text);
        CHECK(wanted[i].text[0] != '\0');
    }
}

TEST(status_no_two_codes_share_a_sentence)
{
    for (size_t i = 0; i < RT_STATUS_COUNT; i++) {
        for (size_t j = i + 1; j < RT_STATUS_COUNT; j++) {
            CHECK(strcmp(wanted[i].text, wanted[j].text) != 0);
        }
    }
}

TEST(status_a_number_that_is_no_status_is_named_unknown)
{
    static const int numbers[] = {RT_STATUS_COUNT, RT_STATUS_COUNT + 1, INT32_MAX, -1, INT32_MIN};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        rt_status_code code = (rt_status_code)numbers[i];
        /* On small machines an enum is a byte, and such a number cannot come. */
        if ((int)code == numbers[i]) {
            CHECK_STR(rt_status_name(code), "RT_STATUS_UNKNOWN");
            CHECK_STR(rt_status_text(code), "unknown status");
        }
    }
}

TEST(status_message_is_never_null)
{
    rt_status told = {RT_ERR_NOMEM, "no more of these"};
    rt_status silent = {RT_ERR_NOMEM, NULL};
    rt_status unknown = {RT_STATUS_COUNT, NULL};
    CHECK_STR(rt_status_message(told), "no more of these");
    CHECK_STR(rt_status_message(silent), rt_status_text(RT_ERR_NOMEM));
    CHECK_STR(rt_status_message(RT_SUCCESS), "success");
    CHECK_STR(rt_status_message(unknown), "unknown status");
}

TEST(status_only_success_is_not_a_failure)
{
    rt_status status = RT_SUCCESS;
    CHECK(!RT_FAILED(status));
    for (size_t i = 1; i < RT_STATUS_COUNT; i++) {
        status.code = (rt_status_code)i;
        CHECK(RT_FAILED(status));
    }
}
