#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where the processor's shadow stack is on, no switch can work: rt_init and rt_sim_run refuse with a
# sentence. Few machines have one that is on, so the linker puts an answer in the place of the
# question.
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR (with liborrery.a), CC. Exit status: 0 passed, 1
# failed.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
BUILD_DIR=${BUILD_DIR:-$SOURCE_DIR/build/plain}
CC=${CC:-gcc}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

"$CC" -std=c11 -Wall -Wextra -Werror -I"$SOURCE_DIR/include" -pthread -o "$work/refused" \
    "$SOURCE_DIR/test/port/shadow_stack_refused.c" "$BUILD_DIR/liborrery.a" \
    -Wl,--wrap=rti_context_shadow_stack_is_on
"$work/refused"
