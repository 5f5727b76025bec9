#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No hot path takes over 3 % more instructions than bench/instructions.tsv says, and a path that
# does is seen. The counts are those of the released library under callgrind; with another compiler
# than gcc 12 the test is skipped.
#
# Environment: SOURCE_DIR (the tree), BUILD_ROOT (where the presets are built; default: build).
# Exit status: 0 passed, 1 failed, 77 skipped.
# timeout: 300
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
run=$SOURCE_DIR/bench/instructions/run
table=$SOURCE_DIR/bench/instructions.tsv

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

status=0
"$run" --library "${BUILD_ROOT:-$SOURCE_DIR/build}/release/liborrery.a" --save "$work/counts" ||
    status=$?
[ "$status" -eq 0 ] || exit "$status"

# What is within the bounds passes, one path that has grown by a twentieth does not.
"$run" --counts "$work/counts" --table "$table" >"$work/out"
awk -F '\t' 'NR == 3 { printf "%s\t%.1f\n", $1, $2 * 0.95; next } { print }' \
    "$work/counts" >"$work/smaller"
if "$run" --counts "$work/counts" --table "$work/smaller" >"$work/out" 2>&1; then
    echo "instructions_test: a path that has grown by 5 % was not seen" >&2
    exit 1
fi
grep -q "grown" "$work/out"

# A path that the table does not know is seen as well.
sed '$d' "$table" >"$work/shorter"
if "$run" --counts "$work/counts" --table "$work/shorter" >"$work/out" 2>&1; then
    echo "instructions_test: a path that is not in the table was not seen" >&2
    exit 1
fi
