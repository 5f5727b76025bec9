/* SPDX-License-Identifier: Apache-2.0 */

/* Depth-first search over schedules, by running the model again and again from its start.
 *
 * The stack of nodes is the current schedule. A node is either a step, where one of the enabled
 * processes was picked, or a choice, where one of n values was. To visit the next schedule the
 * model is run again: it repeats the nodes up to the deepest one that has an untried alternative
 * (`frontier`), takes that, and goes on with new nodes.
 *
 * Most schedules differ only in the order of steps that do not touch each other. Two steps are
 * dependent if they belong to one process, or touch one word of memory and one of them writes it.
 * Schedules that agree in the order of all dependent steps are one class and end alike. The
 * reduction visits one schedule per class:
 *
 *   Source sets. A node begins with one process to try. Each event has a vector clock over
 *   processes that says which earlier events it depends on, directly or through others. When a new
 *   event depends directly on an earlier one of another process, with nothing in between, the two
 *   race, and the other order must be tried too: the node of the earlier event gets a process that
 *   begins a run in which the later event comes first (search_reverse).
 *
 *   Sleep sets. What was tried at a node and is independent of the step taken since needs not be
 *   tried again below: it sleeps until a dependent step wakes it. If all that is enabled sleeps,
 *   the execution repeats an earlier one and is given up.
 *
 * With store buffers, a thread reading its own store is ordered neither against the step that
 * moves that store to memory nor against what other threads wrote before it, wherever it finds the
 * value; it is ordered before the next write that overwrites the store. The machine reports its
 * accesses accordingly (memory.c).
 *
 * A preemption bound cuts schedules in a way that knows nothing of classes, so with a bound there
 * is no reduction.
 *
 * I1  A picked process is enabled.                                  (search_pick)
 * I2  The clock of an event covers itself and is never behind that of its process's last event.
 *                                                                   (search_event_end)
 * I3  With and without reduction the set of outcomes is the same.   (test/model/reduction_check.c)
 */

#define _GNU_SOURCE
#include "port/explore/search.h"

#include <assert.h>
#include <string.h>

#include "port/explore/machine.h"

enum { CANDIDATES_MAX = 64, TOUCHED_MAX = 32 };

struct search_node {
    uint16_t enabled;   /* processes that could take this step */
    uint16_t sleep;     /* those that need not: tried elsewhere with the same effect */
    uint16_t backtrack; /* those to try */
    uint16_t done;      /* those tried before `picked` */
    uint8_t is_choice;
    uint8_t picked; /* the process, or the value of a choice */
    uint8_t count;  /* of a choice */
    uint8_t preemptions;
    uint8_t current; /* the thread that was running */
    /* Of the event: by process, the last event it depends on. */
    uint16_t clock[SEARCH_PROCESSES_MAX];
};

struct search_touch {
    struct machine_word *word;
    bool is_write;
};

static struct {
    enum explore_reduction reduction;
    int preemptions_max; /* -1: no bound */
    const char *replay;

    struct search_node nodes[EXPLORE_STEPS_MAX];
    unsigned depth;    /* nodes in the stack */
    unsigned position; /* the next node of this execution */
    unsigned frontier; /* the first node that is not a repetition */
    unsigned last[SEARCH_PROCESSES_MAX];

    /* The event being described, or the last one. */
    unsigned event; /* its number */
    unsigned process;
    unsigned candidates[CANDIDATES_MAX]; /* events it directly depends on */
    unsigned candidate_count;
    uint16_t base[SEARCH_PROCESSES_MAX]; /* what it could not have come before */
    struct search_touch touched[TOUCHED_MAX];
    unsigned touched_count;
} search;

void search_configure(enum explore_reduction reduction, unsigned bound, const char *replay)
{
    search.reduction = bound != 0 || replay != NULL ? EXPLORE_REDUCE_NONE : reduction;
    search.preemptions_max = (int)bound - 1;
    search.replay = replay;
    search.depth = 0;
    search.frontier = 0;
}

