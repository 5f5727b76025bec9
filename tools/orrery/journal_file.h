/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_JOURNAL_FILE_H
#define ORRERY_TOOL_JOURNAL_FILE_H

/* A journal in memory: read from a file, with the kinds of events found by their names, so that a
 * file of a library with other numbers reads as well. */

#include <orrery/rt/journal.h>

#include "orrery.h"

/* The kinds that the tool knows more about than their name. */
enum event_kind {
    EVENT_OTHER,
    EVENT_START,
    EVENT_DISPATCH,
    EVENT_WAKE,
    EVENT_END,
    EVENT_IDLE,
    EVENT_TIMER,
    EVENT_SEND,
    EVENT_RECV,
    EVENT_MARK,
    EVENT_OP,
    EVENT_OP_TRACE,
    EVENT_OP_HOP,
    EVENT_OP_TAKE,
    EVENT_OP_CANCEL,
    EVENT_OP_RING,
    EVENT_OP_ANSWER,
    EVENT_OP_DONE,
    EVENT_OP_FORWARD,
    EVENT_LEAVE, /* only in recordings: who ran has left */
    EVENT_HAND,  /* likewise: a send to one that waited, which has received and is woken */
    EVENT_KIND_COUNT,
};

struct event {
    rt_journal_record record;
    enum event_kind kind;
    const char *name;
    uint32_t runner; /* the task that ran when it was written; 0: none, or not known */
    uint32_t worker; /* where */
};

struct journal_file {
    void *bytes;
    rt_journal_view view;
    struct event *events;
    size_t count;
};

/* Reads a whole file, "-" for standard input; complains and gives false if it is no journal. */
bool journal_file_open(struct journal_file *file, const char *path);

/* Reads a whole file; complains and gives NULL if it cannot be read. */
void *journal_file_read(const char *path, size_t *size);

/* The same from memory, which becomes the file's: as tool_alloc gave it. */
bool journal_file_parse(struct journal_file *file, void *bytes, size_t size, const char *path);

void journal_file_close(struct journal_file *file);

#endif
