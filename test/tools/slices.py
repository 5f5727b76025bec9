#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a program that ticks for a report, as `orrery dump` does, and looks how it comes: in slices
that tell of a bounded number of tasks each, between which the program ticks on.

Usage: slices.py SOCKET TICKS, the file that the program counts its ticks in. Prints what it saw:
`N tasks in N slices, at most N in one; it ticked in N of N pauses`.
"""

import pathlib
import socket
import sys


def lines_of(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(b"dump\n")
        with client.makefile("rb") as answer:
            yield from answer


def main():
    file = pathlib.Path(sys.argv[2])
    tasks, slices, ticks, is_whole = 0, [], [], False
    for line in lines_of(sys.argv[1]):
        word = line.split(b"\t", 1)[0].strip()
        if word == b"task":
            tasks += 1
        elif word == b"slice":
            slices.append(tasks - sum(slices))
            ticks.append(int.from_bytes(file.read_bytes(), "little"))
        elif word == b"end":
            is_whole = True
    ticked = sum(after > before for before, after in zip(ticks, ticks[1:]))
    print(f"{tasks} tasks in {len(slices)} slices, at most {max(slices)} in one; "
          f"it ticked in {ticked} of {len(slices) - 1} pauses")
    return 0 if is_whole else 1


sys.exit(main())
