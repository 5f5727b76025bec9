/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_ARM_H
#define ORRERY_RT_ARM_H

/* The arms of a select (<orrery/rt/select.h>) for what is no channel and no interval: the end of a
 * task and the readiness of a socket. */

#include <orrery/rt/api.h>
#include <orrery/rt/select.h>
#include <orrery/rt/task.h>

RT_EXTERN_C_BEGIN

/* Makes an arm that joins a task. When it is chosen the handle is consumed, *task becomes NULL and
 * `out_value`, unless NULL, gets what the task returned; its status is what rt_join returns.
 * Callable from any thread.
 * Never suspends.
 * The arm is the caller's; `task` and `out_value` are kept until the select returns. While *task is
 * NULL the arm is never ready, so that an arm can be used again and again until its task has ended.
 * Returns nothing.
 * Nothing is lost on cancel: the handle stays the caller's. */
RT_API void rt_arm_join(rt_select_arm *arm, rt_task **task, void **out_value);

/* Makes an arm that is ready when a socket, or another descriptor that can be waited for, can be
 * read without waiting, or its peer is gone. Nothing is read: rt_net_recv, rt_net_accept and the
 * like follow, with a limit of 0. Its status is RT_OK, RT_ERR_CLOSED if the socket is closed
 * meanwhile, or as of rt_net_recv.
 * Callable from any thread.
 * Never suspends.
 * The arm is the caller's. A negative `fd` makes an arm that is never ready.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_arm_readable(rt_select_arm *arm, int fd);

/* Makes an arm that is ready when a socket can be written without waiting, or its peer is gone.
 * Callable from any thread.
 * Never suspends.
 * The arm is the caller's. A negative `fd` makes an arm that is never ready.
 * Returns nothing.
 * Nothing is lost on cancel. */
RT_API void rt_arm_writable(rt_select_arm *arm, int fd);

RT_EXTERN_C_END

#endif
