#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The flight controller on each emulated board: a simulated flight, with its accidents, prints the
# same telemetry as on Linux, to the last digit of the last frame, and the same trace hash; a flight
# on the board's own clock comes down in one piece.
# timeout: 300
set -eu
source_dir=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
boards=$source_dir/build/cortex_m
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Runs the program on a board: machine, image, mode. The program's own status is the emulator's.
fly() {
    timeout 100 qemu-system-arm -display none -monitor none -serial none \
        -icount shift=6,sleep=off -semihosting-config "enable=on,target=native,arg=flight,arg=$3" \
        -M "$1" -kernel "$2" </dev/null
}

# What the runtime itself says goes to another stream on Linux.
"$source_dir/build/release/examples/flight_controller" --telemetry 2>/dev/null >"$scratch/linux"
[ "$(grep -c '^frame ' "$scratch/linux")" -gt 100 ]
grep -q 'stack overflowed' "$scratch/linux"
while read -r board machine; do
    fly "$machine" "$boards/$board/flight.elf" --telemetry >"$scratch/said"
    grep -v '^orrery: ' "$scratch/said" >"$scratch/$board"
    if ! cmp -s "$scratch/linux" "$scratch/$board"; then
        echo "$board differs from Linux, first lines:"
        diff "$scratch/linux" "$scratch/$board" | head -n 6
        exit 1
    fi
    fly "$machine" "$boards/$board/flight.elf" --alone >"$scratch/alone"
    if ! grep -q 'ended with a soft landing' "$scratch/alone"; then
        echo "$board did not land on its own clock:"
        tail -n 8 "$scratch/alone"
        exit 1
    fi
    echo "same, and landed: $board"
done <<END
m3 mps2-an385
m4f mps2-an386
m7 mps2-an500
m33 mps2-an505
END
