/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_REPORT_H
#define ORRERY_TOOL_REPORT_H

/* What a program said of itself (src/observe/report.h), read into structures. Lines of a kind that
 * is not known are passed over: the program may be newer than the tool. */

#include "map.h"
#include "orrery.h"

#define REPORT_FIELDS_MAX 24
#define REPORT_SITES_MAX  8

struct report_wait {
    const char *what;
    uint64_t numbers[6];
};

struct report_task {
    uint64_t id;
    const char *kind;
    const char *name;
    const char *state;
    uint64_t priority;
    uint64_t parked_ns;
    uint64_t parent;
    uint64_t mail;
    uint64_t sent;
    uint64_t received;
    const char
        *sites[REPORT_SITES_MAX]; /* addresses in decimal, or files each followed by its line */
    size_t site_count;
    struct report_wait *waits;
    size_t wait_count;
    bool has_stack;
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    uint64_t base;
    const unsigned char *stack;
    size_t stack_size;
    uint64_t code; /* without a stack: the function that it is made of; 0: not known */
};

struct report_worker {
    uint64_t index;
    uint64_t turns;
    uint64_t task; /* that runs on it; 0: none */
};

struct report_stat {
    const char *name;
    uint64_t value;
};

struct report {
    char *text;       /* what everything points into */
    bool is_busy;     /* the scheduler did not get its turn */
    bool is_cut;      /* not all tasks are here */
    bool is_open;     /* somebody outside may bring a value */
    bool is_complete; /* the last line came */
    const char *port;
    uint64_t now_ns;
    uint64_t live;
    uint64_t pause_ns; /* the longest of its slices, in which nothing else ran; 0: all ran */
    uint64_t slices;
    struct report_worker *workers;
    size_t worker_count;
    struct report_task *tasks;
    size_t task_count;
    struct map by_id;
    struct report_stat *stats;
    size_t stat_count;
};

/* Takes the text, which becomes the report's. False after a complaint if it is no whole report. */
bool report_read(struct report *report, char *text);
void report_free(struct report *report);

/* Asks a program for a report; false after a complaint. */
bool report_of(struct report *report, uint64_t pid, const char *request);

/* The task with this id; NULL if it is not there. */
const struct report_task *report_find(const struct report *report, uint64_t id);

/* How a task is called: its number, with a letter before it unless it is an actor's, and its name.
 * The letters: t task, p poll task, b behaviour. */
const char *report_label(const struct report *report, uint64_t id, char text[static 64]);
const char *report_label_of(const struct report_task *task, char text[static 64]);

#endif
