/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RT_TYPES_H
#define ORRERY_RT_TYPES_H

/* The types that several public headers share: ids, priorities, messages. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <orrery/rt/api.h>
#include <orrery/rt/status.h>

/* Handles, opaque to the user: an index and a generation. A stale one names nothing. */
typedef uint32_t actor_id;
typedef uint32_t bus_id;
typedef uint32_t timer_id;

#define ACTOR_ID_INVALID ((actor_id)0)
#define BUS_ID_INVALID   ((bus_id)0)
#define TIMER_ID_INVALID ((timer_id)0)

/* Senders that are no actor. */
#define RT_SENDER_TIMER      ((actor_id)0xFFFFFFFF)
#define RT_SENDER_SYSTEM     ((actor_id)0xFFFFFFFE)
#define RT_SENDER_SUPERVISOR ((actor_id)0xFFFFFFFD) /* asks to end: rt_is_stop_msg */

/* Lower value, more urgent. The most urgent ready actor always runs first. */
typedef enum {
    RT_PRIO_CRITICAL = 0,
    RT_PRIO_HIGH = 1,
    RT_PRIO_NORMAL = 2,
    RT_PRIO_LOW = 3,
} rt_priority;

/* A received message. ASYNC: `data` is valid until the next rt_ipc_recv. SYNC: until
 * rt_ipc_release, which the next rt_ipc_recv does by itself. */
typedef struct {
    actor_id sender;
    size_t len;
    const void *data;
} rt_message;

#endif
