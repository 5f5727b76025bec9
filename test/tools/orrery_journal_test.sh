#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# orrery journal lists a journal, draws its trees, and refuses what is none.
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR, CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
. "$(dirname "$0")/support.sh"

compile "$SOURCE_DIR/test/tools/make_journal.c" "$work/make"
"$work/make" "$work/journal"

expect 0 "$tool" journal "$work/journal"
has '^30 events, the last 30 of them are here; digest 0x[0-9a-f]{16}$'
has '^ +6 +0\.000004000  send +1  to 2$'
has '^ +7 +0\.000004000  wake +2  by 1$'
has '^ +13 +0\.000007000  op +3  op 0x102, code 17, for op 0x101$'
has '^ +23 +0\.000008500  op-done +2  op 0x101, RT_ERR_IO$'
has '^ +24 +0\.000009000  mark +2  value 42$'
[ "$(wc -l <"$work/out")" -eq 32 ] || fail "not one line for each event"

expect 0 "$tool" journal --kind send "$work/journal"
[ "$(grep -c ' send ' "$work/out")" -eq 1 ] || fail "not one send"
hasnt ' dispatch '
expect 0 "$tool" journal --task 4 "$work/journal"
has ' op-take '
hasnt ' op-done '

expect 0 "$tool" journal --tree "$work/journal"
cat >"$work/wanted" <<'END'
tasks, below who started them:
task 1: 3 turns, sent 1, received 0, returned after 21.0 us
`- task 2: 2 turns, sent 0, received 1, exited after 9.0 us
ops, below the op that they serve:
op 0x101 code 16: from 2 to 3, RT_ERR_IO after 2.5 us
`- op 0x102 code 17: from 3 to 4, 2 hops, RT_OK after 1.0 us
   `- op 0x103 code 18: from 4, under way
END
cmp -s "$work/out" "$work/wanted" || fail "the tree is another one"

"$tool" journal --tree - <"$work/journal" >"$work/out"
cmp -s "$work/out" "$work/wanted" || fail "standard input gives another tree"

# A node may be told in two files; the tree is one.
"$tool" journal --tree "$work/journal" "$work/journal" >"$work/out"
[ "$(grep -c 'op 0x102' "$work/out")" -eq 1 ] || fail "an op of two files stands twice"

expect 0 "$tool" journal --json "$work/journal"
is_json
has '"kind": "op-answer"'
expect 0 "$tool" journal --json --tree "$work/journal"
is_json
has '"status": "RT_ERR_IO"'

# What is no journal, every cut of one, and one with any byte changed.
expect 3 "$tool" journal "$work/nothing"
has 'No such file'
expect 3 "$tool" journal "$SOURCE_DIR/README.md"
size=$(wc -c <"$work/journal")
for cut in 0 1 50 "$((size / 2))" "$((size - 1))"; do
    head -c "$cut" "$work/journal" >"$work/cut"
    expect 3 "$tool" journal "$work/cut"
done
for place in 0 9 20 60 "$((size / 2))" "$((size - 3))"; do
    cp "$work/journal" "$work/bent"
    printf '\377' | dd of="$work/bent" bs=1 seek="$place" conv=notrunc 2>/dev/null
    expect 3 "$tool" journal "$work/bent"
done

expect 2 "$tool" journal
expect 2 "$tool" journal --unknown "$work/journal"
expect 2 "$tool" journal --task x "$work/journal"
expect 2 "$tool"
expect 2 "$tool" unknown
expect 0 "$tool" --help
has '^    journal '
expect 0 "$tool" help journal
has '^usage: orrery journal '
expect 0 "$tool" journal --help
has '^usage: orrery journal '
expect 0 "$tool" --version
has '^orrery [0-9]+\.'
# A full disk does not look like success.
if [ -e /dev/full ] && "$tool" journal "$work/journal" >/dev/full 2>/dev/null; then
    fail "nothing was written, and it said all is well"
fi
