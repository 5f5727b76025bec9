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
expect 0 "$tool" trace --for 100 -o "$work/live.pftrace" "$pid"
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

# One that never lets the scheduler have its turn cannot record, and says so.
start "$work/program" compute
expect 3 "$tool" trace --for 20 -o "$work/busy.pftrace" "$pid"
has 'gets no turn'

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
