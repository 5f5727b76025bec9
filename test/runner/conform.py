# SPDX-License-Identifier: Apache-2.0
"""test/conform/rules.tsv: which rule of which specification is shown by which test.

Each part of the library keeps its rows in a file of its own, test/conform/rules.d/PART.tsv, with
the columns spec, section, id, rule, test and no header. rules.tsv is all of them, sorted, with a
header; `test/runner/run --merge-rules` writes it and the check fails while it is not up to date.
The test column names a case of any lane, or says `not for a library: REASON`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from cases import PASSED, ROOT

SPECS = (
    "actor-runtime",
    "machine-runtime",
    "scheduler-and-actors",
    "channel-timer-kernel",
    "task-runtime",
)
HEADER = ("spec", "section", "id", "rule", "test")
EXEMPT = "not for a library: "
CONFORM_DIR = ROOT / "test" / "conform"


@dataclass(frozen=True)
class Row:
    where: str  # file and line, for people
    columns: tuple[str, ...]

    @property
    def test(self) -> str:
        return self.columns[4]

    @property
    def is_exempt(self) -> bool:
        return self.test.startswith(EXEMPT)

    def text(self) -> str:
        return "\t".join(self.columns)


@dataclass(frozen=True)
class Coverage:
    shown: int  # rules whose test passed
    total: int  # rules that need a test
    exempt: int  # rules that are not for a library
    problems: list[str]

    def lines(self) -> list[str]:
        lines = [f"conform: {self.shown} of {self.total} rules"]
        if self.exempt:
            lines.append(f"conform: {self.exempt} more rules are not for a library")
        return lines


def load(directory: Path = CONFORM_DIR) -> tuple[list[Row], list[str]]:
    """All rows of rules.d in the order of rules.tsv, and what is wrong with them."""
    rows, problems = [], []
    for path in sorted((directory / "rules.d").glob("*.tsv")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            row = Row(f"{path.name}:{number}", tuple(line.split("\t")))
            row_problems = _row_problems(row)
            problems += row_problems
            if not row_problems:
                rows.append(row)
    rows.sort(key=lambda row: _sort_key(row.columns))
    return rows, problems + _duplicates(rows)


def merged_text(rows) -> str:
    return "".join(line + "\n" for line in ("\t".join(HEADER), *(row.text() for row in rows)))


def form_problems(directory: Path = CONFORM_DIR) -> list[str]:
    """What is wrong with the table, whatever the tests say."""
    rows, problems = load(directory)
    table = directory / "rules.tsv"
    text = table.read_text(encoding="utf-8") if table.exists() else ""
    if not problems and text != merged_text(rows):
        problems.append("rules.tsv is not up to date; run: test/runner/run --merge-rules")
    return problems


def merge(directory: Path = CONFORM_DIR) -> list[str]:
    """Writes rules.tsv; returns what is wrong, and then writes nothing."""
    rows, problems = load(directory)
    if not problems:
        (directory / "rules.tsv").write_text(merged_text(rows), encoding="utf-8")
    return problems


def coverage(results, directory: Path = CONFORM_DIR) -> Coverage:
    """Which rules the results show. The first lane that has a case is the one that counts."""
    rows, _ = load(directory)
    verdicts = {}
    for result in results:
        verdicts.setdefault(result.case, result.verdict)
    needed = [row for row in rows if not row.is_exempt]
    problems = []
    for row in needed:
        verdict = verdicts.get(row.test, "not there")
        if verdict != PASSED:
            problems.append(f"{row.where}: {row.test} is {verdict}: {row.columns[3]}")
    shown = len(needed) - len(problems)
    if not needed:
        problems.append("there is no rule in test/conform/rules.d")
    return Coverage(shown, len(needed), len(rows) - len(needed), problems)


def _row_problems(row) -> list[str]:
    if len(row.columns) != len(HEADER):
        return [f"{row.where}: {len(row.columns)} columns instead of {len(HEADER)}"]
    spec, section, _, rule, test = row.columns
    problems = []
    if spec not in SPECS:
        problems.append(f"{row.where}: no specification is called {spec!r}")
    for name, value in zip(HEADER, row.columns):
        if value != value.strip():
            problems.append(f"{row.where}: blanks around the column {name}")
    if not section or not rule:
        problems.append(f"{row.where}: the columns section and rule are never empty")
    if not row.is_exempt and not re.fullmatch(r"[a-z][a-z0-9_]*", test):
        problems.append(f"{row.where}: {test!r} is not the name of a case")
    return problems


def _duplicates(rows) -> list[str]:
    seen, problems = {}, []
    for row in rows:
        first = seen.setdefault(row.columns, row)
        if first is not row:
            problems.append(f"{row.where}: the same row as {first.where}")
    return problems


def _sort_key(columns):
    spec, section, rule_id = columns[:3]
    return (SPECS.index(spec), _natural(section), _natural(rule_id), columns[3:])


def _natural(text):
    """Sorts 2 before 10, and a.2 before a.10."""
    parts = re.split(r"([0-9]+)", text)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part]
