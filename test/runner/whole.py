# SPDX-License-Identifier: Apache-2.0
"""What only the whole run can show: the rules are covered, the marks are hit, the seeds ran.

These count as cases of a lane called `whole`. A run of some lanes or cases checks the form of the
tables only, because a rule whose test did not run is no failure then.
"""

import conform
import marks
from cases import FAILED, PASSED, Result

LANE = "whole"


def judge(settings, results) -> tuple[list[Result], list[str]]:
    """The results of the lane, and lines to print."""
    verdicts, lines = [], []
    if settings.pattern is not None or settings.binaries:
        return verdicts, lines
    verdicts.append(_verdict("every_name_belongs_to_one_case", _shared_names(results)))
    verdicts.append(_verdict("rules_table_is_well_formed", conform.form_problems()))
    declared, problems = marks.declared()
    verdicts.append(_verdict("marks_have_names_of_their_own", problems))
    if settings.is_complete:
        coverage = conform.coverage(results)
        verdicts.append(_verdict("every_rule_has_a_test_that_passes", coverage.problems))
        lines += coverage.lines()
        missed = sorted(set(declared) - marks.hit(settings.run_dir / "marks"))
        problems = [f"{declared[name]}: no process hit the mark {name!r}" for name in missed]
        verdicts.append(_verdict("every_mark_was_hit", problems))
        lines.append(f"marks: {len(declared) - len(missed)} of {len(declared)} hit")
    return verdicts, lines


def _shared_names(results):
    """Names that two sources use: a row of rules.tsv could mean either."""
    sources = {}
    for result in results:
        sources.setdefault(result.case, set()).add(result.source)
    return [
        f"{case} is in {' and in '.join(sorted(its_sources))}"
        for case, its_sources in sources.items()
        if len(its_sources) > 1
    ]


def _verdict(case, problems) -> Result:
    if not problems:
        return Result(LANE, case, PASSED, 0.0)
    why = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return Result(LANE, case, FAILED, 0.0, why, "\n".join(problems), "test/runner/run")
