/* SPDX-License-Identifier: Apache-2.0 */

/* Threads of the simulated machine, and who of them takes the next step.
 *
 * Each thread is a fiber. Before a step it says what the step is and calls machine_schedule, which
 * asks the search whose step comes next, takes it on that thread's behalf, and goes on in the
 * thread whose step it was. A thread that goes on itself costs no switch.
 *
 * A thread is enabled unless it waits in a futex, has a locked instruction ahead and stores in its
 * buffer, or spins and nothing that its round read has changed since. Once enabled, no step of
 * another process disables it; the search relies on that.
 *
 * An execution ends when all threads have finished and all buffers are empty, when the search sees
 * that it repeats an earlier one, or with a failure.
 *
 * I1  A thread's step is taken only while the thread is enabled.       (machine_step)
 * I2  An execution that nobody can continue has finished, or it is a deadlock. (machine_schedule)
 */

#include "port/explore/machine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct machine machine;

static struct fiber controller;

void machine_trace(unsigned process, const char *site, const char *format, ...)
{
    if (!machine.is_tracing) {
        return;
    }
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bool is_buffer = process >= EXPLORE_THREADS_MAX;
    printf("  %4" PRIu64 "  %s %u  %-52s %s\n", (uint64_t)machine.steps,
           is_buffer ? "buffer" : "thread", is_buffer ? process - EXPLORE_THREADS_MAX : process,
           text, site);
}

static bool machine_has_news(const struct machine_thread *thread)
{
    for (unsigned i = 0; i < thread->read_count; i++) {
        const struct machine_read *read = &thread->reads[i];
        if (!read->is_own && read->version != read->word->version) {
            return true;
        }
    }
    return false;
}

static bool machine_is_enabled(const struct machine_thread *thread)
{
    if (thread->status != MACHINE_READY) {
        return false;
    }
    switch (thread->op.kind) {
    case MACHINE_RMW:
    case MACHINE_CAS:
    case MACHINE_FENCE:
    case MACHINE_WAIT:
    case MACHINE_WAKE:
        return thread->store_count == 0;
    case MACHINE_SPIN:
        return machine.model->is_spin_free || machine_has_news(thread);
    case MACHINE_LOAD:
    case MACHINE_STORE:
    case MACHINE_INIT:
    case MACHINE_RESUME:
        return true;
    }
    return false;
}

static unsigned machine_enabled(void)
{
    unsigned enabled = 0;
    for (unsigned i = 0; i < machine.thread_count; i++) {
        const struct machine_thread *thread = &machine.threads[i];
        enabled |= machine_is_enabled(thread) ? 1u << i : 0;
        enabled |= thread->store_count > 0 ? 1u << machine_buffer_of(i) : 0;
    }
    return enabled;
}

bool machine_conflicts(unsigned process, const struct machine_word *word, bool is_write,
                       unsigned by)
{
    if (process >= EXPLORE_THREADS_MAX) {
        const struct machine_thread *thread = &machine.threads[process - EXPLORE_THREADS_MAX];
        return thread->stores[thread->store_first].word == word;
    }
    struct machine_thread *thread = &machine.threads[process];
    bool is_foreign_write = is_write && by != machine_buffer_of(process);
    switch (thread->op.kind) {
    case MACHINE_LOAD:
        return is_foreign_write && thread->op.word == word && memory_buffered(thread, word) == NULL;
    case MACHINE_STORE:
    case MACHINE_INIT:
        return machine.memory == EXPLORE_SC && thread->op.word == word;
    case MACHINE_RMW:
        return thread->op.word == word;
    case MACHINE_CAS: /* one that fails only reads */
        return thread->op.word == word && (is_write || memory_value(word) == thread->op.expected);
    case MACHINE_WAIT:
        return is_write && (thread->op.word == word || thread->op.queue == word);
    case MACHINE_WAKE:
        return thread->op.queue == word;
    case MACHINE_SPIN:
        for (unsigned i = 0; i < thread->read_count; i++) {
            if (is_foreign_write && thread->reads[i].word == word && !thread->reads[i].is_own) {
                return true;
            }
        }
        return false;
    case MACHINE_FENCE:
    case MACHINE_RESUME:
        return false;
    }
    return true;
}

