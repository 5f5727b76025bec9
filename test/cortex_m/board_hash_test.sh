#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One seed gives one trace hash, on Linux and on each emulated board: 32 bits, another processor,
# another C library, with the large wheel, the small one and none.
# timeout: 600
set -eu
source_dir=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
boards=$source_dir/build/cortex_m
seeds=${ORRERY_HASH_SEEDS:-20}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

(cd "$source_dir" && gcc -O1 -std=c11 -DRT_CHECKS=1 -fno-strict-aliasing -pthread \
    -ftls-model=initial-exec -ffunction-sections -Wl,--gc-sections \
    -Isrc -Iinclude -Itest -o "$scratch/trace_hash" \
    test/sim/program/trace_hash.c test/support/fibers.c test/support/test_fail.c \
    src/base/*.c src/sched/*.c src/time/*.c src/port/sim/*.c \
    src/port/linux/process.c src/port/linux/repeat.c src/port/linux/marks_file.c \
    src/port/linux/heap.c src/port/linux/error_text.c src/port/linux/backtrace.c \
    src/port/linux/images.c src/port/linux/watch.c \
    $(find "src/port/arch/$(uname -m)" -name '*.[cS]'))
"$scratch/trace_hash" 1 "$seeds" >"$scratch/linux.out"

distinct=$(cut -f2 "$scratch/linux.out" | sort -u | wc -l)
if [ "$distinct" -ne "$seeds" ]; then
    echo "only $distinct different hashes for $seeds seeds"
    exit 1
fi
while read -r board machine; do
    qemu-system-arm -display none -monitor none -serial none -icount shift=6,sleep=off \
        -semihosting-config "enable=on,target=native,arg=trace_hash,arg=1,arg=$seeds" \
        -M "$machine" -kernel "$boards/$board/trace_hash.elf" >"$scratch/$board.out" </dev/null
    if ! cmp -s "$scratch/linux.out" "$scratch/$board.out"; then
        echo "$board differs from Linux, first lines:"
        diff "$scratch/linux.out" "$scratch/$board.out" | head -n 6
        exit 1
    fi
    echo "same: $board, $seeds seeds"
done <<END
m3 mps2-an385
m4f mps2-an386
m7 mps2-an500
m33 mps2-an505
END
