/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_RECORDING_H
#define ORRERY_TOOL_RECORDING_H

/* What the flight recorder of a program kept (src/observe/recording.h), as events in the order of
 * their times, so that they can be shown as those of a journal are. Words between two readings of
 * the clock are spread evenly between them. Workers forget at different moments; what is before the
 * latest of these is left out, so that all of them tell the same span. */

#include "journal_file.h"
#include "map.h"

struct recording_name {
    uint32_t task;
    char text[40];
};

struct recording {
    struct event *events;
    size_t count;
    uint32_t workers;
    uint64_t lost;
    struct recording_name *names;
    size_t name_count;
    struct map by_task; /* to the names */
};

/* Does it look like one? */
bool recording_is_one(const void *bytes, size_t size);

/* Reads the bytes, which are freed; complains and gives false if they are no whole recording. */
bool recording_parse(struct recording *recording, void *bytes, size_t size, const char *path);

void recording_free(struct recording *recording);

/* The name of a task that was started meanwhile; NULL: not known. */
const char *recording_name_of(const struct recording *recording, uint32_t task);

#endif