/* Another look at all that the round read, as loads would. */
static void machine_spin(unsigned self)
{
    struct machine_thread *thread = &machine.threads[self];
    search_event_begin(self);
    for (unsigned i = 0; i < thread->read_count; i++) {
        if (!thread->reads[i].is_own) {
            search_event_read(thread->reads[i].word);
        }
    }
    unsigned event = search_event_end();
    for (unsigned i = 0; i < thread->read_count; i++) {
        if (thread->reads[i].is_own) {
            memory_buffered(thread, thread->reads[i].word)->read = event;
        }
    }
    thread->read_count = 0;
    machine_trace(self, thread->op.site, "spins on");
}

/* Returns whether the thread goes on at once. */
static bool machine_wait(unsigned self)
{
    enum { SLEEP, SPURIOUS, TIMEOUT };
    struct machine_thread *thread = &machine.threads[self];
    const struct machine_op *op = &thread->op;
    bool sleeps = memory_value(op->word) == op->expected;
    search_event_begin(self);
    search_event_after(search_last(machine_buffer_of(self)));
    search_event_read(op->word);
    /* Also of a wait that does not sleep: put before the write that kept it awake, it would, and
     * the search takes a step's words to be the same wherever it stands. */
    search_event_read(op->queue);
    search_event_end();
    thread->result = true;
    if (!sleeps) {
        machine_trace(self, op->site, "futex_wait %s: not %" PRIu64 ", returns",
                      memory_name(op->word), op->expected);
        return true;
    }
    unsigned ends[3] = {SLEEP};
    unsigned count = 1;
    if (thread->spurious_wakes_left > 0) {
        ends[count++] = SPURIOUS;
    }
    if (op->may_time_out && thread->timeouts_left > 0) {
        ends[count++] = TIMEOUT;
    }
    unsigned end = ends[count > 1 ? search_choose(count) : 0];
    if (end == SLEEP) {
        thread->status = MACHINE_WAITING;
        machine_trace(self, op->site, "futex_wait %s: sleeps", memory_name(op->word));
        return false;
    }
    thread->spurious_wakes_left -= end == SPURIOUS;
    thread->timeouts_left -= end == TIMEOUT;
    thread->result = end == SPURIOUS;
    machine_trace(self, op->site, "futex_wait %s: returns %s", memory_name(op->word),
                  end == SPURIOUS ? "without cause" : "at its deadline");
    return true;
}

static void machine_wake(unsigned self)
{
    const struct machine_op *op = &machine.threads[self].op;
    search_event_begin(self);
    search_event_after(search_last(machine_buffer_of(self)));
    search_event_write(op->queue);
    unsigned event = search_event_end();
    machine_trace(self, op->site, "futex_wake %s", memory_name(op->word));
    for (uint64_t left = op->value; left > 0; left--) {
        unsigned sleepers[EXPLORE_THREADS_MAX];
        unsigned count = 0;
        for (unsigned i = 0; i < machine.thread_count; i++) {
            const struct machine_thread *thread = &machine.threads[i];
            if (thread->status == MACHINE_WAITING && thread->op.word == op->word) {
                sleepers[count++] = i;
            }
        }
        if (count == 0) {
            return;
        }
        unsigned pick = count > left ? search_choose(count) : 0;
        struct machine_thread *woken = &machine.threads[sleepers[pick]];
        woken->status = MACHINE_READY;
        woken->op.kind = MACHINE_RESUME;
        woken->wake_event = event;
    }
}

/* Takes the pending step of a thread; returns whether the thread goes on. */
static bool machine_step(unsigned self)
{
    struct machine_thread *thread = &machine.threads[self];
    if (!machine_is_enabled(thread)) {
        machine_fail(EXPLORE_MISUSE, "the model does not repeat itself");
    }
    switch (thread->op.kind) {
    case MACHINE_LOAD:
        memory_load(self);
        return true;
    case MACHINE_STORE:
    case MACHINE_INIT:
        memory_store(self);
        return true;
    case MACHINE_RMW:
        memory_rmw(self);
        return true;
    case MACHINE_CAS:
        memory_cas(self);
        return true;
    case MACHINE_FENCE:
        memory_fence(self);
        return true;
    case MACHINE_SPIN:
        machine_spin(self);
        return true;
    case MACHINE_WAIT:
        return machine_wait(self);
    case MACHINE_WAKE:
        machine_wake(self);
        return true;
    case MACHINE_RESUME:
        search_event_begin(self);
        search_event_after(thread->wake_event);
        search_event_end();
        machine_trace(self, thread->op.site, "wakes");
        return true;
    }
    return true;
}

