/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_CHANNEL_H
#define ORRERY_RT_CHANNEL_H

/* Channels: bounded queues of values of one size, between tasks, actors and poll contexts.
 *
 * A channel has any number of senders and receivers, each a handle. It is open while both sides
 * have one. When the last sender is closed, receivers take what is left and then get
 * RT_ERR_DISCONNECTED; when the last receiver is closed, what is left is destroyed and senders get
 * RT_ERR_DISCONNECTED at once. Many tasks may use one handle. When both sides are closed the
 * channel is gone, and its handles name nothing, for ever.
 *
 * Sending has two phases. A permit is a reserved place; it cannot fail to be filled as long as a
 * receiver is there. rt_channel_send does both phases in one step.
 *
 *     rt_send_permit permit;
 *     rt_channel_reserve(tx, NULL, &permit);           waits for a place
 *     struct job *job = rt_send_permit_slot(&permit);
 *     ... write *job, give up at any time ...
 *     rt_send_permit_send(&permit, NULL);               or rt_send_permit_abort(&permit)
 *
 * A permit that its holder does not resolve is aborted when the holder ends, however it ends.
 *
 * Who waits, waits in line, on both sides: first come, first served. A place that becomes free
 * belongs to the first sender in line before anybody else can see it, and a value to the first
 * receiver. What tries without waiting never takes the place of one who waits.
 *
 * A rendezvous channel has no places of its own but one for each receiver that waits: a value is
 * handed over, or the sender waits.
 *
 * Threads outside of the runtime. With several workers they may send, receive, try and close, with
 * NULL for the context: where a task is suspended, they block, in the same lines. The end of the
 * runtime ends their waits with RT_ERR_STATE. With one worker everything here is its thread's own,
 * and another thread gets RT_ERR_THREAD: it reaches the runtime through a loop (<orrery/rt/loop.h>)
 * or a socket. Everything else here is for the runtime's own threads on every engine. */

#include <stddef.h>

#include <orrery/rt/api.h>
#include <orrery/rt/cx.h>
#include <orrery/rt/status.h>
#include <orrery/rt/time.h>

RT_EXTERN_C_BEGIN

/* Handles: to be compared, copied and passed on, never looked into. */
typedef struct rt_channel_sender rt_channel_sender;
typedef struct rt_channel_receiver rt_channel_receiver;

struct rt_region;

/* A reserved place. Copies name the same place; it is resolved once, through any of them. */
typedef struct rt_send_permit {
    uint64_t opaque[2];
} rt_send_permit;

typedef enum {
    RT_CHANNEL_OPEN = 0,
    RT_CHANNEL_SENDER_CLOSED = 1,   /* no sender and no permit is left; receivers drain */
    RT_CHANNEL_RECEIVER_CLOSED = 2, /* no receiver is left; sends fail */
    RT_CHANNEL_FULLY_CLOSED = 3,    /* neither */
} rt_channel_state;

typedef struct {
    size_t elem_size; /* bytes of a value; 0: values are mere signals */
    size_t capacity;  /* places, at least 1; of a rendezvous: permits at a time, 0 means 1 */
    void *memory;     /* for the values, or NULL: out of RT_CHANNEL_MEMORY_SIZE */
    size_t memory_size;
    void (*destroy)(void *value,
                    void *arg); /* called for each value nobody will receive; or NULL */
    void *destroy_arg;
    struct rt_region *region; /* owns the channel; or NULL */
} rt_channel_config;

/* The smallest power of two that is not below `n`, for n up to 2^28. */
#define RT_CHANNEL_ROUND(n) (RT_CHANNEL_FILL((size_t)(n)-1) + 1)
#define RT_CHANNEL_FILL(m)  RT_CHANNEL_FILL_16(RT_CHANNEL_FILL_4(m))
#define RT_CHANNEL_FILL_4(m)                                                                       \
    ((m) | (m) >> 1 | (m) >> 2 | (m) >> 3 | (m) >> 4 | (m) >> 5 | (m) >> 6 | (m) >> 7)
#define RT_CHANNEL_FILL_16(m) ((m) | (m) >> 8 | (m) >> 16 | (m) >> 24)

/* The bytes that config->memory must have, aligned for any object. Constant if both arguments are.
 * Room is made for the next power of two: a capacity that is one wastes nothing. */
