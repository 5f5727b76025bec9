#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# orrery dump and stats look at a running program: what waits and for what, with and without
# optimization; one that computes without end; a deadlock; and only if the program and its user let
# them.
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR, CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
. "$(dirname "$0")/support.sh"
export ORRERY_OBSERVE=1
unset XDG_RUNTIME_DIR

for level in -O0 -O2; do
    compile "$SOURCE_DIR/test/tools/waiting_program.c" "$work/program" "$level"
    start "$work/program" wait
    expect 0 "$tool" dump "$pid"
    has "^process $pid: 5 tasks and actors; it stood still for [0-9.]+ (ns|us)\$"
    has '^actor [0-9]+ mail_waiter: waits for mail, since [0-9.]+ [mun]?s; 0 in the mailbox$'
    has '^actor [0-9]+ sleeper: waits for mail, or until in 3[0-9]+\.[0-9] s, since '
    has '^task t[0-9]+ outer: waits for the end of task t[0-9]+ inner, since '
    has '^task t[0-9]+ inner: waits for a value of channel 1 \(0 of 4 queued, 1 sender\(s\), 1 rec'
    has '^    rt_channel_recv'
    has '^    inner_task at waiting_program.c:[0-9]+$'
    has '^    wait_for_mail at waiting_program.c:[0-9]+$'
    has '^    mail_waiter at waiting_program.c:[0-9]+$'
    has '^    spawned by first_of_wait at waiting_program.c:[0-9]+, in [0-9]+ wait$'
    has '^    spawned at waiting_program.c:[0-9]+, in t[0-9]+ outer$'
    # The chain: where the one was started that started it.
    has '^    spawned at waiting_program.c:[0-9]+$'
    has '^    spawned by main at waiting_program.c:[0-9]+$'
    hasnt '^    (rti_|fiber_entry)'
    expect 0 "$tool" dump --verbose "$pid"
    has '^    rti_'
    has '^    rti_arch_entry'
    expect 0 "$tool" dump --no-backtraces "$pid"
    hasnt '^    wait_for_mail'
    expect 0 "$tool" dump --json "$pid"
    is_json
    has '"function": "wait_for_mail"'
    expect 0 "$tool" stats "$pid"
    has '^actors_waiting +3$'
    has '^tasks +2$'
    expect 0 "$tool" stats --json "$pid"
    is_json
    expect 0 "$tool" stats --watch=10 --count 3 "$pid"
    [ "$(grep -c '^actors_waiting' "$work/out")" -eq 3 ] || fail "not three times"
done

# Several workers never all stand still: they are looked at while they run.
start "$work/program" wait 2
# Those on the other worker may be on their way still.
comes '^actor [0-9]+ mail_waiter: waits for mail, since ' "$tool" dump "$pid"
comes '^task t[0-9]+ outer: waits for the end of task t[0-9]+ inner, since ' "$tool" dump "$pid"
comes '^    inner_task at waiting_program.c:[0-9]+$' "$tool" dump "$pid"
expect 0 "$tool" dump "$pid"
has "^process $pid: 5 tasks and actors\$"
has '^actor [0-9]+ mail_waiter: waits for mail, since '
has '^task t[0-9]+ outer: waits for the end of task t[0-9]+ inner, since '
has '^    inner_task at waiting_program.c:[0-9]+$'
start "$work/program" pass 2
for _ in 1 2 3 4 5 6 7 8 9 10; do
    expect 0 "$tool" dump "$pid"
    has '^task t[0-9]+ bouncer: '
done
expect 0 "$tool" stats "$pid"
has '^workers +2$'
stop

start "$work/program" wait
# The socket is its user's alone.
socket=/tmp/orrery-$(id -u)/$pid.sock
[ "$(stat -c '%a' "$socket")" = 600 ] || fail "the socket is open to others"
[ "$(stat -c '%a' "$(dirname "$socket")")" = 700 ] || fail "its folder is open to others"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    chmod 711 "$work"
    cp "$tool" "$work/tool"
    expect 3 setpriv --reuid=65534 --regid=65534 --clear-groups "$work/tool" dump "$pid"
    has 'does not let itself be looked at'
fi

# One that computes without end is found all the same.
start "$work/program" compute
expect 0 "$tool" dump "$pid"
has '^worker 0: runs [0-9]+ compute$'
has '^BUSY: '
has '^actor [0-9]+ compute: running; '
expect 0 "$tool" dump "$pid"
has '^BUSY: '
expect 0 "$tool" stats "$pid"
has '^actors_running +1$'
stop

