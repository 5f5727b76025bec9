#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An editor that uses clangd shows, on every public function, what it does, who may call it, whether
# it may suspend, what it returns and what is lost on cancel; a header that does not say so fails.
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR, CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
. "$(dirname "$0")/support.sh"
clangd=
for name in clangd-19 clangd-14 clangd; do
    if command -v "$name" >/dev/null; then
        clangd=$name
        break
    fi
done
[ -n "$clangd" ] || { echo "skipped: no clangd here"; exit 77; }

mkdir "$work/first" "$work/second" "$work/bent"
expect 0 python3 "$SOURCE_DIR/test/tools/hover.py" "$clangd" "$SOURCE_DIR" "$work/first" \
    rt_channel_recv
has '^[0-9]+ functions, 0 faults$'
has 'Receives the value that was sent first'
has 'Suspends while there is none'
has 'rt_suspends'

cp -r "$SOURCE_DIR/include" "$work/bent/include"
sed -i 's/ \* Suspends while there is none: a poll context/ * While there is none a poll context/' \
    "$work/bent/include/orrery/rt/channel.h"
expect 1 python3 "$SOURCE_DIR/test/tools/hover.py" "$clangd" "$work/bent" "$work/second"
has '^rt_channel_recv: that it may suspend is not shown'
has '^[0-9]+ functions, 1 faults$'