#define RT_CHANNEL_BYTES(elem_size, capacity)                                                      \
    (RT_CHANNEL_ROUND(capacity) * ((size_t)(elem_size) + 4) + 3)

/* A look at a channel. */
typedef struct {
    rt_channel_state state;
    size_t elem_size;
    size_t capacity;
    size_t queued;            /* values sent and not yet received */
    size_t reserved;          /* permits, and places kept for waiting senders */
    size_t senders;           /* open handles */
    size_t receivers;         /* open handles */
    size_t waiting_senders;   /* in line */
    size_t waiting_receivers; /* in line */
    uint64_t sent;            /* values ever */
    uint64_t received;        /* values ever */
    uint64_t destroyed;       /* values ever that nobody received */
} rt_channel_info;

/* Makes a channel with one sender and one receiver.
 * Callable on a thread of the runtime.
 * Never suspends.
 * `config` is copied; config->memory is the channel's until it is fully closed. The two handles are
 * the caller's to close; both are written only on success.
 * Returns RT_OK; RT_ERR_INVALID if a pointer is NULL, the capacity is 0, a size is too large or
 * the given memory too small or not aligned; RT_ERR_RESOURCE_EXHAUSTED if RT_MAX_CHANNELS,
 * RT_MAX_CHANNEL_HANDLES or RT_CHANNEL_MEMORY_SIZE is reached; RT_ERR_STATE if the region is not
 * open; RT_ERR_THREAD on another thread. After an error nothing is changed.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_channel_create(const rt_channel_config *config,
                                                 rt_channel_sender **out_tx,
                                                 rt_channel_receiver **out_rx);

/* Makes a rendezvous channel: as rt_channel_create, but a place exists only for a receiver that
 * waits. config->capacity limits how many permits there may be at a time; it may be 0, which is 1.
 * Callable on a thread of the runtime.
 * Never suspends.
 * Ownership as with rt_channel_create.
 * Returns what rt_channel_create returns.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_channel_create_rendezvous(const rt_channel_config *config,
                                                            rt_channel_sender **out_tx,
                                                            rt_channel_receiver **out_rx);

/* Makes one more sender of the same channel.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The new handle is the caller's to close; it is written only on success.
 * Returns RT_OK; RT_ERR_INVALID if `tx` is closed or a pointer is NULL; RT_ERR_RESOURCE_EXHAUSTED
 * if RT_MAX_CHANNEL_HANDLES is reached; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_channel_clone_sender(rt_channel_sender *tx,
                                                       rt_channel_sender **out_tx);

/* Makes one more receiver of the same channel.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The new handle is the caller's to close; it is written only on success.
 * Returns what rt_channel_clone_sender returns.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_channel_clone_receiver(rt_channel_receiver *rx,
                                                         rt_channel_receiver **out_rx);

/* Closes a sender. Who waits in line with this handle gets RT_ERR_CLOSED; permits stay good. The
 * last one, once its permits are resolved, lets receivers drain the queue.
 * Callable on a thread of the runtime.
 * Never suspends.
 * The handle names nothing afterwards.
 * Returns RT_OK; RT_ERR_INVALID if it is closed already or NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_channel_close_sender(rt_channel_sender *tx);

/* Closes a receiver. Who waits in line with this handle gets RT_ERR_CLOSED. The last one destroys
 * what is queued and wakes every waiting sender with RT_ERR_DISCONNECTED.
 * Callable on a thread of the runtime.
 * Never suspends; config->destroy runs inside.
 * The handle names nothing afterwards.
 * Returns RT_OK; RT_ERR_INVALID if it is closed already or NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel; the values queued at the last close are. */
RT_API rt_status rt_channel_close_receiver(rt_channel_receiver *rx);

