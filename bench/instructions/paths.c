/* SPDX-License-Identifier: Apache-2.0 */
/* The hot paths, for a counter of instructions: bench/instructions/run.
 *
 * Each path runs twice, SHORT and LONG times, in a runtime of its own, and each run ends in
 * instructions_mark, where callgrind writes down what it has counted so far and begins anew. What
 * the long run has more of, divided by how much longer it is, is what one operation takes: start,
 * end and the work of the first time drop out.
 *
 * Nothing here depends on the machine: the clock is this program's own and advances by a fixed step
 * with each look, there is no random number, and one worker runs. The public interface and the
 * installed library, as a user has them.
 *
 * Prints the names of the paths in the order of the marks. */
#define _GNU_SOURCE
#include <orrery/rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHORT 500
#define LONG  2500
#define BATCH 25 /* tasks alive at a time; SHORT and LONG are multiples */
#define LINES 4
#define HOPS  16 /* behaviours in the ring */

/* Little enough that a busy scheduler looks at its clock as rarely as it may. */
#define CLOCK_STEP_NS 1000

/* The program's definition is found before the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    static uint64_t ns = 1000 * RT_NS_PER_S;
    (void)clock;
    ns += CLOCK_STEP_NS;
    now->tv_sec = (time_t)(ns / RT_NS_PER_S);
    now->tv_nsec = (long)(ns % RT_NS_PER_S);
    return 0;
}

void instructions_mark(void);
__attribute__((noinline)) void instructions_mark(void)
{
    __asm__ volatile("" ::: "memory");
}

static long count;

static void must(rt_status status)
{
    if (RT_FAILED(status)) {
        fprintf(stderr, "instructions: %s: %s\n", rt_status_name(status.code), status.msg);
        exit(1);
    }
}

static void go(rt_task_fn fn)
{
    must(rt_detach(rt_go(fn, NULL)));
}

/* ---- switches and tasks ---- */

static void *yields(void *arg)
{
    for (long i = 0; i < count; i++) {
        rt_yield();
    }
    return arg;
}

static void path_yield(void)
{
    go(yields);
    go(yields);
}

static void *returns(void *arg)
{
    return arg;
}

static void *joins(void *arg)
{
    rt_task *tasks[BATCH];
    for (long i = 0; i < count; i += BATCH) {
        for (int j = 0; j < BATCH; j++) {
            tasks[j] = rt_go(returns, NULL);
        }
        for (int j = 0; j < BATCH; j++) {
            must(rt_join(tasks[j], NULL));
        }
    }
    return arg;
}

static void path_go_join(void)
{
    go(joins);
}

static void leaf(void *arg)
{
    (void)arg;
    rt_exit();
}

static void spawner(void *arg)
{
    const actor_config small = {.stack_size = 8192, .priority = RT_PRIO_NORMAL};
    (void)arg;
    for (long i = 0; i < count; i += BATCH) {
        for (int j = 0; j < BATCH; j++) {
            if (rt_spawn_ex(leaf, NULL, &small) == ACTOR_ID_INVALID) {
                must(rt_spawn_status());
            }
        }
        rt_yield();
    }
    rt_exit();
}

static void path_spawn_exit(void)
{
    rt_spawn(spawner, NULL);
}

/* ---- poll tasks ---- */

static rt_status ends(void *state, rt_cx *cx)
{
    (void)state;
    (void)cx;
    return RT_SUCCESS;
}

static void *poll_joins(void *arg)
{
    rt_async_task *tasks[BATCH];
    for (long i = 0; i < count; i += BATCH) {
        for (int j = 0; j < BATCH; j++) {
            tasks[j] = rt_async(ends, NULL);
        }
        for (int j = 0; j < BATCH; j++) {
            must(rt_async_join(&tasks[j], NULL, NULL));
        }
    }
    return arg;
}

static void path_poll_spawn_join(void)
{
    go(poll_joins);
}

static rt_status pauses(void *state, rt_cx *cx)
{
    rt_async_frame *frame = state;
    RT_ASYNC_BEGIN(frame);
    for (;;) {
        RT_AWAIT(rt_async_pause(cx));
        if (RT_FAILED(rt_awaited)) {
            break;
        }
    }
    RT_ASYNC_END(RT_SUCCESS);
}

static void *wakes(void *arg)
{
    rt_async_frame frame = {0};
    rt_async_task *task = rt_async(pauses, &frame);
    rt_yield();
    for (long i = 0; i < count; i++) {
        must(rt_async_wake(task));
        rt_yield();
    }
    must(rt_async_cancel(task));
    must(rt_async_join(&task, NULL, NULL));
    return arg;
}

