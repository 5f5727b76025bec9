/* SPDX-License-Identifier: Apache-2.0 */
/* Who can never go on, in the simulator at once and on the other engines after a while; and who is
 * not told of, because something may still wake it. */
#define _GNU_SOURCE
#define RTI_MODULE "deadlock_test"
#include "observe/deadlock.h"

#include <orrery/rt.h>
#include <orrery/rt/arm.h>
#include <orrery/rt/mutex.h>
#include <orrery/rt/select.h>
#include <orrery/rt/semaphore.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/atomic.h"
#include "support/actors.h"
#include "support/signals.h"
#include "support/tasks.h"
#include "support/test.h"

#define AFTER (2 * RT_NS_PER_MS)

/* How often one looks whether anything was told: long enough for a machine that is busy. */
#define LOOKS_MAX 10000

static rt_mutex mutexes[2];
static rt_channel_sender *tx;
static rt_channel_receiver *rx;
static rt_task *handles[2];
static int pair[2];

/* Standard error is a pipe here: is there anything in it? */
static bool is_told(void)
{
    int bytes = 0;
    CHECK_EQ(ioctl(STDERR_FILENO, FIONREAD, &bytes), 0);
    return bytes > 0;
}

static void wait_until_told(void)
{
    for (int i = 0; i < LOOKS_MAX && !is_told(); i++) {
        CHECK_OK(rt_sleep(AFTER));
    }
    CHECK_OK(rt_sleep(5 * AFTER)); /* nothing more comes */
}

static rti_atomic_u32 holders;

/* Each has its own before either wants the other's, on several workers too. */
static void *locks_both(void *arg)
{
    uintptr_t first = (uintptr_t)arg;
    CHECK_OK(rt_mutex_lock(&mutexes[first], NULL));
    (void)rti_u32_add_relaxed(&holders, 1);
    while (rti_u32_load_relaxed(&holders) < 2) {
        rt_yield();
    }
    rt_status status = rt_mutex_lock(&mutexes[1 - first], NULL);
    CHECK(status.code == RT_ERR_CANCELLED || status.code == RT_OK);
    if (!RT_FAILED(status)) {
        CHECK_OK(rt_mutex_unlock(&mutexes[1 - first], NULL));
    }
    CHECK_OK(rt_mutex_unlock(&mutexes[first], NULL));
    return arg;
}

static void init_mutexes(void)
{
    CHECK_OK(rt_mutex_init(&mutexes[0]));
    CHECK_OK(rt_mutex_init(&mutexes[1]));
}

/* Waits until the circle has been told of, then breaks it. */
static void *circle_of_mutexes(void *arg)
{
    init_mutexes();
    rti_u32_store_relaxed(&holders, 0);
    for (uintptr_t i = 0; i < 2; i++) {
        handles[i] = rt_go(locks_both, TASKS_NUMBER(i));
    }
    wait_until_told();
    CHECK_OK(rt_task_ask_cancel(handles[0]));
    (void)rt_join(handles[0], NULL);
    (void)rt_join(handles[1], NULL);
    return arg;
}

static void *locks_the_first(void *arg)
{
    rt_status status = rt_mutex_lock(&mutexes[0], NULL);
    if (!RT_FAILED(status)) {
        CHECK_OK(rt_mutex_unlock(&mutexes[0], NULL));
    }
    return arg;
}

/* Holds a mutex and joins one that wants it. */
static void *joins_who_waits_for_it(void *arg)
{
    CHECK_OK(rt_mutex_lock(&mutexes[0], NULL));
    (void)rt_join(rt_go(locks_the_first, NULL), NULL);
    CHECK_OK(rt_mutex_unlock(&mutexes[0], NULL));
    return arg;
}

static void *circle_of_join_and_mutex(void *arg)
{
    init_mutexes();
    handles[0] = rt_go(joins_who_waits_for_it, NULL);
    wait_until_told();
    (void)rt_cancel(handles[0], NULL);
    return arg;
}

static actor_id receiver;

static void never_receives(void *arg)
{
    (void)arg;
    rt_status status = rt_mutex_lock(&mutexes[0], NULL);
    CHECK_STATUS(status, RT_ERR_OWNER_DIED);
    rt_exit();
}

