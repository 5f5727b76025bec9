#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One seed gives one trace hash: with gcc and clang, at -O0 and -O2, with a random and with a fixed
# address layout, on x86-64 and, under the emulator, on aarch64. Two seeds give two. This holds for
# the scheduler (trace_hash) and for the simulated network (net_hash).
set -eu
source_dir=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
seeds=${ORRERY_HASH_SEEDS:-60}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# build NAME ARCH COMPILER FLAGS...
build() {
    name=$1
    arch=$2
    shift 2
    case $program in
    trace_hash) parts="test/support/fibers.c test/support/test_fail.c src/sched/*.c src/time/*.c" ;;
    net_hash) parts= ;;
    esac
    # The parts of the tree that this program is made of, compiled in one go. What it does not use
    # is left out, with what that would need of the port.
    (cd "$source_dir" && "$@" -std=c11 -DRT_CHECKS=1 -fno-strict-aliasing -pthread \
        -ftls-model=initial-exec -ffunction-sections -Wl,--gc-sections \
        -Isrc -Iinclude -Itest -o "$scratch/$name" \
        "test/sim/program/$program.c" $parts src/base/*.c src/port/sim/*.c \
        src/port/linux/process.c src/port/linux/repeat.c src/port/linux/marks_file.c \
        src/port/linux/heap.c src/port/linux/error_text.c src/port/linux/backtrace.c \
        src/port/linux/images.c src/port/linux/watch.c \
        $(find "src/port/arch/$arch" -name '*.[cS]'))
}

# compare NAME COMMAND...: its output must be that of the first build.
compare() {
    name=$1
    shift
    "$@" 1 "$seeds" >"$scratch/$name.out"
    if ! cmp -s "$scratch/reference.out" "$scratch/$name.out"; then
        echo "$program $name differs from the reference, first lines:"
        diff "$scratch/reference.out" "$scratch/$name.out" | head -n 6
        exit 1
    fi
    echo "same: $program $name"
}

machine=$(uname -m)
for program in trace_hash net_hash; do
    build gcc-O0 "$machine" gcc -O0
    build gcc-O2 "$machine" gcc -O2
    build clang-O0 "$machine" clang-19 -O0
    build clang-O2 "$machine" clang-19 -O2
    "$scratch/gcc-O0" 1 "$seeds" >"$scratch/reference.out"

    distinct=$(cut -f2 "$scratch/reference.out" | sort -u | wc -l)
    if [ "$distinct" -ne "$seeds" ]; then
        echo "only $distinct different hashes for $seeds seeds"
        exit 1
    fi
    if ! cut -f3 "$scratch/reference.out" | grep -q RT_OK; then
        echo "no seed ran to its end"
        exit 1
    fi
    for name in gcc-O0 gcc-O2 clang-O0 clang-O2; do
        compare "$name" "$scratch/$name"
        compare "$name-fixed-layout" setarch "$machine" -R "$scratch/$name"
    done
    if [ "$machine" = x86_64 ]; then
        build aarch64-O2 aarch64 aarch64-linux-gnu-gcc -O2 -static
        compare aarch64-O2 qemu-aarch64 "$scratch/aarch64-O2"
    fi
done
