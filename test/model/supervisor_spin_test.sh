#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs spin over the model of the supervisors' restart protocol, and over two that are wrong, which
# it must notice.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)

if ! command -v spin >/dev/null 2>&1; then
    echo "skipped: spin is not installed: tools/setup test"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Says what the search found: 0 nothing, 1 an error.
search() {
    spin "$@" -a "$SOURCE_DIR/test/model/supervisor.pml" >spin.txt 2>&1 || {
        cat spin.txt
        exit 1
    }
    "${CC:-gcc}" -O2 -w -DSAFETY -DNOREDUCE -o pan pan.c
    ./pan -m100000 >pan.txt 2>&1
    if grep -q "max search depth too small\|out of memory" pan.txt; then
        cat pan.txt
        exit 1
    fi
    grep -q "errors: 0" pan.txt
}

if ! search; then
    cat pan.txt
    echo "spin found an error in the restart protocol"
    exit 1
fi
grep "states, stored" pan.txt
"${CC:-gcc}" -O2 -w -DNOREDUCE -DNFAIR=5 -o pan pan.c
./pan -a -f -m1000000 >live.txt 2>&1
if ! grep -q "errors: 0" live.txt; then
    cat live.txt
    echo "spin found a supervisor that does not end"
    exit 1
fi
for mistake in FORGET OVERTAKE; do
    if search "-D$mistake"; then
        cat pan.txt
        echo "spin did not notice the mistake $mistake"
        exit 1
    fi
done
