#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/tools.md shows what the tools really print. To bring it up to date:
#     test/tools/document.py --write build/plain/bin/orrery build/plain . FOLDER
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR, CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
. "$(dirname "$0")/support.sh"
unset XDG_RUNTIME_DIR
for need in gdb readelf addr2line; do
    command -v "$need" >/dev/null || { echo "skipped: no $need here"; exit 77; }
done
command -v clangd-14 >/dev/null || command -v clangd >/dev/null ||
    { echo "skipped: no clangd here"; exit 77; }
expect 0 python3 "$SOURCE_DIR/test/tools/document.py" "$tool" "$BUILD_DIR" "$SOURCE_DIR" "$work"
has 'blocks are as they are shown'
