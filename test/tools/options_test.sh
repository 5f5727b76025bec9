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

# A system with threads, and a library without the parallel engine.
for file in "$SOURCE_DIR"/src/actor/*.c "$SOURCE_DIR"/src/sched/*.c "$SOURCE_DIR"/src/task/*.c; do
    "${CC:-gcc}" -std=c11 -Wall -Wextra -Werror -fsyntax-only -DRTI_LIBRARY -DRT_MAX_WORKERS=1 \
        -I "$SOURCE_DIR/include" -I "$SOURCE_DIR/src" "$file" || failed=1
done

for option in -DRT_STATUS_MSG=1 -DRT_STATUS_MSG=0; do
    printf '#include <orrery/rt.h>\nrt_status f() { return RT_SUCCESS; }\n' |
        "${CXX:-g++}" -std=c++11 -Wall -Wextra -Werror -fsyntax-only -x c++ \
            -I "$SOURCE_DIR/include" "$option" - || failed=1
done
exit $failed