static void machine_switch(unsigned to)
{
    struct fiber *from =
        machine.self == SEARCH_NOBODY ? &controller : &machine.threads[machine.self].fiber;
    machine.self = to;
    fiber_switch(from, to == SEARCH_NOBODY ? &controller : &machine.threads[to].fiber);
}

static void machine_stuck(void)
{
    char who[256] = "";
    size_t length = 0;
    for (unsigned i = 0; i < machine.thread_count; i++) {
        const struct machine_thread *thread = &machine.threads[i];
        if (thread->status != MACHINE_FINISHED) {
            int written =
                snprintf(who + length, sizeof who - length, "; thread %u %s at %s", i,
                         thread->status == MACHINE_WAITING ? "sleeps" : "spins", thread->op.site);
            length += written > 0 && (size_t)written < sizeof who - length ? (size_t)written : 0;
        }
    }
    machine.is_stuck = length > 0;
    if (machine.is_stuck && !machine.is_deadlock_outcome) {
        machine_fail(EXPLORE_DEADLOCK, "nobody can run%s", who);
    }
}

/* Takes steps until it is the calling thread's turn, or the execution ends. */
static void machine_schedule(void)
{
    unsigned caller = machine.self;
    for (;;) {
        int picked = search_repeated();
        if (picked == SEARCH_NOT_ENABLED) {
            unsigned enabled = machine_enabled();
            if (enabled == 0) {
                machine_stuck();
                break;
            }
            picked = search_pick(enabled, machine.current);
        }
        machine.steps++;
        if (picked == SEARCH_PRUNED) {
            machine.is_pruned = true;
            break;
        }
        if (picked == SEARCH_TOO_LONG) {
            machine_fail(EXPLORE_LIVELOCK, "more than %u steps", EXPLORE_STEPS_MAX);
        }
        if (picked == SEARCH_NOT_ENABLED) {
            machine_fail(EXPLORE_MISUSE, "step %" PRIu64 " of the schedule cannot be taken",
                         (uint64_t)machine.steps);
        }
        unsigned process = (unsigned)picked;
        if (process >= EXPLORE_THREADS_MAX) {
            memory_flush(process - EXPLORE_THREADS_MAX);
            continue;
        }
        machine.current = process;
        if (machine_step(process)) {
            if (process != caller) {
                machine_switch(process);
            }
            return;
        }
    }
    if (caller != SEARCH_NOBODY) {
        machine_switch(SEARCH_NOBODY);
    }
}

/* A thread announces its next step and returns once the step is taken. */
uint64_t machine_point(const struct machine_op *op)
{
    struct machine_thread *thread = &machine.threads[machine.self];
    thread->op = *op;
    if (machine.is_running) {
        machine_schedule();
    } else {
        machine_switch(SEARCH_NOBODY); /* the first step: all threads come to theirs first */
    }
    return thread->result;
}

static void machine_thread_main(void)
{
    machine.model->threads[machine.self]();
    machine.threads[machine.self].status = MACHINE_FINISHED;
    if (machine.is_running) {
        machine_schedule();
    }
    machine_switch(SEARCH_NOBODY);
}

void machine_execute(void)
{
    memory_execution_begin();
    search_execution_begin();
    machine.is_pruned = false;
    machine.is_stuck = false;
    machine.is_running = false;
    machine.self = SEARCH_NOBODY;
    machine.current = SEARCH_NOBODY;
    machine.steps = machine.is_tracing ? 0 : machine.steps;
    if (machine.model->setup != NULL) {
        machine.model->setup();
    }
    for (unsigned i = 0; i < machine.thread_count; i++) {
        struct machine_thread *thread = &machine.threads[i];
        thread->status = MACHINE_READY;
        thread->spurious_wakes_left = machine.model->spurious_wakes_max;
        thread->timeouts_left = machine.model->timeouts_max;
        thread->store_count = 0;
        thread->read_count = 0;
        order_thread_begin(&thread->order, i);
        fiber_prepare(&thread->fiber, machine_thread_main);
        machine_switch(i); /* as far as its first step */
    }
    machine.is_running = true;
    machine_schedule();
    machine.is_running = false;
    machine.self = SEARCH_NOBODY;
}
