#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The extension for gdb shows tasks, what they wait for and their stacks: in a live program and in a
# core file of it, with and without optimization, on the fixed and on the parallel engine.
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR, CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
BUILD_DIR=${BUILD_DIR:-$SOURCE_DIR/build/plain}
CC=${CC:-gcc}
command -v gdb >/dev/null || { echo "skipped: no gdb here"; exit 77; }
gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1 ||
    { echo "skipped: this gdb has no Python"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "gdb_extension: $where: $*" >&2
    cat "$work/out" >&2
    exit 1
}

# The commands of both sessions.
cat >"$work/look" <<'END'
echo == tasks\n
info tasks
echo == actors\n
info actors
echo == workers\n
info workers
echo == select\n
task cook
echo == bt\n
bt
echo == locals\n
info locals
echo == up\n
up
info frame
echo == back\n
task none
bt 1
echo == one\n
task sleeper bt
echo == all\n
task apply all bt
echo == task\n
task t2 bt
echo == verbose\n
set orrery verbose on
task cook bt
echo == mailbox\n
print rti_runtime.actors.table[2].mailbox
print rti_runtime.actors.table[0].mailbox
echo == nobody\n
task 4711
END
cat >"$work/setup" <<END
set debuginfod enabled off
set confirm off
set width 0
source $SOURCE_DIR/tools/gdb/orrery-gdb.py
END

# section NAME: what gdb printed below a heading.
section() {
    awk -v name="== $1" '$0 == name { on = 1; next } /^== / { on = 0 } on' "$work/out"
}

# has SECTION PATTERN: a line of the section matches.
has() {
    section "$1" | grep -q -E -- "$2" || fail "$1: no line matches: $2"
}

hasnt() {
    if section "$1" | grep -q -E -- "$2"; then
        fail "$1: a line matches that should not: $2"
    fi
}

check() {
    grep -q 'Python Exception' "$work/out" && fail "the extension itself failed"
    has tasks ' actor +waiter +waits +mail in rt_ipc_recv \(for [0-9.]+ [nmu]*s\)$'
    has tasks ' actor +sleeper +waits +mail, or until in 3[0-9]+\.[0-9] s in rt_ipc_recv '
    has tasks ' actor +cook +waits +a value of channel 1 .* in rt_channel_recv '
    has tasks ' actor +chef +running +-$'
    has tasks ' t1 +task +helper +waits +the end of task t2 washer in rt_join '
    has tasks ' t2 +task +washer +waits +a value of channel 1 .* in rt_channel_recv '
    has actors 'bystander +waits +1 +main \(gdb_program.c:[0-9]+\) +a value of channel 1'
    has actors 'cook +waits +0 +chef \(gdb_program.c:[0-9]+\)'
    has workers '^[0-9]+ +[0-9]+ +[0-9]+ +actor [0-9]+ chef$'
    has select '^\[actor [0-9]+ cook: waits for a value of channel 1 '
    has select ' wait_for_order '
    has bt ' wait_for_order ⟨async⟩ \(table_number=(table_number@entry=)?12\)'
    has bt ' cook ⟨async⟩ '
    hasnt bt ' (rti_[a-z_]+|fiber_[a-z_]+|everybody_waits|chef) '
    has locals '^order = 0$'
    has up 'frame at 0x'
    has back '^#0 .*everybody_waits'
    has one ' sleeper ⟨async⟩ '
    has one '^    spawned at main \(gdb_program.c:[0-9]+\)$'
    has all '^actor [0-9]+ waiter: waits for mail '
    has all ' wait_for_mail ⟨async⟩ \(guests=(guests@entry=)?7\)'
    has all ' everybody_waits ⟨async⟩ '
    has all '^    spawned at chef \(gdb_program.c:[0-9]+\) by [0-9]+ chef$'
    has task ' washer ⟨async⟩ '
    has task '^    spawned at gdb_program.c:[0-9]+ by t1 helper$'
    has verbose 'rti_fiber_park'
    has verbose ' cook ⟨async⟩ '
    has mailbox '1 message\(s\), nobody waits = \{\[0\] = ASYNC of 4 bytes from [0-9]+ chef\}'
    has mailbox '0 message\(s\), its owner waits'
    has nobody 'no task has the id or the name 4711'
}

# session ENGINE ARGUMENT: a live program, and its core file.
session() {
    where="live, $1"
    {
        cat "$work/setup"
        printf 'break everybody_waits\nrun %s\norrery-core %s/core\n' "$2" "$work"
        cat "$work/look"
    } >"$work/live"
    # The last command of the script fails on purpose.
    gdb -nx -batch -x "$work/live" "$work/program" >"$work/out" 2>&1 || true
    if grep -q 'ptrace: Operation not permitted\|Could not trace' "$work/out"; then
        echo "skipped: this machine lets no debugger in"
        exit 77
    fi
    check
    where="core, $1"
    cat "$work/setup" "$work/look" >"$work/dead"
    gdb -nx -batch -x "$work/dead" "$work/program" "$work/core" >"$work/out" 2>&1 || true
    check
    rm "$work/core"
}

for level in -O0 -O2; do
    $CC -std=c11 "$level" -g -fstack-clash-protection -Wall -Wextra -Werror \
        -I"$SOURCE_DIR/include" "$SOURCE_DIR/test/gdb/gdb_program.c" \
        "$BUILD_DIR/liborrery.a" -lpthread -o "$work/program"
    session "$level, fixed" ''
    session "$level, parallel" 2
done