static void sends_with_the_mutex(void *arg)
{
    (void)arg;
    CHECK_OK(rt_mutex_lock(&mutexes[0], NULL));
    receiver = rt_spawn_ex(never_receives, NULL, &(actor_config){.name = "deaf"});
    (void)rt_ipc_send(receiver, "x", 1, IPC_SYNC);
    rt_exit();
}

static void *circle_of_send_and_mutex(void *arg)
{
    init_mutexes();
    actor_id sender = rt_spawn_ex(sends_with_the_mutex, NULL, &(actor_config){.name = "sender"});
    wait_until_told();
    CHECK_OK(rt_actor_kill(sender));
    return arg;
}

/* ---- the engines ---- */

struct program {
    rt_task_fn fn;
    bool is_parallel;
    bool is_ended;  /* by a thread, because nothing else would */
    bool is_silent; /* nothing is told: there is only waiting for a while */
};

static struct program program;
static rti_atomic_u32 is_begun; /* who shuts a runtime down before there is one, does nothing */

static void *begins(void *arg)
{
    rti_u32_store_relaxed(&is_begun, 1);
    return program.fn(arg);
}

static void *ends_it(void *arg)
{
    while (rti_u32_load_relaxed(&is_begun) == 0) {
        usleep(AFTER / 1000);
    }
    int looks = program.is_silent ? 60 : LOOKS_MAX;
    for (int i = 0; i < looks && !is_told(); i++) {
        usleep(AFTER / 1000);
    }
    usleep(5 * AFTER / 1000); /* nothing more comes */
    rt_shutdown();
    return arg;
}

