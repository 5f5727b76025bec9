#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program on the parallel engine in which everybody waits and no timer runs: its threads are not
# woken, make no system call and use no processor. Seconds: ORRERY_IDLE_SECONDS, else 3.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
BUILD_DIR=${BUILD_DIR:-$SOURCE_DIR/build/release}
[ -f "$SOURCE_DIR/build/release/liborrery.a" ] && BUILD_DIR=$SOURCE_DIR/build/release
CC=${CC:-gcc}
seconds=${ORRERY_IDLE_SECONDS:-3}
scratch=$(mktemp -d)
child=
trap 'test -z "$child" || kill "$child" 2>/dev/null || true; rm -rf "$scratch"' EXIT
cat > "$scratch/idle.c" <<'PROGRAM'
#include <orrery/rt.h>
#include <stdio.h>

static int is_ticking;
static rt_channel_sender *tx;
static rt_channel_receiver *rx;

static void *wait_for_ever(void *arg)
{
    int value;
    (void)arg;
    rt_status status = rt_channel_recv(rx, NULL, &value);
    return (void *)(size_t)status.code;
}

/* Keeps every worker busy for a moment, so that all threads are there. */
static void *begin(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        rt_task *task = rt_go(wait_for_ever, NULL);
        if (task == NULL || RT_FAILED(rt_detach(task))) {
            return NULL;
        }
        if (RT_FAILED(rt_sleep(RT_NS_PER_MS))) {
            return NULL;
        }
    }
    puts("idle");
    fflush(stdout);
    while (is_ticking) {
        if (RT_FAILED(rt_sleep(100 * RT_NS_PER_MS))) {
            return NULL;
        }
    }
    return wait_for_ever(NULL);
}

int main(int argc, char **argv)
{
    (void)argv;
    is_ticking = argc > 1;
    rt_config config = {.workers = 4};
    rt_channel_config channel = {.elem_size = sizeof(int), .capacity = 1};
    if (RT_FAILED(rt_init_ex(&config)) || RT_FAILED(rt_channel_create(&channel, &tx, &rx))) {
        return 1;
    }
    rt_task *task = rt_go(begin, NULL);
    if (task == NULL || RT_FAILED(rt_detach(task))) {
        return 1;
    }
    rt_run();
    return 0;
}
PROGRAM
"$CC" -std=c11 -O2 -I"$SOURCE_DIR/include" "$scratch/idle.c" "$BUILD_DIR/liborrery.a" -lpthread \
    -lm -o "$scratch/idle"

# Starts the program and waits until it says that it is idle.
begin() {
    : > "$scratch/out"
    "$scratch/idle" "$@" > "$scratch/out" &
    child=$!
    tries=0
    while ! grep -q idle "$scratch/out"; do
        tries=$((tries + 1))
        if [ "$tries" -gt 600 ]; then
            echo "the program does not become idle"
            exit 1
        fi
        sleep 0.1
    done
}

# Every thread's switches and ticks of the processor.
account() {
    for task in /proc/"$child"/task/*; do
        echo "$task $(grep ctxt "$task/status" | tr -d '\n\t') $(cut -d' ' -f14,15 "$task/stat")"
    done
}

# A program with a timer shows that the account would see it.
begin tick
account > "$scratch/before"
tries=0
while account > "$scratch/after" && cmp -s "$scratch/before" "$scratch/after"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 120 ]; then
        echo "a timer that ticks is not seen"
        exit 1
    fi
    sleep 0.5
done
kill "$child"

begin
# The warden makes its last looks, and all go to sleep, within a second that the machine has for
# them.
tries=0
until account > "$scratch/before" && sleep 1 && account > "$scratch/after" &&
    cmp -s "$scratch/before" "$scratch/after"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 20 ]; then
        echo "threads of an idle program run and run"
        exit 1
    fi
done
account > "$scratch/before"
sleep "$seconds"
account > "$scratch/after"
if ! cmp -s "$scratch/before" "$scratch/after"; then
    echo "threads of an idle program ran within $seconds s:"
    diff "$scratch/before" "$scratch/after" || true
    exit 1
fi
if ! command -v strace > /dev/null || ! strace -o /dev/null true 2> /dev/null; then
    echo "no strace here: switches and processor time stood still"
    exit 0
fi
timeout "$seconds" strace -f -p "$child" -o "$scratch/calls" 2> /dev/null || true
# What each thread was in when strace came is shown as resumed or unfinished.
calls=$(grep -vc 'unfinished\|resuming\|detached' "$scratch/calls" || true)
threads=$(wc -l < "$scratch/before")
echo "$threads threads, $calls system calls in $seconds s"
test "$calls" -eq 0
