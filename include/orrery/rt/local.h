/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_LOCAL_H
#define ORRERY_RT_LOCAL_H

/* Values that each task has for itself, under keys that all tasks share. */

#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>

RT_EXTERN_C_BEGIN

/* A key; 0 is none. */
typedef uint32_t rt_local;

/* Makes a key. No task has a value under it.
 * Callable from a task or an actor, and from main on the runtime's thread.
 * Never suspends.
 * `destroy` is called with each value that is set when its task ends, in the task, after its ensure
 * hooks; it must not suspend. NULL: nothing is done with them. `key` is the caller's.
 * Returns RT_OK; RT_ERR_NOMEM if RT_MAX_LOCALS keys exist; RT_ERR_INVALID if `key` is NULL;
 * RT_ERR_THREAD on a thread without a runtime.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_local_open(rt_local *key, void (*destroy)(void *value));

/* Ends a key. Values that tasks still have under it are not destroyed.
 * Callable from a task or an actor, and from main on the runtime's thread.
 * Never suspends.
 * The values are their owners'.
 * Returns RT_OK; RT_ERR_INVALID if this is no key; RT_ERR_THREAD on a thread without a runtime.
 * Nothing is lost on cancel. */
RT_API rt_status rt_local_close(rt_local key);

/* Sets the calling task's value under a key. The value before is not destroyed.
 * Callable from a task.
 * Never suspends.
 * `value` is the task's until it ends or sets another; NULL: it has none.
 * Returns RT_OK; RT_ERR_INVALID if this is no key; RT_ERR_THREAD outside of a task.
 * Nothing is lost on cancel. */
RT_API rt_status rt_local_set(rt_local key, void *value);

/* Gives the calling task's value under a key.
 * Callable from anywhere.
 * Never suspends.
 * The value stays the task's.
 * Returns NULL if it has none, this is no key, or the caller is no task.
 * Nothing is lost on cancel. */
RT_API void *rt_local_get(rt_local key);

RT_EXTERN_C_END

#endif
