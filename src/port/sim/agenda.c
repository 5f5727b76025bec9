/* SPDX-License-Identifier: Apache-2.0 */
#define RTI_MODULE "agenda"
#include "port/sim/agenda.h"

#include "base/assert.h"

static struct rti_agenda_entry *entry_of(struct rti_link *link)
{
    return RTI_CONTAINER_OF(link, struct rti_agenda_entry, link);
}

uint64_t rti_agenda_next(const struct rti_agenda *agenda)
{
    struct rti_link *first = rti_list_peek(&agenda->entries);
    return first == NULL ? RTI_TIME_NEVER : entry_of(first)->due_ns;
}

void rti_agenda_add(struct rti_agenda *agenda, struct rti_agenda_entry *entry, uint64_t due_ns)
{
    RT_ASSERT(entry->happen != NULL && due_ns != RTI_TIME_NEVER);
    struct rti_link *head = &agenda->entries.head;
    struct rti_link *where = head;
    while (where->prev != head && entry_of(where->prev)->due_ns > due_ns) {
        where = where->prev;
    }
    entry->due_ns = due_ns;
    rti_list_insert_before(where, &entry->link);
}

void rti_agenda_remove(struct rti_agenda_entry *entry)
{
    if (rti_agenda_entry_is_planned(entry)) {
        rti_list_remove(&entry->link);
    }
}

void rti_agenda_run(struct rti_agenda *agenda, uint64_t now_ns)
{
    while (rti_agenda_next(agenda) <= now_ns) {
        struct rti_agenda_entry *entry = entry_of(rti_list_pop(&agenda->entries));
        entry->happen(entry);
    }
}

void rti_agenda_postpone(struct rti_agenda *agenda, uint64_t due_ns)
{
    struct rti_link *link = rti_list_peek(&agenda->entries);
    while (link != NULL && entry_of(link)->due_ns < due_ns) {
        entry_of(link)->due_ns = due_ns;
        link = rti_list_next(&agenda->entries, link);
    }
    RT_AUDIT(rti_agenda_audit(agenda));
}

void rti_agenda_audit(const struct rti_agenda *agenda)
{
    uint64_t last_ns = 0;
    for (struct rti_link *link = rti_list_peek(&agenda->entries); link != NULL;
         link = rti_list_next(&agenda->entries, link)) {
        RT_ASSERT(entry_of(link)->due_ns >= last_ns);
        last_ns = entry_of(link)->due_ns;
    }
}
