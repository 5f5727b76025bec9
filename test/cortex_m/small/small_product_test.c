/* SPDX-License-Identifier: Apache-2.0 */
/* Does a product that leaves out all that can be left out still keep the actor specification's
 * promises? The library is that of bench/cortex_m/build.cmake, every option off, with checks; the
 * suites of the other lanes have the options on. Each case is a program of its own on the public
 * interface, from rt_init to rt_cleanup, and says how it ended as every firmware does. */
#include <stdbool.h>
#include <string.h>

#include <orrery/rt/actor.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/link.h>
#include <orrery/rt/runtime.h>
#include <orrery/rt/sim.h>
#include <orrery/rt/timer.h>

#include "port/cortex_m/board.h"

static bool is_failed;
static uint32_t steps; /* what the actors of a case have done, a digit each */

static void say(const char *text)
{
    rti_board_write(text, strlen(text));
}

static void say_number(uint32_t number)
{
    char digit = (char)('0' + number % 10);
    if (number >= 10) {
        say_number(number / 10);
    }
    rti_board_write(&digit, 1);
}

static void check(bool is_right, const char *what, uint32_t line)
{
    if (!is_right) {
        is_failed = true;
        say("small_product_test.c:");
        say_number(line);
        say(": ");
        say(what);
        say("\n");
    }
}

#define CHECK(c)    check((c), #c, __LINE__)
#define CHECK_OK(c) check(!RT_FAILED(c), #c, __LINE__)

static void step(uint32_t digit)
{
    steps = steps * 10 + digit;
}

static actor_id spawn(actor_fn fn, void *arg)
{
    actor_id id = rt_spawn(fn, arg);
    CHECK(id != ACTOR_ID_INVALID);
    return id;
}

static uint32_t word_of(const rt_message *message)
{
    uint32_t word = 0;
    memcpy(&word, message->data, message->len < sizeof(word) ? message->len : sizeof(word));
    return word;
}

/* Messages that wait come in their order, whether they were small, large or none. */
static void takes_six(void *arg)
{
    rt_message message;
    (void)arg;
    rt_yield();
    for (uint32_t i = 1; i <= 6; i++) {
        CHECK_OK(rt_ipc_recv(&message, i % 2 == 0 ? -1 : 10));
        CHECK(message.len == (i == 3 ? 32U : sizeof(uint32_t)) && word_of(&message) == i);
    }
    CHECK(rt_ipc_recv(&message, 0).code == RT_ERR_WOULDBLOCK);
    CHECK(rt_ipc_recv(&message, 2).code == RT_ERR_TIMEOUT);
    step(2);
    rt_exit();
}

static void sends_six(void *arg)
{
    actor_id to = spawn(takes_six, NULL);
    unsigned char large[32] = {3};
    (void)arg;
    for (uint32_t i = 1; i <= 6; i++) {
        CHECK_OK(i == 3 ? rt_ipc_send(to, large, sizeof(large), IPC_ASYNC)
                        : rt_ipc_send(to, &i, sizeof(i), IPC_ASYNC));
    }
    CHECK(rt_ipc_send(to, large, 33, IPC_ASYNC).code == RT_ERR_INVALID);
    step(1);
    rt_exit();
}

static void messages_come_in_their_order(void)
{
    spawn(sends_six, NULL);
    rt_run();
    CHECK(steps == 12);
}

/* A SYNC sender goes on when the receiver lets go of the message, or ends. */
static void lets_go(void *arg)
{
    rt_message message;
    (void)arg;
    CHECK_OK(rt_ipc_recv(&message, -1));
    CHECK(word_of(&message) == 7);
    step(1);
    rt_ipc_release(&message);
    CHECK_OK(rt_ipc_recv(&message, -1));
    step(3);
    rt_exit();
}

static void sends_sync(void *arg)
{
    actor_id to = spawn(lets_go, NULL);
    uint32_t word = 7;
    (void)arg;
    CHECK(rt_ipc_send(rt_self(), &word, sizeof(word), IPC_SYNC).code == RT_ERR_INVALID);
    CHECK_OK(rt_ipc_send(to, &word, sizeof(word), IPC_SYNC));
    step(2);
    CHECK(rt_ipc_send(to, &word, sizeof(word), IPC_SYNC).code == RT_ERR_CLOSED);
    CHECK(rt_ipc_send(to, &word, sizeof(word), IPC_ASYNC).code == RT_ERR_INVALID);
    step(4);
    rt_exit();
}

static void sync_ends_with_the_release_or_the_receiver(void)
{
    spawn(sends_sync, NULL);
    rt_run();
    CHECK(steps == 1234);
}

