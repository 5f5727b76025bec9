#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/setup installs what is missing, and only that; without root it prints one line to run.
#
# It runs in a world made for it: a PATH with a few commands, and an apt-get that writes down what
# it is asked and "installs" by making the commands appear.
#
# Environment: SOURCE_DIR (the tree). Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
[ -e /usr/include/stdio.h ] || { echo "skipped: no C library headers here"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
bin=$work/bin

fail() {
    echo "setup_test: $*" >&2
    sed 's/^/    /' "$work/out" >&2
    exit 1
}

# Makes a command of the given body.
make_command() {
    printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

# Makes the world anew: a compiler is there, cmake and ninja are not. $1 is the user's id.
make_world() {
    rm -rf "$bin"
    mkdir "$bin"
    : >"$work/asked"
    ln -s "$(command -v env)" "$bin/env"
    make_command id "echo $1"
    make_command cc ""
    # The body is expanded when it runs.
    # shellcheck disable=SC2016
    make_command apt-get 'echo "$DEBIAN_FRONTEND $*" >>"$WORLD/asked"
case "$*" in
*update) ;;
*) for name in cmake ninja; do printf "#!/bin/sh\n" >"$WORLD/bin/$name"; done
   /bin/chmod +x "$WORLD/bin/cmake" "$WORLD/bin/ninja" ;;
esac'
}

# Runs tools/setup in the world; its exit status must be $1.
run_setup() {
    wanted=$1
    shift
    status=0
    PATH=$bin WORLD=$work /bin/sh "$SOURCE_DIR/tools/setup" "$@" >"$work/out" 2>&1 || status=$?
    [ $status -eq "$wanted" ] || fail "tools/setup $* ended with $status, wanted $wanted"
}

demands_one_line_with() {
    [ "$(wc -l <"$work/out")" -eq 1 ] || fail "more or less than one line"
    grep -qF -- "$1" "$work/out" || fail "the line does not say: $1"
}

make_world 0
run_setup 1 --check build
demands_one_line_with "missing: cmake ninja-build; run: tools/setup build"
[ ! -s "$work/asked" ] || fail "a check called apt-get"

run_setup 0 build
demands_one_line_with "installing cmake ninja-build"
grep -q '^noninteractive .*update$' "$work/asked" || fail "no update before the installation"
grep -q 'install -y --no-install-recommends cmake ninja-build$' "$work/asked" ||
    fail "apt-get was asked: $(cat "$work/asked")"

: >"$work/asked"
run_setup 0 build
[ ! -s "$work/out" ] || fail "everything is there, and it still said something"
[ ! -s "$work/asked" ] || fail "everything is there, and it still called apt-get"

make_world 1000
run_setup 1 build
demands_one_line_with "apt-get install -y --no-install-recommends cmake ninja-build"
[ ! -s "$work/asked" ] || fail "it called apt-get without the right to"

# shellcheck disable=SC2016
make_command sudo 'case $1 in -n) ;; *) exec "$@" ;; esac'
run_setup 0 build

make_world 0
make_command apt-get ""
run_setup 1 build
grep -q "still not there: cmake ninja-build" "$work/out" || fail "it believed a dead apt-get"

rm "$bin/apt-get"
run_setup 1 build
demands_one_line_with "no apt-get here"

run_setup 2
run_setup 2 unheard-of
echo "checked, installed, refused"