static void run_in_the_world(void)
{
    pthread_t thread;
    const rt_config parallel = {.workers = 2};
    const rt_main_config config = {.deadlock_after = AFTER,
                                   .parallel = program.is_parallel ? &parallel : NULL};
    rti_u32_store_relaxed(&is_begun, 0);
    if (program.is_ended) {
        CHECK_EQ(pthread_create(&thread, NULL, ends_it, NULL), 0);
    }
    (void)rt_run_main(&config, begins, NULL);
    if (program.is_ended) {
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    while ((text = strstr(text, word)) != NULL) {
        count++;
        text += strlen(word);
    }
    return count;
}

/* What is said on an engine: the words must be in it, once each, and the header once. */
static void check_said(const char *said, const char *const *words)
{
    if (count_of(said, "these wait for each other") != 1) {
        test_fail(__FILE__, __LINE__, "not told once: %s", said);
    }
    for (; *words != NULL; words++) {
        if (count_of(said, *words) != 1) {
            test_fail(__FILE__, __LINE__, "'%s' is not told once: %s", *words, said);
        }
    }
}

static void check_everywhere(rt_task_fn fn, const char *const *words)
{
    check_said(tasks_capture(fn, NULL), words);
    program = (struct program){.fn = fn};
    check_said(actors_capture(run_in_the_world), words);
    program.is_parallel = true;
    check_said(actors_capture(run_in_the_world), words);
}

TEST(deadlock_of_two_mutexes_is_told_with_the_places_of_spawn)
{
    static const char *const words[] = {
        "locks_both (2) waits for a lock of task locks_both (3), spawned at",
        "locks_both (3) waits for a lock of task locks_both (2), spawned at", NULL};
    check_everywhere(circle_of_mutexes, words);
}

TEST(deadlock_of_a_join_and_a_mutex_is_told)
{
    static const char *const words[] = {
        "joins_who_waits_for_it (2) waits for a join of task locks_the_first (3), spawned at",
        "locks_the_first (3) waits for a lock of task joins_who_waits_for_it (2), spawned at",
        NULL};
    check_everywhere(circle_of_join_and_mutex, words);
}

TEST(deadlock_of_a_sync_send_and_a_mutex_is_told)
{
    static const char *const words[] = {") waits for a release of actor deaf (",
                                        ") waits for a lock of actor sender (", NULL};
    check_everywhere(circle_of_send_and_mutex, words);
}

/* ---- when nobody is left ---- */

static void *receives_one(void *arg)
{
    int value;
    rt_status status = rt_channel_recv(rx, NULL, &value);
    return RT_FAILED(status) ? NULL : arg;
}

static void *joins_one_who_receives(void *arg)
{
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    (void)rt_join(rt_go(receives_one, NULL), NULL);
    return arg;
}

static void *waits_for_a_unit(void *arg)
{
    rt_semaphore semaphore;
    CHECK_OK(rt_semaphore_init(&semaphore, 0));
    rt_status status = rt_semaphore_acquire(&semaphore, 1, NULL);
    CHECK(RT_FAILED(status));
    return arg;
}

static void *selects_among_the_lost(void *arg)
{
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    int value;
    rt_task *task = rt_go(receives_one, NULL);
    rt_select_arm arms[2];
    rt_selected chosen;
    rt_arm_recv(&arms[0], rx, &value);
    rt_arm_join(&arms[1], &task, NULL);
    rt_status status = rt_select(arms, 2, NULL, &chosen);
    CHECK(RT_FAILED(status));
    return arg;
}

static void check_without_anybody(rt_task_fn fn, const char *const *words)
{
    check_said(tasks_capture(fn, NULL), words);
    program = (struct program){.fn = fn, .is_ended = true};
    check_said(actors_capture(run_in_the_world), words);
    program.is_parallel = true;
    check_said(actors_capture(run_in_the_world), words);
}

TEST(deadlock_of_a_channel_that_nobody_is_left_to_use_is_told)
{
    static const char *const words[] = {
        "main (1) waits for a join of task receives_one (2)",
        "receives_one (2) waits for a channel, and nobody is left to end that", NULL};
    check_without_anybody(joins_one_who_receives, words);
}

TEST(deadlock_of_a_semaphore_that_nobody_is_left_to_release_is_told)
{
    static const char *const words[] = {"main (1) waits for a lock, and nobody is left", NULL};
    check_without_anybody(waits_for_a_unit, words);
}

TEST(deadlock_of_a_select_without_an_arm_that_can_come_is_told)
{
    static const char *const words[] = {"main (1) waits for a select of task receives_one (2)",
                                        "receives_one (2) waits for a channel", NULL};
    check_without_anybody(selects_among_the_lost, words);
}

/* ---- what may still be woken ---- */

static rti_atomic_u32 is_held;      /* the first mutex */
static rti_atomic_u32 has_given_up; /* who wants it until a deadline */

/* Until the other has given up, however late that is. */
static void *sleeps_with_the_mutex(void *arg)
{
    CHECK_OK(rt_mutex_lock(&mutexes[0], NULL));
    rti_u32_store_relaxed(&is_held, 1);
    do {
        CHECK_OK(rt_sleep(20 * AFTER));
    } while (rti_u32_load_relaxed(&has_given_up) == 0);
    CHECK_OK(rt_mutex_unlock(&mutexes[0], NULL));
    return arg;
}

static void *gives_up_in_time(void *arg)
{
    CHECK_OK(rt_mutex_lock(&mutexes[1], NULL));
    CHECK_STATUS(rt_mutex_lock_until(&mutexes[0], NULL, rt_clock() + 15 * AFTER), RT_ERR_TIMEOUT);
    rti_u32_store_relaxed(&has_given_up, 1);
    CHECK_OK(rt_mutex_unlock(&mutexes[1], NULL));
    return arg;
}

/* Everybody waits, and in the end a timer wakes one after the other. */
static void *all_will_end(void *arg)
{
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    init_mutexes();
    rti_u32_store_relaxed(&is_held, 0);
    rti_u32_store_relaxed(&has_given_up, 0);
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    rt_task *receives = rt_go(receives_one, NULL);
    rt_task *holder = rt_go(sleeps_with_the_mutex, NULL);
    while (rti_u32_load_relaxed(&is_held) == 0) {
        rt_yield();
    }
    rt_task *gives_up = rt_go(gives_up_in_time, NULL);
    rt_yield();
    rt_task *waits = rt_go(locks_the_first, NULL);
    CHECK_OK(rt_join(gives_up, NULL));
    CHECK_OK(rt_join(waits, NULL));
    CHECK_OK(rt_join(holder, NULL));
    int value = 1;
    CHECK_OK(rt_channel_send(tx, NULL, &value));
    CHECK_OK(rt_join(receives, NULL));
    return arg;
}

static void *hears_from_outside(void *arg)
{
    char byte;
    size_t count;
    CHECK_OK(rt_mutex_lock(&mutexes[0], NULL));
    CHECK_OK(rt_net_recv(pair[0], &byte, 1, &count, -1));
    CHECK_OK(rt_mutex_unlock(&mutexes[0], NULL));
    return arg;
}

static void *waits_for_the_outside(void *arg)
{
    init_mutexes();
    rt_task *hears = rt_go(hears_from_outside, NULL);
    rt_yield();
    CHECK_OK(rt_join(rt_go(locks_the_first, NULL), NULL));
    CHECK_OK(rt_join(hears, NULL));
    return arg;
}

static void *writes_later(void *arg)
{
    usleep(20 * AFTER / 1000);
    CHECK_EQ(write(pair[1], "x", 1), 1);
    return arg;
}

static void run_with_the_outside(void)
{
    pthread_t thread;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK_EQ(pthread_create(&thread, NULL, writes_later, NULL), 0);
    program.fn = waits_for_the_outside;
    run_in_the_world();
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
}

/* One waits for nothing but its cancellation, which comes. */
static void *cancels_later(void *arg)
{
    rt_task *task = rt_go(tasks_wait_for_ever, NULL);
    CHECK_OK(rt_sleep(20 * AFTER));
    CHECK_STATUS(rt_timeout(20 * AFTER, tasks_wait_for_ever, NULL, NULL), RT_ERR_TIMEOUT);
    (void)rt_cancel(task, NULL);
    return arg;
}

TEST(deadlock_is_not_told_of_who_waits_to_be_cancelled)
{
    CHECK_STR(tasks_capture(cancels_later, NULL), "");
    for (int i = 0; i < 2; i++) {
        program = (struct program){.fn = cancels_later, .is_parallel = i == 1};
        CHECK_STR(actors_capture(run_in_the_world), "");
    }
}

static void *waits_for_ever(void *arg)
{
    (void)rt_sleep(RT_TIME_NEVER);
    return arg;
}

TEST(deadlock_of_who_sleeps_for_ever_among_nobody_is_told)
{
    static const char *const words[] = {"main (1) waits for time, and nobody is left", NULL};
    check_without_anybody(waits_for_ever, words);
}

TEST(deadlock_is_not_told_of_who_a_timer_a_deadline_or_a_socket_may_wake)
{
    CHECK_STR(tasks_capture(all_will_end, NULL), "");
    for (int i = 0; i < 2; i++) {
        program = (struct program){.fn = all_will_end, .is_parallel = i == 1};
        CHECK_STR(actors_capture(run_in_the_world), "");
        CHECK_STR(actors_capture(run_with_the_outside), "");
    }
}

static rti_atomic_u32 sent;

/* A thread outside has sent, and will again. */
static void *sends_two(void *arg)
{
    int value = 1;
    for (int i = 0; i < 2; i++) {
        usleep(20 * AFTER / 1000);
        CHECK_OK(rt_channel_send(tx, NULL, &value));
        (void)rti_u32_add_relaxed(&sent, 1);
    }
    return arg;
}

static void *receives_two(void *arg)
{
    int value;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rt_channel_recv(rx, NULL, &value));
    }
    return arg;
}

