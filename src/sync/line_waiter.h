/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_LINE_WAITER_H
#define RTI_LINE_WAITER_H

/* One who waits in a line (sync/line.h), or has just been served there. It lies on the stack of a
 * fiber or in a poll context. Who may touch what: whoever has the line's lock while it is linked;
 * its owner after the wake. */

#include <orrery/rt/status.h>

#include "base/peek.h"
#include "sched/wait.h"

struct rti_line;
struct rti_line_waiter;

/* Called when a waiter has left without what it waited for. If its result is not RT_ERR_WOULDBLOCK
 * it was served and will not look at it: that passes on. The line's lock is held; who is served
 * goes to `wakes`. */
typedef void rti_line_left(struct rti_line *line, struct rti_line_waiter *waiter,
                           struct rti_list *wakes);

struct rti_line_waiter {
    struct rti_waiter waiter;
    struct rti_line *line;
    rti_line_left *left;       /* NULL: whoever leaves leaves nothing to be done */
    struct rti_link wake_link; /* among those to wake when the line is left */
    uint32_t want;             /* how much, where that means something */
    rt_status_code result;     /* RT_ERR_WOULDBLOCK until it is served */
    bool is_collected;         /* its owner knows */
};

/* Is this the waiter of one who waits in a line? For tools. */
bool rti_waiter_is_of_line(const struct rti_waiter *waiter);

/* Who must unlock before one in a mutex's line goes on: the cleanup stack of the holder, which a
 * fiber or a poll context has. `place` is where a waiter of a line lies. False if that is no
 * mutex's line, or nobody holds it, or it is gone. For tools. */
bool rti_waiter_mutex_holder(const struct rti_waiter *place, rti_peek peek,
                             struct rti_cleanups **holder);

#endif
