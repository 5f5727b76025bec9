#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# orrery sim gives a program its seed, tries many, and says how to repeat the one that failed.
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR, CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
. "$(dirname "$0")/support.sh"

cat >"$work/program.c" <<'END'
/* Fails for the seeds whose run draws an odd number first. */
#include <orrery/rt.h>
#include <stdio.h>

static void first(void *arg)
{
    *(uint64_t *)arg = rt_random();
    rt_exit();
}

int main(void)
{
    uint64_t drawn = 0;
    rt_sim_report report;
    rt_sim_config config = {.report = &report};
    if (RT_FAILED(rt_sim_run(&config, first, &drawn))) {
        return 2;
    }
    printf("seed %llu drew %llu\n", (unsigned long long)report.seed, (unsigned long long)drawn);
    return (int)(drawn % 2);
}
END
compile "$work/program.c" "$work/program"

expect 0 "$tool" sim --help
status=0
"$tool" sim --seed 7 "$work/program" >"$work/first" 2>&1 || status=$?
again=0
"$tool" sim --seed 7 "$work/program" >"$work/out" 2>&1 || again=$?
[ "$status" -eq "$again" ] || fail "one seed, two ends"
cmp -s "$work/first" "$work/out" || fail "one seed, two runs"
has '^seed 7 drew '

# Among a few seeds one fails: then it says which, and the command that it gives fails too.
expect 1 "$tool" sim --seed 1 --seeds 40 -- "$work/program"
has '^seed [0-9]+: failed, status 1$'
has '^1 of [0-9]+ seeds failed$'
seed=$(sed -n 's/^seed \([0-9]*\): failed.*/\1/p' "$work/out")
has "^repeat: orrery sim --seed $seed -- $work/program\$"
expect 1 "$tool" sim --seed "$seed" -- "$work/program"
expect 1 "$tool" sim --seeds 40 --keep-going -- "$work/program"
has '^([2-9]|[1-9][0-9]) of 40 seeds failed$'
"$tool" sim --json --seeds 5 --keep-going "$work/program" >"$work/out" 2>/dev/null || true
is_json
has '"tried": 5'
expect 2 "$tool" sim
expect 2 "$tool" sim --seed x "$work/program"
expect 2 "$tool" sim --seeds 0 "$work/program"
expect 3 "$tool" sim "$work/nothing"
