/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_STATUS_H
#define ORRERY_RT_STATUS_H

#include <stddef.h>

#include <orrery/rt/api.h>
#include <orrery/rt_static_config.h>

RT_EXTERN_C_BEGIN

/* One table of every status the library returns: name and the sentence that explains it.
 * The first seven and their numbers are the actor specification's; a code is never renumbered,
 * new ones go to the end. */
#define RT_STATUS_TABLE(X)                                                                         \
    X(RT_OK, "success")                                                                            \
    X(RT_ERR_NOMEM, "a pool, table or arena is full")                                              \
    X(RT_ERR_INVALID, "an argument is NULL, out of range, unknown or stale")                       \
    X(RT_ERR_TIMEOUT, "the time limit passed before the operation could complete")                 \
    X(RT_ERR_CLOSED, "the peer, object or connection is closed")                                   \
    X(RT_ERR_WOULDBLOCK, "the operation would have to wait and was told not to")                   \
    X(RT_ERR_IO, "the operating system or device reported an error")                               \
    X(RT_ERR_CANCELLED, "the caller was cancelled")                                                \
    X(RT_ERR_DISCONNECTED, "the other side of the channel is gone")                                \
    X(RT_ERR_FULL, "no capacity now; a waiting caller would have to queue")                        \
    X(RT_ERR_EMPTY, "nothing to receive now; senders are still there")                             \
    X(RT_ERR_RESOURCE_EXHAUSTED, "a limit set in the configuration is reached")                    \
    X(RT_ERR_BUDGET_EXHAUSTED, "the budget's deadline, polls or cost are used up")                 \
    X(RT_ERR_TIMER_DURATION_EXCEEDED, "the deadline is further away than a timer may be")          \
    X(RT_ERR_PANICKED, "the task ended by a panic or a contained fault")                           \
    X(RT_ERR_STATE, "the call is not allowed in this state")                                       \
    X(RT_ERR_THREAD, "the call was made from a thread or context that may not make it")            \
    X(RT_ERR_EXISTS, "the name or object exists already")                                          \
    X(RT_ERR_NOT_FOUND, "no such name or object")                                                  \
    X(RT_ERR_DEADLOCK, "every runnable waits for another for ever")                                \
    X(RT_ERR_UNSUPPORTED, "this platform or build cannot do it")                                   \
    X(RT_ERR_LIMIT, "the step or time limit of the run is reached")                                \
    X(RT_ERR_OWNER_DIED, "the owner of the lock ended while it held it")

#define RT_STATUS_ENUM_ENTRY(name, sentence) name,
typedef enum {
    RT_STATUS_TABLE(RT_STATUS_ENUM_ENTRY) RT_STATUS_COUNT, /* not a status: how many there are */
#if !RT_STATUS_MSG
    RT_STATUS_WIDEST = 0x7FFFFFFF /* not a status: a code that is alone fills its register */
#endif
} rt_status_code;
#undef RT_STATUS_ENUM_ENTRY

typedef struct {
    rt_status_code code;
#if RT_STATUS_MSG
    const char *msg; /* string literal or NULL, never heap-allocated */
#endif
} rt_status;

#ifdef __cplusplus
#define RT_SUCCESS (rt_status())
#else
#define RT_SUCCESS ((rt_status){.code = RT_OK})
#endif
#define RT_FAILED(s) ((s).code != RT_OK)

/* Gives the constant's name of a status code, "RT_ERR_NOMEM".
 * Callable from any thread, interrupt and signal handler.
 * Never suspends.
 * The string is a literal: never freed, valid for ever.
 * Returns the name, or "RT_STATUS_UNKNOWN" for a number that is no status.
 * Nothing is lost on cancel. */
RT_API const char *rt_status_name(rt_status_code code);

/* Gives the sentence that explains a status code.
 * Callable from any thread, interrupt and signal handler.
 * Never suspends.
 * The string is a literal: never freed, valid for ever.
 * Returns the sentence, or "unknown status" for a number that is no status.
 * Nothing is lost on cancel. */
RT_API const char *rt_status_text(rt_status_code code);

/* Gives what a status has to say, for a log or a person: its own sentence if it has one, else the
 * one that explains its code. `status.msg` itself may be NULL; this never is.
 * Callable from any thread, interrupt and signal handler.
 * Never suspends.
 * The string is a literal: never freed, valid for ever.
 * Returns the sentence.
 * Nothing is lost on cancel. */
RT_API const char *rt_status_message(rt_status status);

RT_EXTERN_C_END

#endif
