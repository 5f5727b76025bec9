#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The cases of channels, selects and contexts once more without a journal: what they try is then
# what a program meets, the straight paths and the lone one. Left out are the cases that are about
# the journal.
set -eu
source_dir=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$source_dir/build/plain

ABOUT_THE_JOURNAL='channels_events_are_in_the_journal
permit_of_a_poll_context_is_aborted_with_it_the_latest_first'

export KERNEL_UNOBSERVED=1
count=0
for name in channel_io channel_wait channels permit select select_channel cx region interval mutex \
    condition semaphore once wait_group; do
    binary="$build/test/${name}_test"
    [ -x "$binary" ] || continue
    for case in $("$binary" --list | cut -d" " -f1); do
        if echo "$ABOUT_THE_JOURNAL" | grep -qx "$case"; then
            continue
        fi
        if ! "$binary" "$case" >"${TMPDIR:-/tmp}/straight.$$" 2>&1; then
            echo "$case fails without a journal:"
            cat "${TMPDIR:-/tmp}/straight.$$"
            rm -f "${TMPDIR:-/tmp}/straight.$$"
            exit 1
        fi
        count=$((count + 1))
    done
done
rm -f "${TMPDIR:-/tmp}/straight.$$"
[ "$count" -ge 100 ] || { echo "only $count cases were found"; exit 1; }
