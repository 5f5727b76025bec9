#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each rule of orrery lint finds what it is for and is silent where nothing is wrong; our own tree
# is clean; and its options do what they say.
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR, CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
. "$(dirname "$0")/support.sh"
/usr/bin/python3 -c 'import clang.cindex' 2>/dev/null ||
    { echo "skipped: no libclang for Python here"; exit 77; }

# The cases lie where no build compiles them: their flags.
(
    echo '['
    separator=
    for file in "$SOURCE_DIR"/test/tools/lint/*.c; do
        command="cc -std=gnu11 -I$SOURCE_DIR/include -c x"
        for place in "$file" "$work/$(basename "$file")"; do
            printf '%s{"directory": "%s", "file": "%s", "command": "%s"}\n' \
                "$separator" "$work" "$place" "$command"
            separator=,
        done
    done
    echo ']'
) >"$work/compile_commands.json"
expect 0 python3 "$SOURCE_DIR/test/tools/lint_cases.py" "$tool" "$SOURCE_DIR" "$work"
has '^10 rules, 0 faults$'

expect 0 "$tool" lint --list
has '^long-loop '
for rule in $(awk '{ print $1 }' "$work/out"); do
    expect 0 "$tool" lint --explain "$rule"
    has "orrery-lint: allow $rule: reason"
done
expect 0 "$tool" lint --explain all
[ "$(grep -c '^To let it be: ' "$work/out")" -eq 10 ] || fail "not all rules are explained"
expect 0 "$tool" lint --list --json
is_json
has '"id": "message-kept"'
cases=$SOURCE_DIR/test/tools/lint
expect 1 "$tool" lint -p "$work" "$cases/loops.c"
has 'loops\.c:[0-9]+:[0-9]+: long-loop: the loop runs for ever'
hasnt 'hit:'
expect 1 "$tool" lint --rule spawn-in-loop -p "$work" "$cases/loops.c"
[ "$(grep -c " spawn-in-loop: " "$work/out")" -eq 2 ] || fail "not the findings of the rule"
[ "$(wc -l <"$work/out")" -eq 2 ] || fail "findings of other rules"
expect 0 "$tool" lint --pauses -p "$work" "$cases/loops.c"
has 'loops\.c:[0-9]+:[0-9]+: pauses: rt_ipc_recv ⟨pauses⟩$'
has 'pauses: polite ⟨pauses⟩$'
hasnt 'pauses: compute'
# The mark in the header is all that it knows: without it the function does not suspend.
cp -r "$SOURCE_DIR/include" "$work/include"
sed -i 's/RT_SUSPENDS \(rt_status rt_ipc_recv(\)/\1/' "$work/include/orrery/rt/ipc.h"
cmp -s "$SOURCE_DIR/include/orrery/rt/ipc.h" "$work/include/orrery/rt/ipc.h" && fail "no mark there"
cp "$cases/loops.c" "$work/unmarked.c"
printf '[{"directory": "%s", "file": "unmarked.c", "command": "cc -std=gnu11 -I%s/include -c x"}]' \
    "$work" "$work" >"$work/include/compile_commands.json"
expect 0 "$tool" lint --pauses -p "$work/include" "$work/unmarked.c"
has 'pauses: polite ⟨pauses⟩$'
hasnt 'pauses: rt_ipc_recv'

expect 2 "$tool" lint
expect 2 "$tool" lint --unknown
expect 3 "$tool" lint "$work/nothing.c"
echo 'int x = ;' >"$work/broken.c"
expect 3 "$tool" lint "$work/broken.c"
expect 3 "$tool" lint -p "$work/nowhere" "$cases/loops.c"

# Our own tree.
cd "$SOURCE_DIR"
set -- src/*/*.c src/port/linux/*.c src/port/sim/*.c src/runtime/linux/*.c examples/*.c \
    examples/*/*.c docs/tutorial/*.c bench/*_bench.c
expect 0 "$tool" lint -p "$BUILD_DIR" "$@"
