#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# orrery trace writes what the Perfetto viewer reads: tracks, slices and arrows, of a journal whose
# events are known and of a running program. A parser of the test's own reads it back.
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR, CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
. "$(dirname "$0")/support.sh"
unset XDG_RUNTIME_DIR
parser="$SOURCE_DIR/test/tools/perfetto.py"

compile "$SOURCE_DIR/test/tools/make_journal.c" "$work/make"
"$work/make" "$work/journal"
expect 0 "$tool" trace "$work/journal" -o "$work/out.pftrace"
has '^30 events on 3 tracks, 17 slices; 0 earlier events are lost$'
expect 0 python3 "$parser" "$work/out.pftrace"
has '^track 1 orrery$'
has '^track 2 worker 0$'
has '^slice worker 0 1 1000 3000$'
has '^slice worker 0 2 6000 11000$'
has '^slice 2 ready 5000 6000$'
has '^slice 2 runs 6000 11000$'
has '^slice 1 waits 6000 20000$'
has '^slice 1 runs 21000 22000$'
has '^instant 1 send 5000$'
has '^instant 2 recv 6000$'
[ "$(grep -c '^flow 1 -> 2$' "$work/out")" -eq 2 ] || fail "not one arrow of a wake and one of mail"
hasnt '^cut'
expect 0 "$tool" trace --json "$work/journal" -o "$work/out.pftrace"
is_json

# A running program.
compile "$SOURCE_DIR/test/tools/waiting_program.c" "$work/program" -O2
export ORRERY_OBSERVE=1
start "$work/program" talk
expect 0 "$tool" trace --for 40 -o "$work/live.pftrace" "$pid"
has '^[0-9]+ events on 3 tracks, '
expect 0 python3 "$parser" "$work/live.pftrace"
has '^track [0-9]+ 64 talk$'
has '^track [0-9]+ 65 echo$'
has '^slice worker 0 64 talk '
has '^slice 65 echo runs '
has '^flow 64 talk -> 65 echo$'
has '^flow 65 echo -> 64 talk$'
# It goes on as before, and records once more.
expect 0 "$tool" dump "$pid"
expect 0 "$tool" trace --for 20 -o "$work/live.pftrace" "$pid"
stop

# Several workers: each has a track, and tells when it idles.
start "$work/program" pass 2
expect 0 "$tool" trace --for 40 -o "$work/parallel.pftrace" "$pid"
expect 0 python3 "$parser" "$work/parallel.pftrace"
has '^track 2 worker 0$'
has '^track [0-9]+ t[0-9]+ bouncer$'
has '^slice worker [0-9]+ t[0-9]+ (bouncer|thrower) '
has '^slice t[0-9]+ bouncer runs '
has '^slice t[0-9]+ thrower waits '
has '^flow t[0-9]+ thrower -> t[0-9]+ bouncer$'
has '^flow t[0-9]+ bouncer -> t[0-9]+ thrower$'
expect 0 "$tool" dump "$pid"
stop

# One that never lets the scheduler have its turn cannot record, and says so.
start "$work/program" compute
expect 3 "$tool" trace --for 20 -o "$work/busy.pftrace" "$pid"
has 'gets no turn'
stop

# ORRERY_JOURNAL makes a journal of a whole run, of the world and of the simulator.
cat >"$work/short.c" <<'END'
#include <orrery/rt.h>

static void first(void *arg)
{
    rt_sim_mark((uint64_t)(uintptr_t)arg);
    rt_yield();
    rt_exit();
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        return RT_FAILED(rt_sim_run(&(rt_sim_config){.seed = 1}, first, NULL));
    }
    if (RT_FAILED(rt_init())) {
        return 1;
    }
    (void)rt_spawn(first, NULL);
    rt_run();
    rt_cleanup();
    return 0;
}
END
compile "$work/short.c" "$work/short"
# ORRERY_RECORD keeps what the flight recorder saw of a run, with names, on every engine.
cat >"$work/family.c" <<'END'
#include <orrery/rt.h>

static void child(void *arg)
{
    rt_message msg;
    (void)arg;
    if (!RT_FAILED(rt_ipc_recv(&msg, -1))) {
        (void)rt_ipc_send(msg.sender, msg.data, msg.len, IPC_ASYNC);
    }
    rt_exit();
}

static void parent(void *arg)
{
    rt_message msg;
    int value = 1;
    (void)arg;
    actor_config config = {.priority = RT_PRIO_NORMAL, .name = "the_second_child"};
    actor_id id = rt_spawn_ex(child, NULL, &config);
    rt_yield();
    (void)rt_ipc_send(id, &value, sizeof(value), IPC_ASYNC);
    (void)rt_ipc_recv(&msg, 10000);
    rt_exit();
}

int main(int argc, char **argv)
{
    rt_config several = {.workers = 2};
    (void)argv;
    if (RT_FAILED(argc > 1 ? rt_init_ex(&several) : rt_init())) {
        return 1;
    }
    (void)rt_spawn_ex(parent, NULL,
                      &(actor_config){.priority = RT_PRIO_NORMAL, .name = "parent"});
    rt_run();
    rt_cleanup();
    return 0;
}
END
compile "$work/family.c" "$work/family"
for workers in "" 2; do
    # Unquoted: without a number there is no argument.
    ORRERY_RECORD="$work/recording" "$work/family" $workers
    expect 0 "$tool" trace "$work/recording" -o "$work/family.pftrace"
    has ' 0 earlier events are lost$'
    expect 0 python3 "$parser" "$work/family.pftrace"
    has '^track [0-9]+ [0-9]+ parent$'
    has '^track [0-9]+ [0-9]+ the_second_child$'
    has '^slice [0-9]+ the_second_child runs '
    [ "$(grep -c '^flow [0-9]* parent -> [0-9]* the_second_child$' "$work/out")" -eq 2 ] ||
        fail "not one arrow of a wake and one of mail"
    has '^instant [0-9]+ the_second_child recv '
    hasnt '^cut'
done
# A file that is cut is refused.
head -c 300 "$work/recording" >"$work/half"
expect 3 "$tool" trace "$work/half" -o "$work/family.pftrace"
has 'no whole recording'
ORRERY_JOURNAL="$work/run" "$work/short"
expect 0 "$tool" journal "$work/run"
has ' end '
expect 0 "$tool" sim --seed 3 --journal "$work/sim" -- "$work/short" sim
expect 0 "$tool" journal "$work/sim"
has ' mark '
has ' end '
expect 0 "$tool" trace "$work/sim" -o "$work/sim.pftrace"
expect 0 python3 "$parser" "$work/sim.pftrace"

expect 3 "$tool" trace "$work/nothing" -o "$work/out.pftrace"
expect 3 "$tool" trace "$work/journal" -o "$work/no/folder"
expect 2 "$tool" trace "$work/journal"
expect 2 "$tool" trace --for 0 -o x 1
expect 2 "$tool" trace --for 70000 -o x 1