static void run_with_a_visitor(void)
{
    pthread_t thread;
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 2, .deadlock_after = RT_TIME_NEVER}));
    CHECK_OK(rt_channel_create(&config, &tx, &rx));
    CHECK_EQ(pthread_create(&thread, NULL, sends_two, NULL), 0);
    while (rti_u32_load_relaxed(&sent) == 0) {
        usleep(AFTER / 1000);
    }
    CHECK_OK(rt_watch_deadlocks(AFTER));
    rt_task *task = rt_go(receives_two, NULL);
    rt_run();
    CHECK_OK(rt_join(task, NULL));
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rt_cleanup();
}

TEST(deadlock_is_not_told_of_a_channel_that_a_thread_outside_uses)
{
    CHECK_STR(actors_capture(run_with_a_visitor), "");
}

/* Nobody inside will ever send it; the system will, much later. */
static void *waits_for_a_signal(void *arg)
{
    int number = SIGALRM;
    rt_signal_value value;
    rt_channel_receiver *signals;
    CHECK_OK(rt_signal_open(&number, 1, 0, &signals));
    (void)ualarm(20 * AFTER / 1000, 0);
    CHECK_OK(signals_recv(signals, &value));
    CHECK_EQ(value.number, SIGALRM);
    CHECK_OK(rt_signal_close(signals));
    return arg;
}

