/* SPDX-License-Identifier: Apache-2.0 */

/* One execution of a model after another, until the search has no schedule left or one fails.
 *
 * Failures leave by siglongjmp from wherever they happen, signal handlers included, since the
 * fibers are begun anew anyway. A timer that counts the process's own time notices code under test
 * that loops without a step. */

#define _GNU_SOURCE
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "port/explore/machine.h"

enum { OUTCOMES_MAX = 1 << 16, SIGNAL_STACK_SIZE = 64 * 1024, HANG_TICKS = 3, TICK_USEC = 200000 };

static sigjmp_buf failure_exit;
static struct explore_result *result;
static const struct explore_config *config;
static uint64_t outcomes[OUTCOMES_MAX];
static uint64_t steps_seen;
static unsigned ticks_without_step;

_Noreturn void machine_fail(enum explore_failure failure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->message, sizeof result->message, format, arguments);
    va_end(arguments);
    result->failure = failure;
    siglongjmp(failure_exit, 1);
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

static void run_execution(void)
{
    machine_execute();
    if (machine.is_pruned) {
        result->pruned++;
        return;
    }
    result->executions++;
    if (config->is_class_outcome) {
        explore_outcome(search_class());
        return;
    }
    if (machine.is_stuck) {
        explore_outcome(UINT64_MAX);
    }
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

static void on_tick(int number)
{
    (void)number;
    ticks_without_step = steps_seen == machine.steps ? ticks_without_step + 1 : 0;
    steps_seen = machine.steps;
    if (ticks_without_step >= HANG_TICKS) {
        snprintf(result->message, sizeof result->message, "thread %u takes no step any more",
                 machine.self);
        result->failure = EXPLORE_LIVELOCK;
        siglongjmp(failure_exit, 1);
    }
}

static void run_guard(void)
{
    static unsigned char stack[SIGNAL_STACK_SIZE];
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
    struct sigaction crash = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &crash, NULL);
    }
    struct sigaction tick = {.sa_handler = on_tick,
                             .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART};
    sigaction(SIGVTALRM, &tick, NULL);
    struct itimerval period = {{0, TICK_USEC}, {0, TICK_USEC}};
    setitimer(ITIMER_VIRTUAL, &period, NULL);
    ticks_without_step = 0;
}

/* The process's own time, which a busy machine does not change. */
static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run_search(void)
{
    do {
        if (config->executions_max != 0 && result->executions >= config->executions_max) {
            result->is_capped = true;
            return;
        }
        run_execution();
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
    machine.is_deadlock_outcome = options->is_deadlock_outcome;
    machine.is_tracing = options->replay != NULL && !options->is_silent;
    machine.thread_count = 0;
    while (machine.thread_count < EXPLORE_THREADS_MAX &&
           model->threads[machine.thread_count] != NULL) {
        machine.thread_count++;
    }
    search_configure(options->reduction, options->bound, options->replay);
    run_guard();
    if (sigsetjmp(failure_exit, 1) == 0) {
        run_search();
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
