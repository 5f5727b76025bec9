/* SPDX-License-Identifier: Apache-2.0 */
/* Forks of a program that has a runtime: the child is told, the parent is unharmed. */
#define _GNU_SOURCE
#define RTI_MODULE "fork_test"
#include <dirent.h>
#include <fcntl.h>
#include <orrery/rt.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "support/test.h"

static rti_atomic_u32 ends;
static int talk[2];

static void start_parallel(void)
{
    CHECK_OK(rt_init_ex(&(rt_config){.workers = 3}));
}

static void spawn(actor_fn fn, void *arg)
{
    CHECK(rt_spawn(fn, arg) != ACTOR_ID_INVALID);
}

/* Waits for a child without blocking its worker's place. */
static int end_of(pid_t child)
{
    int status = -1;
    CHECK(child > 0);
    (void)rt_blocking_enter();
    CHECK_EQ(waitpid(child, &status, 0), child);
    (void)rt_blocking_exit();
    return status;
}

/* Exits with the number of the first answer that is not what a thread without a runtime gets. */
static void check_child(void)
{
    rt_message message;
    struct {
        bool is_right;
    } answers[] = {
        {rt_pin().code == RT_ERR_THREAD},
        {rt_blocking_enter().code == RT_ERR_THREAD},
        {rt_spawn(NULL, NULL) == ACTOR_ID_INVALID},
        {rt_self() == ACTOR_ID_INVALID},
        {RT_FAILED(rt_ipc_recv(&message, 0))},
        {RT_FAILED(rt_ipc_send((actor_id)1, "x", 1, IPC_ASYNC))},
        {rt_init().code == RT_ERR_STATE},
        {rt_init_ex(&(rt_config){.workers = 1}).code == RT_ERR_STATE},
        {RT_FAILED(rt_sim_run(NULL, NULL, NULL))},
        {rt_clock() == 0},
    };
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (!answers[i].is_right) {
            _exit((int)i + 1);
        }
    }
    rt_yield();
    rt_shutdown();
    rt_run();
    rt_cleanup();
    _exit(100);
}

static void keep_talking(void *arg)
{
    char byte = 'a';
    (void)arg;
    for (int i = 0; i < 100; i++) {
        size_t count;
        CHECK_OK(rt_net_send(talk[0], &byte, 1, &count, -1));
        CHECK_OK(rt_net_recv(talk[0], &byte, 1, &count, -1));
    }
    rti_u32_add_relaxed(&ends, 1);
    rt_exit();
}

static void answer_talk(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        char byte;
        size_t count;
        CHECK_OK(rt_net_recv(talk[1], &byte, 1, &count, -1));
        CHECK_OK(rt_net_send(talk[1], &byte, 1, &count, -1));
    }
    rti_u32_add_relaxed(&ends, 1);
    rt_exit();
}

static void fork_and_check(void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            check_child();
        }
        int status = end_of(child);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 100);
        CHECK_OK(rt_sleep(1000));
    }
    rti_u32_add_relaxed(&ends, 1);
    rt_exit();
}

static void talk_and_fork(void)
{
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, talk), 0);
    spawn(keep_talking, NULL);
    spawn(answer_talk, NULL);
    spawn(fork_and_check, NULL);
    rt_run();
    rt_cleanup();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 3);
}

TEST(fork_leaves_the_child_without_a_runtime_and_the_parent_unharmed)
{
    start_parallel();
    talk_and_fork();
}

TEST(fork_on_the_fixed_engine_leaves_the_child_without_a_runtime)
{
    CHECK_OK(rt_init());
    talk_and_fork();
}

static void sim_fork(void *arg)
{
    pid_t child = fork();
    (void)arg;
    if (child == 0) {
        check_child();
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 100);
}

TEST(fork_in_the_simulator_leaves_the_child_without_a_runtime)
{
    CHECK_OK(rt_sim_run(&(rt_sim_config){.seed = 1}, sim_fork, NULL));
}

/* What a child does that goes on as if nothing had happened, and what it says then. */
static int ends_of_child[2];

static void begin_child(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(ends_of_child[1], STDERR_FILENO);
}

