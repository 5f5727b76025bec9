#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An installed library brings the extension for gdb along: gdb loads it when it sees the library,
# from a folder that it trusts, and it reads the optimized library that is installed.
#
# Environment: SOURCE_DIR (the tree), CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
CC=${CC:-gcc}
command -v gdb >/dev/null || { echo "skipped: no gdb here"; exit 77; }
unset MAKEFLAGS MFLAGS MAKELEVEL

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

make -C "$SOURCE_DIR" install RELEASE="$work/build" PREFIX="$work/prefix" DESTDIR= \
    >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
$CC -std=c11 -g -I"$work/prefix/include" "$SOURCE_DIR/test/gdb/gdb_program.c" \
    -L"$work/prefix/lib" -lorrery -Wl,-rpath,"$work/prefix/lib" -o "$work/program"
gdb -nx -batch -iex 'set debuginfod enabled off' \
    -iex "set auto-load scripts-directory $work/prefix/share/gdb/auto-load" \
    -iex "set auto-load safe-path $work/prefix/share" \
    -ex 'break everybody_waits' -ex run -ex 'info tasks' -ex 'task cook bt' \
    "$work/program" >"$work/out" 2>&1 || true
if grep -q 'ptrace: Operation not permitted\|Could not trace' "$work/out"; then
    echo "skipped: this machine lets no debugger in"
    exit 77
fi
for line in ' actor +waiter +waits +mail in rt_ipc_recv ' ' cook ⟨async⟩ ' \
    '^    spawned at chef \(gdb_program.c:[0-9]+\) by [0-9]+ chef$'; do
    grep -q -E -- "$line" "$work/out" ||
        { echo "gdb_auto_load: no line matches: $line" >&2; cat "$work/out" >&2; exit 1; }
done
