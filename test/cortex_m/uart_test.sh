#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lines through the UART of the emulated board: each byte interrupts, an actor makes lines of them
# and sends them back, as they were.
# timeout: 120
set -eu
source_dir=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for i in 1 2 3 4 5 6 7 8 9 10; do
    echo "line $i of what the board is told, with  spaces and $((i * 7919)) numbers"
done >"$scratch/sent"
echo end >>"$scratch/sent"
timeout 60 qemu-system-arm -display none -monitor none -serial stdio \
    -semihosting-config enable=on,target=native -M mps2-an385 \
    -kernel "$source_dir/build/cortex_m/m3/uart_board.elf" <"$scratch/sent" >"$scratch/received"
diff "$scratch/sent" "$scratch/received"
echo "11 lines came back"