static void path_poll_wake(void)
{
    go(wakes);
}

/* ---- channels ---- */

static rt_channel_sender *tx[LINES];
static rt_channel_receiver *rx[LINES];

static void open_lines(int lines, size_t capacity)
{
    rt_channel_config config = {.elem_size = sizeof(long), .capacity = capacity};
    for (int i = 0; i < lines; i++) {
        must(capacity == 0 ? rt_channel_create_rendezvous(&config, &tx[i], &rx[i])
                           : rt_channel_create(&config, &tx[i], &rx[i]));
    }
}

static void *there(void *arg)
{
    for (long i = 0; i < count; i++) {
        long number = i;
        must(rt_channel_send(tx[0], NULL, &number));
        must(rt_channel_recv(rx[1], NULL, &number));
    }
    return arg;
}

static void *back(void *arg)
{
    for (long i = 0; i < count; i++) {
        long number;
        must(rt_channel_recv(rx[0], NULL, &number));
        must(rt_channel_send(tx[1], NULL, &number));
    }
    return arg;
}

static void path_rendezvous(void)
{
    open_lines(2, 0);
    go(there);
    go(back);
}

static void *sends(void *arg)
{
    for (long i = 0; i < count; i++) {
        must(rt_channel_send(tx[0], NULL, &i));
    }
    return arg;
}

static void *receives(void *arg)
{
    for (long i = 0; i < count; i++) {
        long number;
        must(rt_channel_recv(rx[0], NULL, &number));
    }
    return arg;
}

static void path_stream(void)
{
    open_lines(1, BATCH);
    go(sends);
    go(receives);
}

static void *permits(void *arg)
{
    for (long i = 0; i < count; i++) {
        rt_send_permit permit;
        long number;
        must(rt_channel_reserve(tx[0], NULL, &permit));
        *(long *)rt_send_permit_slot(&permit) = i;
        must(rt_send_permit_send(&permit, NULL));
        must(rt_channel_try_recv(rx[0], &number));
    }
    return arg;
}

static void path_permit(void)
{
    open_lines(1, BATCH);
    go(permits);
}

static void select_any(bool is_returned)
{
    rt_select_arm arms[LINES];
    rt_selected chosen;
    long number = 0;
    for (int i = 0; i < LINES; i++) {
        rt_arm_recv(&arms[i], rx[i], &number);
    }
    for (long i = 0; i < count; i++) {
        must(rt_select(arms, LINES, NULL, &chosen));
        must(chosen.status);
        if (is_returned) {
            must(rt_channel_send(tx[chosen.index], NULL, &number));
        }
    }
}

static void *selects_ready(void *arg)
{
    for (int i = 0; i < LINES; i++) {
        long number = i;
        must(rt_channel_send(tx[i], NULL, &number));
    }
    select_any(true);
    return arg;
}

static void path_select_ready(void)
{
    open_lines(LINES, 1);
    go(selects_ready);
}

static void *selects_block(void *arg)
{
    select_any(false);
    return arg;
}

static void *feeds(void *arg)
{
    for (long i = 0; i < count; i++) {
        must(rt_channel_send(tx[i % LINES], NULL, &i));
    }
    return arg;
}

static void path_select_block(void)
{
    open_lines(LINES, 0);
    go(selects_block);
    go(feeds);
}

/* ---- messages ---- */

static actor_id partner;
static rt_ipc_mode mode;

static void ping(void *arg)
{
    long number = 0;
    rt_message message;
    (void)arg;
    for (long i = 0; i < count; i++) {
        must(rt_ipc_send(partner, &number, sizeof(number), IPC_ASYNC));
        must(rt_ipc_recv(&message, -1));
    }
    must(rt_actor_kill(partner));
    rt_exit();
}

static void pong(void *arg)
{
    rt_message message;
    (void)arg;
    for (;;) {
        must(rt_ipc_recv(&message, -1));
        must(rt_ipc_send(message.sender, message.data, message.len, IPC_ASYNC));
    }
}

static void path_message(void)
{
    rt_spawn(ping, NULL);
    partner = rt_spawn(pong, NULL);
}

static void asks(void *arg)
{
    long number = 0;
    (void)arg;
    for (long i = 0; i < count; i++) {
        must(rt_ipc_send(partner, &number, sizeof(number), mode));
    }
    must(rt_actor_kill(partner));
    rt_exit();
}

static void releases(void *arg)
{
    rt_message message;
    (void)arg;
    for (;;) {
        must(rt_ipc_recv(&message, -1));
        rt_ipc_release(&message);
    }
}

