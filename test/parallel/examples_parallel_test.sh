#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every example that starts the fixed engine runs on the parallel one too, unchanged: the linker
# puts rt_init_ex in the place of rt_init.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
BUILD_DIR=${BUILD_DIR:-$SOURCE_DIR/build/release}
CC=${CC:-gcc}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat > "$scratch/wrap.c" <<'PROGRAM'
#include <orrery/rt/runtime.h>

rt_status __wrap_rt_init(void);

rt_status __wrap_rt_init(void)
{
    rt_config config = {.workers = 3};
    return rt_init_ex(&config);
}
PROGRAM
failed=0
try() {
    name=$1
    shift
    sources="$SOURCE_DIR/examples/$name.c"
    if [ -d "$SOURCE_DIR/examples/$name" ]; then
        sources=$(ls "$SOURCE_DIR/examples/$name"/*.c)
    fi
    # shellcheck disable=SC2086
    "$CC" -std=c11 -O2 -D_GNU_SOURCE -I"$SOURCE_DIR/include" -Wl,--wrap=rt_init $sources \
        "$scratch/wrap.c" "$BUILD_DIR/liborrery.a" -lpthread -lm -o "$scratch/$name"
    if ! (cd "$scratch" && timeout 60 "./$name" "$@" > "$name.out" 2>&1); then
        echo "$name $*: failed on the parallel engine"
        tail -5 "$scratch/$name.out"
        failed=1
    fi
}
try hello
try ping_pong 10000
try sensor_bus
try file_copy --test
try pipeline
# The library that is installed has room for 64 calls that wait at a time.
try echo_server --test 20
try flight_controller --test
try chat_server 2
exit $failed
