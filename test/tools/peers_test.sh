#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Orrery's side of the comparison with its peers builds without a warning and does every bench, so
# short that the figures mean nothing; and bench/results.tsv has a row of ours for each.
#
# Environment: SOURCE_DIR (the tree), BUILD_ROOT (where the presets are built; default: build), CC.
# Exit status: 0 passed, 1 failed.
# timeout: 300
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
library="${BUILD_ROOT:-$SOURCE_DIR/build}/release/liborrery.a"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

"${CC:-gcc}" -O2 -std=gnu11 -Wall -Wextra -Wshadow -Wconversion -Werror \
    -I"$SOURCE_DIR/bench/peers" -I"$SOURCE_DIR/bench" -I"$SOURCE_DIR/include" -o "$work/peer" \
    "$SOURCE_DIR"/bench/peers/orrery/*.c "$library" -lpthread

# Runs a bench on so many cores; it must print a line of its name, a metric and a number.
try() {
    if ! timeout 60 "$work/peer" "$1" "$2" "$3" >"$work/out" 2>&1 ||
        ! tr '\t' ' ' <"$work/out" | grep -qE "^${1%:*} [a-z_]+ [0-9.]+\$"; then
        echo "peers_test: $1 on $2 cores with $3:" >&2
        cat "$work/out" >&2
        exit 1
    fi
}

for bench in switch spawn_join spawn_join:fiber skynet chan_pingpong chan_stream_1p1c \
    chan_stream_4p1c actor_pingpong actor_pingpong:fiber actor_ring actor_fanin select4_ready \
    select4_block timer_cancel timer_fire sleepers idle_memory_poll idle_memory_actor \
    idle_memory_fiber growth_spawn growth_message growth_channel growth_waiters growth_timer \
    growth_poll workers_independent workers_pipelined workers_contended; do
    try "$bench" 1 1000
done
for bench in spawn_join skynet chan_pingpong chan_stream_1p1c chan_stream_4p1c actor_pingpong \
    actor_ring actor_fanin select4_block workers_independent workers_pipelined \
    workers_contended; do
    try "$bench" 2 1000
done

PYTHONPATH="$SOURCE_DIR/bench/peers" python3 - "$SOURCE_DIR/bench/results.tsv" <<'END'
import sys

from runner import matrix

with open(sys.argv[1], encoding="utf-8") as file:
    rows = [line.rstrip("\n").split("\t") for line in file]
if rows[0] != ["bench", "peer", "cores", "metric", "median", "min", "max"]:
    sys.exit("peers_test: bench/results.tsv has other columns")
ours = {(row[0], int(row[2]), row[3]) for row in rows[1:] if row[1] == "orrery"}
missing = [f"{bench.name} on {cores}" for bench in matrix.BENCHES for cores in bench.runs
           if not bench.name.startswith("virtual_")
           and (bench.name, cores, bench.metric) not in ours]
if missing:
    sys.exit(f"peers_test: bench/results.tsv has no row of ours for {', '.join(missing)}")
END