void search_execution_begin(void)
{
    search.position = 0;
    search.event = 0;
    search.touched_count = 0;
    memset(search.last, 0, sizeof search.last);
}

/* Who still sleeps after the last event, of those who slept or were tried at its node. */
static uint16_t search_sleepers(void)
{
    if (search.reduction == EXPLORE_REDUCE_NONE || search.event == 0) {
        return 0;
    }
    const struct search_node *node = &search.nodes[search.event - 1];
    unsigned sleep = (node->sleep | node->done) & ~(1u << node->picked);
    unsigned kept = 0;
    for (unsigned rest = sleep; rest != 0; rest &= rest - 1) {
        unsigned process = (unsigned)__builtin_ctz(rest);
        bool is_independent = true;
        for (unsigned i = 0; i < search.touched_count && is_independent; i++) {
            is_independent = !machine_conflicts(process, search.touched[i].word,
                                                search.touched[i].is_write, node->picked);
        }
        kept |= is_independent ? 1u << process : 0;
    }
    return (uint16_t)kept;
}

/* What the preemption bound leaves of the enabled processes. */
static unsigned search_within_bound(const struct search_node *node, unsigned enabled)
{
    unsigned threads = (1u << EXPLORE_THREADS_MAX) - 1;
    bool can_go_on = node->current != SEARCH_NOBODY && (enabled & 1u << node->current) != 0;
    if (search.preemptions_max >= 0 && can_go_on && node->preemptions >= search.preemptions_max) {
        return enabled & (~threads | 1u << node->current);
    }
    return enabled;
}

static unsigned search_preemptions_after(const struct search_node *node)
{
    bool is_preemption = !node->is_choice && node->current != SEARCH_NOBODY &&
                         node->picked != node->current && node->picked < EXPLORE_THREADS_MAX &&
                         (node->enabled & 1u << node->current) != 0;
    return node->preemptions + (is_preemption ? 1u : 0u);
}

static int search_replayed(unsigned position)
{
    if (search.replay == NULL || strlen(search.replay) <= position) {
        return -1;
    }
    char c = search.replay[position];
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'z' ? EXPLORE_THREADS_MAX + (c - 'a') : c - 'A';
}

static unsigned search_first(unsigned options, unsigned current)
{
    if (current != SEARCH_NOBODY && (options & 1u << current) != 0) {
        return current;
    }
    return (unsigned)__builtin_ctz(options);
}

static struct search_node *search_push(void)
{
    struct search_node *node = &search.nodes[search.depth];
    memset(node, 0, offsetof(struct search_node, clock));
    if (search.depth > 0) {
        node->preemptions = (uint8_t)search_preemptions_after(node - 1);
    }
    search.depth++;
    return node;
}

int search_repeated(void)
{
    if (search.position < search.depth) {
        return search.nodes[search.position++].picked;
    }
    return SEARCH_NOT_ENABLED;
}

int search_pick(unsigned enabled, unsigned current)
{
    unsigned position = search.position++;
    if (position >= EXPLORE_STEPS_MAX) {
        return SEARCH_TOO_LONG;
    }
    uint16_t sleep = search_sleepers();
    struct search_node *node = search_push();
    node->current = (uint8_t)current;
    node->enabled = (uint16_t)enabled;
    node->sleep = sleep;
    unsigned options = search_within_bound(node, enabled) & ~(unsigned)sleep;
    if (options == 0) {
        search.depth--;
        return SEARCH_PRUNED;
    }
    int replayed = search_replayed(position);
    if (replayed >= SEARCH_PROCESSES_MAX ||
        (replayed >= 0 && (enabled & 1u << (unsigned)replayed) == 0)) {
        search.depth--;
        return SEARCH_NOT_ENABLED;
    }
    node->picked = (uint8_t)(replayed >= 0 ? (unsigned)replayed : search_first(options, current));
    node->backtrack =
        (uint16_t)(search.reduction == EXPLORE_REDUCE_DPOR ? 1u << node->picked : options);
    return node->picked;
}

