/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_H
#define EXPLORE_H

/* What a model is written with.
 *
 * A model is a small closed program: shared state made by `setup`, a few threads, and a `check` of
 * the final state. The explorer runs it once for every schedule that can make a difference, on a
 * simulated machine (docs/internals/explorer.md). The code under test is the library's own, built
 * with RTI_EXPLORED=1, so that each access to a shared word comes here.
 *
 *     static rti_atomic_u32 flag;
 *     static void setup(void) { rti_u32_init(&flag, 0); }
 *     static void raise(void) { rti_u32_store_release(&flag, 1); }
 *     static void await(void) { while (rti_u32_load_acquire(&flag) == 0) { rti_spin_hint(); } }
 *
 *     MODEL(flag_is_seen){
 *         .about = "a raised flag is seen",
 *         .setup = setup,
 *         .threads = {raise, await},
 *     };
 *
 * Rules for a model:
 * - All its state is static and made anew by `setup`; it uses no heap, clock or randomness.
 * - What threads share goes through base/atomic.h or is marked RTI_PLAIN_READ / RTI_PLAIN_WRITE.
 *   Notes that a thread keeps for `check` belong to that thread alone.
 * - Each thread ends. A loop that waits for another thread calls rti_spin_hint in each round, and
 *   its round depends on nothing but the words it reads. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPLORE_THREADS_MAX = 6, EXPLORE_OUTCOMES_MAX = 16 };

enum explore_memory {
    EXPLORE_SC,  /* one memory, each access at once */
    EXPLORE_TSO, /* a FIFO store buffer per thread, as x86 has it */
    EXPLORE_MEMORIES,
};

/* What can be wrong with an execution. */
enum explore_failure {
    EXPLORE_PASSES,
    EXPLORE_ASSERTION, /* EXPLORE_ASSERT, or a panic of the code under test */
    EXPLORE_RACE,      /* two accesses to ordinary memory that nothing orders */
    EXPLORE_DEADLOCK,  /* nobody can run and somebody has not finished: a lost wake-up */
    EXPLORE_LIVELOCK,  /* more steps than any sensible execution has, or no step for seconds */
    EXPLORE_CRASH,     /* SIGSEGV and the like in the code under test */
    EXPLORE_OUTCOME,   /* the set of outcomes is not the declared one */
    EXPLORE_MISUSE,    /* the model asks for more than the explorer has */
};

/* An exact set of final outcomes; `count` 0 means that none is declared. */
struct explore_outcomes {
    unsigned count;
    uint64_t values[EXPLORE_OUTCOMES_MAX];
};

struct explore_model {
    const char *about;                              /* one sentence: what is shown */
    void (*setup)(void);                            /* makes the state anew */
    void (*threads[EXPLORE_THREADS_MAX + 1])(void); /* ends with NULL */
    void (*check)(void);                            /* looks at the final state; may be NULL */

    /* A futex_wait returns without cause up to so often per thread. */
    unsigned spurious_wakes_max;
    /* A futex_wait with a deadline times out up to so often per thread. */
    unsigned timeouts_max;
    /* rti_spin_hint returns at once: for loops that give up after a few rounds by themselves. */
    bool is_spin_free;

    /* EXPLORE_BOUND(n): at most n preemptions, for models too large to exhaust. 0: no bound. */
    unsigned bound[EXPLORE_MEMORIES];
    /* Gives up, and says so, after so many executions. 0: never. */
    uint64_t executions_max;

    /* For the explorer's own tests: the failure that must be found, and the exact outcomes. */
    enum explore_failure must_fail[EXPLORE_MEMORIES];
    struct explore_outcomes outcomes[EXPLORE_MEMORIES];
};

#define EXPLORE_BOUND(n) ((n) + 1u)

struct explore_entry {
    const char *name;
    const struct explore_model *model;
    struct explore_entry *next;
};

void explore_register(struct explore_entry *entry);

/* Defines and registers a model: MODEL(name){ .setup = ..., };  */
#define MODEL(id)                                                                                  \
    static const struct explore_model model_##id;                                                  \
    __attribute__((constructor)) static void model_##id##_register(void)                           \
    {                                                                                              \
        static struct explore_entry entry = {#id, &model_##id, NULL};                              \
        explore_register(&entry);                                                                  \
    }                                                                                              \
    static const struct explore_model model_##id =

#define EXPLORE_STRING_OF(x) #x
#define EXPLORE_STRING(x)    EXPLORE_STRING_OF(x)
/* Where an access stands in the source. */
#define EXPLORE_SITE __FILE__ ":" EXPLORE_STRING(__LINE__)

_Noreturn void explore_assert_failed(const char *condition, const char *site);

/* Inside threads, setup and check. */
#define EXPLORE_ASSERT(c)                                                                          \
    do {                                                                                           \
        if (!(c)) {                                                                                \
            explore_assert_failed(#c, EXPLORE_SITE);                                               \
        }                                                                                          \
    } while (0)

/* Which thread of the model is running: its index in `threads`. */
unsigned explore_self(void);

/* Picks one of 0 .. count-1; the explorer tries each. */
unsigned explore_choose(unsigned count);

/* In check: notes one final outcome of this execution. */
void explore_outcome(uint64_t value);

/* In setup: gives a word or a piece of memory a name for the trace. The text must stay. */
void explore_name(const void *address, const char *name);

/* Sleeping and waking as the port has them. The wait returns false if it timed out. */
bool explore_futex_wait(void *word, uint32_t expected, bool may_time_out, const char *site);
void explore_futex_wake(void *word, uint32_t count, const char *site);

/* Running a model from another program (the tests of the explorer itself). */
enum explore_reduction {
    EXPLORE_REDUCE_DPOR,  /* source sets and sleep sets: one execution per class of schedules */
    EXPLORE_REDUCE_SLEEP, /* sleep sets alone */
    EXPLORE_REDUCE_NONE,  /* every schedule */
};

struct explore_config {
    enum explore_memory memory;
    enum explore_reduction reduction;
    unsigned bound; /* EXPLORE_BOUND(n), or 0; a bound turns the reduction off */
    uint64_t executions_max;
    const char *replay;       /* a schedule to follow, or NULL */
    bool is_deadlock_outcome; /* counts a deadlock as an outcome instead of a failure */
    bool is_class_outcome;    /* the outcome is the class of the schedule, not what check says */
    bool is_silent;           /* prints nothing, keeps no trace */
};

enum { EXPLORE_MESSAGE_SIZE = 512, EXPLORE_STEPS_MAX = 2000 };

struct explore_result {
    enum explore_failure failure;
    uint64_t executions; /* complete ones */
    uint64_t pruned;     /* begun, then seen to repeat an earlier one */
    bool is_capped;
    double seconds; /* of the processor */
    unsigned outcome_count;
    uint64_t outcome_digest; /* of the set, whatever the order */
    char message[EXPLORE_MESSAGE_SIZE];
    char schedule[EXPLORE_STEPS_MAX + 1];
};

void explore_run(const struct explore_model *model, const struct explore_config *config,
                 struct explore_result *result);

/* What kind of failure, in a word or two. */
const char *explore_failure_name(enum explore_failure failure);

#endif
