#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The whole library compiles without a warning: three compilers, -O0 with the checks, -O2 without.
#
# Objects only, nothing is linked; one run of a compiler takes all files, two run at a time.
# Environment: SOURCE_DIR (the tree). Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Prints the sources of the library for a processor, as cmake/orrery.cmake finds them. They are in
# quotes, for xargs.
sources_for() {
    find_sources "$1" | sed 's/.*/"&"/'
}

find_sources() {
    find "$SOURCE_DIR"/src -mindepth 2 -maxdepth 2 -name '*.c'
    for folder in linux sim "arch/$1"; do
        if [ -d "$SOURCE_DIR/src/port/$folder" ]; then
            find "$SOURCE_DIR/src/port/$folder" -maxdepth 1 -name '*.c'
        fi
    done
}

cat >"$work/compile" <<'END'
#!/bin/sh
# compile COMPILER LEVEL CHECKS LIST: compiles all files of the list, in a folder of its own.
set -eu
folder=$(dirname "$4")/$1-$2
mkdir -p "$folder"
cd "$folder"
xargs "$1" -c -std=c11 "$2" -DRT_CHECKS="$3" -Wall -Wextra -Wshadow -Wconversion -Werror \
    -fvisibility=hidden -fno-strict-aliasing -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/src" <"$4"
END
chmod +x "$work/compile"
export SOURCE_DIR

sources_for "$(uname -m)" >"$work/native"
sources_for aarch64 >"$work/aarch64"
mkdir "$work/wrong"
echo 'int f(int x); int f(int x) { { long x = 1; return x; } }' >"$work/wrong/shadow.c"
echo "\"$work/wrong/shadow.c\"" >"$work/wrong/list"

: >"$work/jobs"
for compiler in gcc clang-14 clang-19 aarch64-linux-gnu-gcc; do
    command -v $compiler >/dev/null || { echo "not here: $compiler"; continue; }
    if "$work/compile" $compiler -O0 1 "$work/wrong/list" 2>/dev/null; then
        echo "warnings_test: $compiler takes what is wrong" >&2
        exit 1
    fi
    list=$work/native
    if [ $compiler = aarch64-linux-gnu-gcc ]; then
        list=$work/aarch64
    fi
    echo "$compiler -O0 1 \"$list\"" >>"$work/jobs"
    echo "$compiler -O2 0 \"$list\"" >>"$work/jobs"
done
[ -s "$work/jobs" ] || { echo "skipped: no compiler here"; exit 77; }

xargs -P 2 -L 1 "$work/compile" <"$work/jobs" || exit 1
echo "$(wc -l <"$work/native") files, $(wc -l <"$work/jobs") ways to compile them"