/* Reserves a place: phase one of a send.
 * Callable from a task, an actor or, with its context, a poll context.
 * Suspends while there is no place: a poll context registers and gets RT_ERR_WOULDBLOCK.
 * The permit is the caller's; it is written only on success and belongs to `cx`: when that ends it
 * is aborted.
 * Returns RT_OK; RT_ERR_CANCELLED or RT_ERR_BUDGET_EXHAUSTED as rt_checkpoint, the latter also when
 * the budget's deadline comes while it waits; RT_ERR_DISCONNECTED if no receiver is left;
 * RT_ERR_CLOSED if the handle is closed while it waits; RT_ERR_WOULDBLOCK to a poll context, and
 * outside of any task instead of waiting; RT_ERR_RESOURCE_EXHAUSTED if RT_MAX_SEND_PERMITS is
 * reached; RT_ERR_INVALID if the handle is closed or a pointer is NULL; RT_ERR_THREAD on another
 * thread.
 * Nothing is lost on cancel: the channel is as if the call had not been made. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_channel_reserve(rt_channel_sender *tx, rt_cx *cx,
                                                              rt_send_permit *out_permit);

/* Reserves a place, waiting until `deadline` at most, or until the budget's, if that is earlier.
 * Callable as rt_channel_reserve.
 * Suspends as rt_channel_reserve.
 * Ownership as with rt_channel_reserve.
 * Returns what rt_channel_reserve returns, and RT_ERR_TIMEOUT if `deadline` comes first.
 * Nothing is lost on cancel or timeout. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_channel_reserve_until(rt_channel_sender *tx,
                                                                    rt_cx *cx,
                                                                    rt_send_permit *out_permit,
                                                                    rt_time deadline);

/* Reserves a place if there is one and nobody waits for it.
 * Callable on a thread of the runtime.
 * Never suspends and is no check point.
 * The permit is as with rt_channel_reserve; NULL for `cx` is the caller's own.
 * Returns RT_OK; RT_ERR_FULL; RT_ERR_DISCONNECTED if no receiver is left; RT_ERR_RESOURCE_EXHAUSTED
 * if RT_MAX_SEND_PERMITS is reached; RT_ERR_INVALID if the handle is closed or a pointer is NULL;
 * RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_channel_try_reserve(rt_channel_sender *tx, rt_cx *cx,
                                                      rt_send_permit *out_permit);

/* Gives the memory of the reserved place, elem_size bytes, to be written in place. Its content is
 * undefined at first.
 * Callable by the permit's holder.
 * Never suspends.
 * The memory is the holder's until the permit is resolved.
 * Returns the memory; NULL if the permit is resolved.
 * Nothing is lost on cancel. */
RT_API void *rt_send_permit_slot(const rt_send_permit *permit);

/* Sends through a permit: phase two.
 * Callable by the permit's holder.
 * Never suspends.
 * `value` is copied and stays the caller's; NULL if the place was written already.
 * Returns RT_OK; RT_ERR_DISCONNECTED if no receiver is left, the value not sent and the permit
 * resolved all the same; RT_ERR_STATE, nothing changed, if the permit is resolved already;
 * RT_ERR_INVALID for NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel: this is no check point. */
RT_API RT_MUST_CHECK rt_status rt_send_permit_send(rt_send_permit *permit, const void *value);