/* A timer may tick again while its tick is read; its id stays readable until the next receive. */
static void ticks(void *arg)
{
    rt_message message;
    timer_id every;
    timer_id once;
    (void)arg;
    CHECK_OK(rt_timer_every(1000, &every));
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_OK(rt_ipc_recv(&message, 100));
        CHECK(rt_timer_is_tick(&message) && word_of(&message) == every);
        rt_time until = rt_clock() + 3500000;
        while (rt_clock() < until) {
            rt_yield();
        }
        CHECK(rt_ipc_count() == 1 && word_of(&message) == every);
    }
    uint64_t overruns = 0;
    CHECK_OK(rt_timer_overruns(every, &overruns));
    CHECK(overruns >= 3);
    CHECK_OK(rt_timer_cancel(every));
    CHECK(rt_timer_cancel(every).code == RT_ERR_INVALID && rt_ipc_count() == 0);
    CHECK_OK(rt_timer_after(500, &once));
    CHECK_OK(rt_ipc_recv(&message, -1));
    CHECK(word_of(&message) == once && once != every);
    timer_id another;
    CHECK_OK(rt_timer_after(100, &another));
    CHECK(word_of(&message) == once);
    CHECK_OK(rt_ipc_recv(&message, -1));
    CHECK(word_of(&message) == another);
    timer_id all[5];
    for (size_t i = 0; i < 4; i++) {
        CHECK_OK(rt_timer_after(1000000, &all[i]));
    }
    CHECK(rt_timer_after(1, &all[4]).code == RT_ERR_NOMEM);
    step(1); /* and ends with four that run */
    rt_exit();
}

static void timers_tick_while_a_tick_is_read(void)
{
    spawn(ticks, NULL);
    rt_run();
    spawn(ticks, NULL);
    rt_run();
    CHECK(steps == 11);
}

/* Who waits for ever and is killed leaves an empty slot to the next, and its links are told. */
static void waits(void *arg)
{
    rt_message message;
    (void)arg;
    (void)rt_ipc_recv(&message, -1);
    CHECK(false);
}

static void kills(void *arg)
{
    rt_message message;
    rt_exit_msg end;
    (void)arg;
    for (uint32_t life = 0; life < 9; life++) {
        actor_id victim = spawn(waits, NULL);
        uint32_t word = 0;
        CHECK_OK(rt_link(victim));
        rt_yield();
        if (life % 3 == 1) {
            CHECK_OK(rt_ipc_send(victim, &word, sizeof(word), IPC_ASYNC));
        }
        CHECK_OK(rt_actor_kill(victim));
        CHECK(rt_ipc_send(victim, &word, sizeof(word), IPC_ASYNC).code == RT_ERR_INVALID);
        CHECK_OK(rt_ipc_recv(&message, life % 2 == 0 ? -1 : 50));
        CHECK(rt_is_exit_msg(&message));
        CHECK_OK(rt_decode_exit(&message, &end));
        CHECK(end.actor == victim && end.reason == RT_EXIT_KILLED && !rt_actor_alive(victim));
    }
    step(1);
    rt_exit();
}

static void the_killed_leave_nothing_behind(void)
{
    spawn(kills, NULL);
    rt_run();
    CHECK(steps == 1);
}

/* Actors and stacks are as many as was said, and a stack is as large. */
static void spawns_too_many(void *arg)
{
    actor_id others[3];
    (void)arg;
    for (size_t i = 0; i < 3; i++) {
        others[i] = spawn(waits, NULL);
    }
    CHECK_OK(rt_spawn_status());
    CHECK(rt_spawn(waits, NULL) == ACTOR_ID_INVALID && rt_spawn_status().code == RT_ERR_NOMEM);
    CHECK_OK(rt_actor_kill(others[1]));
    rt_yield();
    actor_config large = {.priority = RT_PRIO_NORMAL, .stack_size = RT_DEFAULT_STACK_SIZE + 1};
    CHECK(rt_spawn_ex(waits, NULL, &large) == ACTOR_ID_INVALID);
    CHECK(rt_spawn_status().code == RT_ERR_NOMEM);
    actor_config heap = {.priority = RT_PRIO_NORMAL, .malloc_stack = true};
    CHECK(rt_spawn_ex(waits, NULL, &heap) == ACTOR_ID_INVALID);
    CHECK(rt_spawn(NULL, NULL) == ACTOR_ID_INVALID && rt_spawn_status().code == RT_ERR_INVALID);
    actor_config small = {.priority = RT_PRIO_HIGH, .stack_size = RT_DEFAULT_STACK_SIZE};
    others[1] = rt_spawn_ex(waits, NULL, &small);
    CHECK(others[1] != ACTOR_ID_INVALID);
    rt_yield();
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(rt_actor_kill(others[i]));
    }
    step(1);
    rt_exit();
}

