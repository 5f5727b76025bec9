# SPDX-License-Identifier: Apache-2.0
"""What is said and kept when all lanes have ended."""

from collections import defaultdict

from cases import FAILED, PASSED, SKIPPED
from display import failure_text


def print_report(settings, results, verdicts, lines):
    """Prints everything but the last line; `verdicts` are results that nobody has shown yet."""
    for result in verdicts:
        if result.verdict == FAILED:
            print(failure_text(result))
    for line in _skips(results) + _slowest(settings, results) + lines + _failures(results):
        print(line)


def last_line(results) -> str:
    counts = {verdict: 0 for verdict in (PASSED, FAILED, SKIPPED)}
    for result in results:
        counts[result.verdict] += 1
    text = f"{counts[PASSED]} passed, {counts[FAILED]} failed"
    return text + (f", {counts[SKIPPED]} skipped" if counts[SKIPPED] else "")


def write_table(settings, results):
    """results.tsv: a row for each case in each lane."""
    with open(settings.run_dir / "results.tsv", "w", encoding="utf-8") as table:
        table.write("lane\tcase\tverdict\tseconds\tremark\n")
        for result in results:
            remark = " ".join(result.why.split())
            columns = (result.lane, result.case, result.verdict, f"{result.seconds:.3f}", remark)
            table.write("\t".join(columns) + "\n")


def _skips(results):
    by_reason = defaultdict(list)
    for result in results:
        if result.verdict == SKIPPED:
            by_reason[(result.lane, result.why)].append(result.case)
    lines = []
    for (lane, why), names in by_reason.items():
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        lines.append(f"skipped in {lane}: {why}: {shown}")
    return lines


def _slowest(settings, results):
    slowest = sorted(results, key=lambda result: -result.seconds)[: settings.slowest]
    return [f"{result.seconds:8.2f} s  {result.lane:10} {result.case}" for result in slowest]


def _failures(results):
    """Each case that failed somewhere, with what became of it in each lane."""
    by_case = defaultdict(list)
    for result in results:
        by_case[result.case].append(result)
    lines = []
    for case, its_results in by_case.items():
        if any(result.verdict == FAILED for result in its_results):
            lanes = ", ".join(f"{result.lane} {result.verdict}" for result in its_results)
            lines.append(f"failed: {case} ({lanes})")
    return lines
