/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_ORDER_H
#define EXPLORE_ORDER_H

/* What happens before what, as C11 says it, and the races that follow from its absence. */

#include "port/explore/atomic_explored.h"

/* By thread: how much of what it did is known to have happened. */
struct order_clock {
    uint32_t at[EXPLORE_THREADS_MAX];
};

struct order_thread {
    struct order_clock now;
    struct order_clock released; /* at the last fence: what later relaxed stores publish */
    struct order_clock seen;     /* by relaxed loads: what the next fence acquires */
};

struct order_word {
    struct order_clock published;           /* what an acquire load of the word learns */
    uint32_t accesses[EXPLORE_THREADS_MAX]; /* when each thread last used it, 0 for never */
    const char *access_sites[EXPLORE_THREADS_MAX];
    uint32_t init; /* when the word was made by a thread, 0 if by setup */
    unsigned init_thread;
    const char *init_site;
};

/* Two accesses that nothing orders. */
struct order_race {
    const char *what; /* of the later access */
    const char *site;
    unsigned thread;
    const char *other_what;
    const char *other_site;
    unsigned other_thread;
    const void *address;
};

void order_thread_begin(struct order_thread *thread, unsigned self);
void order_word_begin(struct order_word *word);
/* Forgets all ordinary memory. */
void order_execution_begin(void);

void order_load(struct order_thread *thread, const struct order_word *word,
                enum explore_order order);
/* The clock that a store leaves in its word. */
void order_store(struct order_thread *thread, unsigned self, enum explore_order order,
                 struct order_clock *published);
void order_rmw(struct order_thread *thread, unsigned self, struct order_word *word,
               enum explore_order order);
void order_fence(struct order_thread *thread, unsigned self);

/* Notes an access to a shared word, or its making; false if it races, described in `race`. */
bool order_use(const struct order_thread *thread, unsigned self, struct order_word *word,
               const char *site, struct order_race *race);
bool order_init(const struct order_thread *thread, unsigned self, struct order_word *word,
                const char *site, struct order_race *race);

/* Notes an access to ordinary memory; false if it races. */
bool order_plain_read(const struct order_thread *thread, unsigned self, const void *address,
                      size_t size, struct order_race *race);
bool order_plain_write(const struct order_thread *thread, unsigned self, const void *address,
                       size_t size, struct order_race *race);

#endif
