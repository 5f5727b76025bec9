#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the library as a user does and builds users' programs against what was installed.
#
# `make install` goes into a fresh prefix, which is then moved: what works afterwards depends on no
# path of this machine. A consumer is built through pkg-config (shared and static), through
# find_package (both targets, C and C++) and as a part of its own source tree; each one runs.
#
# Environment: SOURCE_DIR (the tree), CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
CC=${CC:-gcc}
export CC
# This test may run inside `make test`; its own make starts afresh.
unset MAKEFLAGS MFLAGS MAKELEVEL
for tool in cmake ninja make pkg-config g++ readelf nm "$CC"; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

prefix=$work/moved
headers=$work/headers
consumer=$SOURCE_DIR/test/install/consumer

fail() {
    echo "install_test: $*" >&2
    exit 1
}

# Runs a command quietly; its output is shown when it fails.
quietly() {
    "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "this failed: $*"; }
}

install_and_move() {
    quietly make -C "$SOURCE_DIR" install RELEASE="$work/build" PREFIX="$work/prefix" DESTDIR=
    mv "$work/prefix" "$prefix"
    mkdir "$headers"
    (cd "$prefix/include" && find orrery -name '*.h' | sort | sed 's|.*|#include <&>|') \
        >"$headers/all_headers.h"
}

check_files() {
    installed=$(cd "$prefix/include" && find . -type f | sort)
    wanted=$(cd "$SOURCE_DIR/include" && find . -type f | sort)
    [ "$installed" = "$wanted" ] || fail "the installed headers are not those of include/"
    for file in lib/liborrery.a lib/liborrery.so lib/pkgconfig/orrery.pc \
        lib/cmake/orrery/orreryConfig.cmake lib/cmake/orrery/orreryConfigVersion.cmake; do
        [ -e "$prefix/$file" ] || fail "$file is not installed"
    done
    for path in "$SOURCE_DIR" "$work"; do
        found=$(grep -rlF -- "$path" "$prefix" || true)
        [ -z "$found" ] || fail "a path of this machine is in: $found"
    done
}

# Names that are not ours to choose: what the compiler calls in code that counts its blocks, and the
# mark of <sys/sdt.h> in every file that has a probe.
compilers_name='__sanitizer_cov_trace_pc\|_\.stapsdt\.base'

# The soname carries the ABI number, the shared library shows the world rt_ and nothing else, and
# the static one adds only rti_ to that: a user's own names never collide.
check_symbols() {
    abi=$(sed -n 's/^set(ORRERY_ABI \([0-9]*\))$/\1/p' "$SOURCE_DIR/CMakeLists.txt")
    readelf -d "$prefix/lib/liborrery.so" | grep -q "soname: \[liborrery.so.$abi\]" ||
        fail "the soname is not liborrery.so.$abi"
    exported=$(nm -D --defined-only "$prefix/lib/liborrery.so" | awk '{ print $3 }')
    echo "$exported" | grep -q '^rt_status_name$' || fail "rt_status_name is not exported"
    others=$(echo "$exported" | grep -v '^rt_' | grep -vx "$compilers_name" || true)
    [ -z "$others" ] || fail "exported, and not rt_: $others"
    others=$(nm -g --defined-only "$prefix/lib/liborrery.a" |
        awk 'NF == 3 && $3 !~ /^rti?_/ { print $3 }' | grep -vx "$compilers_name" || true)
    [ -z "$others" ] || fail "global in liborrery.a, and neither rt_ nor rti_: $others"
}

# Prints the names of the functions that the headers given declare.
declared_in() {
    cat "$@" | tr '\n' ' ' | tr ';' '\n' |
        sed -n 's/.*RT_API [^(]*\b\(rt_[a-z0-9_]*\)(.*/\1/p' | sort
}

