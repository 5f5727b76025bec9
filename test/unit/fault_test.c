/* SPDX-License-Identifier: Apache-2.0 */
/* Faults on the real machine: with containment the actor ends alone, without it the process does,
 * and what is not an actor's goes where it would have gone without us. */
#define _GNU_SOURCE
#define RTI_MODULE "fault_test"
#include "sched/fault.h"

#include <errno.h>
#include <orrery/rt.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/linux/fault.h"
#include "runtime/runtime.h"
#include "support/actors.h"
#include "support/test.h"

/* The ways to fault, each a function of an actor. */

/* An address that nobody has: the first page, and something the compiler cannot see through. */
static volatile uintptr_t bad_address = 16;

static void reads_nowhere(void *arg)
{
    (void)arg;
    (void)*(volatile int *)bad_address;
    rt_exit();
}

static void writes_nowhere(void *arg)
{
    (void)arg;
    *(volatile int *)bad_address = 1;
    rt_exit();
}

static void writes_to_its_code(void *arg)
{
    (void)arg;
    *(volatile char *)(uintptr_t)reads_nowhere = 1;
    rt_exit();
}

static void calls_nothing(void *arg)
{
    (void)arg;
    void (*volatile nothing)(void) = NULL;
    nothing();
    rt_exit();
}

static void hands_nothing_to_the_c_library(void *arg)
{
    (void)arg;
    volatile size_t length = strlen((const char *)bad_address);
    (void)length;
    rt_exit();
}

static void runs_what_is_no_instruction(void *arg)
{
    (void)arg;
#if defined(__x86_64__)
    __asm__ volatile("ud2");
#else
    __asm__ volatile(".inst 0");
#endif
    rt_exit();
}

#if defined(__x86_64__)
static void divides_by_zero(void *arg)
{
    (void)arg;
    /* In assembly: a compiler that watches over undefined behaviour would be first. */
    __asm__ volatile("xorl %%ecx, %%ecx; movl $1, %%eax; cltd; idivl %%ecx"
                     :
                     :
                     : "eax", "ecx", "edx", "cc");
    rt_exit();
}

/* As feenableexcept(FE_DIVBYZERO), without the library that has it. */
static void trap_division(void)
{
    uint16_t x87;
    uint32_t mxcsr;
    __asm__ volatile("fnstcw %0; stmxcsr %1" : "=m"(x87), "=m"(mxcsr));
    x87 = (uint16_t)(x87 & ~4U);
    mxcsr &= ~(4U << 7);
    __asm__ volatile("fldcw %0; ldmxcsr %1" : : "m"(x87), "m"(mxcsr));
}

static bool is_division_trapped(void)
{
    uint16_t x87;
    uint32_t mxcsr;
    __asm__ volatile("fnstcw %0; stmxcsr %1" : "=m"(x87), "=m"(mxcsr));
    return (x87 & 4U) == 0 || (mxcsr & 4U << 7) == 0;
}

static void traps_a_floating_point_exception(void *arg)
{
    (void)arg;
    trap_division();
    volatile double zero = 0;
    volatile double result = 1 / zero;
    (void)result;
    rt_exit();
}

static void traps_an_x87_exception(void *arg)
{
    (void)arg;
    trap_division();
    volatile long double zero = 0;
    volatile long double result = 1 / zero;
    volatile long double more = result + 1; /* it is told with the next one */
    (void)more;
    rt_exit();
}

static void leaves_the_x87_stack_full(void *arg)
{
    (void)arg;
    __asm__ volatile("fld1; fld1; fld1; fld1; fld1; fld1; fld1; fld1; std");
    *(volatile int *)bad_address = 1;
    rt_exit();
}
#endif

static void reads_behind_the_end_of_a_file(void *arg)
{
    (void)arg;
    long page = sysconf(_SC_PAGESIZE);
    int fd = memfd_create("fault_test", 0);
    CHECK(fd >= 0);
    char *memory = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED);
    close(fd);
    (void)*(volatile char *)memory;
    rt_exit();
}

/* Who watches. */

static actor_fn victim;
static int victims = 1;
static int told;
static rt_exit_reason reason;

static void watcher(void *arg)
{
    (void)arg;
    for (int i = 0; i < victims; i++) {
        uint32_t ref;
        rt_message msg;
        rt_exit_msg end;
        actor_id id = rt_spawn(victim, NULL);
        CHECK(id != ACTOR_ID_INVALID);
        CHECK_OK(rt_monitor(id, &ref));
        CHECK_OK(rt_ipc_recv(&msg, -1));
        CHECK_OK(rt_decode_exit(&msg, &end));
        CHECK_EQ(end.actor, id);
        CHECK(!rt_actor_alive(id));
        reason = end.reason;
        told++;
    }
    rt_exit();
}

