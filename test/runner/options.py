# SPDX-License-Identifier: Apache-2.0
"""The command line, and the settings that follow from it."""

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path

import lanes
from cases import BUILD_ROOT


@dataclass
class Settings:
    lanes: list
    jobs: int
    build_jobs: int
    timeout_scale: float
    seed: int
    seeds: int | None  # None: as many as the lane says
    slowest: int
    only_list: bool
    only_merge_rules: bool
    binaries: list[Path]  # run the cases of these only, and build nothing
    run_dir: Path  # what is left of a run: results.tsv, marks
    is_complete: bool  # every lane and every case: only then can the whole be judged
    pattern: re.Pattern | None

    @property
    def env(self) -> dict[str, str]:
        """What every process of a run is told."""
        return {"ORRERY_MARKS_FILE": str(self.run_dir / "marks")}

    def wants(self, name: str) -> bool:
        return self.pattern is None or self.pattern.search(name) is not None


def parse(argv) -> Settings:
    options = _parser().parse_args(argv)
    table = lanes.by_name()
    default = ["plain"] if options.binary else list(table)
    names = options.lane.split(",") if options.lane else default
    for name in names:
        if name not in table:
            raise SystemExit(f"no lane {name!r}; there are: {', '.join(table)}")
    pattern = options.filter
    if options.case:
        pattern = f"^{re.escape(options.case)}$"
    cores = len(os.sched_getaffinity(0))
    return Settings(
        lanes=[lane for lane in lanes.LANES if lane.name in names],
        jobs=options.jobs or cores,
        build_jobs=options.jobs or cores,
        timeout_scale=options.timeout_scale,
        seed=options.seed if options.seed is not None else 1,
        seeds=options.seeds if options.seeds or options.seed is None else 1,
        slowest=options.slowest,
        only_list=options.list,
        only_merge_rules=options.merge_rules,
        binaries=[path.resolve() for path in options.binary],
        run_dir=options.run_dir.resolve(),
        is_complete=pattern is None and set(names) == set(table),
        pattern=re.compile(pattern) if pattern else None,
    )


def _parser():
    about = "\n".join(f"  {lane.name:12} {lane.about}" for lane in lanes.LANES)
    parser = argparse.ArgumentParser(
        prog="test/runner/run",
        description="Builds and runs the tests; without options all of them.",
        epilog=f"lanes:\n{about}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--lane", metavar="A,B", help="only these lanes")
    add("--filter", metavar="REGEX", help="only the cases whose name matches")
    add("--case", metavar="NAME", help="only the case of exactly this name")
    add(
        "--binary",
        metavar="PATH",
        type=Path,
        action="append",
        default=[],
        help="only the cases of this test binary, as it is: build nothing",
    )
    add("--list", action="store_true", help="list the cases of the lanes, run none")
    add("--jobs", type=_count, metavar="N", help="cases at the same time; default: all cores")
    add("--timeout-scale", type=float, default=1.0, metavar="X", help="multiplies all time limits")
    add("--seed", type=int, metavar="N", help="run seeded cases with this seed (and --seeds more)")
    add("--seeds", type=_count, metavar="N", help="how many seeds; default: as the lane says")
    add("--slowest", type=_count, default=0, metavar="N", help="name the N slowest cases")
    add(
        "--run-dir",
        metavar="DIR",
        type=Path,
        default=BUILD_ROOT / "test-run",
        help="where results.tsv goes; default: build/test-run",
    )
    add("--merge-rules", action="store_true", help="write test/conform/rules.tsv, run no case")
    return parser


def _count(text):
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return count
