/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_ISR_H
#define ORRERY_RT_ISR_H

/* From an interrupt to an actor: entries of one size, each received as a message.
 *
 *     static rt_isr uart;
 *     static struct event events[16];
 *     rt_isr_open(&uart, driver, events, sizeof(events[0]), 16);      before the interrupt is on
 *     rt_isr_post(&uart, &event);                                     in the handler
 *
 * The handler only copies the entry into a queue of its own and wakes the scheduler, in constant
 * time and without masking anything. The scheduler makes messages of the entries, in order, with
 * the sender ACTOR_ID_INVALID. A message pool that is used up for the moment holds them back in the
 * queue, it loses none. On Linux a thread or a signal handler may stand where the interrupt stands
 * here. */

#include <stdbool.h>
#include <stddef.h>

#include <orrery/rt/status.h>
#include <orrery/rt/types.h>

RT_EXTERN_C_BEGIN

#define RT_ISR_WORDS 22

/* Storage of one source of interrupts. Not to be moved nor copied. */
typedef struct {
    uint64_t opaque[RT_ISR_WORDS];
} rt_isr;

/* Makes `isr` a source whose entries go to the actor `to`.
 * Callable from the runtime's thread, in or outside of actors, before the first post.
 * Never suspends.
 * `isr` and `buffer`, of entry_size * capacity bytes, stay the caller's and in place until
 * rt_cleanup has returned.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL, entry_size is 0 or above RT_MAX_MESSAGE_SIZE
 * or capacity is no power of two; RT_ERR_THREAD without a runtime. After an error nothing is
 * changed.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_isr_open(rt_isr *isr, actor_id to, void *buffer,
                                           size_t entry_size, size_t capacity);

/* Sends what is in the queue and what comes to another actor: after a driver was restarted.
 * Callable from the runtime's thread, in or outside of actors.
 * Never suspends.
 * Takes no ownership.
 * Returns nothing. While `to` is no living actor its entries are dropped. An `isr` that was never
 * made, or NULL, is a bug and panics.
 * Nothing is lost on cancel. */
RT_API void rt_isr_set_receiver(rt_isr *isr, actor_id to);

/* Sends a copy of `entry`, entry_size bytes. Constant time.
 * Callable from one interrupt, or from handlers that do not interrupt each other; on Linux from one
 * thread or signal handler. Between rt_isr_open and rt_cleanup.
 * Never suspends.
 * `entry` stays the caller's.
 * Returns true; false, with nothing sent, if the queue is full.
 * Nothing is lost on cancel. */
RT_API bool rt_isr_post(rt_isr *isr, const void *entry);

RT_EXTERN_C_END

#endif
