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
echo == channel\n
print orders_tx
print orders_rx
print first_guest
print (rt_channel_sender *)0x7ff1
echo == stackless\n
python
try:
    gdb.execute("task p1")
except gdb.error as error:
    print(error)
end
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
    has tasks ' t67 +task +guest +waits +a value of channel 1 '
    [ "$(section tasks | grep -c ' guest  *waits ')" -eq 64 ] || fail "not all the guests"
    has tasks ' b[0-9]+ +behaviour +porter +waits +mail$'
    has tasks ' p1 +poll task +poll_for_order +waits +a value of channel 1 '
    has tasks ' p2 +poll task +poll_for_time +waits +until in 3[0-9]+\.[0-9] s$'
    has actors ' b[0-9]+ +porter +waits +- +- +mail$'
    has all '^task t67 guest: waits for a value of channel 1 '
    has all '^    poll task p2 poll_for_time has no stack$'
    has channel '= 0x[0-9a-f]+1 sender of channel 1: 0 of 4 .* receiver\(s\) with 69 waiting$'
    has channel '= 0x[0-9a-f]+2 receiver of channel 1: 0 of 4 queued, '
    has channel '= 0x[0-9a-f]+ task t3 first_guest: waits$'
    has channel '= 0x7ff1 a sender that is closed$'
    has stackless 'poll task p1 poll_for_order has no stack'
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

# In the middle of a switch one task has left its stack and the next has not come to its own: at
# every instruction of one the commands say what they can, live and on the core file of one moment.
cat >"$work/inside.py" <<'END'
def look():
    for command in ("info tasks", "info actors", "info workers", "task apply all bt"):
        gdb.execute(command, to_string=True)
    stack = gdb.execute("task waiter bt", to_string=True)
    assert "wait_for_mail" in stack and "wait_for_order" not in stack, stack


def is_switching():
    place = gdb.newest_frame().find_sal()
    return place.symtab is not None and place.symtab.filename.endswith("switch.h")


def walk(core):
    seen = 0
    for _ in range(20):
        if is_switching():
            look()
            seen += 1
            if seen == 6:
                gdb.execute(f"orrery-core {core}", to_string=True)
        gdb.execute("stepi", to_string=True)
    print(f"looked at {seen} instructions of a switch")
END
switching() {
    where="live, in a switch"
    gdb -nx -batch -x "$work/setup" -ex 'break wait_for_order' -ex run \
        -ex 'tbreak rti_arch_switch' -ex continue \
        -ex "source $work/inside.py" -ex "python walk('$work/core')" "$work/program" \
        >"$work/out" 2>&1 || fail "gdb failed"
    grep -q -E '^looked at ([1-9][0-9]|[6-9]) instructions of a switch$' "$work/out" ||
        fail "no switch was seen"
    if grep -q 'Python Exception\|Error' "$work/out"; then
        fail "the extension failed"
    fi
    where="core, in a switch"
    gdb -nx -batch -x "$work/setup" -ex 'info tasks' -ex 'task waiter bt' -ex 'info workers' \
        "$work/program" "$work/core" >"$work/out" 2>&1 || fail "gdb failed"
    grep -q -E ' wait_for_mail ⟨async⟩ \(guests=' "$work/out" || fail "no stack"
    grep -q -E ' actor +cook ' "$work/out" || fail "no cook"
    rm "$work/core"
}

# A task that was interrupted in a call is summoned: a bit of the limit of its stack says so.
cat >"$work/summon.py" <<'END'
from orrery_gdb.runtime import workers

for worker in workers():
    if int(worker["fiber"]) != 0:
        limit = worker["fiber"]["stack"]["limit"]
        gdb.execute(f"set var *(unsigned long *){int(limit.address)} |= 1ul << 63")
END
summoned() {
    where="live, summoned"
    gdb -nx -batch -x "$work/setup" -ex 'break guest' -ex 'run 2' -ex "source $work/summon.py" \
        -ex 'info workers' "$work/program" >"$work/out" 2>&1 || fail "gdb failed"
    grep -q -E '^[0-9]+ +[0-9]+ +[0-9]+ +task t[0-9]+ (first_)?guest$' "$work/out" ||
        fail "who runs has no thread"
}

for level in -O0 -O2; do
    $CC -std=c11 "$level" -g -fstack-clash-protection -Wall -Wextra -Werror \
        -I"$SOURCE_DIR/include" "$SOURCE_DIR/test/gdb/gdb_program.c" \
        "$BUILD_DIR/liborrery.a" -lpthread -o "$work/program"
    session "$level, fixed" ''
    session "$level, parallel" 2
done
switching
summoned
