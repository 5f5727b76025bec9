/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RTI_AGENDA_H
#define RTI_AGENDA_H

/* What is going to happen in a simulated world, in the order in which it does: a list sorted by
 * time, and by the order of adding among what is due at the same time. That second order is what
 * makes a run a function of its seed.
 *
 * An entry lies in what it is about; its owner looks at `due_ns` and gives it its function.
 *
 * I1  Times never fall along the list.                                  (rti_agenda_audit)
 *
 * Costs: adding walks from the end, past what is due later. Times mostly grow, so that is short. */

#include "base/list.h"
#include "base/time.h"

struct rti_agenda {
    struct rti_list entries;
};

struct rti_agenda_entry {
    struct rti_link link;
    uint64_t due_ns;
    void (*happen)(struct rti_agenda_entry *entry); /* the entry is in no agenda then */
};

static inline void rti_agenda_init(struct rti_agenda *agenda)
{
    rti_list_init(&agenda->entries);
}

static inline void rti_agenda_entry_init(struct rti_agenda_entry *entry,
                                         void (*happen)(struct rti_agenda_entry *entry))
{
    rti_link_init(&entry->link);
    entry->due_ns = RTI_TIME_NEVER;
    entry->happen = happen;
}

static inline bool rti_agenda_entry_is_planned(const struct rti_agenda_entry *entry)
{
    return rti_link_is_linked(&entry->link);
}

/* A moment so much later: the last one there is, if that is beyond it. */
static inline uint64_t rti_agenda_after(uint64_t now_ns, uint64_t span_ns)
{
    uint64_t last_ns = RTI_TIME_NEVER - 1;
    return now_ns < last_ns && span_ns < last_ns - now_ns ? now_ns + span_ns : last_ns;
}

/* When the next thing happens; RTI_TIME_NEVER: there is none. */
uint64_t rti_agenda_next(const struct rti_agenda *agenda);

/* Plans an entry that is not planned, behind all that are due no later. */
void rti_agenda_add(struct rti_agenda *agenda, struct rti_agenda_entry *entry, uint64_t due_ns);

/* Takes an entry out, if it is in. */
void rti_agenda_remove(struct rti_agenda_entry *entry);

/* Lets everything happen that is due at `now_ns`, what that plans for the same time included. */
void rti_agenda_run(struct rti_agenda *agenda, uint64_t now_ns);

/* Puts off what is due before `due_ns` until then; the order stays. */
void rti_agenda_postpone(struct rti_agenda *agenda, uint64_t due_ns);

/* Checks I1. */
void rti_agenda_audit(const struct rti_agenda *agenda);

#endif
