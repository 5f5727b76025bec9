/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "task_trace_test"
#include <orrery/rt.h>

#include "support/tasks.h"
#include "support/test.h"

static const char field[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(trace_field_is_read_and_written)
{
    struct rt_trace trace;
    char text[RT_TRACEPARENT_LENGTH + 1];
    CHECK_OK(rt_trace_parse(field, strlen(field), &trace));
    CHECK_EQ(trace.trace_id[0], 0x4b);
    CHECK_EQ(trace.trace_id[15], 0x36);
    CHECK_EQ(trace.span_id[7], 0xb7);
    CHECK_EQ(trace.flags, 1);
    CHECK_OK(rt_trace_format(&trace, text));
    CHECK_STR(text, field);
    CHECK_OK(
        rt_trace_parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what", 60, &trace));
}

TEST(trace_field_that_is_malformed_changes_nothing)
{
    static const char *const bad[] = {
        "",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
        "00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rt_trace trace = {.flags = 77};
        CHECK_STATUS(rt_trace_parse(bad[i], strlen(bad[i]), &trace), RT_ERR_INVALID);
        CHECK_EQ(trace.flags, 77);
    }
    struct rt_trace trace = {.flags = 0};
    char text[RT_TRACEPARENT_LENGTH + 1] = "x";
    CHECK_STATUS(rt_trace_parse(NULL, 55, &trace), RT_ERR_INVALID);
    CHECK_STATUS(rt_trace_parse(field, 55, NULL), RT_ERR_INVALID);
    CHECK_STATUS(rt_trace_format(&trace, text), RT_ERR_INVALID);
    CHECK_STR(text, "");
    CHECK_STATUS(rt_trace_format(NULL, text), RT_ERR_INVALID);
    char *volatile nowhere = NULL;
    CHECK_OK(rt_trace_parse(field, 55, &trace));
    CHECK_STATUS(rt_trace_format(&trace, nowhere), RT_ERR_INVALID);
}

static void *has_the_context(void *arg)
{
    struct rt_trace mine = rt_trace_get();
    CHECK(memcmp(&mine, arg, sizeof(mine)) == 0);
    /* What a child changes is its own. */
    CHECK_OK(rt_trace_set(NULL));
    return NULL;
}

static void *carries_the_context(void *arg)
{
    struct rt_trace trace;
    struct rt_trace before;
    struct rt_trace half = {.trace_id = {1}};
    memset(&trace, 0, sizeof(trace));
    CHECK_EQ(rt_trace_get().trace_id[0], 0);
    CHECK_OK(rt_trace_parse(field, strlen(field), &trace));
    CHECK_OK(rt_trace_set(&trace));
    CHECK_STATUS(rt_trace_set(&half), RT_ERR_INVALID);
    CHECK_OK(rt_join(rt_go(has_the_context, &trace), NULL));
    CHECK_OK(rt_trace_begin_span(&before));
    struct rt_trace span = rt_trace_get();
    CHECK(memcmp(span.trace_id, trace.trace_id, sizeof(trace.trace_id)) == 0);
    CHECK(memcmp(span.span_id, trace.span_id, sizeof(trace.span_id)) != 0);
    CHECK_OK(rt_join(rt_go(has_the_context, &span), NULL));
    CHECK_OK(rt_trace_set(&before));
    CHECK_OK(rt_trace_set(NULL));
    CHECK_OK(rt_trace_begin_span(NULL));
    CHECK_OK(rt_trace_format(&(struct rt_trace){.trace_id = {1}, .span_id = {2}},
                             (char[RT_TRACEPARENT_LENGTH + 1]){""}));
    return arg;
}

TEST(trace_context_goes_from_parent_to_child)
{
    tasks_run_everywhere(carries_the_context, NULL);
}

TEST(trace_context_is_for_tasks)
{
    CHECK_EQ(rt_trace_get().flags, 0);
    CHECK_STATUS(rt_trace_set(NULL), RT_ERR_THREAD);
    CHECK_STATUS(rt_trace_begin_span(NULL), RT_ERR_THREAD);
}
