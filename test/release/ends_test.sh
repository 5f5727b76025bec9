#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library as it is released, without checks: tasks of a room return, panic and wait, and the
# next one begins on the stack of the last, whichever way that one ended. One that waits there has
# a backtrace.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
LIBRARY=${BUILD_ROOT:-$SOURCE_DIR/build}/release/liborrery.a
CC=${CC:-gcc}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat > "$scratch/ends.c" <<'PROGRAM'
#include <orrery/rt.h>

#define TASKS  30
#define ROUNDS 3

static rt_channel_sender *tx;
static rt_channel_receiver *rx;
static int waiting;

static void *returns(void *arg)
{
    return arg;
}

static void *panics(void *arg)
{
    (void)arg;
    rt_panic_task("as told");
}

static void *waits(void *arg)
{
    int value = 0;
    waiting++;
    return !RT_FAILED(rt_channel_recv(rx, NULL, &value)) && value == 7 ? arg : NULL;
}

static int fails(rt_task *task, rt_status_code code)
{
    rt_task_result result;
    rt_status status = rt_join_result(task, &result);
    return status.code != code || (code == RT_OK && result.value != &tx);
}

/* Each kind ten times; the dump is of those that wait. */
static int play_a_round(void)
{
    static rt_task *tasks[TASKS];
    rt_task_fn kinds[] = {returns, panics, waits};
    int failed = 0;
    waiting = 0;
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = rt_go(kinds[i % 3], &tx);
    }
    for (int i = 0; i < TASKS; i += 3) {
        failed += fails(tasks[i], RT_OK) + fails(tasks[i + 1], RT_ERR_PANICKED);
    }
    while (waiting < TASKS / 3) {
        rt_yield();
    }
    failed += RT_FAILED(rt_dump(1));
    for (int i = 0; i < TASKS; i += 3) {
        failed += RT_FAILED(rt_channel_send(tx, NULL, &(int){7}));
        failed += fails(tasks[i + 2], RT_OK);
    }
    return failed;
}

static void *first(void *arg)
{
    rt_channel_config config = {.elem_size = sizeof(int), .capacity = 1};
    int failed = RT_FAILED(rt_task_reserve(&(rt_task_room){.tasks = TASKS})) ||
                 RT_FAILED(rt_channel_create(&config, &tx, &rx));
    for (int round = 0; failed == 0 && round < ROUNDS; round++) {
        failed = play_a_round();
    }
    return failed == 0 ? arg : NULL;
}

int main(void)
{
    void *value = NULL;
    rt_main_config config = {.value = &value};
    return RT_FAILED(rt_run_main(&config, first, &value)) || value != &value;
}
PROGRAM
"$CC" -std=c11 -O2 -Wall -Wextra -Werror -I"$SOURCE_DIR/include" "$scratch/ends.c" "$LIBRARY" \
    -lpthread -o "$scratch/ends"
fail() {
    cat "$scratch/dump"
    echo "$1"
    exit 1
}
"$scratch/ends" > "$scratch/dump" || fail "tasks did not end as told"
traces=$(grep -A1 '^task .* waiting for a channel' "$scratch/dump" | grep -c '^  at ') || true
[ "$traces" -eq 30 ] || fail "$traces of 30 have a backtrace"
