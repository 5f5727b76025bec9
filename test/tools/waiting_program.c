/* SPDX-License-Identifier: Apache-2.0 */
/* The program that the tests of the command line tool look at while it runs. Its argument says what
 * it does: `wait` in several ways, `compute` without end, `talk` to itself or `pass` values without
 * end, `many` that wait, `crowd` of ten thousand tasks that wait while another ticks, or
 * `stackless` ones that wait; `brief` is a crowd that ends soon. A second argument has it run on so
 * many workers. It says `ready` when it does. The ticks are counted in the file that TICKS names,
 * if it does. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <orrery/rt.h>

static volatile uint64_t sink;
static rt_channel_sender *tx;
static rt_channel_receiver *rx;

static void say_ready(void)
{
    puts("ready");
    (void)fflush(stdout);
}

static __attribute__((noinline)) void wait_for_mail(void)
{
    rt_message msg;
    rt_status status = rt_ipc_recv(&msg, -1);
    sink = status.code;
}

static void mail_waiter(void *arg)
{
    (void)arg;
    wait_for_mail();
    sink = 1;
    rt_exit();
}

static void sleeper(void *arg)
{
    (void)arg;
    rt_message msg;
    rt_status status = rt_ipc_recv(&msg, 3600000);
    sink = status.code;
    rt_exit();
}

static void *inner_task(void *arg)
{
    uint64_t value = 0;
    rt_status status = rt_channel_recv(rx, NULL, &value);
    sink = status.code;
    return arg;
}

static void *outer_task(void *arg)
{
    rt_task *inner = rt_go_ex(inner_task, NULL, &(rt_task_config){.name = "inner"});
    void *result = NULL;
    rt_status status = rt_join(inner, &result);
    sink = status.code;
    return arg;
}

static void first_of_wait(void *arg)
{
    (void)arg;
    actor_config config = {.priority = RT_PRIO_NORMAL, .name = "mail_waiter"};
    (void)rt_spawn_ex(mail_waiter, NULL, &config);
    config.name = "sleeper";
    (void)rt_spawn_ex(sleeper, NULL, &config);
    (void)rt_detach(rt_go_ex(outer_task, NULL, &(rt_task_config){.name = "outer"}));
    rt_yield();
    rt_yield();
    say_ready();
    wait_for_mail();
    sink = 2;
    rt_exit();
}

static void computer(void *arg)
{
    (void)arg;
    say_ready();
    for (;;) {
        sink++;
    }
}

static void echo(void *arg)
{
    (void)arg;
    for (;;) {
        rt_message msg;
        if (!RT_FAILED(rt_ipc_recv(&msg, -1))) {
            (void)rt_ipc_send(msg.sender, msg.data, msg.len, IPC_ASYNC);
        }
    }
}

static void talker(void *arg)
{
    (void)arg;
    actor_id other =
        rt_spawn_ex(echo, NULL, &(actor_config){.priority = RT_PRIO_NORMAL, .name = "echo"});
    say_ready();
    for (uint64_t i = 0;; i++) {
        rt_message msg;
        (void)rt_ipc_send(other, &i, sizeof(i), IPC_ASYNC);
        sink = rt_ipc_recv(&msg, -1).code;
        if (i % 64 == 0) {
            (void)rt_ipc_recv(&msg, 1);
        }
    }
}

static rt_channel_sender *back_tx;
static rt_channel_receiver *back_rx;

static void *bouncer(void *arg)
{
    uint64_t value = 0;
    while (!RT_FAILED(rt_channel_recv(rx, NULL, &value)) &&
           !RT_FAILED(rt_channel_send(back_tx, NULL, &value))) {
    }
    return arg;
}

static void *thrower(void *arg)
{
    uint64_t value = 1;
    say_ready();
    while (!RT_FAILED(rt_channel_send(tx, NULL, &value)) &&
           !RT_FAILED(rt_channel_recv(back_rx, NULL, &value))) {
    }
    return arg;
}

static void first_of_pass(void *arg)
{
    (void)arg;
    rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 4};
    if (!RT_FAILED(rt_channel_create(&config, &back_tx, &back_rx))) {
        (void)rt_detach(rt_go_ex(bouncer, NULL, &(rt_task_config){.name = "bouncer"}));
        (void)rt_detach(rt_go_ex(thrower, NULL, &(rt_task_config){.name = "thrower"}));
    }
    rt_exit();
}

static void first_of_many(void *arg)
{
    (void)arg;
    actor_config config = {.priority = RT_PRIO_NORMAL, .stack_size = 16384, .malloc_stack = true};
    while (rt_spawn_ex(mail_waiter, NULL, &config) != ACTOR_ID_INVALID) {
    }
    rt_yield();
    say_ready();
    sleeper(NULL);
}

/* A counter that others can read while we write it. */
static volatile uint64_t *open_ticks(void)
{
    static uint64_t own;
    const char *path = getenv("TICKS");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(own)) != 0) {
        return &own;
    }
    void *shared = mmap(NULL, sizeof(own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    return shared == MAP_FAILED ? &own : shared;
}

#define CROWD 10000

static atomic_int crowd_count;

static void *crowd_task(void *arg)
{
    atomic_fetch_add(&crowd_count, 1);
    return inner_task(arg);
}

static void gather(void)
{
    if (RT_FAILED(rt_task_reserve(&(rt_task_room){.tasks = CROWD, .stack_size = 16384}))) {
        exit(1);
    }
    for (int i = 0; i < CROWD; i++) {
        (void)rt_detach(rt_go(crowd_task, NULL));
    }
    while (atomic_load(&crowd_count) < CROWD) {
        rt_yield();
    }
    say_ready();
}

static void first_of_brief(void *arg)
{
    (void)arg;
    gather();
    (void)rt_sleep(200 * RT_NS_PER_MS);
    rt_shutdown();
    rt_exit();
}

static void first_of_crowd(void *arg)
{
    volatile uint64_t *ticks = open_ticks();
    (void)arg;
    gather();
    for (;;) {
        *ticks = *ticks + 1;
        rt_yield();
    }
}

static void ignore(void *state, const rt_behaviour_message *msg)
{
    (void)state;
    sink = msg->id;
}

static rt_status poll_for_value(void *state, rt_cx *cx)
{
    uint64_t value = 0;
    (void)state;
    return rt_channel_recv(rx, cx, &value);
}

static rt_status poll_for_time(void *state, rt_cx *cx)
{
    return rt_async_sleep(state, cx, 3600 * RT_NS_PER_S);
}

static void first_of_stackless(void *arg)
{
    static const rt_behaviour_type quiet = {.name = "quiet", .otherwise = ignore};
    static rt_nap nap;
    (void)arg;
    (void)rt_behaviour_spawn(&quiet, NULL);
    (void)rt_async_detach(rt_async(poll_for_value, NULL));
    (void)rt_async_detach(rt_async(poll_for_time, &nap));
    (void)rt_sleep(20 * RT_NS_PER_MS);
    say_ready();
    wait_for_mail();
    rt_exit();
}

static void first_of_signal(void *arg)
{
    const int number = SIGUSR1;
    rt_signal_value value;
    rt_channel_receiver *signals;
    (void)arg;
    if (!RT_FAILED(rt_signal_open(&number, 1, 0, &signals))) {
        say_ready();
        (void)!RT_FAILED(rt_channel_recv(signals, NULL, &value));
    }
    rt_exit();
}

static void *work_for_ever(void *arg)
{
    for (;;) {
        (void)pause();
    }
    return arg;
}

static void first_of_job(void *arg)
{
    rt_pool *pool = rt_pool_open(1, 1);
    (void)arg;
    rt_job *job = rt_pool_spawn(pool, work_for_ever, NULL, NULL);
    say_ready();
    (void)rt_pool_join(job, NULL);
    rt_exit();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        actor_fn fn;
    } programs[] = {{"wait", first_of_wait},   {"compute", computer},
                    {"talk", talker},          {"pass", first_of_pass},
                    {"many", first_of_many},   {"crowd", first_of_crowd},
                    {"brief", first_of_brief}, {"stackless", first_of_stackless},
                    {"job", first_of_job},     {"signal", first_of_signal}};
    rt_channel_config config = {.elem_size = sizeof(uint64_t), .capacity = 4};
    rt_config several = {.workers = argc > 2 ? (uint32_t)atoi(argv[2]) : 1, .observe = argc > 3};
    if (argc < 2 || RT_FAILED(argc > 2 ? rt_init_ex(&several) : rt_init()) ||
        RT_FAILED(rt_channel_create(&config, &tx, &rx))) {
        return 1;
    }
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (strcmp(argv[1], programs[i].name) == 0) {
            (void)rt_spawn_ex(programs[i].fn, NULL,
                              &(actor_config){.priority = RT_PRIO_NORMAL, .name = argv[1]});
        }
    }
    rt_run();
    rt_cleanup();
    return 0;
}
