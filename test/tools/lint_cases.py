#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `orrery lint` over the files of test/tools/lint/ and compares: a line with the comment
`hit: RULE` must be found by that rule, every other line by none. With a comment that allows the
rule on each such line nothing is found.

Usage: lint_cases.py TOOL SOURCE_DIR FLAGS, the folder of their compile_commands.json.
"""

import json
import pathlib
import re
import subprocess
import sys


def suppressed(tool, path, flags):
    """How many findings are left of a copy whose every hit is allowed."""
    copy = pathlib.Path(flags) / path.name
    text = path.read_text(encoding="utf-8")
    copy.write_text(
        re.sub(r"/\* hit: ([\w-]+) \*/", r"/* orrery-lint: allow \1: on purpose */", text),
        encoding="utf-8")
    result = subprocess.run(
        [tool, "lint", "--json", "-p", flags, str(copy)], capture_output=True, text=True)
    left = json.loads(result.stdout)["findings"] if result.returncode in (0, 1) else [result.stderr]
    for finding in left:
        print(f"{path.name}: found though it is allowed: {finding}")
    return len(left)


def main():
    tool, source = sys.argv[1], pathlib.Path(sys.argv[2])
    rules = {line.split()[0] for line in subprocess.run(
        [tool, "lint", "--list"], capture_output=True, text=True, check=True).stdout.splitlines()}
    faults, hit = 0, set()
    for path in sorted((source / "test/tools/lint").glob("*.c")):
        wanted = set()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            wanted |= {(number, rule) for rule in re.findall(r"hit: ([\w-]+)", line)}
        result = subprocess.run(
            [tool, "lint", "--json", "-p", sys.argv[3], str(path)], capture_output=True, text=True)
        if result.returncode != (1 if wanted else 0):
            print(f"{path.name}: status {result.returncode}\n{result.stderr}")
            faults += 1
            continue
        found = {(f["line"], f["rule"]) for f in json.loads(result.stdout)["findings"]}
        hit |= {rule for _, rule in found}
        for number, rule in sorted(wanted - found):
            print(f"{path.name}:{number}: {rule} was not found")
        for number, rule in sorted(found - wanted):
            print(f"{path.name}:{number}: {rule} was found where nothing is")
        faults += len(wanted ^ found)
        faults += suppressed(tool, path, sys.argv[3])
    for rule in sorted(rules - hit):
        print(f"{rule}: no case shows that it finds something")
        faults += 1
    print(f"{len(rules)} rules, {faults} faults")
    return 1 if faults else 0


sys.exit(main())