unsigned search_choose(unsigned count)
{
    unsigned position = search.position++;
    if (position < search.depth) {
        return search.nodes[position].picked;
    }
    if (position >= EXPLORE_STEPS_MAX) {
        search.position--; /* the next pick says that the execution is too long */
        return 0;
    }
    struct search_node *node = search_push();
    int replayed = search_replayed(position);
    node->is_choice = 1;
    node->count = (uint8_t)count;
    node->picked = (uint8_t)(replayed >= 0 && replayed < (int)count ? replayed : 0);
    return node->picked;
}

void search_event_begin(unsigned process)
{
    search.event = search.position;
    search.process = process;
    search.candidate_count = 0;
    search.touched_count = 0;
    if (search.event > search.frontier) {
        unsigned last = search.last[process];
        if (last != 0) {
            memcpy(search.base, search.nodes[last - 1].clock, sizeof search.base);
        } else {
            memset(search.base, 0, sizeof search.base);
        }
    }
}

static void clock_join(uint16_t *clock, unsigned event)
{
    const uint16_t *other = search.nodes[event - 1].clock;
    for (unsigned i = 0; i < SEARCH_PROCESSES_MAX; i++) {
        clock[i] = clock[i] < other[i] ? other[i] : clock[i];
    }
}

/* Whether `clock` covers the event: it, or something that depends on it, comes before. */
static bool clock_covers(const uint16_t *clock, unsigned event)
{
    return clock[search.nodes[event - 1].picked] >= event;
}

void search_event_after(unsigned event)
{
    if (event != 0 && search.event > search.frontier) {
        clock_join(search.base, event);
    }
}

static void search_candidate(unsigned event)
{
    if (event != 0 && search.event > search.frontier) {
        assert(search.candidate_count < CANDIDATES_MAX);
        search.candidates[search.candidate_count++] = event;
    }
}

static void search_touch(struct machine_word *word, bool is_write)
{
    assert(search.touched_count < TOUCHED_MAX);
    search.touched[search.touched_count++] = (struct search_touch){word, is_write};
}

void search_event_read(struct machine_word *word)
{
    struct search_word *seen = machine_search_word(word);
    /* The thread's own store, moved to memory, orders nothing: see the head of the file. */
    bool is_own = seen->write != 0 && search.process < EXPLORE_THREADS_MAX &&
                  search.nodes[seen->write - 1].picked == search.process + EXPLORE_THREADS_MAX;
    if (!is_own) {
        search_candidate(seen->write);
    }
    seen->reads[search.process] = search.event;
    search_touch(word, false);
}

void search_event_write(struct machine_word *word)
{
    struct search_word *seen = machine_search_word(word);
    search_candidate(seen->write);
    for (unsigned i = 0; i < EXPLORE_THREADS_MAX; i++) {
        search_candidate(seen->reads[i]);
        seen->reads[i] = 0;
    }
    seen->write = search.event;
    search_touch(word, true);
}

/* Makes the search try the later event of a race before the earlier one: adds to the earlier one's
 * node a process that can begin the steps which do not depend on it and lead to the later one. */
static void search_reverse(unsigned earlier, unsigned later)
{
    struct search_node *node = &search.nodes[earlier - 1];
    unsigned first[SEARCH_PROCESSES_MAX] = {0};
    unsigned seen = 0;
    unsigned initials = 0;
    for (unsigned event = earlier + 1; event <= later; event++) {
        const struct search_node *step = &search.nodes[event - 1];
        if (step->is_choice || (event != later && clock_covers(step->clock, earlier))) {
            continue;
        }
        if ((seen & 1u << step->picked) != 0) {
            continue;
        }
        bool is_initial = true;
        for (unsigned rest = seen; rest != 0 && is_initial; rest &= rest - 1) {
            unsigned process = (unsigned)__builtin_ctz(rest);
            is_initial = step->clock[process] < first[process];
        }
        seen |= 1u << step->picked;
        first[step->picked] = event;
        initials |= is_initial ? 1u << step->picked : 0;
    }
    if ((initials & (node->backtrack | node->sleep)) != 0) {
        return;
    }
    initials &= node->enabled;
    /* A spinning thread may need the very write it races with; then anybody else may go first. */
    node->backtrack =
        (uint16_t)(node->backtrack | (initials != 0 ? initials & (~initials + 1) : node->enabled));
}

