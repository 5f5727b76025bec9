#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manual pages and the completions are what the tool itself says: pages are made of its help,
# the files in the tree are up to date, and every option of a command completes.
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR, CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
. "$(dirname "$0")/support.sh"

mkdir "$work/man"
python3 "$SOURCE_DIR/tools/orrery/make_manual" "$tool" "$work/man"
diff -r "$work/man" "$SOURCE_DIR/tools/orrery/man" >"$work/out" ||
    fail "run: tools/orrery/make_manual $tool tools/orrery/man"
for command in dump stats trace journal sim lint; do
    [ -s "$work/man/orrery-$command.1" ] || fail "no page for $command"
    expect 0 "$tool" help "$command"
    has "^usage: orrery $command "
    has '^Exit status: '
done

folder=$SOURCE_DIR/tools/orrery/completion
for shell in bash:orrery.bash fish:orrery.fish zsh:_orrery; do
    "$tool" completion "${shell%%:*}" | cmp -s - "$folder/${shell#*:}" ||
        fail "run: orrery completion ${shell%%:*} > tools/orrery/completion/${shell#*:}"
done
expect 2 "$tool" completion tcsh

# Bash itself completes.
command -v bash >/dev/null || exit 0
cat >"$work/complete" <<'END'
source "$1"
complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _orrery
    echo "${COMPREPLY[*]}"
}
complete_words orrery ""
complete_words orrery st
complete_words orrery dump --
complete_words orrery completion ""
END
expect 0 bash "$work/complete" "$folder/orrery.bash"
has '^dump stats trace journal sim lint completion help$'
has '^stats$'
has '^--json --no-backtraces --verbose --help$'
has '^bash zsh fish$'
for command in dump stats trace journal sim lint; do
    options=$("$tool" help "$command" | sed -n 's/^    \(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p')
    for option in $options; do
        grep -q -e "    $command) options=.*$option" "$folder/orrery.bash" ||
            fail "orrery $command $option does not complete"
    done
done
