# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the lanes at the same time.

One thread builds preset after preset; as soon as all presets of a lane are there its jobs are
found and queued, so that a lane runs while the next one builds. `jobs` threads take jobs from the
queue in lane order and start one process each. Everything that happens is put into one queue of
events, and only the main thread reads it: the display and the results belong to that thread alone.
"""

import queue
import re
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import build
import process
from binaries import ListError
from cases import FAILED, Result

TOTALS = re.compile(r"^(?:explorer|mutants): .*$", re.MULTILINE)


@dataclass(frozen=True)
class LaneBuilding:
    lane: str


@dataclass(frozen=True)
class LaneReady:
    lane: str
    jobs: int
    build_seconds: float


@dataclass(frozen=True)
class LaneBroken:
    """The lane cannot run at all; `result` is the failure it counts as."""

    lane: str
    result: Result


@dataclass(frozen=True)
class JobStarted:
    lane: str
    name: str


@dataclass(frozen=True)
class JobEnded:
    lane: str
    results: list[Result]
    totals: list[str]  # lines that a job which decides many cases says about all of them


@dataclass(frozen=True)
class AllEnded:
    """Nothing is left to do, or `error` stopped the work."""

    error: BaseException | None = None


class Schedule:
    """A run of some lanes. Iterate over `events()` until it ends."""

    def __init__(self, lanes, settings):
        self.lanes = lanes
        self.settings = settings
        self._events = queue.SimpleQueue()
        self._pool = ThreadPoolExecutor(max_workers=settings.jobs)
        self._built = {}  # preset: None, or the sentence that says why it cannot be built
        self._stopped = False

    def events(self):
        builder = threading.Thread(target=self._prepare_all, daemon=True)
        builder.start()
        while True:
            event = self._events.get()
            yield event
            if isinstance(event, AllEnded):
                if event.error is not None:
                    raise event.error
                return

    def print_list(self):
        """Prints `LANE CASE` for each case; builds what is needed for that. Exit status."""
        is_broken = False
        for lane in self.lanes:
            for job in self._prepare(lane):
                print(f"{lane.name} {job.name}")
            while not self._events.empty():
                event = self._events.get()
                if isinstance(event, LaneBroken):
                    print(f"{lane.name}: {event.result.why}\n{event.result.output}", end="")
                    is_broken = True
        return 1 if is_broken else 0

    def stop(self):
        """Ends all processes; whatever has not begun is dropped."""
        self._stopped = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        process.kill_all()

    def _prepare_all(self):
        try:
            futures = []
            for lane in self.lanes:
                if self._stopped:
                    return
                for job in self._prepare(lane):
                    futures.append(self._pool.submit(self._run, job))
            for future in futures:
                future.result()
            self._events.put(AllEnded())
        except BaseException as error:  # a bug of the runner: the main thread shall die of it
            self._events.put(AllEnded(error))

    def _prepare(self, lane):
        """Builds what the lane needs and finds its jobs; none if that fails, which is an event."""
        start = time.monotonic()
        self._events.put(LaneBuilding(lane.name))
        jobs = []
        why = self._missing_tools(lane) or self._build_presets(lane)
        if not why:
            try:
                jobs = lane.collect(lane, self.settings)
                why = self._name_trouble(jobs)
            except ListError as error:
                why = str(error)
            except OSError as error:
                why = f"cannot find the cases: {error}"
            if not why and not jobs:
                why = "no case found in this lane"
        if why:
            self._events.put(LaneBroken(lane.name, self._lane_failure(lane, why)))
            return []
        jobs = [job for job in jobs if job.decides_many or self.settings.wants(job.name)]
        self._events.put(LaneReady(lane.name, len(jobs), time.monotonic() - start))
        return jobs

    def _missing_tools(self, lane):
        if self.settings.binaries:
            return ""
        missing = [tool for tool in ("cmake", "ninja", *lane.tools) if shutil.which(tool) is None]
        if not missing:
            return ""
        return f"not installed: {', '.join(missing)}; run: tools/setup test\n"

    def _build_presets(self, lane):
        for preset in () if self.settings.binaries else lane.presets:
            if preset not in self._built:
                try:
                    build.build(preset, self.settings.build_jobs)
                    self._built[preset] = ""
                except build.BuildError as error:
                    self._built[preset] = str(error)
            if self._built[preset]:
                return self._built[preset]
        return ""

    def _name_trouble(self, jobs):
        """Two cases of one name; for two lanes, whole.py looks."""
        names = set()
        for job in jobs:
            if job.name in names:
                return f"two cases are called {job.name}"
            names.add(job.name)
        return ""

    def _lane_failure(self, lane, why):
        first, _, rest = why.partition("\n")
        repeat = f"test/runner/run --lane {lane.name}"
        name = f"{lane.name.replace('-', '_')}_lane_can_run"
        return Result(lane.name, name, FAILED, 0.0, first, rest, repeat)

    def _run(self, job):
        if self._stopped:
            return
        self._events.put(JobStarted(job.lane, job.name))
        outcome = process.run(job.argv, job.timeout, {**self.settings.env, **job.env})
        results, totals = job.judge(job, outcome), []
        if job.decides_many:
            wants = self.settings.wants
            results = [each for each in results if each.case == job.name or wants(each.case)]
            totals = TOTALS.findall(outcome.output)
        self._events.put(JobEnded(job.lane, results, totals))
