#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tree keeps its rules, and each rule is shown to be able to fail.
#
# Environment: SOURCE_DIR (the tree). Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
"$SOURCE_DIR/tools/tidy" --self-test
"$SOURCE_DIR/tools/tidy"
