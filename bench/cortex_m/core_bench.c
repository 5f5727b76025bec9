/* SPDX-License-Identifier: Apache-2.0 */
/* What do the core's operations cost on a Cortex-M, counted in instructions?
 *
 * Method: the firmware runs under qemu-system-arm with -icount shift=6, where each instruction
 * takes 64 ns of the board's time. An operation is repeated ROUNDS times between two readings of
 * the clock. A yield is counted without the loop around it, the others with the program's own calls
 * and looks at statuses. The result repeats exactly.
 *
 * Non-goals: cycles. The emulator knows neither wait states nor a pipeline.
 *
 * The program is also what `make size` weighs: it uses the scheduler, messages of both modes,
 * timers and links, and nothing else of the library; four actors, so that its RAM is the goal's. */
#include <stdbool.h>

#include <orrery/rt/actor.h>
#include <orrery/rt/ipc.h>
#include <orrery/rt/link.h>
#include <orrery/rt/runtime.h>
#include <orrery/rt/sim.h>
#include <orrery/rt/timer.h>

#include "port/cortex_m/board.h"

#define ROUNDS             1000u
#define NS_PER_INSTRUCTION 64u

enum command { CMD_PING = 1, CMD_STOP };

static struct {
    actor_id peer;
    uint32_t loop;
    uint32_t yield;
    uint32_t exchange;
    uint32_t sync;
    bool is_yield_over;
    bool was_told;
    bool was_ticked;
} bench;

static void say(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0') {
        length++;
    }
    rti_board_write(text, length);
}

/* Prints a line: name, tab, hundredths as a decimal number. */
static void say_result(const char *name, uint32_t hundredths)
{
    char digits[16];
    size_t at = sizeof(digits);
    uint32_t rest = hundredths;
    digits[--at] = '\0';
    digits[--at] = '\n';
    for (uint32_t place = 0; place < 3 || rest > 0; place++) {
        if (place == 2) {
            digits[--at] = '.';
        }
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    }
    say(name);
    say("\t");
    say(digits + at);
}

/* Hundredths of an instruction per round. */
static uint32_t per_round(rt_time begin, rt_time end, uint32_t operations)
{
    return (uint32_t)((end - begin) * 100 / NS_PER_INSTRUCTION) / operations;
}

/* Two of these take turns: a round is one yield of each. */
static void yielder(void *arg)
{
    bool is_first = arg != NULL;
    rt_time begin = rt_clock();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        __asm__ volatile("" ::: "memory");
    }
    bench.loop = per_round(begin, rt_clock(), ROUNDS);
    begin = rt_clock();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        rt_yield();
    }
    if (is_first) {
        bench.yield = per_round(begin, rt_clock(), 2 * ROUNDS) - bench.loop;
    }
    bench.is_yield_over = true;
}

/* Sends back what it gets. */
static void ponger(void *arg)
{
    rt_message message;
    (void)arg;
    while (!RT_FAILED(rt_ipc_recv(&message, -1)) && *(const uint32_t *)message.data != CMD_STOP) {
        if (RT_FAILED(rt_ipc_send(message.sender, message.data, message.len, IPC_ASYNC))) {
            return;
        }
    }
}

/* Takes SYNC messages; the release is the next receive. */
static void taker(void *arg)
{
    rt_message message;
    (void)arg;
    while (!RT_FAILED(rt_ipc_recv(&message, -1)) && *(const uint32_t *)message.data != CMD_STOP) {
    }
}

static void pinger(void *arg)
{
    uint32_t command = CMD_PING;
    rt_message message;
    (void)arg;
    actor_id ponging = rt_spawn(ponger, NULL);
    rt_time begin = rt_clock();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (RT_FAILED(rt_ipc_send(ponging, &command, sizeof(command), IPC_ASYNC)) ||
            RT_FAILED(rt_ipc_recv(&message, -1))) {
            return;
        }
    }
    bench.exchange = per_round(begin, rt_clock(), 2 * ROUNDS);
    command = CMD_STOP;
    if (RT_FAILED(rt_link(ponging)) ||
        RT_FAILED(rt_ipc_send(ponging, &command, sizeof(command), IPC_ASYNC)) ||
        RT_FAILED(rt_ipc_recv(&message, -1))) {
        return;
    }
    bench.was_told = rt_is_exit_msg(&message);

    actor_id taking = rt_spawn(taker, NULL);
    command = CMD_PING;
    begin = rt_clock();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (RT_FAILED(rt_ipc_send(taking, &command, sizeof(command), IPC_SYNC))) {
            return;
        }
    }
    bench.sync = per_round(begin, rt_clock(), ROUNDS);
    command = CMD_STOP;
    timer_id timer;
    if (RT_FAILED(rt_ipc_send(taking, &command, sizeof(command), IPC_ASYNC)) ||
        RT_FAILED(rt_timer_after(1000, &timer)) || RT_FAILED(rt_ipc_recv(&message, 100))) {
        return;
    }
    bench.was_ticked = rt_timer_is_tick(&message);
}

int main(void)
{
    static bool is_first = true;
    if (RT_FAILED(rt_init()) || rt_spawn(yielder, &is_first) == ACTOR_ID_INVALID ||
        rt_spawn(yielder, NULL) == ACTOR_ID_INVALID) {
        return 1;
    }
    rt_run();
    if (rt_spawn(pinger, NULL) == ACTOR_ID_INVALID) {
        return 1;
    }
    rt_run();
    rt_cleanup();
    say_result("yield", bench.yield);
    say_result("send_receive_switch", bench.exchange);
    say_result("sync_send_receive", bench.sync);
    return bench.was_told && bench.was_ticked ? 0 : 1;
}
