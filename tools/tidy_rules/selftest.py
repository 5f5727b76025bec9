# SPDX-License-Identifier: Apache-2.0
"""Proves of each rule that it finds what it must and nothing else, on little trees."""

import pathlib
import tempfile

from .tree import Tree


def run(rules):
    """Tries every fixture of every rule. Gives the exit status."""
    faults = [fault for rule in rules for fault in _faults_of(rule)]
    for fault in faults:
        print(fault)
    count = sum(len(rule.fixtures) for rule in rules)
    print(f"tidy: {len(rules)} rules, {count} fixtures, {len(faults)} wrong")
    return 1 if faults else 0


def _faults_of(rule):
    if not any(fixture.found for fixture in rule.fixtures):
        yield f"{rule.name}: no fixture shows that it can fail"
    if all(fixture.found for fixture in rule.fixtures):
        yield f"{rule.name}: no fixture shows that it can pass"
    for fixture in rule.fixtures:
        found = _findings(rule, fixture)
        if found != sorted(fixture.found):
            yield f"{rule.name}: {fixture.about}: found {found}, wanted {sorted(fixture.found)}"


def _findings(rule, fixture):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in fixture.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        tree = Tree(root, sorted(fixture.files))
        return sorted(f"{finding.path}:{finding.line}" for finding in rule.check(tree))
