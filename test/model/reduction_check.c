/* SPDX-License-Identifier: Apache-2.0 */

/* Shows that the reduction loses nothing: makes small random programs of loads, stores,
 * read-modify-writes, fences, spin loops, futex waits and wakes, explores each with every
 * reduction and under each memory, and demands the same set of outcomes from all. An outcome is
 * every value read, by thread, and the final memory; a deadlock is an outcome too. Besides, each
 * program is explored with its races reported, and the reductions must agree whether there is one.
 * Last, each execution is known by its class, and the reduced searches must visit all classes that
 * the whole search finds, source sets each of them once.
 *
 *     reduction_check [PROGRAMS [SEED]]
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"

enum { THREADS_MAX = 3, OPS_MAX = 4, WORDS = 2, EXECUTIONS_MAX = 60000 };

enum op_kind {
    LOAD,
    LOAD_ACQUIRE,
    STORE,
    STORE_RELEASE,
    ADD,
    EXCHANGE,
    CAS,
    FENCE,
    SPIN,
    WAIT,
    WAKE,
    PLAIN_READ,
    PLAIN_WRITE,
    OP_KINDS,
};

struct op {
    enum op_kind kind;
    unsigned word;
    uint32_t value;
    uint32_t expected;
};

static struct op programs[THREADS_MAX][OPS_MAX];
static unsigned lengths[THREADS_MAX];
static rti_atomic_u32 words[WORDS];
static uint64_t plain;
static uint64_t seen[THREADS_MAX];
static uint64_t random_state;
static bool has_plain;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

static void setup(void)
{
    for (unsigned i = 0; i < WORDS; i++) {
        rti_u32_init(&words[i], 0);
    }
    memset(seen, 0, sizeof seen);
}

static void note(unsigned self, uint32_t value)
{
    seen[self] = seen[self] * 31 + value + 1;
}

static void run_op(unsigned self, const struct op *op)
{
    rti_atomic_u32 *word = &words[op->word];
    uint32_t expected = op->expected;
    switch (op->kind) {
    case LOAD:
        note(self, rti_u32_load_relaxed(word));
        break;
    case LOAD_ACQUIRE:
        note(self, rti_u32_load_acquire(word));
        break;
    case STORE:
        rti_u32_store_relaxed(word, op->value);
        break;
    case STORE_RELEASE:
        rti_u32_store_release(word, op->value);
        break;
    case ADD:
        note(self, rti_u32_add_acqrel(word, op->value));
        break;
    case EXCHANGE:
        note(self, rti_u32_exchange_acqrel(word, op->value));
        break;
    case CAS:
        note(self, rti_u32_cas_acqrel(word, &expected, op->value));
        note(self, expected);
        break;
    case FENCE:
        rti_fence_seqcst();
        break;
    case SPIN:
        while (rti_u32_load_acquire(word) == op->expected) {
            rti_spin_hint();
        }
        break;
    case WAIT:
        note(self, explore_futex_wait(word, op->expected, true, EXPLORE_SITE));
        break;
    case WAKE:
        explore_futex_wake(word, 1 + op->value % 2, EXPLORE_SITE);
        break;
    case PLAIN_READ:
        if (has_plain) {
            RTI_PLAIN_READ(&plain, sizeof plain);
        }
        break;
    case PLAIN_WRITE:
        if (has_plain) {
            RTI_PLAIN_WRITE(&plain, sizeof plain);
        }
        break;
    case OP_KINDS:
        break;
    }
}

static void thread(void)
{
    unsigned self = explore_self();
    for (unsigned i = 0; i < lengths[self]; i++) {
        run_op(self, &programs[self][i]);
    }
}

static void check(void)
{
    uint64_t outcome = 0;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        outcome = outcome * 1000003 + seen[i];
    }
    for (unsigned i = 0; i < WORDS; i++) {
        outcome = outcome * 1000003 + rti_u32_load_relaxed(&words[i]);
    }
    explore_outcome(outcome);
}

static unsigned make_program(void)
{
    unsigned threads = 2 + random_below(THREADS_MAX - 1);
    unsigned ops = threads == 2 ? OPS_MAX : OPS_MAX - 1;
    bool sleeps = random_below(3) == 0;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        lengths[i] = i < threads ? 1 + random_below(ops) : 0;
        for (unsigned k = 0; k < lengths[i]; k++) {
            struct op *op = &programs[i][k];
            do {
                op->kind = (enum op_kind)random_below(OP_KINDS);
            } while (!sleeps && (op->kind == WAIT || op->kind == WAKE));
            op->word = random_below(WORDS);
            op->value = 1 + random_below(3);
            op->expected = random_below(3);
        }
    }
    return threads;
}

static void print_program(unsigned threads)
{
    static const char *const names[] = {
        "load",  "load_acquire", "store", "store_release", "add",        "exchange",   "cas",
        "fence", "spin",         "wait",  "wake",          "plain_read", "plain_write"};
    for (unsigned i = 0; i < threads; i++) {
        printf("  thread %u:", i);
        for (unsigned k = 0; k < lengths[i]; k++) {
            const struct op *op = &programs[i][k];
            printf(" %s(w%u, %u, %u);", names[op->kind], op->word, op->value, op->expected);
        }
        printf("\n");
    }
}

/* Explores with all reductions and says what is wrong with them, or NULL. */
static const char *disagreement(const struct explore_model *model, struct explore_config config,
                                uint64_t *counts)
{
    static struct explore_result results[3];
    const struct explore_result *all = &results[EXPLORE_REDUCE_NONE];
    for (int i = EXPLORE_REDUCE_NONE; i >= EXPLORE_REDUCE_DPOR; i--) {
        config.reduction = (enum explore_reduction)i;
        explore_run(model, &config, &results[i]);
        if (all->is_capped) {
            return NULL; /* too large to explore without reduction */
        }
        if (results[i].failure != all->failure) {
            return explore_failure_name(results[i].failure);
        }
        if (all->failure != EXPLORE_PASSES) {
            continue;
        }
        if (results[i].outcome_count != all->outcome_count ||
            results[i].outcome_digest != all->outcome_digest) {
            return config.is_class_outcome ? "a class is lost" : "an outcome is lost";
        }
        if (i == EXPLORE_REDUCE_DPOR && config.is_class_outcome &&
            results[i].executions != all->outcome_count) {
            return "a class is visited twice";
        }
        counts[i] += config.is_class_outcome ? results[i].executions : 0;
    }
    counts[3] +=
        all->failure == EXPLORE_PASSES && !config.is_class_outcome ? all->outcome_count : 0;
    return NULL;
}

