/* SPDX-License-Identifier: Apache-2.0 */

/* Threads of the simulated machine, and one execution of a model after another.
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
 * that it repeats an earlier one, or with a failure, which ends the search too. Failures leave by
 * siglongjmp from wherever they happen, signal handlers included, since the fibers are begun anew
 * anyway.
 *
 * I1  A thread's step is taken only while the thread is enabled.       (machine_step)
 * I2  An execution that nobody can continue has finished, or it is a deadlock. (machine_schedule)
 */

#define _GNU_SOURCE
#include "port/explore/machine.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { OUTCOMES_MAX = 1 << 16, SIGNAL_STACK_SIZE = 64 * 1024, HANG_SECONDS = 3 };

enum machine_end { END_COMPLETE, END_PRUNED };

struct machine machine;

static struct fiber controller;
static sigjmp_buf failure_exit;
static enum machine_end end_of_execution;
static struct explore_result *result;
static const struct explore_config *config;
static uint64_t outcomes[OUTCOMES_MAX];
static uint64_t steps_seen;
static unsigned seconds_without_step;

_Noreturn void machine_fail(enum explore_failure failure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->message, sizeof result->message, format, arguments);
    va_end(arguments);
    result->failure = failure;
    siglongjmp(failure_exit, 1);
}

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
        if (thread->reads[i].version != thread->reads[i].word->version) {
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
    const struct machine_thread *thread = &machine.threads[process];
    bool is_foreign_write = is_write && by != machine_buffer_of(process);
    switch (thread->op.kind) {
    case MACHINE_LOAD:
        return is_foreign_write && thread->op.word == word && !memory_is_buffered(thread, word);
    case MACHINE_STORE:
    case MACHINE_INIT:
        return machine.memory == EXPLORE_SC && thread->op.word == word;
    case MACHINE_RMW:
    case MACHINE_CAS:
        return thread->op.word == word;
    case MACHINE_WAIT:
        return is_write && (thread->op.word == word || thread->op.queue == word);
    case MACHINE_WAKE:
        return thread->op.queue == word;
    case MACHINE_SPIN:
        for (unsigned i = 0; i < thread->read_count; i++) {
            if (is_foreign_write && thread->reads[i].word == word) {
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

static void machine_spin(unsigned self)
{
    struct machine_thread *thread = &machine.threads[self];
    search_event_begin(self);
    for (unsigned i = 0; i < thread->read_count; i++) {
        search_event_read(thread->reads[i].word);
    }
    search_event_end();
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
    /* Also of a wait that does not sleep: put before the write that kept it awake, it would, and the
     * search takes a step's words to be the same wherever it stands. */
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
    if (length == 0) {
        end_of_execution = END_COMPLETE;
    } else if (config->is_deadlock_outcome) {
        end_of_execution = END_COMPLETE;
        explore_outcome(UINT64_MAX);
    } else {
        machine_fail(EXPLORE_DEADLOCK, "nobody can run%s", who);
    }
}

/* Takes steps until it is the calling thread's turn, or the execution ends. */
static void machine_schedule(void)
{
    unsigned caller = machine.self;
    for (;;) {
        unsigned enabled = machine_enabled();
        if (enabled == 0) {
            machine_stuck();
            break;
        }
        int picked = search_pick(enabled, machine.current);
        machine.steps++;
        if (picked == SEARCH_PRUNED) {
            end_of_execution = END_PRUNED;
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
static uint64_t machine_point(struct machine_op op)
{
    struct machine_thread *thread = &machine.threads[machine.self];
    thread->op = op;
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

/* Whether the caller is a thread of the model, not its setup or check. */
static bool machine_is_thread(void)
{
    return machine.self != SEARCH_NOBODY;
}

uint64_t explore_load(const struct explore_access *access)
{
    struct machine_word *word = memory_word(access->address, access->size);
    if (!machine_is_thread()) {
        return memory_value(word);
    }
    return machine_point((struct machine_op){
        .kind = MACHINE_LOAD, .order = access->order, .word = word, .site = access->site});
}

static void machine_store(const struct explore_access *access, enum machine_op_kind kind,
                          uint64_t value)
{
    struct machine_word *word = memory_word(access->address, access->size);
    if (!machine_is_thread()) {
        memory_set(word, value);
        return;
    }
    machine_point((struct machine_op){
        .kind = kind, .order = access->order, .word = word, .value = value, .site = access->site});
}

void explore_store(const struct explore_access *access, uint64_t value)
{
    machine_store(access, MACHINE_STORE, value);
}

void explore_init(const struct explore_access *access, uint64_t value)
{
    machine_store(access, MACHINE_INIT, value);
}

uint64_t explore_rmw(const struct explore_access *access, enum explore_rmw kind, uint64_t operand)
{
    struct machine_word *word = memory_word(access->address, access->size);
    if (!machine_is_thread()) {
        uint64_t old = memory_value(word);
        memory_set(word, memory_rmw_value(kind, old, operand));
        return old;
    }
    return machine_point((struct machine_op){.kind = MACHINE_RMW,
                                             .order = access->order,
                                             .rmw = kind,
                                             .word = word,
                                             .value = operand,
                                             .site = access->site});
}

bool explore_cas(const struct explore_access *access, uint64_t *expected, uint64_t desired)
{
    struct machine_word *word = memory_word(access->address, access->size);
    uint64_t old;
    if (machine_is_thread()) {
        old = machine_point((struct machine_op){.kind = MACHINE_CAS,
                                                .order = access->order,
                                                .word = word,
                                                .value = desired,
                                                .expected = *expected,
                                                .site = access->site});
    } else {
        old = memory_value(word);
        memory_set(word, old == *expected ? desired : old);
    }
    bool won = old == *expected;
    *expected = old;
    return won;
}

void explore_fence(const char *site)
{
    if (machine_is_thread()) {
        machine_point((struct machine_op){.kind = MACHINE_FENCE, .site = site});
    }
}

void explore_spin(const char *site)
{
    if (!machine_is_thread()) {
        machine_fail(EXPLORE_DEADLOCK, "spins at %s with no other thread", site);
    }
    machine_point((struct machine_op){.kind = MACHINE_SPIN, .site = site});
}

bool explore_futex_wait(void *word, uint32_t expected, bool may_time_out, const char *site)
{
    if (!machine_is_thread()) {
        machine_fail(EXPLORE_DEADLOCK, "sleeps at %s with no other thread", site);
    }
    return machine_point((struct machine_op){.kind = MACHINE_WAIT,
                                             .word = memory_word(word, sizeof(uint32_t)),
                                             .queue = memory_queue(word),
                                             .expected = expected,
                                             .may_time_out = may_time_out,
                                             .site = site}) != 0;
}

void explore_futex_wake(void *word, uint32_t count, const char *site)
{
    if (machine_is_thread()) {
        machine_point((struct machine_op){.kind = MACHINE_WAKE,
                                          .word = memory_word(word, sizeof(uint32_t)),
                                          .queue = memory_queue(word),
                                          .value = count,
                                          .site = site});
    }
}

static void machine_plain(const void *address, size_t size, const char *site, bool is_write)
{
    if (!machine_is_thread()) {
        return;
    }
    const struct order_thread *order = &machine.threads[machine.self].order;
    struct order_race race = {.site = site};
    machine_trace(machine.self, site, "  %s %zu bytes", is_write ? "writes" : "reads", size);
    if (is_write ? !order_plain_write(order, machine.self, address, size, &race)
                 : !order_plain_read(order, machine.self, address, size, &race)) {
        machine_fail(
            EXPLORE_RACE, "%s by thread %u at %s and %s by thread %u at %s are not ordered",
            race.other_what, race.other_thread, race.other_site, race.what, race.thread, race.site);
    }
}

void explore_plain_read(const void *address, size_t size, const char *site)
{
    machine_plain(address, size, site, false);
}

void explore_plain_write(const void *address, size_t size, const char *site)
{
    machine_plain(address, size, site, true);
}

_Noreturn void explore_assert_failed(const char *condition, const char *site)
{
    machine_fail(EXPLORE_ASSERTION, "%s at %s", condition, site);
}

unsigned explore_self(void)
{
    return machine.self;
}

unsigned explore_choose(unsigned count)
{
    if (!machine.is_running || count == 0 || count > 26) {
        machine_fail(EXPLORE_MISUSE, "explore_choose: before the first step, or more than 26");
    }
    return count > 1 ? search_choose(count) : 0;
}

static uint64_t digest(uint64_t value)
{
    value = (value ^ value >> 31) * 0x7FB5D329728EA185u;
    value = (value ^ value >> 27) * 0x81DADEF4BC2DD44Du;
    return value ^ value >> 33;
}

void explore_outcome(uint64_t value)
{
    static uint8_t is_used[OUTCOMES_MAX];
    if (result->outcome_count == 0) {
        memset(is_used, 0, sizeof is_used);
    }
    unsigned slot = (unsigned)(digest(value) % OUTCOMES_MAX);
    while (is_used[slot]) {
        if (outcomes[slot] == value) {
            return;
        }
        slot = (slot + 1) % OUTCOMES_MAX;
    }
    if (result->outcome_count == OUTCOMES_MAX / 2) {
        machine_fail(EXPLORE_MISUSE, "more than %d outcomes", OUTCOMES_MAX / 2);
    }
    const struct explore_outcomes *declared = &machine.model->outcomes[machine.memory];
    bool is_declared = declared->count == 0;
    for (unsigned i = 0; i < declared->count; i++) {
        is_declared |= declared->values[i] == value;
    }
    if (!is_declared) {
        machine_fail(EXPLORE_OUTCOME, "outcome 0x%" PRIx64 " must not be reachable", value);
    }
    is_used[slot] = 1;
    outcomes[slot] = value;
    result->outcome_count++;
    result->outcome_digest += digest(value ^ 0x5851F42D4C957F2Du);
}

static void machine_begin(void)
{
    memory_execution_begin();
    search_execution_begin();
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
}

static void machine_execute(void)
{
    machine_begin();
    machine.is_running = true;
    machine_schedule();
    machine.is_running = false;
    machine.self = SEARCH_NOBODY;
    if (end_of_execution == END_PRUNED) {
        result->pruned++;
        return;
    }
    result->executions++;
    if (machine.model->check != NULL) {
        machine.model->check();
    }
}

static void on_crash(int number)
{
    snprintf(result->message, sizeof result->message, "signal %d (%s) in thread %u", number,
             number == SIGSEGV ? "a bad address" : "see signal(7)", machine.self);
    result->failure = EXPLORE_CRASH;
    siglongjmp(failure_exit, 1);
}

static void on_second(int number)
{
    (void)number;
    seconds_without_step = steps_seen == machine.steps ? seconds_without_step + 1 : 0;
    steps_seen = machine.steps;
    if (seconds_without_step >= HANG_SECONDS) {
        snprintf(result->message, sizeof result->message, "thread %u takes no step any more",
                 machine.self);
        result->failure = EXPLORE_LIVELOCK;
        siglongjmp(failure_exit, 1);
    }
}

static void machine_guard(void)
{
    static unsigned char stack[SIGNAL_STACK_SIZE];
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
    struct sigaction crash = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &crash, NULL);
    }
    struct sigaction tick = {.sa_handler = on_second,
                             .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART};
    sigaction(SIGVTALRM, &tick, NULL);
    struct itimerval second = {{1, 0}, {1, 0}};
    setitimer(ITIMER_VIRTUAL, &second, NULL);
    seconds_without_step = 0;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void machine_search(void)
{
    do {
        if (config->executions_max != 0 && result->executions >= config->executions_max) {
            result->is_capped = true;
            return;
        }
        machine_execute();
    } while (config->replay == NULL && search_next());
    unsigned declared = machine.model->outcomes[machine.memory].count;
    if (config->replay == NULL && result->outcome_count < declared) {
        result->failure = EXPLORE_OUTCOME;
        snprintf(result->message, sizeof result->message, "%u of %u declared outcomes are reached",
                 result->outcome_count, declared);
    }
}

void explore_run(const struct explore_model *model, const struct explore_config *options,
                 struct explore_result *out)
{
    double start = seconds_now();
    memset(out, 0, sizeof *out);
    result = out;
    config = options;
    machine.model = model;
    machine.memory = options->memory;
    machine.is_tracing = options->replay != NULL && !options->is_silent;
    machine.thread_count = 0;
    while (machine.thread_count < EXPLORE_THREADS_MAX &&
           model->threads[machine.thread_count] != NULL) {
        machine.thread_count++;
    }
    search_configure(options->reduction, options->bound, options->replay);
    machine_guard();
    if (sigsetjmp(failure_exit, 1) == 0) {
        machine_search();
    } else {
        machine.is_running = false;
        machine.self = SEARCH_NOBODY;
        search_schedule(out->schedule);
    }
    out->seconds = seconds_now() - start;
}

const char *explore_failure_name(enum explore_failure failure)
{
    static const char *const texts[] = {"passes",         "assertion failed",
                                        "data race",      "lost wake-up or deadlock",
                                        "livelock",       "crash",
                                        "wrong outcomes", "misuse of the explorer"};
    return texts[failure];
}
