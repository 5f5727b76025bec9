#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An endless loop that the compiler instruments lets the others run, on the fixed engine and on the
# parallel one with fewer workers than loops. One that it does not, and one that calls the runtime
# all the time and never waits, do on the parallel one.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
BUILD_DIR=${BUILD_DIR:-$SOURCE_DIR/build/release}
CC=${CC:-gcc}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat > "$scratch/loops.c" <<'PROGRAM'
#include <orrery/rt.h>
#include <stdio.h>

static volatile int is_over;
static volatile unsigned long turns;

static void loop_for_ever(void *arg)
{
    (void)arg;
    while (!is_over) {
        turns++;
    }
    rt_exit();
}

static void end_it(void *arg)
{
    rt_message message;
    timer_id timer;
    (void)arg;
    for (int i = 0; i < 3; i++) {
        if (RT_FAILED(rt_timer_after(1000, &timer)) || RT_FAILED(rt_ipc_recv(&message, -1))) {
            break;
        }
    }
    is_over = 1;
    rt_exit();
}

int main(int argc, char **argv)
{
    rt_config config = {.workers = 2};
    rt_status status = argc > 1 && argv[1][0] == 'p' ? rt_init_ex(&config) : rt_init();
    if (RT_FAILED(status)) {
        return 1;
    }
    for (int i = 0; i < 3; i++) {
        rt_spawn(loop_for_ever, NULL);
    }
    rt_spawn(end_it, NULL);
    rt_run();
    rt_cleanup();
    puts(is_over ? "over" : "not over");
    return is_over ? 0 : 1;
}
PROGRAM
"$CC" -std=c11 -O2 -fsanitize-coverage=trace-pc -I"$SOURCE_DIR/include" "$scratch/loops.c" \
    "$BUILD_DIR/liborrery.a" -lpthread -o "$scratch/loops"
for engine in fixed parallel; do
    timeout 20 "$scratch/loops" "$engine" || { echo "$engine: loops stopped the others"; exit 1; }
done
# Without the instrumentation the parallel engine takes the stations from the loops.
"$CC" -std=c11 -O2 -I"$SOURCE_DIR/include" "$scratch/loops.c" "$BUILD_DIR/liborrery.a" -lpthread \
    -o "$scratch/plain"
timeout 20 "$scratch/plain" parallel || { echo "plain: the loops stopped the others"; exit 1; }

cat > "$scratch/calls.c" <<'PROGRAM'
#include <orrery/rt.h>
#include <stdio.h>

static volatile int is_over;
static rt_channel_sender *tx;
static rt_channel_receiver *rx;

static void ask_the_clock(void *arg)
{
    (void)arg;
    while (!is_over) {
        (void)rt_clock();
    }
    rt_exit();
}

static void try_to_receive(void *arg)
{
    long value;
    (void)arg;
    while (!is_over && RT_FAILED(rt_channel_try_recv(rx, &value))) {
    }
    rt_exit();
}

static void look_for_mail(void *arg)
{
    rt_message message;
    (void)arg;
    while (!is_over) {
        (void)rt_ipc_recv(&message, 0);
    }
    rt_exit();
}

/* Each of its waits needs the one worker. */
static void end_it(void *arg)
{
    rt_message message;
    timer_id timer;
    (void)arg;
    for (int i = 0; i < 20; i++) {
        if (RT_FAILED(rt_timer_after(1000, &timer)) || RT_FAILED(rt_ipc_recv(&message, -1))) {
            break;
        }
    }
    is_over = 1;
    rt_exit();
}

int main(void)
{
    rt_config config = {.workers = 1};
    rt_channel_config places = {.elem_size = sizeof(long), .capacity = 1};
    if (RT_FAILED(rt_init_ex(&config)) || RT_FAILED(rt_channel_create(&places, &tx, &rx))) {
        return 1;
    }
    rt_spawn(ask_the_clock, NULL);
    rt_spawn(try_to_receive, NULL);
    rt_spawn(look_for_mail, NULL);
    rt_spawn(end_it, NULL);
    rt_run();
    (void)rt_channel_close_sender(tx);
    (void)rt_channel_close_receiver(rx);
    rt_cleanup();
    puts(is_over ? "over" : "not over");
    return is_over ? 0 : 1;
}
PROGRAM
"$CC" -std=c11 -O2 -I"$SOURCE_DIR/include" "$scratch/calls.c" "$BUILD_DIR/liborrery.a" -lpthread \
    -o "$scratch/calls"
timeout 20 "$scratch/calls" || { echo "calls: the loops stopped the others"; exit 1; }
