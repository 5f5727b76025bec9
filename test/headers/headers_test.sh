#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, and twice in a row, as C11 and as C++17.
#
# Environment: SOURCE_DIR (the tree). Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Compiles the program text on standard input: compiler, language, standard.
compiles() {
    "$1" -x "$2" -std="$3" -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
        -I"$SOURCE_DIR/include" - 2>"$work/messages"
}

# The check itself can fail: this text has no stddef.h for its size_t, and a comma too many.
check_can_fail() {
    if echo 'enum bad { BAD, }; size_t bad(void);' | compiles "$@"; then
        echo "headers_test: $1 takes what is wrong" >&2
        exit 1
    fi
}

headers=$(cd "$SOURCE_DIR/include" && find orrery -name '*.h' | sort)
[ -n "$headers" ] || { echo "headers_test: there is no header" >&2; exit 1; }

failures=0
compilers=0
# Checks every header with one compiler, if it is here.
check_compiler() {
    command -v "$1" >/dev/null || { echo "not here: $1"; return; }
    compilers=$((compilers + 1))
    check_can_fail "$@"
    for header in $headers; do
        # The declaration keeps a header that has only macros from being an empty program.
        if ! printf '#include <%s>\n#include <%s>\nextern int declaration;\n' "$header" "$header" |
            compiles "$@"; then
            echo "headers_test: $header does not compile alone with $1 -std=$3" >&2
            cat "$work/messages" >&2
            failures=$((failures + 1))
        fi
    done
}

for compiler in gcc clang-14 clang-19; do
    check_compiler $compiler c c11
done
for compiler in g++ clang++-14 clang++-19; do
    check_compiler $compiler c++ c++17
done

[ $compilers -gt 0 ] || { echo "skipped: no compiler here"; exit 77; }
[ $failures -eq 0 ] || exit 1
echo "$(echo "$headers" | wc -l) headers, $compilers compilers"