static void slots_of_stacks_run_out_and_come_back(void)
{
    spawn(spawns_too_many, NULL);
    rt_run();
    CHECK(steps == 1);
}

/* An overflow ends its actor alone. */
static uint32_t sink;

static void overflows(void *arg)
{
    volatile unsigned char frame[96];
    frame[0] = (unsigned char)(uintptr_t)arg;
    if ((uintptr_t)arg < 1000) {
        overflows((void *)((uintptr_t)arg + 1));
    }
    sink += frame[0];
}

static void watches_an_overflow(void *arg)
{
    rt_message message;
    rt_exit_msg end;
    (void)arg;
    for (uint32_t life = 0; life < 3; life++) {
        actor_id victim = spawn(overflows, NULL);
        CHECK_OK(rt_link(victim));
        CHECK_OK(rt_ipc_recv(&message, -1));
        CHECK_OK(rt_decode_exit(&message, &end));
        CHECK(end.actor == victim && end.reason == RT_EXIT_CRASH_STACK);
    }
    step(1);
    rt_exit();
}

static void an_overflow_ends_its_actor_alone(void)
{
    spawn(watches_an_overflow, NULL);
    rt_run();
    CHECK(steps == 1);
}

/* A receive with a filter leaves what it does not want, notices included. */
static bool is_odd(const rt_message *message, void *arg)
{
    (void)arg;
    return !rt_timer_is_tick(message) && word_of(message) % 2 == 1;
}

static void chooses(void *arg)
{
    rt_message message;
    timer_id timer;
    rt_ipc_filter filter = {.sender = ACTOR_ID_INVALID, .match = is_odd};
    (void)arg;
    CHECK_OK(rt_timer_after(0, &timer));
    for (uint32_t i = 2; i <= 5; i++) {
        CHECK_OK(rt_ipc_send(rt_self(), &i, sizeof(i), IPC_ASYNC));
    }
    rt_yield();
    CHECK_OK(rt_ipc_recv_match(&filter, &message, -1));
    CHECK(word_of(&message) == 3);
    CHECK_OK(rt_ipc_recv_match(&filter, &message, -1));
    CHECK(word_of(&message) == 5);
    CHECK(rt_ipc_recv_match(&filter, &message, 3).code == RT_ERR_TIMEOUT);
    filter = (rt_ipc_filter){.sender = RT_SENDER_TIMER};
    CHECK_OK(rt_ipc_recv_match(&filter, &message, -1));
    CHECK(word_of(&message) == timer && rt_ipc_count() == 2);
    step(1);
    rt_exit();
}

static void a_filter_leaves_the_rest(void)
{
    spawn(chooses, NULL);
    rt_run();
    CHECK(steps == 1);
}

/* rt_cleanup ends whoever is left, in whatever wait, and another runtime can be made. */
static void sleeps(void *arg)
{
    rt_message message;
    (void)arg;
    (void)rt_ipc_recv(&message, 100000);
    CHECK(false);
}

static void shuts_down(void *arg)
{
    (void)arg;
    rt_yield();
    step(1);
    rt_shutdown();
    waits(NULL);
}

static void cleanup_ends_whoever_waits(void)
{
    spawn(waits, NULL);
    spawn(sleeps, NULL);
    spawn(shuts_down, NULL);
    rt_run();
    CHECK(steps == 1);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"messages_come_in_their_order", messages_come_in_their_order},
    {"sync_ends_with_the_release_or_the_receiver", sync_ends_with_the_release_or_the_receiver},
    {"timers_tick_while_a_tick_is_read", timers_tick_while_a_tick_is_read},
    {"the_killed_leave_nothing_behind", the_killed_leave_nothing_behind},
    {"slots_of_stacks_run_out_and_come_back", slots_of_stacks_run_out_and_come_back},
    {"an_overflow_ends_its_actor_alone", an_overflow_ends_its_actor_alone},
    {"a_filter_leaves_the_rest", a_filter_leaves_the_rest},
    {"cleanup_ends_whoever_waits", cleanup_ends_whoever_waits},
};

int main(void)
{
    uint32_t passed = 0;
    uint32_t failed = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        is_failed = false;
        steps = 0;
        CHECK_OK(rt_init());
        cases[i].run();
        rt_cleanup();
        passed += !is_failed;
        failed += is_failed;
        say("over: small_product_");
        say(cases[i].name);
        say(is_failed ? " failed\n" : " passed\n");
    }
    say("ended: ");
    say_number(passed);
    say(" passed, ");
    say_number(failed);
    say(" failed, 0 skipped\n");
    return failed == 0 ? 0 : 1;
}