# What <orrery/rt.h> promises is there, and what is there is promised by some header.
check_declarations() {
    nm -D --defined-only "$prefix/lib/liborrery.so" | awk '{ print $3 }' |
        grep -vx "$compilers_name" | sort >"$work/exported"
    (
        cd "$prefix/include"
        # The names of the headers are words on purpose.
        # shellcheck disable=SC2046
        declared_in $(sed -n 's/^#include <\(orrery.*\)>/\1/p' orrery/rt.h) >"$work/promised"
        # shellcheck disable=SC2046
        declared_in $(find orrery -name '*.h') >"$work/declared"
    )
    [ -s "$work/promised" ] || fail "no declaration is found in what orrery/rt.h includes"
    others=$(comm -13 "$work/exported" "$work/promised")
    [ -z "$others" ] || fail "declared by <orrery/rt.h>, and not exported: $others"
    others=$(comm -23 "$work/exported" "$work/declared")
    [ -z "$others" ] || fail "exported, and declared in no public header: $others"
}

# Assembly that forgets a note makes every stack of the process executable, without a word.
check_stack_is_data() {
    readelf -lW "$prefix/lib/liborrery.so" | grep -q 'GNU_STACK.* RW ' ||
        fail "the shared library asks for an executable stack"
    for member in $(ar t "$prefix/lib/liborrery.a"); do
        ar p "$prefix/lib/liborrery.a" "$member" >"$work/member.o"
        readelf -SW "$work/member.o" | grep -q '\.note\.GNU-stack' ||
            fail "$member does not say that its stack is data"
    done
}

# Fails unless the program runs and is linked as said: shared or static.
check_program() {
    LD_LIBRARY_PATH=$prefix/lib "$1" >"$work/out" || fail "$1 does not run"
    grep -qx 'consumer: success' "$work/out" || fail "$1 printed: $(cat "$work/out")"
    needed=no
    if readelf -d "$1" | grep -q 'NEEDED.*liborrery'; then
        needed=yes
    fi
    case $2 in
    shared) [ $needed = yes ] || fail "$1 does not use the shared library" ;;
    static) [ $needed = no ] || fail "$1 uses the shared library" ;;
    esac
}

consume_by_pkg_config() {
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    export PKG_CONFIG_PATH
    flags=$(pkg-config --cflags orrery)
    case $flags in
    *-fstack-clash-protection*) ;;
    *) fail "pkg-config does not give -fstack-clash-protection: $flags" ;;
    esac
    # The flags are words on purpose.
    # shellcheck disable=SC2046,SC2086
    quietly "$CC" -std=c11 -I"$headers" $flags "$consumer/consumer.c" -o "$work/pc_shared" \
        $(pkg-config --libs orrery)
    # shellcheck disable=SC2046,SC2086
    quietly "$CC" -std=c11 -static -I"$headers" $flags "$consumer/consumer.c" -o "$work/pc_static" \
        $(pkg-config --static --libs orrery)
    check_program "$work/pc_shared" shared
    check_program "$work/pc_static" static
}

configure_consumer() {
    cmake -G Ninja -S "$consumer" -B "$@" -DHEADERS="$headers" -DCMAKE_PREFIX_PATH="$prefix"
}

consume_by_find_package() {
    quietly configure_consumer "$work/found" -DWANTED=0.1
    quietly cmake --build "$work/found"
    for language in c cxx; do
        check_program "$work/found/${language}_orrery" shared
        check_program "$work/found/${language}_orrery_static" static
    done
    commands=$work/found/compile_commands.json
    count=$(grep -c '"command".*-fstack-clash-protection' "$commands" || true)
    [ "$count" = 4 ] || fail "$count of 4 consumers are compiled with -fstack-clash-protection"
    for version in 0.0 0.2 1.0; do
        if configure_consumer "$work/wrong" -DWANTED=$version >/dev/null 2>&1; then
            fail "version $version is found though it is not there"
        fi
    done
}

consume_from_source() {
    quietly configure_consumer "$work/part" -DFROM_SOURCE="$SOURCE_DIR" -DORRERY_SHARED=OFF
    quietly cmake --build "$work/part"
    check_program "$work/part/c_orrery" static
    [ ! -d "$work/part/orrery/test" ] || fail "a user's build builds the tests"
}

install_and_move
check_files
check_symbols
check_declarations
check_stack_is_data
consume_by_pkg_config
consume_by_find_package
consume_from_source
echo "installed and consumed: pkg-config, find_package, add_subdirectory"