unsigned search_event_end(void)
{
    unsigned event = search.event;
    search.last[search.process] = event;
    if (event <= search.frontier) {
        return event;
    }
    bool races[CANDIDATES_MAX];
    for (unsigned i = 0; i < search.candidate_count; i++) {
        unsigned earlier = search.candidates[i];
        races[i] = !clock_covers(search.base, earlier);
        for (unsigned k = 0; k < search.candidate_count && races[i]; k++) {
            unsigned other = search.candidates[k];
            races[i] = other == earlier || !clock_covers(search.nodes[other - 1].clock, earlier);
        }
    }
    struct search_node *node = &search.nodes[event - 1];
    memcpy(node->clock, search.base, sizeof node->clock);
    for (unsigned i = 0; i < search.candidate_count; i++) {
        clock_join(node->clock, search.candidates[i]);
    }
    assert(node->clock[search.process] < event);
    node->clock[search.process] = (uint16_t)event;
    if (search.reduction == EXPLORE_REDUCE_DPOR) {
        for (unsigned i = 0; i < search.candidate_count; i++) {
            if (races[i]) {
                search_reverse(search.candidates[i], event);
            }
        }
    }
    return event;
}

unsigned search_last(unsigned process)
{
    return search.last[process];
}

bool search_next(void)
{
    while (search.depth > 0) {
        struct search_node *node = &search.nodes[search.depth - 1];
        search.frontier = search.depth - 1;
        if (node->is_choice) {
            if (++node->picked < node->count) {
                return true;
            }
        } else {
            node->done = (uint16_t)(node->done | 1u << node->picked);
            unsigned rest = node->backtrack & ~(unsigned)(node->done | node->sleep);
            if (rest != 0) {
                node->picked = (uint8_t)__builtin_ctz(rest);
                return true;
            }
        }
        search.depth--;
    }
    return false;
}

uint64_t search_class(void)
{
    static unsigned ordinals[EXPLORE_STEPS_MAX + 1]; /* of an event among those of its process */
    unsigned counts[SEARCH_PROCESSES_MAX] = {0};
    uint64_t sum = 0;
    unsigned owner = 0;
    for (unsigned event = 1; event <= search.depth; event++) {
        const struct search_node *node = &search.nodes[event - 1];
        uint64_t digest = node->picked + 1u;
        if (node->is_choice) {
            /* A choice belongs to the step before it. */
            digest = (digest * 1000003 + owner) * 1000003 + counts[owner];
        } else {
            owner = node->picked;
            ordinals[event] = ++counts[owner];
            for (unsigned i = 0; i < SEARCH_PROCESSES_MAX; i++) {
                digest = (digest * 1000003 + ordinals[node->clock[i]]) ^ digest >> 29;
            }
        }
        digest = (digest ^ digest >> 32) * 0x9E3779B97F4A7C15u;
        digest = (digest ^ digest >> 29) * 0xBF58476D1CE4E5B9u;
        sum += digest ^ digest >> 32; /* in whatever order they ran */
    }
    return sum;
}

void search_schedule(char *text)
{
    for (unsigned i = 0; i < search.depth; i++) {
        const struct search_node *node = &search.nodes[i];
        if (node->is_choice) {
            *text++ = (char)('A' + node->picked);
        } else if (node->picked < EXPLORE_THREADS_MAX) {
            *text++ = (char)('0' + node->picked);
        } else {
            *text++ = (char)('a' + node->picked - EXPLORE_THREADS_MAX);
        }
    }
    *text = '\0';
}