static void check_stopped(pid_t child)
{
    char text[1024];
    int status = end_of(child);
    ssize_t got = read(ends_of_child[0], text, sizeof(text) - 1);
    CHECK(got > 0);
    text[got] = '\0';
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGABRT);
    CHECK(strstr(text, "forked process") != NULL || strstr(text, "was forked") != NULL);
}

static void return_in_child(void *arg)
{
    (void)arg;
    pid_t child = fork();
    if (child == 0) {
        begin_child();
        return;
    }
    check_stopped(child);
    rt_exit();
}

static void exit_in_child(void *arg)
{
    (void)arg;
    pid_t child = fork();
    if (child == 0) {
        begin_child();
    } else {
        check_stopped(child);
    }
    rt_exit();
}

static void *end_task_in_child(void *arg)
{
    pid_t child = fork();
    if (child == 0) {
        begin_child();
        return arg;
    }
    check_stopped(child);
    return NULL;
}

static void run_task(void *arg)
{
    CHECK_OK(rt_join(rt_go(end_task_in_child, arg), NULL));
    rt_exit();
}

static void handle(void *state, const rt_behaviour_message *message)
{
    (void)state;
    (void)message;
    pid_t child = fork();
    if (child == 0) {
        begin_child();
        return;
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    char text[1024];
    ssize_t got = read(ends_of_child[0], text, sizeof(text) - 1);
    CHECK(got > 0);
    text[got] = '\0';
    CHECK(strstr(text, "was forked") != NULL);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK_OK(rt_behaviour_end(RT_EXIT_NORMAL));
}

static void check_stops(void)
{
    static const rt_behaviour_fn handlers[] = {handle};
    static const rt_behaviour_type type = {
        .name = "forks", .handlers = handlers, .handler_count = 1};
    static const actor_fn kinds[] = {return_in_child, exit_in_child, run_task};
    CHECK_EQ(pipe(ends_of_child), 0);
    for (size_t i = 0; i < RTI_COUNT_OF(kinds); i++) {
        spawn(kinds[i], NULL);
        rt_run();
    }
    actor_id one = rt_behaviour_spawn(&type, NULL);
    CHECK(one != ACTOR_ID_INVALID);
    CHECK_OK(rt_behaviour_send(one, 0, NULL, 0));
    rt_run();
    rt_cleanup();
}

TEST(fork_whose_child_goes_on_is_stopped_with_a_sentence)
{
    start_parallel();
    check_stops();
}

TEST(fork_whose_child_goes_on_is_stopped_on_the_fixed_engine)
{
    CHECK_OK(rt_init());
    check_stops();
}

/* Forks, and has more mail: the child is stopped before it handles any of that. */
static void handle_one_of_many(void *state, const rt_behaviour_message *message)
{
    static pid_t parent;
    if (message->id == 0) {
        parent = getpid();
        handle(state, message);
    }
    if (message->id != 0 && getpid() != parent) {
        fputs("it handles more", stderr);
        _exit(0);
    }
}

static void check_stops_before_its_mail(void)
{
    static const rt_behaviour_fn handlers[] = {handle_one_of_many, handle_one_of_many};
    static const rt_behaviour_type type = {
        .name = "forks", .handlers = handlers, .handler_count = 2};
    CHECK_EQ(pipe(ends_of_child), 0);
    actor_id one = rt_behaviour_spawn(&type, NULL);
    CHECK(one != ACTOR_ID_INVALID);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_OK(rt_behaviour_send(one, i == 0 ? 0 : 1, NULL, 0));
    }
    rt_run();
    rt_cleanup();
}

TEST(fork_whose_child_goes_on_is_stopped_before_it_handles_more_mail)
{
    start_parallel();
    check_stops_before_its_mail();
}

TEST(fork_whose_child_goes_on_is_stopped_before_more_mail_on_the_fixed_engine)
{
    CHECK_OK(rt_init());
    check_stops_before_its_mail();
}

static void exec_programs(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
            _exit(1);
        }
        CHECK_EQ(WEXITSTATUS(end_of(child)), 7);
        CHECK_EQ(WEXITSTATUS(system("exit 9")), 9);
    }
    rti_u32_add_relaxed(&ends, 1);
    rt_exit();
}

