#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every function of the actor runtime's headers is in the table of caller_test.c.
#
# Environment: SOURCE_DIR (the tree). Exit status: 0 passed, 1 failed.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
table="$SOURCE_DIR/test/conform/caller_test.c"

count=0
failures=0
for noun in actor ipc link registry call timer bus net file runtime sim fault; do
    names=$(tr '\n' ' ' <"$SOURCE_DIR/include/orrery/rt/$noun.h" |
        grep -oE 'RT_API [^;(]*\(' | grep -oE 'rt_[a-z0-9_]+\($' | tr -d '(')
    [ -n "$names" ] || { echo "caller_table: $noun.h has no function" >&2; exit 1; }
    for name in $names; do
        count=$((count + 1))
        if ! grep -q "^ASK($name)" "$table" || ! grep -qE "\bask_$name," "$table"; then
            echo "caller_table: $name ($noun.h) is not asked" >&2
            failures=1
        fi
    done
done
[ "$count" -ge 70 ] || { echo "caller_table: only $count functions were found" >&2; exit 1; }
exit "$failures"
