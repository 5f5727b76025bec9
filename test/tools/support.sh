# SPDX-License-Identifier: Apache-2.0
# What the tests of the command line tool share; sourced. Sets SOURCE_DIR, BUILD_DIR, CC, `tool` and
# `work`, a folder that is gone afterwards.
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
BUILD_DIR=${BUILD_DIR:-$SOURCE_DIR/build/plain}
CC=${CC:-gcc}
tool=$BUILD_DIR/bin/orrery
work=$(mktemp -d)
children=
end_children() {
    # Only those that were started here, by their numbers.
    for child in $children; do
        kill "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap end_children EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "$(basename "$0"): $*" >&2
    [ ! -e "$work/out" ] || cat "$work/out" >&2
    exit 1
}

# has PATTERN: a line of the latest output matches.
has() {
    grep -q -E -- "$1" "$work/out" || fail "no line matches: $1"
}

hasnt() {
    if grep -q -E -- "$1" "$work/out"; then
        fail "a line matches that should not: $1"
    fi
}

# expect STATUS COMMAND...: runs it into the latest output and checks how it ends.
expect() {
    wanted=$1
    shift
    status=0
    "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] || fail "status $status instead of $wanted: $*"
}

# compile SOURCE PROGRAM [FLAGS...]: a program over the library, with its insides.
compile() {
    source=$1
    program=$2
    shift 2
    $CC -std=c11 -g -fstack-clash-protection -Wall -Wextra -Werror "$@" -I"$SOURCE_DIR/include" \
        -I"$SOURCE_DIR/src" "$source" "$BUILD_DIR/liborrery.a" -lpthread -o "$program"
}

# is_json: the latest output is one JSON document.
is_json() {
    python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$work/out" ||
        fail "not JSON"
}

# start PROGRAM ARGUMENTS...: in the background, until it says `ready`; sets `pid`.
start() {
    : >"$work/said"
    "$@" >"$work/said" 2>&1 &
    pid=$!
    children="$children $pid"
    waited=0
    until grep -q '^ready' "$work/said"; do
        kill -0 "$pid" 2>/dev/null || { cat "$work/said" >&2; fail "it ended: $*"; }
        waited=$((waited + 1))
        [ "$waited" -lt 300 ] || fail "it never came up: $*"
        sleep 0.05
    done
}

# comes PATTERN COMMAND...: as expect 0, until a line matches: what a program says of itself may be
# true a while later only.
comes() {
    pattern=$1
    shift
    waited=0
    until "$@" >"$work/out" 2>&1 && grep -q -E -- "$pattern" "$work/out"; do
        waited=$((waited + 1))
        [ "$waited" -lt 300 ] || fail "no line ever matches: $pattern"
        sleep 0.05
    done
}

# stop: ends the program that was started last, one that would use up a core until the test is over.
stop() {
    kill "$pid"
    wait "$pid" 2>/dev/null || true
}