# All slots in use, asked often, while it works.
start "$work/program" many
expect 0 "$tool" dump "$pid"
has "^process $pid: 64 tasks and actors"
# Ten thousand tasks: the report comes in slices, and the program goes on between them. One worker
# stands still for each, several never do.
export TICKS="$work/ticks"
for workers in "" 2; do
    # Unquoted: without a number there is no argument.
    start "$work/program" crowd $workers
    expect 0 python3 "$SOURCE_DIR/test/tools/slices.py" "/tmp/orrery-$(id -u)/$pid.sock" "$TICKS"
    has '^10001 tasks in [4-9][0-9] slices, at most (1?[0-9]?[0-9]|2[0-4][0-9]|25[0-6]) in one; '
    has ' it ticked in [1-9][0-9]* of [3-9][0-9] pauses$'
    expect 0 "$tool" dump --json "$pid"
    is_json
    [ "$(grep -c '"function": "inner_task"' "$work/out")" -eq 10000 ] || fail "not all the stacks"
    # Two who look at the same time both see it.
    "$tool" dump "$pid" >"$work/other" 2>&1 &
    other=$!
    expect 0 "$tool" dump "$pid"
    has "^process $pid: 10001 tasks and actors"
    wait "$other" || fail "the other dump failed"
    grep -q "^process $pid: 10001 tasks and actors" "$work/other" || fail "the other saw less"
    stop
done
unset TICKS

# One that ends while it is looked at ends as it should, and the tool says what happened.
for workers in "" 2; do
    start "$work/program" brief $workers
    while kill -0 "$pid" 2>/dev/null; do
        status=0
        "$tool" dump --no-backtraces "$pid" >"$work/out" 2>&1 || status=$?
        case $status in 0 | 3) ;; *) fail "status $status of a program that ends" ;; esac
        # The shell keeps the number of one that has ended until it is asked how.
        grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null && break
    done
    wait "$pid" || fail "it did not end well"
    expect 3 "$tool" dump "$pid"
    has 'there is no process'
done

# What has no stack is shown too, with what it waits for.
for workers in "" 2; do
    start "$work/program" stackless $workers
    comes '^poll task p[0-9]+: waits for a value of channel 1 ' "$tool" dump "$pid"
    comes '^poll task p[0-9]+: waits until in 3' "$tool" dump "$pid"
    expect 0 "$tool" dump "$pid"
    has "^process $pid: 4 tasks and actors"
    has '^behaviour b[0-9]+ quiet: waits for mail$'
    has '^poll task p[0-9]+: waits for a value of channel 1 \(0 of 4 queued, 1 sender\(s\), 1 rec'
    has '^    poll_for_value at waiting_program.c:[0-9]+$'
    has '^poll task p[0-9]+: waits until in 3[0-9]+\.[0-9] s$'
done

start "$work/program" talk
for _ in 1 2 3 4 5 6 7 8 9 10; do
    expect 0 "$tool" dump "$pid"
    has '^actor [0-9]+ echo: '
done

# What is no request is refused, and the next one is answered.
python3 - "/tmp/orrery-$(id -u)/$pid.sock" <<'END' || fail "it took nonsense for a request"
import socket
import sys

long = b"x" * 1000 + b"\n"
for nonsense in (b"", b"\n", long, b"trace 0\n", b"trace -1\n", b"trace 999999999\n"):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(sys.argv[1])
        client.sendall(nonsense)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while chunk := client.recv(4096):
                answer += chunk
        except ConnectionResetError:
            pass
        assert answer == b"" or answer.startswith(b"error\t"), answer
END
expect 0 "$tool" dump "$pid"
stop

# A deadlock has a status of its own.
compile "$SOURCE_DIR/examples/deadlock.c" "$work/deadlock" -O2
"$work/deadlock" &
pid=$!
children="$children $pid"
waited=0
until [ -S "/tmp/orrery-$(id -u)/$pid.sock" ] && "$tool" stats "$pid" 2>/dev/null |
    grep -q '^actors_waiting  *2$'; do
    waited=$((waited + 1))
    [ "$waited" -lt 300 ] || fail "the deadlock never came"
    sleep 0.05
done
expect 1 "$tool" dump "$pid"
has '^DEADLOCK: '
has '^    cook_for at deadlock.c:[0-9]+$'
has '^    serve at deadlock.c:[0-9]+$'
expect 1 "$tool" dump --json "$pid"
is_json

# Who waits for a signal, or for a thread, is in none.
for what in signal job; do
    start "$work/program" "$what"
    comes '^actor [0-9]+ '"$what"': waits for ' "$tool" dump "$pid"
    expect 0 "$tool" dump "$pid"
    has '^actor [0-9]+ '"$what"': waits for '
    hasnt '^DEADLOCK: '
done
has ': waits for a job of a pool of threads'

# A program that does not opt in has no socket.
ORRERY_OBSERVE=0
start "$work/program" wait
expect 3 "$tool" dump "$pid"
has 'start it with ORRERY_OBSERVE=1'
expect 3 "$tool" stats "$pid"

# Or it opts in by its configuration.
unset ORRERY_OBSERVE
start "$work/program" wait 1 observed
expect 0 "$tool" dump "$pid"
has "^process $pid: 5 tasks and actors"
expect 3 "$tool" dump 4194305
has 'there is no process'
expect 2 "$tool" dump
expect 2 "$tool" dump nonsense
expect 2 "$tool" stats --watch=0 1
