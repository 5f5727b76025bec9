/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_STAGE_H
#define RTI_STAGE_H

/* Where an op in flight is inside this port; `op->stage`, written by the scheduler thread only.
 *
 *     NEW -> WAITING -> ANSWERED             what waits for a descriptor
 *     NEW -> BACKLOG -> RUNNING -> ANSWERED  what runs on the pool
 *     NEW, BACKLOG -> ANSWERED               at once, or cancelled before it ran
 *
 * I1  The op's link is in exactly one list: its descriptor's queue (WAITING), its lane's backlog
 *     (BACKLOG), or the answered ops (ANSWERED); in none while NEW or RUNNING.
 *                                                              (rti_link DCHECKs, the audits) */

#include "port/op.h"

enum rti_stage {
    RTI_STAGE_NEW,      /* in submit */
    RTI_STAGE_WAITING,  /* in a queue of its descriptor */
    RTI_STAGE_BACKLOG,  /* waits for a thread of the pool */
    RTI_STAGE_RUNNING,  /* out with a thread */
    RTI_STAGE_ANSWERED, /* decided; done comes with this or the next wait */
};

static inline void rti_stage_to_waiting(struct rti_op *op, struct rti_list *queue)
{
    RT_ASSERT(op->stage == RTI_STAGE_NEW);
    op->stage = RTI_STAGE_WAITING;
    rti_list_push_tail(queue, &op->link);
}

static inline void rti_stage_to_backlog(struct rti_op *op, struct rti_list *backlog)
{
    RT_ASSERT(op->stage == RTI_STAGE_NEW);
    op->stage = RTI_STAGE_BACKLOG;
    rti_list_push_tail(backlog, &op->link);
}

static inline void rti_stage_to_running(struct rti_op *op)
{
    RT_ASSERT(op->stage == RTI_STAGE_BACKLOG);
    RT_DCHECK(!rti_link_is_linked(&op->link));
    op->stage = RTI_STAGE_RUNNING;
}

/* The op holds its answer and is in no list. */
static inline void rti_stage_to_answered(struct rti_op *op, struct rti_list *answered)
{
    RT_ASSERT(op->state == RTI_OP_IN_FLIGHT && op->stage != RTI_STAGE_ANSWERED);
    op->stage = RTI_STAGE_ANSWERED;
    rti_list_push_tail(answered, &op->link);
}

static inline struct rti_op *rti_op_of_link(struct rti_link *link)
{
    return RTI_CONTAINER_OF(link, struct rti_op, link);
}

#endif
