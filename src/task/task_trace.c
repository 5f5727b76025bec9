/* SPDX-License-Identifier: Apache-2.0 */
/* The trace context of the caller; the manual is <orrery/rt/trace.h>. */
#define RTI_MODULE "task_trace"
#include <orrery/rt/trace.h>
#include <string.h>

#include "sched/trace.h"
#include "task/tasks.h"

/* Where the parts of "00-<trace>-<span>-<flags>" begin. */
#define TRACE_ID_AT 3
#define SPAN_ID_AT  36
#define FLAGS_AT    53

static bool trace_is_zero(const uint8_t *bytes, size_t count)
{
    uint8_t all = 0;
    for (size_t i = 0; i < count; i++) {
        all |= bytes[i];
    }
    return all == 0;
}

static const rt_status trace_nowhere = {RT_ERR_THREAD,
                                        "only tasks and actors have a trace context"};

struct rt_trace rt_trace_get(void)
{
    struct rt_trace trace;
    rti_trace_copy(rti_worker_enter(), &trace);
    return trace;
}

rt_status rt_trace_set(const struct rt_trace *trace)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rt_trace *here = rti_trace_here(worker);
    if (here == NULL) {
        return trace_nowhere;
    }
    if (trace == NULL) {
        *here = (struct rt_trace){.flags = 0};
        return RT_SUCCESS;
    }
    if (trace_is_zero(trace->trace_id, sizeof(trace->trace_id)) !=
        trace_is_zero(trace->span_id, sizeof(trace->span_id))) {
        return (rt_status){RT_ERR_INVALID, "one of the ids is zero"};
    }
    rti_trace_mark(worker->sched);
    *here = *trace;
    return RT_SUCCESS;
}

/* Random bytes that are not all zero. */
static void trace_draw(struct rti_sched *sched, uint8_t *bytes, size_t count)
{
    do {
        for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
            uint64_t bits = sched->port->ops->random(sched->port);
            memcpy(bytes + i, &bits, sizeof(bits));
        }
    } while (trace_is_zero(bytes, count));
}

rt_status rt_trace_begin_span(struct rt_trace *before)
{
    struct rti_worker *worker = rti_worker_enter();
    struct rt_trace *here = rti_trace_here(worker);
    if (here == NULL) {
        return trace_nowhere;
    }
    if (before != NULL) {
        *before = *here;
    }
    rti_trace_mark(worker->sched);
    if (!rti_trace_is_set(here)) {
        trace_draw(worker->sched, here->trace_id, sizeof(here->trace_id));
    }
    trace_draw(worker->sched, here->span_id, sizeof(here->span_id));
    return RT_SUCCESS;
}

/* The value of a hexadecimal digit; -1 if it is none. The recommendation allows small ones only. */
static int trace_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool trace_read(const char *text, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int high = trace_digit(text[2 * i]);
        int low = trace_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

rt_status rt_trace_parse(const char *text, size_t length, struct rt_trace *trace)
{
    static const rt_status malformed = {RT_ERR_INVALID, "this is no traceparent field"};
    struct rt_trace found;
    uint8_t version;
    if (text == NULL || trace == NULL || length < RT_TRACEPARENT_LENGTH) {
        return malformed;
    }
    bool is_read = trace_read(text, &version, 1) && text[TRACE_ID_AT - 1] == '-' &&
                   trace_read(text + TRACE_ID_AT, found.trace_id, sizeof(found.trace_id)) &&
                   text[SPAN_ID_AT - 1] == '-' &&
                   trace_read(text + SPAN_ID_AT, found.span_id, sizeof(found.span_id)) &&
                   text[FLAGS_AT - 1] == '-' && trace_read(text + FLAGS_AT, &found.flags, 1);
    if (!is_read || version == 0xff || trace_is_zero(found.trace_id, sizeof(found.trace_id)) ||
        trace_is_zero(found.span_id, sizeof(found.span_id))) {
        return malformed;
    }
    bool is_longer = length > RT_TRACEPARENT_LENGTH;
    if (is_longer && (version == 0 || text[RT_TRACEPARENT_LENGTH] != '-')) {
        return malformed;
    }
    *trace = found;
    return RT_SUCCESS;
}

static void trace_write(char *text, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
}

rt_status rt_trace_format(const struct rt_trace *trace, char text[RT_TRACEPARENT_LENGTH + 1])
{
    if (text == NULL) {
        return (rt_status){RT_ERR_INVALID, "there is no room for the text"};
    }
    if (trace == NULL || trace_is_zero(trace->trace_id, sizeof(trace->trace_id))) {
        text[0] = '\0';
        return (rt_status){RT_ERR_INVALID, "there is no trace context"};
    }
    memcpy(text, "00-", TRACE_ID_AT);
    trace_write(text + TRACE_ID_AT, trace->trace_id, sizeof(trace->trace_id));
    text[SPAN_ID_AT - 1] = '-';
    trace_write(text + SPAN_ID_AT, trace->span_id, sizeof(trace->span_id));
    text[FLAGS_AT - 1] = '-';
    trace_write(text + FLAGS_AT, &trace->flags, 1);
    text[RT_TRACEPARENT_LENGTH] = '\0';
    return RT_SUCCESS;
}
