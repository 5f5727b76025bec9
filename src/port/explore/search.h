/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_SEARCH_H
#define EXPLORE_SEARCH_H

/* The search over schedules: which process takes the next step, and which schedules are left.
 *
 * A process is a thread (0 .. EXPLORE_THREADS_MAX-1) or the store buffer of one
 * (EXPLORE_THREADS_MAX + thread), whose steps move its oldest store to memory. */

#include "port/explore/explore.h"

struct machine_word;

enum { SEARCH_PROCESSES_MAX = 2 * EXPLORE_THREADS_MAX, SEARCH_NOBODY = SEARCH_PROCESSES_MAX };

/* What the search remembers of a word during one execution. An event is known by its number, its
 * place in the schedule plus one; 0 is none. */
struct search_word {
    unsigned write;                      /* the last event that wrote the word */
    unsigned reads[EXPLORE_THREADS_MAX]; /* each thread's last read of it since */
};

/* Answers other than a process. */
enum { SEARCH_PRUNED = -1, SEARCH_TOO_LONG = -2, SEARCH_NOT_ENABLED = -3 };

void search_configure(enum explore_reduction reduction, unsigned bound, const char *replay);
void search_execution_begin(void);

/* The process of the next step while the execution repeats an earlier one, else
 * SEARCH_NOT_ENABLED. */
int search_repeated(void);

/* Picks the process of the next step among `enabled` (a bit each). `current` ran last. */
int search_pick(unsigned enabled, unsigned current);

/* Picks one of 0 .. count-1, all of which will be tried. */
unsigned search_choose(unsigned count);

/* Describes the step just picked: what had to come before it, and which words of memory it reads
 * and writes. `end` returns its event number. */
void search_event_begin(unsigned process);
void search_event_after(unsigned event);
void search_event_read(struct machine_word *word);
void search_event_write(struct machine_word *word);
unsigned search_event_end(void);

/* The last event of a process in this execution, or 0. */
unsigned search_last(unsigned process);

/* Moves on to a schedule not yet tried; false when there is none. */
bool search_next(void);

/* A digest of the class of the current execution: the same for all schedules that agree in the
 * order of dependent steps and in their choices, different for others. */
uint64_t search_class(void);

/* Writes the schedule of the current execution as a string: a digit is a step of that thread, a
 * small letter a step of that thread's store buffer (a is thread 0), a capital a choice. */
void search_schedule(char *text);

#endif
