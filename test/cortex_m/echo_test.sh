#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TCP through lwIP and the LAN9118 of the emulated mps2-an385: a client on this machine has 1,000
# messages echoed by actors on the board, then from several connections at once, then a stream that
# it reads too late; all bytes are compared (test/cortex_m/net/).
# timeout: 180
set -eu
source_dir=${SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
image=$source_dir/build/cortex_m/m3/echo_board.elf
if ! [ -e "$image" ]; then
    echo "skipped: lwIP's sources are not there; tools/setup test brings them"
    exit 77
fi
exec python3 "$source_dir/test/cortex_m/net/echo_client.py" "$image" 1000
