/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_IPC_H
#define RTI_IPC_H

/* What calls share with sends and receives. */

#include "actor/actors.h"
#include "sched/trace.h"

/* Writes down who sent to whom, or received from whom, if anybody keeps a journal. */
static inline void rti_ipc_record(struct rti_sched *sched, enum rti_journal_kind kind, actor_id who,
                                  actor_id whom)
{
    if (RTI_UNLIKELY(rti_sched_journal(sched) != NULL)) {
        rti_sched_record(sched,
                         &(struct rti_journal_event){.kind = kind, .task = who, .value = whom});
    }
}

/* The context of who runs on `worker`, if there is one, goes with the message. Under the lock. */
static inline void rti_ipc_attach_trace(struct rti_worker *worker, struct rti_ipc_pools *pools,
                                        struct rti_entry *entry)
{
    if (rti_traces_are_used(worker->sched)) {
        const struct rt_trace *trace = rti_trace_here(worker);
        entry->has_trace = rti_trace_is_set(trace);
        if (entry->has_trace) {
            *rti_ipc_pools_trace(pools, entry) = *trace;
        }
    }
}

/* From here on the actor works for what this message is about; for nothing if that has no context.
 * A notice of the system changes nothing. Under the lock. */
static inline void rti_ipc_adopt_trace(struct rti_actor *self, const struct rti_entry *entry)
{
    if (rti_traces_are_used(self->actors->sched) && !rti_entry_is_notice(entry)) {
        *rti_actor_trace(self) = entry->has_trace ? *rti_ipc_pools_trace(&self->actors->ipc, entry)
                                                  : (struct rt_trace){.flags = 0};
    }
}

/* Puts a message made by rti_ipc_pools into the receiver's mailbox, counted and recorded, from the
 * actor that runs on `worker` or from main. */
void rti_ipc_deliver(struct rti_worker *worker, struct rti_actor *receiver,
                     struct rti_entry *entry);

/* The same for an entry that has its sender, to a receiver that may have a limit: what its policy
 * says happens. The entry is gone on failure. May suspend the sender. Under the lock, which it
 * gives back. */
#if RT_HAS_BEHAVIOURS
rt_status rti_ipc_deliver_limited(struct rti_worker *worker, struct rti_actor *receiver,
                                  struct rti_entry *entry);
#else
static inline rt_status rti_ipc_deliver_limited(struct rti_worker *worker,
                                                struct rti_actor *receiver, struct rti_entry *entry)
{
    rti_ipc_deliver(worker, receiver, entry);
    rti_actors_unlock(receiver->actors);
    return RT_SUCCESS;
}
#endif

/* Drops the message, not a notice, that has waited longest. */
void rti_mailbox_drop_oldest(struct rti_actor *receiver);

/* The entry of the message that the actor received last, if `msg` is that message; else NULL. */
struct rti_entry *rti_ipc_held(struct rti_actor *self, const rt_message *msg);

#endif
