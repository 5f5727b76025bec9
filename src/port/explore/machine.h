/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_MACHINE_H
#define EXPLORE_MACHINE_H

/* The simulated machine: threads, words of memory, store buffers. Shared by the explorer's own
 * files only; a model sees explore.h. */

#include "port/explore/fiber.h"
#include "port/explore/order.h"
#include "port/explore/search.h"

enum { MACHINE_STORES_MAX = 16, MACHINE_READS_MAX = 16 };

/* A word of shared memory. Its value is where the model has it, so the code under test and a
 * debugger see it too. */
struct machine_word {
    const void *address;
    unsigned size;      /* 1, 4 or 8 */
    unsigned number;    /* by first use, for the trace */
    uint32_t execution; /* for which the rest is valid */
    uint32_t version;   /* changes with the value */
    struct search_word search;
    struct order_word order;
};

enum machine_op_kind {
    MACHINE_LOAD,
    MACHINE_STORE,
    MACHINE_INIT,
    MACHINE_RMW,
    MACHINE_CAS,
    MACHINE_FENCE,
    MACHINE_SPIN,
    MACHINE_WAIT,
    MACHINE_WAKE,
    MACHINE_RESUME, /* a woken thread leaves its wait */
};

/* What a thread does next, once it is picked. */
struct machine_op {
    enum machine_op_kind kind;
    enum explore_order order;
    enum explore_rmw rmw;
    bool may_time_out;
    struct machine_word *word;
    struct machine_word *queue; /* of sleepers on the word: for wait and wake */
    uint64_t value;
    uint64_t expected;
    const char *site;
};

/* A store on its way to memory. */
struct machine_store {
    struct machine_word *word;
    uint64_t value;
    struct order_clock published;
    unsigned event; /* that issued it */
    unsigned read;  /* the thread's last event that read it from here, or 0 */
    const char *site;
};

/* What a thread read in this round of a spin loop. Its own store, while that is in the buffer, can
 * bring it no news. */
struct machine_read {
    struct machine_word *word;
    uint32_t version;
    bool is_own;
};

enum machine_status { MACHINE_READY, MACHINE_WAITING, MACHINE_FINISHED };

struct machine_thread {
    enum machine_status status;
    struct machine_op op;
    uint64_t result;
    unsigned wake_event;
    unsigned spurious_wakes_left;
    unsigned timeouts_left;
    unsigned store_first; /* the oldest, in `stores` as a ring */
    unsigned store_count;
    unsigned read_count;
    struct order_thread order;
    struct machine_store stores[MACHINE_STORES_MAX];
    struct machine_read reads[MACHINE_READS_MAX];
    struct fiber fiber;
};

struct machine {
    const struct explore_model *model;
    enum explore_memory memory;
    bool is_running; /* threads run: not in setup nor check */
    bool is_tracing;
    bool is_pruned;           /* the last execution repeated an earlier one */
    bool is_stuck;            /* it ended in a deadlock */
    bool is_deadlock_outcome; /* a deadlock is no failure */
    uint32_t execution;
    unsigned thread_count;
    unsigned self;    /* whose code runs */
    unsigned current; /* the thread that took the last step */
    volatile uint64_t steps;
    struct machine_thread threads[EXPLORE_THREADS_MAX];
};

extern struct machine machine;

static inline unsigned machine_buffer_of(unsigned thread)
{
    return EXPLORE_THREADS_MAX + thread;
}

static inline struct search_word *machine_search_word(struct machine_word *word)
{
    return &word->search;
}

/* Runs the model once, from setup to the end of all threads. */
void machine_execute(void);

/* The calling thread announces its next step; returns its result once it is taken. */
uint64_t machine_point(const struct machine_op *op);

/* Ends the execution, and the search, with a failure. */
_Noreturn void machine_fail(enum explore_failure failure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One line of the trace, if one is wanted. */
void machine_trace(unsigned process, const char *site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether the pending step of a process is dependent on an access of process `by`. */
bool machine_conflicts(unsigned process, const struct machine_word *word, bool is_write,
                       unsigned by);

/* memory.c: words and store buffers. */

void memory_execution_begin(void);
struct machine_word *memory_word(const void *address, unsigned size);
/* The queue of sleepers on a word, as something that steps read (join it) and write (wake it). */
struct machine_word *memory_queue(const void *address);
uint64_t memory_value(const struct machine_word *word);
/* The same by address, for setup and check. */
uint64_t memory_get(const void *address, unsigned size);
void memory_put(const void *address, unsigned size, uint64_t value);
/* How the trace calls a word; valid until the next call but three. */
const char *memory_name(const struct machine_word *word);
/* The youngest store to the word in the thread's buffer, or NULL. */
struct machine_store *memory_buffered(struct machine_thread *thread,
                                      const struct machine_word *word);
uint64_t memory_rmw_value(enum explore_rmw kind, uint64_t old, uint64_t operand);

/* Each takes one step of a thread or, the last, of a store buffer. */
void memory_load(unsigned self);
void memory_store(unsigned self);
void memory_rmw(unsigned self);
void memory_cas(unsigned self);
void memory_fence(unsigned self);
void memory_flush(unsigned self);

#endif