enum mode { OUTCOMES, RACES, CLASSES, MODES };

/* Tries the current program in every way. */
static bool agree(const struct explore_model *model, uint64_t *counts)
{
    for (int mode = 0; mode < MODES; mode++) {
        for (int memory = 0; memory < EXPLORE_MEMORIES; memory++) {
            struct explore_config config = {.memory = (enum explore_memory)memory,
                                            .executions_max = EXECUTIONS_MAX,
                                            .is_deadlock_outcome = true,
                                            .is_class_outcome = mode == CLASSES,
                                            .is_silent = true};
            has_plain = mode == RACES;
            const char *reason = disagreement(model, config, counts);
            if (reason != NULL) {
                printf("memory %d, mode %d: %s\n", memory, mode, reason);
                return false;
            }
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    uint64_t program_count = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t counts[4] = {0};
    for (uint64_t i = 0; i < program_count; i++) {
        random_state = (seed + i) * 0x9E3779B97F4A7C15u;
        struct explore_model model = {
            .setup = setup, .check = check, .timeouts_max = (seed + i) % 2};
        unsigned threads = make_program();
        for (unsigned k = 0; k < threads; k++) {
            model.threads[k] = thread;
        }
        if (!agree(&model, counts)) {
            print_program(threads);
            printf("repeat it: %s 1 %" PRIu64 "\n", argv[0], seed + i);
            return 1;
        }
    }
    printf("reduction_check: %" PRIu64 " random programs, %" PRIu64
           " outcomes; executions: %" PRIu64 " without, %" PRIu64 " with sleep sets, %" PRIu64
           " with source sets\n",
           program_count, counts[3], counts[2], counts[1], counts[0]);
    return 0;
}
