# SPDX-License-Identifier: Apache-2.0
"""Test binaries and the cases in them.

A test binary answers `--list` with one line per case, `NAME TIMEOUT_SECONDS [seeded]`, and runs one
case per process: `NAME`, for a seeded case also `NAME --seed FIRST --seeds COUNT`. It says
`passed: NAME` when the case came to its end (test/support/test.c; test/self/case.py for Python).
Binaries follow from the sources, so that a left-over binary is not run and a missing one is seen.
"""

import math
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import process
from cases import BUILD_ROOT, ROOT, Job, judge_test_binary

LIST_TIMEOUT_SECONDS = 60
SEEDS_LINE = re.compile(r"^ \* Seeds: ([0-9]+)(?: \*/)?$", re.MULTILINE)
CASE_LINE = re.compile(r"([a-z][a-z0-9_]*) ([0-9]+)( seeded)?")


class ListError(Exception):
    """A binary is missing or does not list its cases."""


@dataclass(frozen=True)
class Listed:
    name: str
    timeout: float
    is_seeded: bool


def sources() -> list[Path]:
    """The sources of the test binaries, in a fixed order."""
    return sorted((ROOT / "test").glob("*/*_test.c"))


def binary_of(source: Path, preset: str) -> Path:
    return BUILD_ROOT / preset / "test" / source.stem


def list_cases(binary: Path, wrapper=()) -> list[Listed]:
    outcome = process.run((*wrapper, str(binary), "--list"), LIST_TIMEOUT_SECONDS)
    if outcome.status != 0:
        raise ListError(f"{binary} --list: status {outcome.status}\n{outcome.output}")
    listed = []
    for line in outcome.output.splitlines():
        match = CASE_LINE.fullmatch(line)
        if match is None:
            raise ListError(f"{binary} --list: cannot read the line {line!r}")
        listed.append(Listed(match[1], float(match[2]), match[3] is not None))
    return listed


def own_seeds(binary: Path) -> int | None:
    """The number in the line `Seeds: N` of the first comment of its source, if there is one."""
    for source in (ROOT / "test").glob(f"*/{binary.name}.c"):
        match = SEEDS_LINE.search(source.read_text(encoding="utf-8").partition("#")[0])
        if match is not None:
            return int(match[1])
    return None


def seeds_of(lane, binary: Path, settings) -> int:
    """What the command line says, else in a lane of many seeds the program, else the lane."""
    if settings.seeds is not None:
        return settings.seeds
    own = own_seeds(binary) if lane.own_seeds else None
    return own if own is not None else lane.seeds


def jobs_of(lane, binary: Path, settings) -> list[Job]:
    """A job for each case of one binary, as the lane runs it."""
    jobs = []
    for case in list_cases(binary, lane.list_wrapper):
        argv = (*lane.wrapper, str(binary), case.name)
        repeat = f"test/runner/run --lane {lane.name} --case {shlex.quote(case.name)}"
        timeout = case.timeout * lane.timeout_scale * settings.timeout_scale
        env = dict(lane.env)
        if case.is_seeded:
            count = seeds_of(lane, binary, settings)
            argv += ("--seed", str(settings.seed), "--seeds", str(count))
            # The binary limits each seed by itself, so that it can say which one hangs.
            env["ORRERY_SEED_TIMEOUT"] = str(math.ceil(timeout))
            timeout += timeout * count / 10
        jobs.append(
            Job(lane.name, case.name, argv, timeout, judge_test_binary, binary.name, repeat, env)
        )
    return jobs
