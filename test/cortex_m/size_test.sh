#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The core on the M3 stays within bench/cortex_m/budget.tsv, a budget that is exceeded is noticed,
# and no allocator is in the image.
set -eu
source_dir=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
boards=$source_dir/build/cortex_m
budget=$source_dir/bench/cortex_m/budget.tsv
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$source_dir/tools/size" --board --check "$boards"

# Each single figure, lowered to nothing, must be seen.
grep -v '^#' "$budget" | cut -f1 | while read -r name; do
    awk -F '\t' -v OFS='\t' -v name="$name" '$1 == name { $2 = 0 } { print }' "$budget" \
        >"$scratch/budget.tsv"
    echo "$name" >>"$scratch/tried"
    [ "$(wc -l <"$scratch/tried")" -gt 3 ] && break
    if "$source_dir/tools/size" --board --check --budget "$scratch/budget.tsv" "$boards" \
        >/dev/null 2>"$scratch/said"; then
        echo "a budget of 0 for '$name' went unnoticed"
        exit 1
    fi
    grep -q "^tools/size: $name: " "$scratch/said"
done

allocators='(_?(malloc|free|calloc|realloc|sbrk)(_r)?|pvPortMalloc)'
if arm-none-eabi-nm "$boards/m3/core_bench.elf" | grep -E " $allocators\$"; then
    echo "an allocator is in the image"
    exit 1
fi
# The check would see one: the test firmware prints, and newlib's printf allocates.
arm-none-eabi-nm "$boards/m3/list_test.elf" | grep -qE " $allocators\$"
