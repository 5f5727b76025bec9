# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of the runner.

A *case* is a sentence that can pass or fail. A *job* is one process that the runner starts; most
jobs decide one case, the explorer's job decides one per model. A *result* is what became of one
case in one lane. A *lane* is a way to build and run the cases (lanes.py).
"""

import re
import signal
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[2]
BUILD_ROOT = ROOT / "build"

PASSED = "passed"
FAILED = "failed"
SKIPPED = "skipped"

SKIP_STATUS = 77


@dataclass(frozen=True)
class Outcome:
    """How one process ended."""

    status: int | None  # exit status; negative: the signal; None: it never started
    output: str
    seconds: float
    timed_out: bool = False
    overran: bool = False  # it was killed because it wrote without end


@dataclass(frozen=True)
class Result:
    lane: str
    case: str
    verdict: str
    seconds: float
    why: str = ""  # for a failure or a skip: the reason, one line; for a pass: a remark or nothing
    output: str = ""
    repeat: str = ""  # the one command that repeats it
    source: str = ""  # where the case is written, for people


@dataclass(frozen=True)
class Job:
    """One process to start. `judge` turns how it ended into results."""

    lane: str
    name: str
    argv: tuple[str, ...]
    timeout: float
    judge: Callable[["Job", Outcome], list[Result]]
    source: str = ""  # where the case is written, for people
    repeat: str = ""
    env: dict[str, str] = field(default_factory=dict)
    decides_many: bool = False  # its cases are known only when it has ended


def describe_end(job: Job, outcome: Outcome) -> str:
    """One line that says how a failed process ended."""
    if outcome.overran:
        return "killed: its output has no end"
    if outcome.timed_out:
        return f"timed out after {job.timeout:g} s and was killed"
    if outcome.status is None:
        return "could not be started"
    if outcome.status < 0:
        try:
            name = signal.Signals(-outcome.status).name
        except ValueError:
            name = f"signal {-outcome.status}"
        return f"killed by {name}"
    return f"exit status {outcome.status}"


def skip_reason(output: str) -> str:
    """The last `skipped: REASON` line of an output."""
    reasons = re.findall(r"^skipped: *(.+)$", output, re.MULTILINE)
    return reasons[-1].strip() if reasons else ""


def make_result(job: Job, outcome: Outcome, verdict: str, why: str = "") -> Result:
    output = "" if verdict == PASSED else outcome.output
    return Result(
        job.lane, job.name, verdict, outcome.seconds, why, output, job.repeat, job.source
    )


def judge_by_status(job: Job, outcome: Outcome) -> list[Result]:
    """Exit status 0 passes, 77 with a reason skips, all else fails."""
    if outcome.timed_out or outcome.overran:
        return [make_result(job, outcome, FAILED, describe_end(job, outcome))]
    if outcome.status == 0:
        return [make_result(job, outcome, PASSED)]
    if outcome.status == SKIP_STATUS:
        reason = skip_reason(outcome.output)
        if not reason:
            return [make_result(job, outcome, FAILED, "skipped without a reason")]
        return [make_result(job, outcome, SKIPPED, reason)]
    return [make_result(job, outcome, FAILED, describe_end(job, outcome))]


def judge_test_binary(job: Job, outcome: Outcome) -> list[Result]:
    """As by status; and a pass must be said, so that a case that leaves early is no pass."""
    (result,) = judge_by_status(job, outcome)
    if result.verdict == PASSED and f"passed: {job.name}\n" not in outcome.output:
        result = make_result(job, outcome, FAILED, "exit status 0, but the case never finished")
    if result.verdict == FAILED and "--seed" in job.argv:
        seed = _failing_seed(job, outcome)
        result = replace(result, why=f"{result.why}, seed {seed}")
        result = replace(result, repeat=f"{result.repeat} --seed {seed}")
    return [result]


def _failing_seed(job: Job, outcome: Outcome) -> str:
    """The seed that the binary blames; the first one of all, if it could not say."""
    blamed = re.findall(r"^failing seed: ([0-9]+)$", outcome.output, re.MULTILINE)
    return blamed[-1] if blamed else job.argv[job.argv.index("--seed") + 1]
