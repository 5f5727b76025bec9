/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_TRACE_H
#define ORRERY_RT_TRACE_H

/* The trace context of the W3C (Trace Context, level 1): which request a task or an actor works
 * for.
 *
 * A task, and an actor with a stack, starts with the context of who started it. A message carries
 * the context of its sender, and with the message it becomes the receiver's: an actor works for the
 * request that its last message belongs to, for none if that had no context, until it sets another;
 * a behaviour for as long as it handles the message. Notices of the system change nothing. Values
 * of channels carry none: what they mean is theirs alone.
 *
 * What comes in with a request is read from its `traceparent` field and set; what goes out is
 * written from the current one. A program that never sets a context pays one test per message. On a
 * machine with RT_MAX_WORKERS 1 only tasks have contexts. */

#include <stdbool.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>

RT_EXTERN_C_BEGIN

struct rt_trace {
    uint8_t trace_id[16]; /* all zero: there is no context */
    uint8_t span_id[8];   /* of the caller's span; never all zero in a context */
    uint8_t flags;        /* bit 0: sampled */
};

/* Characters of a traceparent field, without an end. */
#define RT_TRACEPARENT_LENGTH 55

/* Gives the trace context of the calling task or actor.
 * Callable from anywhere.
 * Never suspends.
 * Owns nothing: it is a copy.
 * Returns the context; all zero elsewhere and in one that has none.
 * Nothing is lost on cancel. */
RT_API struct rt_trace rt_trace_get(void);

/* Sets the trace context of the calling task or actor: it, those that it starts and its messages
 * from here on belong to this request. Callable from a task, an actor with a stack and a handler of
 * a behaviour. Never suspends. `trace` is copied; NULL: no context from here on. Returns RT_OK;
 * RT_ERR_INVALID if one of its ids is all zero and the other is not; RT_ERR_THREAD elsewhere.
 * Nothing is lost on cancel. */
RT_API rt_status rt_trace_set(const struct rt_trace *trace);

/* Begins a span of the calling task or actor: a new span id in the same trace, or a new trace if
 * there is none, drawn from the runtime's randomness. Callable from a task, an actor with a stack
 * and a handler of a behaviour. Never suspends. `before` gets what was current, to be set again at
 * the end of the span; it may be NULL. Returns RT_OK; RT_ERR_THREAD elsewhere. Nothing is lost on
 * cancel. */
RT_API rt_status rt_trace_begin_span(struct rt_trace *before);

/* Reads a traceparent field, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". Fields of
 * later versions are read as far as version 00 goes, as the recommendation says.
 * Callable from any thread, interrupt and signal handler.
 * Never suspends.
 * Both pointers stay the caller's; `text` has `length` characters and needs no end.
 * Returns RT_OK; RT_ERR_INVALID, and `trace` is unchanged, if the field is malformed.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_trace_parse(const char *text, size_t length,
                                              struct rt_trace *trace);

/* Writes a traceparent field and a zero behind it.
 * Callable from any thread, interrupt and signal handler.
 * Never suspends.
 * Both pointers stay the caller's.
 * Returns RT_OK; RT_ERR_INVALID, and `text` is an empty string, if there is no context; also if
 * `text` is NULL.
 * Nothing is lost on cancel. */
RT_API rt_status rt_trace_format(const struct rt_trace *trace,
                                 char text[RT_TRACEPARENT_LENGTH + 1]);

RT_EXTERN_C_END

#endif
