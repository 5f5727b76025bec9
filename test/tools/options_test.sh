#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Definitions of rt_static_config.h that do not go together are refused with a sentence that says
# so, those of a small product are not, and the headers are C++ with them. A library for one worker
# compiles.
#
# Environment: SOURCE_DIR (the tree), CC, CXX.
# Exit status: 0 passed, 1 failed.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
small="-D__ARM_ARCH_PROFILE='M'"
failed=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# compile OPTION...: does what every file of the library includes compile with these?
compile() {
    echo '#include "base/compiler.h"' | "${CC:-gcc}" -std=c11 -fsyntax-only -x c \
        -I "$SOURCE_DIR/include" -I "$SOURCE_DIR/src" "$@" - 2>"$work/said"
}

# refused SENTENCE OPTION...
refused() {
    sentence=$1
    shift
    if compile "$@"; then
        echo "options_test: $* was accepted" >&2
        failed=1
    elif ! grep -q "#error.*$sentence" "$work/said"; then
        echo "options_test: $* was refused without the sentence \"$sentence\"" >&2
        cat "$work/said" >&2
        failed=1
    fi
}

accepted() {
    if ! compile "$@"; then
        echo "options_test: $* was refused" >&2
        cat "$work/said" >&2
        failed=1
    fi
}

accepted
accepted -DRT_SENTENCES=0 -DRT_HAS_NAMES=0
accepted "$small"
accepted "$small" -DRT_TRACE=0 -DRT_HAS_TASKS=0 -DRT_HAS_MONITORS=0 -DRT_STATUS_MSG=0 \
    -DRT_HAS_BEHAVIOURS=0
for option in RT_TRACE RT_HAS_TASKS RT_HAS_MONITORS RT_STATUS_MSG; do
    refused "$option=0.*for Cortex-M" "-D$option=0"
done
refused "needs RT_HAS_TASKS=0" "$small" -DRT_STATUS_MSG=0
refused "behaviours need monitors" "$small" -DRT_HAS_MONITORS=0 -DRT_HAS_BEHAVIOURS=1

# A system with threads, and a library without the parallel engine: it says so, and runs the rest.
cat > "$work/one.c" <<'PROGRAM'
#include <orrery/rt.h>
#include <stdio.h>

static void *seven(void *arg)
{
    (void)arg;
    return (void *)7;
}

static void *join_seven(void *out)
{
    rt_task *task = rt_go(seven, NULL);
    return task == NULL || RT_FAILED(rt_join(task, out)) ? NULL : out;
}

int main(void)
{
    void *got = NULL;
    rt_status status = rt_init_ex(&(rt_config){.workers = 1});
    if (status.code != RT_ERR_UNSUPPORTED) {
        fprintf(stderr, "rt_init_ex: %s\n", rt_status_name(status.code));
        return 1;
    }
    return RT_FAILED(rt_run_main(NULL, join_seven, &got)) || got != (void *)7;
}
PROGRAM
if ! { cmake --log-level=WARNING -G Ninja -S "$SOURCE_DIR" -B "$work/one" \
    -DCMAKE_C_COMPILER="${CC:-gcc}" -DCMAKE_C_FLAGS=-DRT_MAX_WORKERS=1 -DCMAKE_BUILD_TYPE=Debug \
    -DORRERY_BENCH=OFF -DORRERY_EXAMPLES=OFF -DORRERY_SHARED=OFF -DORRERY_TESTS=OFF \
    -DORRERY_TOOL=OFF && cmake --build "$work/one" --target orrery_static; } >"$work/said" 2>&1
then
    echo "options_test: a library for one worker does not compile" >&2
    tail -n 20 "$work/said" >&2
    failed=1
elif ! "${CC:-gcc}" -DRT_MAX_WORKERS=1 -I "$SOURCE_DIR/include" "$work/one.c" \
    "$work/one/liborrery.a" -lpthread -o "$work/program" || ! timeout 60 "$work/program"; then
    echo "options_test: a library for one worker does not run tasks" >&2
    failed=1
fi

for option in -DRT_STATUS_MSG=1 -DRT_STATUS_MSG=0; do
    printf '#include <orrery/rt.h>\nrt_status f() { return RT_SUCCESS; }\n' |
        "${CXX:-g++}" -std=c++11 -Wall -Wextra -Werror -fsyntax-only -x c++ \
            -I "$SOURCE_DIR/include" "$option" - || failed=1
done
exit $failed