/* Everything the library has opened is closed by exec. */
static void check_close_on_exec(void *arg)
{
    (void)arg;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    int counted = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[300];
        char target[300];
        snprintf(name, sizeof(name), "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(name, target, sizeof(target) - 1);
        if (length > 0) {
            target[length] = '\0';
            if (strncmp(target, "anon_inode:", 11) == 0) {
                CHECK((fcntl(atoi(entry->d_name), F_GETFD) & FD_CLOEXEC) != 0);
                counted++;
            }
        }
    }
    closedir(folder);
    CHECK(counted >= 2); /* at least what is waited at, and its bell */
    rt_exit();
}

TEST(fork_and_exec_run_programs_and_leave_them_no_descriptor_of_ours)
{
    start_parallel();
    spawn(exec_programs, NULL);
    spawn(check_close_on_exec, NULL);
    rt_run();
    rt_cleanup();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 1);
}

/* The child keeps the open files of its parent; the parent closes and uses the numbers again. */
static void close_beside_a_child(void *arg)
{
    int gate[2];
    int pair[2];
    (void)arg;
    CHECK_EQ(pipe(gate), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    char byte;
    size_t count;
    CHECK_STATUS(rt_net_recv(pair[0], &byte, 1, &count, 1), RT_ERR_TIMEOUT);
    pid_t child = fork();
    if (child == 0) {
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    int number = pair[0];
    CHECK_OK(rt_net_close(pair[0]));
    int other[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
    CHECK(other[0] == number);
    /* Reaches the child's copy of the old socket, and nobody here. */
    CHECK_EQ(write(pair[1], "x", 1), 1);
    CHECK_STATUS(rt_net_recv(other[0], &byte, 1, &count, 5), RT_ERR_TIMEOUT);
    CHECK_EQ(write(other[1], "y", 1), 1);
    CHECK_OK(rt_net_recv(other[0], &byte, 1, &count, -1));
    CHECK_EQ(byte, 'y');
    close(gate[1]);
    CHECK_EQ(end_of(child), 0);
    rti_u32_add_relaxed(&ends, 1);
    rt_exit();
}

TEST(fork_that_keeps_a_socket_open_sends_no_event_to_its_number_in_the_parent)
{
    start_parallel();
    spawn(close_beside_a_child, NULL);
    rt_run();
    rt_cleanup();
    CHECK_EQ(rti_u32_load_relaxed(&ends), 1);
}

/* Threads of the program, and main before the run. */
static void *fork_outside(void *arg)
{
    pid_t child = fork();
    if (child == 0) {
        check_child();
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 100);
    return arg;
}

static void yield_until_forked(void *arg)
{
    while (rti_u32_load_relaxed(&ends) == 0) {
        rt_yield();
    }
    (void)arg;
    rt_exit();
}

static void *fork_while_it_runs(void *arg)
{
    for (int i = 0; i < 10; i++) {
        (void)fork_outside(NULL);
    }
    rti_u32_store_relaxed(&ends, 1);
    return arg;
}

TEST(fork_in_another_thread_while_the_engine_runs_harms_nobody)
{
    pthread_t thread;
    start_parallel();
    (void)fork_outside(NULL);
    spawn(yield_until_forked, NULL);
    spawn(yield_until_forked, NULL);
    CHECK_EQ(pthread_create(&thread, NULL, fork_while_it_runs, NULL), 0);
    rt_run();
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rt_cleanup();
}

static void count_one(void *arg)
{
    (void)arg;
    rti_u32_add_relaxed(&ends, 1);
    rt_exit();
}

TEST(fork_after_the_cleanup_leaves_the_child_free_to_begin_anew)
{
    start_parallel();
    spawn(count_one, NULL);
    rt_run();
    rt_cleanup();
    pid_t child = fork();
    if (child == 0) {
        if (RT_FAILED(rt_init_ex(&(rt_config){.workers = 2}))) {
            _exit(1);
        }
        spawn(count_one, NULL);
        rt_run();
        rt_cleanup();
        _exit(rti_u32_load_relaxed(&ends) == 2 ? 0 : 2);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}
