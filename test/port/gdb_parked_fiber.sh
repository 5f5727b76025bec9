#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A debugger sees the frames of a parked fiber, their arguments, and where its stack ends.
#
# gdb stops a program in which fibers are parked, takes the four saved registers of a parked
# context, three of them from below its stack pointer on x86-64, and prints the backtrace: with and
# without optimization, with each compiler that is installed.
#
# Environment: SOURCE_DIR (the tree), CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
CC=${CC:-gcc}
command -v gdb >/dev/null || { echo "skipped: no gdb here"; exit 77; }
processor=$(uname -m)
case $processor in
x86_64) frame_pointer=rbp base=rbx kept='((struct rti_arch_kept *)CONTEXT.saved.sp - 1)->' ;;
aarch64) frame_pointer=x29 base=x19 kept='CONTEXT.saved.' ;;
*) echo "skipped: no switch for $processor"; exit 77 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "gdb_parked_fiber: $build: $*" >&2
    cat "$work/out" >&2
    exit 1
}

# view CONTEXT: the commands that make gdb stand in a parked context.
view() {
    of=$(echo "$kept" | sed "s/CONTEXT/$1/")
    # All of it before the stack pointer changes what gdb stands in.
    cat <<END
echo == $1\n
set \$kept_fp = ${of}fp
set \$kept_base = ${of}base
set \$kept_pc = ${of}pc
set \$sp = $1.saved.sp
set \$$frame_pointer = \$kept_fp
set \$$base = \$kept_base
set \$pc = \$kept_pc
backtrace
END
}

cat >"$work/commands" <<END
set debuginfod enabled off
set confirm off
set width 0
break all_are_parked
run
$(view parked_inline)
$(view parked_tail)
$(view not_begun)
echo == end\n
kill
END

# section NAME: what gdb printed about one context.
section() {
    awk -v name="== $1" '$0 == name { on = 1; next } /^== / { on = 0 } on' "$work/out"
}

# frames NAME: the functions of its backtrace, innermost first, on one line, without the inlined
# ones of the switch itself.
frames() {
    section "$1" |
        sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)\{0,1\}\([A-Za-z_][A-Za-z_0-9]*\) .*/\2/p;
            s/^#[0-9]* .*??.*/??/p' |
        grep -v -x -E 'rti_arch_switch(_tail|_exchanging)?|rti_context_switch(_tail)?' |
        tr '\n' ' '
}

# values NAME: the numbers that the three frames were called with.
values() {
    section "$1" | sed -n 's/.*_value=\([^)]*\)).*/\1/p' | tr '\n' ' '
}

check() {
    [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
}

called='frame_inner frame_middle frame_outer fiber_entry rti_arch_entry '
for compiler in "$CC" clang-19 clang-14; do
    command -v "$compiler" >/dev/null || continue
    for level in -O0 -O2; do
        build="$compiler $level"
        "$compiler" -std=c11 "$level" -g -fno-optimize-sibling-calls -DNVALGRIND \
            -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/src" \
            "$SOURCE_DIR/test/port/gdb_parked_fiber.c" "$SOURCE_DIR/src/sched/context.c" \
            "$SOURCE_DIR/src/port/arch/$processor/"*.[cS] -o "$work/program"
        "$work/program" || { : >"$work/out"; fail "the program itself fails"; }
        gdb -nx -batch -x "$work/commands" "$work/program" >"$work/out" 2>&1 || fail "gdb failed"
        if grep -q 'ptrace: Operation not permitted\|Could not trace' "$work/out"; then
            echo "skipped: this machine lets no debugger in"
            exit 77
        fi
        if grep -qi 'corrupt stack\|previous frame\|cannot access memory' "$work/out"; then
            fail "the unwinder did not find the end of a stack"
        fi
        check 'inline switch' "$(frames parked_inline)" "$called"
        check 'its values' "$(values parked_inline)" '43 42 41 '
        check 'tail switch' "$(frames parked_tail)" "rti_arch_switch_called park_by_tail $called"
        check 'its values' "$(values parked_tail)" '43 42 41 '
        check 'a fiber that has not begun' "$(frames not_begun)" 'rti_arch_entry '
    done
done