/* Gives a reserved place back: it goes to the next sender in line.
 * Callable by the permit's holder.
 * Never suspends.
 * What was written to the place is forgotten, not destroyed.
 * Returns RT_OK; RT_ERR_STATE, nothing changed, if the permit is resolved already; RT_ERR_INVALID
 * for NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API rt_status rt_send_permit_abort(rt_send_permit *permit);

/* Sends a value: reserve, write and commit in one step.
 * Callable as rt_channel_reserve.
 * Suspends while there is no place; a poll context registers, gets RT_ERR_WOULDBLOCK and gives the
 * value again.
 * `value` is copied and stays the caller's; it may be NULL if elem_size is 0.
 * Returns what rt_channel_reserve returns.
 * Nothing is lost on cancel: after RT_ERR_CANCELLED the value was not sent. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_channel_send(rt_channel_sender *tx, rt_cx *cx,
                                                           const void *value);

/* Sends a value, waiting until `deadline` at most, or until the budget's, if that is earlier.
 * Callable as rt_channel_reserve.
 * Suspends as rt_channel_send.
 * Ownership as with rt_channel_send.
 * Returns what rt_channel_reserve_until returns.
 * Nothing is lost on cancel or timeout: the value was not sent. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_channel_send_until(rt_channel_sender *tx, rt_cx *cx,
                                                                 const void *value,
                                                                 rt_time deadline);

/* Sends a value, waiting for `duration` at most.
 * Callable as rt_channel_reserve.
 * Suspends as rt_channel_send.
 * Ownership as with rt_channel_send.
 * Returns what rt_channel_reserve_until returns.
 * Nothing is lost on cancel or timeout: the value was not sent. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_channel_send_timeout(rt_channel_sender *tx, rt_cx *cx,
                                                                   const void *value,
                                                                   rt_time duration);

/* Sends a value if there is a place and nobody waits for it.
 * Callable on a thread of the runtime.
 * Never suspends and is no check point.
 * `value` is copied and stays the caller's; it may be NULL if elem_size is 0.
 * Returns RT_OK; RT_ERR_FULL; RT_ERR_DISCONNECTED if no receiver is left; RT_ERR_INVALID if the
 * handle is closed or `value` is NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_channel_try_send(rt_channel_sender *tx, const void *value);

/* Receives the value that was sent first.
 * Callable as rt_channel_reserve.
 * Suspends while there is none: a poll context registers and gets RT_ERR_WOULDBLOCK.
 * `out_value` has room for elem_size bytes and stays the caller's; it is written only on success,
 * and may be NULL if elem_size is 0.
 * Returns RT_OK; RT_ERR_CANCELLED or RT_ERR_BUDGET_EXHAUSTED as rt_checkpoint, the latter also when
 * the budget's deadline comes while it waits; RT_ERR_DISCONNECTED if nothing is queued and no
 * sender is left; RT_ERR_CLOSED if the handle is closed while it waits; RT_ERR_WOULDBLOCK to a poll
 * context, and outside of any task instead of waiting; RT_ERR_INVALID if the handle is closed or a
 * pointer is NULL; RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel: the value stays for the next receiver. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_channel_recv(rt_channel_receiver *rx, rt_cx *cx,
                                                           void *out_value);

/* Receives a value, waiting until `deadline` at most, or until the budget's, if that is earlier.
 * Callable as rt_channel_reserve.
 * Suspends as rt_channel_recv.
 * Ownership as with rt_channel_recv.
 * Returns what rt_channel_recv returns, and RT_ERR_TIMEOUT if `deadline` comes first.
 * Nothing is lost on cancel or timeout. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_channel_recv_until(rt_channel_receiver *rx, rt_cx *cx,
                                                                 void *out_value, rt_time deadline);

/* Receives a value, waiting for `duration` at most.
 * Callable as rt_channel_reserve.
 * Suspends as rt_channel_recv.
 * Ownership as with rt_channel_recv.
 * Returns what rt_channel_recv_until returns.
 * Nothing is lost on cancel or timeout. */
RT_API RT_MUST_CHECK RT_SUSPENDS rt_status rt_channel_recv_timeout(rt_channel_receiver *rx,
                                                                   rt_cx *cx, void *out_value,
                                                                   rt_time duration);

/* Receives a value if there is one that is not kept for a receiver in line.
 * Callable on a thread of the runtime.
 * Never suspends and is no check point.
 * `out_value` is as with rt_channel_recv.
 * Returns RT_OK; RT_ERR_EMPTY if there is none and senders are left; RT_ERR_DISCONNECTED if nothing
 * is queued and no sender is left; RT_ERR_INVALID if the handle is closed or the pointer is NULL;
 * RT_ERR_THREAD on another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_channel_try_recv(rt_channel_receiver *rx, void *out_value);

/* Looks at the channel of a sender.
 * Callable on a thread of the runtime.
 * Never suspends; walks the lines of those who wait.
 * `out_info` stays the caller's and is written only on success.
 * Returns RT_OK; RT_ERR_INVALID if the handle is closed or a pointer is NULL; RT_ERR_THREAD on
 * another thread.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_channel_sender_info(rt_channel_sender *tx,
                                                      rt_channel_info *out_info);

/* Looks at the channel of a receiver.
 * Callable on a thread of the runtime.
 * Never suspends; walks the lines of those who wait.
 * `out_info` stays the caller's and is written only on success.
 * Returns what rt_channel_sender_info returns.
 * Nothing is lost on cancel. */
RT_API RT_MUST_CHECK rt_status rt_channel_receiver_info(rt_channel_receiver *rx,
                                                        rt_channel_info *out_info);

RT_EXTERN_C_END

#endif
