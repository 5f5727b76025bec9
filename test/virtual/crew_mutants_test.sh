#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The simulation of the parallel engine notices each of its mutants; those that only change the
# order of memory are the thread sanitizer's.
# timeout: 900
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
status=0
for preset in plain tsan; do
    "$SOURCE_DIR/test/virtual/run_mutants" "$SOURCE_DIR/build/$preset" || status=1
done
exit $status
