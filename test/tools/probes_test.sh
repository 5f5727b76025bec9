#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library has its probes: each name is in the notes of the library, each place in the
# code is one nop, and a debugger stops at one by its name.
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR, CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
. "$(dirname "$0")/support.sh"
echo '#include <sys/sdt.h>' | $CC -E -x c - >/dev/null 2>&1 ||
    { echo "skipped: no sys/sdt.h here (systemtap-sdt-dev)"; exit 77; }
command -v readelf >/dev/null || { echo "skipped: no readelf here"; exit 77; }

# Every file of the library, whether a program needs it or not.
library=$work/library.so
$CC -shared -o "$library" -Wl,--whole-archive "$BUILD_DIR/liborrery.a" -Wl,--no-whole-archive \
    -lpthread
expect 0 readelf -n "$library"
cp "$work/out" "$work/notes"
for probe in spawn start park ready steal exit send receive timer contend; do
    grep -A1 'Provider: orrery' "$work/notes" | grep -q "Name: $probe\$" ||
        fail "there is no probe orrery:$probe"
done

# One byte of code each, the nop.
sed -n '/Provider: orrery/,/Arguments/s/.*Location: \(0x[0-9a-f]*\),.*/\1/p' "$work/notes" |
    sort -u >"$work/places"
count=$(wc -l <"$work/places")
[ "$count" -ge 10 ] || fail "only $count places"
while read -r place; do
    objdump -d --start-address="$place" --stop-address="$((place + 1))" "$library" |
        grep -q '[[:space:]]\(90\|1f 20 03 d5\|d503201f\) .*nop' || fail "at $place there is no nop"
done <"$work/places"

# A tracer that understands the notes stops there.
command -v gdb >/dev/null || exit 0
compile "$SOURCE_DIR/examples/deadlock.c" "$work/program"
gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'break -probe-stap orrery:park' -ex run \
    -ex 'print $_probe_arg0' "$work/program" >"$work/out" 2>&1 || true
if grep -q 'ptrace: Operation not permitted\|Could not trace' "$work/out"; then
    exit 0
fi
has '^\$1 = 64$'
