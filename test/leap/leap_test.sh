#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The clock of leap.c leaps, within its bound, and never back; test/leap/run runs cases with it, and
# says so where there is none or one fails.
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

test/leap/run --seeds 2 --filter '^list_' > "$folder/out"
grep -Eq '^[1-9][0-9]* passed, 0 failed$' "$folder/out"
if test/leap/run --seeds 1 --filter '^no_case_is_called_so$' > "$folder/out"; then
    echo "leap: no case, and no complaint"
    exit 1
fi

if test/leap/run --seeds 1 --binary build/plain/self/broken_cases --filter '_passes$|_fails$' \
    > "$folder/out"; then
    echo "leap: a case failed, and no complaint"
    exit 1
fi
grep -q '^bad_case_fails: ' "$folder/out"
grep -qx '1 passed, 1 failed' "$folder/out"

cat > "$folder/look.c" << 'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long long ns(const struct timespec *t)
{
    return t->tv_sec * 1000000000LL + t->tv_nsec;
}
int main(void)
{
    struct timespec last = {0, 0}, here, first, then;
    for (int i = 0; i < 5000; i++) {
        clock_gettime(CLOCK_MONOTONIC, &here);
        if (ns(&here) < ns(&last)) {
            puts("back");
        }
        last = here;
    }
    /* Whoever stops between the readings, the leaps are at most this and at least that. */
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &first);
    clock_gettime(CLOCK_MONOTONIC, &here);
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &then);
    long long most = ns(&here) - ns(&first);
    long long least = ns(&here) - ns(&then);
    puts(least <= 0 ? "not ahead" : most > 100000000 && least < 400000000 ? "ahead" : "wrong");
    return 0;
}
END
cc -O2 -o "$folder/look" "$folder/look.c"
# A try that was stopped for as long as all leaps take says "not ahead"; ten are not.
for seed in 1 2 3 4 5 6 7 8 9 10; do
    ORRERY_LEAP_SEED=$seed LD_PRELOAD=build/plain/leap.so "$folder/look"
done > "$folder/said"
grep -qx ahead "$folder/said"
if grep -qvx -e ahead -e "not ahead" "$folder/said"; then
    cat "$folder/said"
    exit 1
fi
[ "$("$folder/look")" = "not ahead" ]
