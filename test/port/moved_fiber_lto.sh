#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A fiber moved to another thread sees its own errno and its new worker, even if the whole program
# is optimized as one unit.
#
# The library, worker_local_test and the support of the tests are built with -O2 -flto, so that the
# optimizer may look into every function, and the cases that move fibers are run, and the cases of
# the switch with them. The control is a program that uses plain errno; built by gcc it must go
# wrong: if it did not, the cases above would prove nothing.
#
# Environment: SOURCE_DIR (the tree), CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
CC=${CC:-gcc}
processor=$(uname -m)
if [ ! -d "$SOURCE_DIR/src/port/arch/$processor" ]; then
    echo "skipped: no switch for $processor"
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

flags="-std=c11 -O2 -g -fPIC -fno-strict-aliasing -pthread -DRT_CHECKS=1"
case $("$CC" --version) in
*clang*) lto="-flto -fuse-ld=lld" ;;
*) lto=-flto=2 ;;
esac
include="-I$SOURCE_DIR/include -I$SOURCE_DIR/src -I$SOURCE_DIR/test"

echo 'int main(void) { return 0; }' >"$work/empty.c"
# shellcheck disable=SC2086
if ! $CC $lto "$work/empty.c" -o "$work/empty" 2>/dev/null; then
    echo "skipped: $CC cannot link with $lto here"
    exit 77
fi

fail() {
    echo "moved_fiber_lto: $*" >&2
    exit 1
}

# compile SOURCE: an object whose name is the path.
cat >"$work/compile" <<END
#!/bin/sh
exec $CC $flags -flto $include -c "\$1" -o "$work/\$(echo "\$1" | tr / +).o"
END
chmod +x "$work/compile"

# The library and the support of the tests, two compilers at a time.
{
    find "$SOURCE_DIR/src" -mindepth 2 -maxdepth 2 -name '*.c'
    find "$SOURCE_DIR/src/port/linux" "$SOURCE_DIR/src/port/sim" \
        "$SOURCE_DIR/src/port/arch/$processor" -maxdepth 1 -name '*.[cS]'
    find "$SOURCE_DIR/test/support" -name '*.c'
} | xargs -P 2 -n 1 "$work/compile" || fail "an object does not compile"

for test in worker_local_test context_test; do
    # shellcheck disable=SC2086
    $CC $flags $lto $include "$SOURCE_DIR/test/unit/$test.c" "$work"/*.o -o "$work/$test"
    "$work/$test" --list >"$work/list"
    while read -r name _; do
        status=0
        "$work/$test" "$name" >"$work/out" 2>&1 || status=$?
        case $status in
        0 | 77) ;;
        *) cat "$work/out" >&2; fail "$test $name ends with $status" ;;
        esac
    done <"$work/list"
done

status=0
# shellcheck disable=SC2086
$CC -std=c11 -O2 -fno-strict-aliasing -pthread -DNVALGRIND $include \
    "$SOURCE_DIR/test/port/moved_errno_plain.c" "$SOURCE_DIR/src/sched/context.c" \
    "$SOURCE_DIR/src/port/arch/$processor/"*.[cS] -o "$work/plain"
"$work/plain" || status=$?
case $status in
0) echo "control: plain errno is the other thread's after a move" ;;
3)
    echo "control: this compiler asked again where errno is"
    case $("$CC" --version) in
    *"Free Software Foundation"*) fail "the control does not go wrong: the cases prove nothing" ;;
    esac
    ;;
*) fail "the control ends with $status" ;;
esac
