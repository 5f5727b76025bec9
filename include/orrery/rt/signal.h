/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_SIGNAL_H
#define ORRERY_RT_SIGNAL_H

/* Signals of the operating system as values of a channel.
 *
 *     rt_channel_receiver *rx;
 *     rt_signal_open((const int[]){SIGTERM, SIGHUP}, 2, 0, &rx);
 *     rt_signal_value got;
 *     rt_channel_recv(rx, NULL, &got);                  or an arm of a select
 *     rt_signal_close(rx);
 *
 * From rt_signal_open on the signal does not do what it did before, in the whole process, whichever
 * thread it comes to: it becomes a value. Any number of channels may be open for one signal, and
 * each gets it. With the last of them closed, the signal does again what it did before the first;
 * rt_cleanup closes those that are left, and the child of a fork has none.
 *
 * What is told and what is not. A handler counts, and the runtime sends as soon as it can. Signals
 * of one number that come before it can are one value with their count; the system itself merges
 * what comes while one is pending, and that nobody counts. A value that finds its channel full is
 * dropped and counted (rt_signal_dropped). So a program that must not miss a child's end gets one
 * value and looks at all its children. The order among different numbers is not kept.
 *
 * Signals that the runtime or the C library needs, that cannot be caught, or that tell a thread of
 * its own fault are refused: SIGKILL, SIGSTOP, SIGURG, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
 * SIGABRT, SIGSYS.
 *
 * In the simulator no signal of the system arrives; rt_signal_raise makes them. */

#include <stddef.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/channel.h>
#include <orrery/rt/status.h>

RT_EXTERN_C_BEGIN

/* What a channel of signals carries. */
typedef struct {
    int32_t number; /* SIGTERM ... */
    uint32_t count; /* how often it came since it was last sent; at least 1 */
} rt_signal_value;

/* Opens a channel of rt_signal_value for `count` numbers, with `capacity` places; 0: 16 of them.
 * The channel's memory comes out of RT_CHANNEL_MEMORY_SIZE.
 * Callable on a thread of the runtime: actors, tasks, handlers, and main between rt_init and
 * rt_run.
 * Never suspends.
 * `numbers` stays the caller's. The receiver is the caller's, to be closed with rt_signal_close; it
 * may be cloned and used as every other. It is written only on success.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL, there is no number, or one is no signal or
 * refused, as above; RT_ERR_RESOURCE_EXHAUSTED if RT_MAX_SIGNAL_CHANNELS are open, or as
 * rt_channel_create; RT_ERR_THREAD on another thread; RT_ERR_UNSUPPORTED where there are no
 * signals; RT_ERR_IO if the system refuses. After an error nothing is changed.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_signal_open(const int *numbers, size_t count, size_t capacity,
                                              rt_channel_receiver **out_rx);

/* Closes a channel of signals: no more are sent to it, those whose last channel it was do what they
 * did before, and the receiver is closed with rt_channel_close_receiver, so that who waits with it
 * gets RT_ERR_CLOSED. With a receiver that was closed otherwise this happens when the next signal
 * for it comes.
 * Callable as rt_signal_open.
 * Never suspends.
 * The handle names nothing afterwards.
 * Returns RT_OK; RT_ERR_INVALID if it is none of rt_signal_open, or closed; RT_ERR_THREAD on
 * another thread.
 * Nothing is lost on cancel; values that nobody has received are. */
RT_API rt_status rt_signal_close(rt_channel_receiver *rx);

/* Tells how many signals were dropped because the channel was full.
 * Callable as rt_signal_open.
 * Never suspends.
 * Owns nothing; `out_dropped` is written only on success.
 * Returns RT_OK; RT_ERR_INVALID and RT_ERR_THREAD as rt_signal_close.
 * Nothing is lost on cancel. */
RT_API rt_status rt_signal_dropped(rt_channel_receiver *rx, uint64_t *out_dropped);

/* Sends a signal to this process; in the simulator, to the channels that are open for it.
 * Callable as rt_signal_open.
 * Never suspends.
 * Owns nothing.
 * Returns RT_OK; RT_ERR_INVALID if it is no signal, and in the simulator also if no channel is open
 * for it; RT_ERR_THREAD on another thread; RT_ERR_UNSUPPORTED where there are no signals.
 * Nothing is lost on cancel. */
RT_API rt_status rt_signal_raise(int number);

RT_EXTERN_C_END

#endif
