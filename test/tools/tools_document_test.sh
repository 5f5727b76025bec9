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

# A newcomer has built the tree and types the two commands of the page, as they stand there.
release=$SOURCE_DIR/build/release
[ -x "$release/examples/deadlock" ] && [ -x "$release/bin/orrery" ] || exit 0
sed -n '/^## A deadlock in two commands/,/^<!--/s/^    //p' "$SOURCE_DIR/docs/tools.md" >"$work/two"
[ "$(wc -l <"$work/two")" -eq 2 ] || fail "these are not two commands"
# The program is ended by its number, and the status is that of the dump.
printf 'status=$?\nkill $!\nexit $status\n' >>"$work/two"
cd "$SOURCE_DIR"
tries=0
until sh "$work/two" >"$work/out" 2>&1; [ $? -eq 1 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 20 ] || fail "the two commands do not find the deadlock"
done
has '^DEADLOCK: '
has '^    cook_for at deadlock.c:[0-9]+$'
has '^    serve at deadlock.c:[0-9]+$'
