/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LINE_H
#define RTI_LINE_H

/* A line: a lock and those who wait, first come, first served. What mutex, semaphore, wait group,
 * once and condition have in common; each adds what there is to wait for.
 *
 * Whoever has something gives it to the first in line while it holds the lock: nobody who comes
 * later can take it, and a wake is never in vain. So an operation is
 *
 *     rti_line_begin        who calls, and how can it wait; a poll context that waited is answered
 *     rti_line_enter        takes the lock
 *       it is there: take it, rti_line_leave
 *       it is not:   rti_line_wait, which links the caller, leaves and parks or registers
 *
 * and the other side
 *
 *     rti_line_enter, rti_line_claim the first, rti_line_serve it, rti_line_leave: wakes
 *
 * A waiter that was served and does not come back for it, because its fiber is killed or its poll
 * context gives up, gives it back in its unlink: `left`, under the lock, passes it on. It is called
 * for one that was not served too: who stood behind it may have its turn now.
 *
 * I1  A waiter is in the list, or served, or claimed by another event; in one of these only.
 *                                                                            (line_unlink)
 * I2  What is served is collected or given back, once.                       (line_unlink)
 *
 * On one worker the lock is nothing. Costs: a wait is one link and one unlink beside the park. */

#include "sched/lock.h"
#include "sync/cx.h"
#include "sync/line_waiter.h"

struct rti_line {
    struct rti_lock lock;
    struct rti_waitlist list;
    struct rti_sched *sched;
};

/* One operation on a line. */
struct rti_line_call {
    struct rti_line *line;
    struct rti_cx_op op; /* names it, for a poll context */
    rt_time deadline;    /* of the caller; RT_TIME_NEVER: none */
    rti_line_left *left; /* as in the waiter */
    void *who;           /* the waiter's slot: whom it is for */
    uint32_t want;       /* as in the waiter */
    /* Called when the caller is in line and the lock is left, before it parks; or NULL. */
    void (*linked)(struct rti_line_call *call);
    void *linked_arg;
    bool is_shielded;  /* neither the context nor a deadline ends it */
    struct rti_cx *cx; /* filled by rti_line_begin; NULL: none */
    bool is_served;    /* likewise: a poll context has what it waited for */
};

/* Prepares a line with nobody in it, on a thread of the runtime. */
void rti_line_init(struct rti_line *line, struct rti_sched *sched);

/* Nobody waits. The lock is held, or nobody else can know the line. */
static inline bool rti_line_is_empty(const struct rti_line *line)
{
    return rti_waitlist_is_empty(&line->list);
}

/* Resolves the caller's context and makes the check point. RT_OK: the operation may be tried, or
 * `is_served`. RT_ERR_WOULDBLOCK: the poll context is in line. Else how the call ends. */
rt_status rti_line_begin(struct rti_line_call *call, rt_cx *given);

static inline void rti_line_enter(struct rti_line *line)
{
    rti_lock_acquire(&line->lock, line->sched);
}

/* Gives the lock back, then wakes those served. The line may be gone afterwards. */
void rti_line_leave(struct rti_line *line, struct rti_list *wakes);

/* The same for who has served nobody. */
static inline void rti_line_leave_quietly(struct rti_line *line)
{
    rti_lock_release(&line->lock);
}

/* Puts the caller in line and leaves it; parks, or registers and gives RT_ERR_WOULDBLOCK. RT_OK: it
 * was served. The lock is held before and not afterwards. */
rt_status rti_line_wait(struct rti_line_call *call);

/* The first in line that could be claimed, to be served; NULL: none. The lock is held. */
struct rti_line_waiter *rti_line_claim(struct rti_line *line);

/* The first in line that nothing has claimed, left where it is. The lock is held. */
struct rti_line_waiter *rti_line_first(struct rti_line *line);

/* Says how a claimed waiter was served; it is woken when the line is left. */
static inline void rti_line_serve(struct rti_line_waiter *waiter, rt_status_code result,
                                  struct rti_list *wakes)
{
    waiter->result = result;
    rti_list_push_tail(wakes, &waiter->wake_link);
}

/* Serves everybody. */
void rti_line_serve_all(struct rti_line *line, rt_status_code result, struct rti_list *wakes);

/* The list is sound, and everybody in it waits for this line. */
void rti_line_audit(const struct rti_line *line);

#endif