TEST(deadlock_is_not_told_of_who_a_signal_may_wake)
{
    program = (struct program){.fn = waits_for_a_signal};
    CHECK_STR(actors_capture(run_in_the_world), "");
    program.is_parallel = true;
    CHECK_STR(actors_capture(run_in_the_world), "");
}

static void waits_for_mail(void *arg)
{
    rt_message msg;
    (void)arg;
    (void)rt_ipc_recv(&msg, -1);
    rt_exit();
}

static void *leaves_one_idle(void *arg)
{
    CHECK(rt_spawn(waits_for_mail, NULL) != ACTOR_ID_INVALID);
    return arg;
}

TEST(deadlock_is_not_told_of_actors_that_are_idle)
{
    program = (struct program){.fn = leaves_one_idle, .is_ended = true, .is_silent = true};
    CHECK_STR(actors_capture(run_in_the_world), "");
    program.is_parallel = true;
    CHECK_STR(actors_capture(run_in_the_world), "");
}

static void *starts_more_than_there_are_nodes(void *arg)
{
    static rt_task *tasks[RT_MAX_TASKS + 1];
    CHECK_OK(rt_task_reserve(&(rt_task_room){.tasks = RT_MAX_TASKS + 100}));
    for (size_t i = 0; i < RTI_COUNT_OF(tasks); i++) {
        tasks[i] = rt_go(tasks_echo, NULL);
        CHECK(tasks[i] != NULL);
    }
    for (int round = 0; round < 3; round++) {
        CHECK_OK(rt_sleep(AFTER));
    }
    for (size_t i = 0; i < RTI_COUNT_OF(tasks); i++) {
        CHECK_OK(rt_join(tasks[i], NULL));
    }
    return arg;
}

TEST(deadlock_is_not_looked_for_among_too_many_tasks_and_that_is_told_once)
{
    const char *told = tasks_capture(starts_more_than_there_are_nodes, NULL);
    const char *line = strstr(told, "deadlock: more tasks than RT_MAX_TASKS");
    CHECK(line != NULL && strstr(line + 1, "deadlock: ") == NULL);
}

#define CIRCLES 20

static rt_mutex of_circles[2 * CIRCLES];

/* Locks a mutex and then its neighbour; its partner does so the other way round. */
static void *locks_a_neighbour(void *arg)
{
    uintptr_t own = (uintptr_t)arg;
    CHECK_OK(rt_mutex_lock(&of_circles[own], NULL));
    rt_yield();
    CHECK_STATUS(rt_mutex_lock(&of_circles[own ^ 1], NULL), RT_ERR_CANCELLED);
    CHECK_OK(rt_mutex_unlock(&of_circles[own], NULL));
    return NULL;
}

static void *has_many_circles(void *arg)
{
    static struct rti_deadlock search;
    rt_task *tasks[2 * CIRCLES];
    for (uintptr_t i = 0; i < 2 * CIRCLES; i++) {
        CHECK_OK(rt_mutex_init(&of_circles[i]));
        tasks[i] = rt_go(locks_a_neighbour, TASKS_NUMBER(i));
    }
    for (int i = 0; i < 4; i++) {
        rt_yield();
    }
    const struct rti_deadlock_options options = {.peek = NULL};
    struct rti_sched *sched = rti_worker_current()->sched;
    rti_deadlock_forget(&search);
    CHECK_EQ(rti_deadlock_tell(&search, sched, &options), CIRCLES);
    CHECK_EQ(rti_deadlock_tell(&search, sched, &options), 0);
    for (size_t i = 0; i < 2 * CIRCLES; i++) {
        CHECK_OK(rt_task_ask_cancel(tasks[i]));
    }
    for (size_t i = 0; i < 2 * CIRCLES; i++) {
        (void)rt_join(tasks[i], NULL);
    }
    return arg;
}

TEST(deadlock_of_many_circles_at_once_is_told_once)
{
    (void)tasks_capture(has_many_circles, NULL);
}
