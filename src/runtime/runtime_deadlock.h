/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_RUNTIME_DEADLOCK_H
#define RTI_RUNTIME_DEADLOCK_H

/* When a runtime looks for deadlocks (observe/deadlock.h): in the simulator each time that nothing
 * is ready, before the clock is put forward, so that a circle is told in the instant in which it
 * closes; in the world every so often, by a timer (<orrery/rt/runtime.h>: rt_watch_deadlocks).
 *
 * The timer is the runtime's own and keeps nobody alive. It is not armed while the search runs, so
 * that a timer that is found is somebody else's. */

#include "base/peek.h"
#include "runtime/runtime.h"

/* Looks before each step of the simulator's clock. */
void rti_runtime_tell_deadlocks_at_idle(void);

/* Looks every `after` nanoseconds, and tells of who has waited as long; RT_TIME_NEVER: not at all.
 * `peek` is for runtimes with several workers. The owner's thread, not in a run. */
void rti_runtime_watch_deadlocks(rt_time after, rti_peek peek);

/* Ends either. Before the runtime stops. */
void rti_runtime_forget_deadlocks(void);

#endif