/* Somebody who only wants to go on. */
static int steps;

static void bystander(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        steps++;
        rt_yield();
    }
    rt_exit();
}

static void run_victim(actor_fn fn)
{
    victim = fn;
    CHECK(rt_spawn(bystander, NULL) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(watcher, NULL) != ACTOR_ID_INVALID);
    rt_run();
}

static void contain(actor_fn fn)
{
    CHECK_OK(rt_init());
    CHECK_OK(rt_contain_faults(true));
    run_victim(fn);
    CHECK_EQ(told, victims);
    CHECK_EQ(reason, RT_EXIT_CRASH);
    CHECK_EQ(steps, 50);
    CHECK_EQ(rti_actors_count(&rti_runtime.actors), 0);
    rti_actors_audit(&rti_runtime.actors);
    rt_cleanup();
}

/* Runs `body` in a child, and gives how it ended and what it said. */
static int child_status;

static const char *in_child(void (*body)(void))
{
    static char text[4096];
    int fds[2];
    CHECK(pipe(fds) == 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        body();
        _exit(0);
    }
    close(fds[1]);
    size_t length = 0;
    ssize_t got;
    while (length < sizeof(text) - 1 &&
           (got = read(fds[0], text + length, sizeof(text) - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    /* An emulator has its own last words. */
    char *emulator = strstr(text, "qemu: ");
    if (emulator != NULL) {
        *emulator = '\0';
    }
    close(fds[0]);
    CHECK(waitpid(child, &child_status, 0) == child);
    return text;
}

static bool died_of(int signal)
{
    return WIFSIGNALED(child_status) && WTERMSIG(child_status) == signal;
}

/* The sanitizers have handlers of their own, and chain is what we do. */
static void skip_where_faults_are_the_tools(void)
{
    if (RTI_ASAN || RTI_TSAN) {
        test_skip("the sanitizer's own handler takes what is passed on");
    }
}

/* Contained. */

TEST(fault_by_reading_memory_that_is_not_there_is_contained)
{
    contain(reads_nowhere);
}

TEST(fault_by_writing_memory_that_is_not_there_is_contained)
{
    contain(writes_nowhere);
}

TEST(fault_by_writing_memory_that_is_read_only_is_contained)
{
    contain(writes_to_its_code);
}

TEST(fault_by_a_call_through_a_null_pointer_is_contained)
{
    contain(calls_nothing);
}

TEST(fault_in_the_c_library_is_contained)
{
    contain(hands_nothing_to_the_c_library);
}

TEST(fault_by_an_illegal_instruction_is_contained)
{
    contain(runs_what_is_no_instruction);
}

TEST(fault_behind_the_end_of_a_mapped_file_is_contained)
{
    contain(reads_behind_the_end_of_a_file);
}

TEST(fault_by_dividing_by_zero_is_contained)
{
#if defined(__x86_64__)
    contain(divides_by_zero);
#else
    test_skip("a division by zero does not trap on this processor");
#endif
}

static void computes(void *arg)
{
    (void)arg;
    volatile double zero = 0;
    volatile long double long_zero = 0;
    volatile long double sum = 0;
    /* Not trapped here: the controls are this actor's own. */
    CHECK(1 / zero > 1 && 1 / long_zero > 1);
    for (int i = 1; i <= 10; i++) {
        sum += (long double)i * 3;
        rt_yield();
    }
    CHECK(sum == 165);
    rt_exit();
}

static void contain_beside_a_computation(actor_fn fn)
{
    CHECK_OK(rt_init());
    CHECK_OK(rt_contain_faults(true));
    victim = fn;
    victims = 3;
    CHECK(rt_spawn(computes, NULL) != ACTOR_ID_INVALID);
    CHECK(rt_spawn(watcher, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(told, 3);
    CHECK(rt_spawn(computes, NULL) != ACTOR_ID_INVALID);
    rt_run();
    rt_cleanup();
}

TEST(fault_leaves_the_floating_point_units_as_others_need_them)
{
#if defined(__x86_64__)
    static const actor_fn fns[] = {traps_a_floating_point_exception, traps_an_x87_exception,
                                   leaves_the_x87_stack_full};
    for (size_t i = 0; i < RTI_COUNT_OF(fns); i++) {
        told = 0;
        contain_beside_a_computation(fns[i]);
        CHECK(!is_division_trapped());
    }
#else
    contain_beside_a_computation(writes_nowhere);
#endif
}

TEST(fault_a_thousand_times_leaks_nothing)
{
    victims = 1000;
    contain(writes_nowhere);
}

static void line_of_a_contained_fault(void)
{
    contain(writes_nowhere);
}

TEST(fault_that_is_contained_is_logged_with_actor_and_signal)
{
    const char *said = actors_capture(line_of_a_contained_fault);
    CHECK(strstr(said, "orrery: Actor ") != NULL);
    CHECK(strstr(said, " ended by SIGSEGV\n") != NULL);
}

static bool filter_faults(const rt_message *msg, void *arg)
{
    (void)msg;
    (void)arg;
    *(volatile int *)bad_address = 1;
    return true;
}

static void faults_in_a_filter(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_ipc_filter filter = {.sender = ACTOR_ID_INVALID, .match = filter_faults};
    CHECK_OK(rt_ipc_send(rt_self(), "1", 1, IPC_ASYNC));
    (void)rt_ipc_recv_match(&filter, &msg, -1);
    rt_exit();
}

TEST(fault_in_a_filter_is_contained)
{
    contain(faults_in_a_filter);
}

static rt_status_code call_result;
static actor_id callee;

static void faults_with_a_call_in_hand(void *arg)
{
    (void)arg;
    rt_message msg;
    CHECK_OK(rt_ipc_recv(&msg, -1));
    *(volatile int *)bad_address = 1;
    rt_exit();
}

static void calls_it(void *arg)
{
    (void)arg;
    rt_message reply;
    call_result = rt_call(callee, "?", 1, &reply, -1).code;
    rt_exit();
}

TEST(fault_of_the_callee_ends_a_call_with_closed)
{
    CHECK_OK(rt_init());
    CHECK_OK(rt_contain_faults(true));
    callee = rt_spawn(faults_with_a_call_in_hand, NULL);
    CHECK(rt_spawn(calls_it, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(call_result, RT_ERR_CLOSED);
    rt_cleanup();
}

/* Not contained. */

static void not_contained(void)
{
    CHECK_OK(rt_init());
    run_victim(writes_nowhere);
}

static void not_contained_illegal(void)
{
    CHECK_OK(rt_init());
    run_victim(runs_what_is_no_instruction);
}

TEST(fault_ends_the_process_by_default_with_one_line_that_names_the_actor)
{
    skip_where_faults_are_the_tools();
    const char *said = in_child(not_contained);
    CHECK(died_of(SIGSEGV));
    CHECK(strstr(said, "orrery: Actor ") != NULL && strstr(said, ": SIGSEGV: ") != NULL);
    CHECK(strchr(said, '\n') == said + strlen(said) - 1);
    said = in_child(not_contained_illegal);
    CHECK(died_of(SIGILL));
    CHECK(strstr(said, ": SIGILL: ") != NULL);
}

static void contained_once_and_never_again(void)
{
    contain(writes_nowhere);
    not_contained();
}

static void contained_and_then_switched_off(void)
{
    CHECK_OK(rt_init());
    CHECK_OK(rt_contain_faults(true));
    CHECK_OK(rt_contain_faults(false));
    run_victim(writes_nowhere);
}

TEST(fault_containment_is_off_after_each_init_and_when_switched_off)
{
    skip_where_faults_are_the_tools();
    (void)in_child(contained_once_and_never_again);
    CHECK(died_of(SIGSEGV));
    (void)in_child(contained_and_then_switched_off);
    CHECK(died_of(SIGSEGV));
}

static void sends_from_nowhere(void *arg)
{
    (void)arg;
    /* Long enough that the C library copies it. */
    (void)rt_ipc_send(rt_self(), (const void *)bad_address, 200, IPC_ASYNC);
    rt_exit();
}

static void receives_to_nowhere(void *arg)
{
    (void)arg;
    CHECK_OK(rt_ipc_send(rt_self(), "1", 1, IPC_ASYNC));
    (void)rt_ipc_recv((rt_message *)bad_address, -1);
    rt_exit();
}

static void registers_nowhere(void *arg)
{
    (void)arg;
    CHECK_OK(rt_register((const char *)bad_address, rt_self()));
    rt_exit();
}

static void contained_inside(void *arg)
{
    CHECK_OK(rt_init());
    CHECK_OK(rt_contain_faults(true));
    run_victim((actor_fn)arg);
}

TEST(fault_inside_the_runtime_is_a_panic)
{
    CHECK_PANICS("fault", contained_inside, receives_to_nowhere);
    CHECK_PANICS("fault", contained_inside, registers_nowhere);
}

TEST(fault_in_the_c_library_on_behalf_of_the_runtime_is_a_panic)
{
    if (RTI_ASAN || RTI_TSAN) {
        test_skip("the sanitizer's copy function has a frame of its own");
    }
    CHECK_PANICS("fault", contained_inside, sends_from_nowhere);
}

/* Outside of actors. */

static void main_faults(void)
{
    CHECK_OK(rt_init());
    CHECK_OK(rt_contain_faults(true));
    *(volatile int *)bad_address = 1;
}

TEST(fault_outside_of_actors_ends_the_process_as_ever)
{
    skip_where_faults_are_the_tools();
    const char *said = in_child(main_faults);
    CHECK(died_of(SIGSEGV));
    CHECK_STR(said, "");
}

static volatile sig_atomic_t mine_called;
static void *volatile mine_address;

static void make_accessible(void *page)
{
    CHECK(mprotect(page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE) == 0);
}

/* A handler as a program might have: it repairs the access. */
static void mine(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    mine_called++;
    mine_address = info->si_addr;
    make_accessible(mine_address);
}

static void mine_plain(int signal)
{
    (void)signal;
    mine_called++;
    make_accessible(mine_address);
}

static char *protected_page(void)
{
    char *page =
        mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    mine_address = page;
    return page;
}

static char *touched_page;

static void touches_a_page(void *arg)
{
    (void)arg;
    *(volatile char *)touched_page = 7;
    rt_exit();
}

static void install_mine(bool is_plain)
{
    struct sigaction action = {.sa_flags = is_plain ? 0 : SA_SIGINFO};
    if (is_plain) {
        action.sa_handler = mine_plain;
    } else {
        action.sa_sigaction = mine;
    }
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
}

static void check_mine_is_asked(bool is_plain)
{
    install_mine(is_plain);
    CHECK_OK(rt_init());
    touched_page = protected_page();
    *(volatile char *)touched_page = 1;
    CHECK_EQ(mine_called, 1);
    /* An actor's fault that is not contained is passed on too, and here it is repaired. */
    touched_page = protected_page();
    victim = touches_a_page;
    CHECK(rt_spawn(watcher, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(mine_called, 2);
    CHECK_EQ(reason, RT_EXIT_NORMAL);
    CHECK_EQ(*touched_page, 7);
    rt_cleanup();
}

TEST(fault_that_is_not_ours_goes_to_the_handler_that_was_there)
{
    check_mine_is_asked(false);
}

TEST(fault_that_is_not_ours_goes_to_a_handler_of_the_old_kind)
{
    check_mine_is_asked(true);
}

static void *thread_touches(void *arg)
{
    *(volatile char *)arg = 3;
    return NULL;
}

TEST(fault_of_another_thread_is_not_ours)
{
    install_mine(false);
    CHECK_OK(rt_init());
    CHECK_OK(rt_contain_faults(true));
    pthread_t thread;
    char *page = protected_page();
    CHECK(pthread_create(&thread, NULL, thread_touches, page) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQ(mine_called, 1);
    CHECK_EQ(*page, 3);
    rt_cleanup();
}

static volatile sig_atomic_t sent_called;

static void mine_sent(int signal)
{
    (void)signal;
    sent_called++;
}

static void raises(void *arg)
{
    (void)arg;
    CHECK(raise(SIGSEGV) == 0);
    CHECK(raise(SIGFPE) == 0);
    rt_exit();
}

TEST(fault_signal_that_was_sent_is_no_fault)
{
    struct sigaction action = {.sa_handler = mine_sent};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    CHECK(sigaction(SIGFPE, &ignore, NULL) == 0);
    CHECK_OK(rt_init());
    CHECK_OK(rt_contain_faults(true));
    victim = raises;
    CHECK(rt_spawn(watcher, NULL) != ACTOR_ID_INVALID);
    rt_run();
    CHECK_EQ(sent_called, 1);
    CHECK_EQ(reason, RT_EXIT_NORMAL);
    rt_cleanup();
}

static void sent_to_nobody(void)
{
    CHECK_OK(rt_init());
    CHECK_OK(rt_contain_faults(true));
    run_victim(raises);
}

TEST(fault_signal_that_was_sent_takes_its_default_action)
{
    skip_where_faults_are_the_tools();
    (void)in_child(sent_to_nobody);
    CHECK(died_of(SIGSEGV));
}

/* Handlers come and go. */

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

TEST(fault_handlers_and_stack_are_put_back_by_cleanup)
{
    struct sigaction before[RTI_COUNT_OF(signals)];
    struct sigaction after;
    stack_t stack_before;
    stack_t stack_after;
    CHECK(sigaltstack(NULL, &stack_before) == 0);
    for (size_t i = 0; i < RTI_COUNT_OF(signals); i++) {
        CHECK(sigaction(signals[i], NULL, &before[i]) == 0);
    }
    for (int round = 0; round < 3; round++) {
        CHECK_OK(rt_init());
        CHECK(sigaltstack(NULL, &stack_after) == 0);
        CHECK(stack_after.ss_sp != stack_before.ss_sp && stack_after.ss_size >= 65536);
        CHECK(sigaction(SIGSEGV, NULL, &after) == 0);
        CHECK(after.sa_sigaction != before[0].sa_sigaction);
        rt_cleanup();
        for (size_t i = 0; i < RTI_COUNT_OF(signals); i++) {
            CHECK(sigaction(signals[i], NULL, &after) == 0);
            CHECK(after.sa_sigaction == before[i].sa_sigaction);
        }
        CHECK(sigaltstack(NULL, &stack_after) == 0);
        CHECK(stack_after.ss_sp == stack_before.ss_sp);
        CHECK_EQ(stack_after.ss_flags, stack_before.ss_flags);
    }
}

TEST(fault_handler_that_replaced_ours_stays)
{
    struct sigaction after;
    CHECK_OK(rt_init());
    install_mine(false);
    rt_cleanup();
    CHECK(sigaction(SIGSEGV, NULL, &after) == 0);
    CHECK(after.sa_sigaction == mine);
}

TEST(fault_policy_has_one_owner_at_a_time)
{
    static const struct rti_fault_policy policy = {
        .judge = (bool (*)(struct rti_fault *))abort,
        .mourn = (void (*)(const struct rti_fault *))abort,
    };
    CHECK_OK(rt_init());
    CHECK_STATUS(rti_linux_faults_open(NULL, &policy), RT_ERR_STATE);
    rt_cleanup();
    CHECK_OK(rti_linux_faults_open(NULL, &policy));
    CHECK_STATUS(rt_init(), RT_ERR_STATE);
    rti_linux_faults_close(NULL);
    CHECK_OK(rt_init());
    rt_cleanup();
}

static void *asks_on_a_thread(void *arg)
{
    (void)arg;
    CHECK_STATUS(rt_contain_faults(true), RT_ERR_THREAD);
    return NULL;
}

TEST(fault_containment_is_for_the_runtimes_thread)
{
    pthread_t thread;
    CHECK_STATUS(rt_contain_faults(true), RT_ERR_THREAD);
    CHECK_OK(rt_init());
    CHECK(pthread_create(&thread, NULL, asks_on_a_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    rt_cleanup();
}

TEST(fault_containment_needs_a_port_that_catches_faults)
{
    struct actors_world *world = actors_start();
    CHECK_STATUS(rti_faults_open(&world->sched), RT_ERR_UNSUPPORTED);
    CHECK_STATUS(rt_contain_faults(true), RT_ERR_UNSUPPORTED);
    CHECK_OK(rt_contain_faults(false));
    rti_faults_close(&world->sched);
    actors_finish(world);
}

static void sim_main(void *arg)
{
    CHECK_OK(rt_contain_faults(true));
    victim = writes_nowhere;
    watcher(arg);
}

TEST(fault_in_the_simulator_is_contained_and_repeats)
{
    rt_sim_report report[2];
    for (int i = 0; i < 2; i++) {
        rt_sim_config config = {.seed = 3, .report = &report[i]};
        CHECK_OK(rt_sim_run(&config, sim_main, NULL));
        CHECK_EQ(reason, RT_EXIT_CRASH);
    }
    CHECK_EQ(told, 2);
    CHECK(report[0].trace_hash == report[1].trace_hash);
}

TEST(fault_leaves_errno_and_the_signal_mask_alone)
{
    sigset_t before;
    sigset_t after;
    CHECK(sigprocmask(SIG_SETMASK, NULL, &before) == 0);
    victims = 5;
    contain(writes_nowhere);
    CHECK(sigprocmask(SIG_SETMASK, NULL, &after) == 0);
    for (int i = 1; i < 32; i++) {
        CHECK_EQ(sigismember(&after, i), sigismember(&before, i));
    }
}