static void path_sync(void)
{
    mode = IPC_SYNC;
    rt_spawn(asks, NULL);
    partner = rt_spawn(releases, NULL);
}

static actor_id members[HOPS];
static long hops_left;

static void hop(void *state, const rt_behaviour_message *msg)
{
    const actor_id *next = state;
    if (hops_left-- == 0) {
        rt_shutdown();
        return;
    }
    must(rt_behaviour_send(*next, 0, msg->data, msg->len));
}

static const rt_behaviour_fn hop_handlers[] = {hop};
static const rt_behaviour_type hopper = {
    .handlers = hop_handlers, .handler_count = 1, .priority = RT_PRIO_NORMAL};

static void path_behaviour(void)
{
    for (size_t i = 0; i < HOPS; i++) {
        members[i] = rt_behaviour_spawn(&hopper, &members[(i + 1) % HOPS]);
    }
    hops_left = count;
    must(rt_behaviour_send(members[0], 0, &hops_left, sizeof(hops_left)));
}

/* ---- timers ---- */

static rt_wheel wheel;
static rt_wheel_node nodes[LONG];

static void on_fire(void *arg)
{
    (void)arg;
}

static void open_wheel(void)
{
    rt_wheel_config config = {.nodes = nodes, .max_timer_nodes = LONG};
    must(rt_wheel_init(&wheel, &config, 0));
}

static void *timers_cancel(void *arg)
{
    const rt_waker waker = {.fn = on_fire};
    rt_wheel_handle handle;
    open_wheel();
    for (long i = 0; i < count; i++) {
        must(rt_wheel_register(&wheel, RT_NS_PER_S + (rt_time)i * RT_NS_PER_MS, waker, &handle));
        if (!rt_wheel_cancel(&wheel, &handle)) {
            exit(1);
        }
    }
    return arg;
}

static void path_timer_cancel(void)
{
    go(timers_cancel);
}

static void *timers_fire(void *arg)
{
    const rt_waker waker = {.fn = on_fire};
    rt_wheel_handle handle;
    rt_waker due[16];
    size_t fired = 0;
    open_wheel();
    for (long i = 0; i < count; i++) {
        must(rt_wheel_register(&wheel, (rt_time)(1 + i) * 100000, waker, &handle));
    }
    for (rt_time now = 0; fired < (size_t)count; now += 1000000) {
        size_t taken;
        while ((taken = rt_wheel_collect_expired(&wheel, now, due, 16)) > 0) {
            fired += taken;
        }
    }
    return arg;
}

static void path_timer_fire(void)
{
    go(timers_fire);
}

static void ticks(void *arg)
{
    (void)arg;
    for (long i = 0; i < count; i++) {
        timer_id id;
        must(rt_timer_after(60000000, &id));
        must(rt_timer_cancel(id));
    }
    rt_exit();
}

static void path_actor_timer(void)
{
    rt_spawn(ticks, NULL);
}

static void *locks(void *arg)
{
    rt_mutex mutex;
    must(rt_mutex_init(&mutex));
    for (long i = 0; i < count; i++) {
        must(rt_mutex_lock(&mutex, NULL));
        must(rt_mutex_unlock(&mutex, NULL));
    }
    must(rt_mutex_deinit(&mutex));
    return arg;
}

static void path_mutex(void)
{
    go(locks);
}

static const struct {
    const char *name;
    void (*start)(void);
} paths[] = {
    {"yield_pair", path_yield},
    {"go_join", path_go_join},
    {"spawn_exit", path_spawn_exit},
    {"poll_spawn_join", path_poll_spawn_join},
    {"poll_wake", path_poll_wake},
    {"rendezvous_round_trip", path_rendezvous},
    {"stream_value", path_stream},
    {"permit_pair", path_permit},
    {"select4_ready", path_select_ready},
    {"select4_block", path_select_block},
    {"message_round_trip", path_message},
    {"sync_round_trip", path_sync},
    {"behaviour_hop", path_behaviour},
    {"wheel_register_cancel", path_timer_cancel},
    {"wheel_register_fire", path_timer_fire},
    {"actor_timer_start_cancel", path_actor_timer},
    {"mutex_pair", path_mutex},
};

int main(void)
{
    static const long lengths[] = {SHORT, LONG};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        for (size_t j = 0; j < 2; j++) {
            count = lengths[j];
            must(rt_init());
            paths[i].start();
            rt_run();
            rt_cleanup();
            instructions_mark();
        }
        printf("%s\t%d\n", paths[i].name, LONG - SHORT);
    }
    return 0;
}
