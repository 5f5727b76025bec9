# SPDX-License-Identifier: Apache-2.0
"""What the runner shows while it runs.

On a terminal one line per lane is redrawn in place; elsewhere a lane says one line when its cases
start and one when they end. Failures are shown in full as they come, in both.
"""

import os
import shutil
import sys
import time

from cases import FAILED, PASSED, SKIPPED

FAILURE_LINES_HEAD = 60
FAILURE_LINES_TAIL = 140
REDRAW_SECONDS = 0.1

RED = "\x1b[31m"
GREEN = "\x1b[32m"
NO_COLOUR = "\x1b[0m"


class LaneView:
    """What is known of one lane."""

    def __init__(self, name):
        self.name = name
        self.state = "waiting"
        self.jobs = 0
        self.jobs_ended = 0
        self.counts = {PASSED: 0, FAILED: 0, SKIPPED: 0}
        self.build_seconds = 0.0
        self.started = None
        self.ended = None
        self.running = []

    def count_text(self):
        parts = [f"{self.counts[PASSED]} passed", f"{self.counts[FAILED]} failed"]
        if self.counts[SKIPPED]:
            parts.append(f"{self.counts[SKIPPED]} skipped")
        return ", ".join(parts)

    def seconds(self):
        if self.started is None:
            return 0.0
        return (self.ended or time.monotonic()) - self.started

    def colour(self):
        """Red once something failed, green when all passed."""
        if self.counts[FAILED]:
            return RED
        return GREEN if self.state == "ended" else ""

    def summary(self):
        return (
            f"{self.name:12} {self.count_text()}"
            f" ({self.seconds():.1f} s, build {self.build_seconds:.1f} s)"
        )

    def line(self):
        """The live line of a terminal."""
        if self.state == "running":
            now = self.running[0] if self.running else ""
            return (
                f"{self.name:12} {self.jobs_ended:4}/{self.jobs:<4} {self.count_text()}  {now}"
            )
        if self.state == "ended":
            return self.summary()
        return f"{self.name:12} {self.state}"


class Display:
    """Plain lines: for a log, a pipe, a machine."""

    def __init__(self, lane_names, out=sys.stdout):
        self.out = out
        self.lanes = {name: LaneView(name) for name in lane_names}

    def lane_building(self, lane):
        self.lanes[lane].state = "building"
        self._changed()

    def lane_ready(self, lane, jobs, build_seconds):
        view = self.lanes[lane]
        view.state, view.jobs, view.build_seconds = "running", jobs, build_seconds
        view.started = time.monotonic()
        self._lane_line(f"{lane}: built in {build_seconds:.1f} s, {jobs} to run")
        if jobs == 0:
            self._lane_ended(view)

    def lane_broken(self, lane, result):
        view = self.lanes[lane]
        view.started = time.monotonic()
        self._count(view, result)
        self._lane_ended(view)

    def job_started(self, lane, name):
        self.lanes[lane].running.append(name)
        self._changed()

    def job_ended(self, lane, results):
        view = self.lanes[lane]
        if results and results[0].case in view.running:
            view.running.remove(results[0].case)
        elif view.running:
            view.running.pop(0)
        view.jobs_ended += 1
        for result in results:
            self._count(view, result)
        if view.jobs_ended == view.jobs:
            self._lane_ended(view)
        self._changed()

    def say(self, text):
        print(text, file=self.out, flush=True)

    def finish(self):
        pass

    def _count(self, view, result):
        view.counts[result.verdict] += 1
        if result.verdict == FAILED:
            self.say(failure_text(result))

    def _lane_ended(self, view):
        view.state, view.ended = "ended", time.monotonic()
        self._lane_line(view.summary())

    def _lane_line(self, text):
        self.say(text)

    def _changed(self):
        pass


class TerminalDisplay(Display):
    """One line per lane, redrawn in place below everything that was said."""

    def __init__(self, lane_names, out=sys.stdout):
        super().__init__(lane_names, out)
        self._drawn = 0
        self._next_draw = 0.0

    def say(self, text):
        self._erase()
        print(text, file=self.out)
        self._draw()

    def finish(self):
        self._erase()
        self._draw()
        self._drawn = 0

    def _lane_line(self, text):
        self._next_draw = 0.0
        self._changed()

    def _changed(self):
        if time.monotonic() >= self._next_draw:
            self._erase()
            self._draw()

    def _erase(self):
        if self._drawn:
            self.out.write(f"\x1b[{self._drawn}F\x1b[J")
            self._drawn = 0

    def _draw(self):
        size = shutil.get_terminal_size()
        views = list(self.lanes.values())[: max(1, size.lines - 1)]
        lines = [self._paint(view, view.line()[: size.columns - 1]) for view in views]
        self.out.write("".join(f"{line}\n" for line in lines))
        self.out.flush()
        self._drawn = len(lines)
        self._next_draw = time.monotonic() + REDRAW_SECONDS


    def _paint(self, view, line):
        colour = "" if "NO_COLOR" in os.environ else view.colour()
        return f"{colour}{line}{NO_COLOUR}" if colour else line


def make_display(lane_names, out=sys.stdout):
    return (TerminalDisplay if out.isatty() else Display)(lane_names, out)


def failure_text(result):
    """Everything one needs to know about a failure, with the one command that repeats it."""
    lines = result.output.rstrip("\n").split("\n") if result.output.strip() else []
    if len(lines) > FAILURE_LINES_HEAD + FAILURE_LINES_TAIL:
        cut = len(lines) - FAILURE_LINES_HEAD - FAILURE_LINES_TAIL
        middle = [f"[... {cut} lines left out ...]"]
        lines = lines[:FAILURE_LINES_HEAD] + middle + lines[-FAILURE_LINES_TAIL:]
    text = [f"FAIL {result.lane} {result.case}: {result.why}"]
    text += [f"  | {line}" for line in lines]
    if result.repeat:
        text.append(f"  repeat: {result.repeat}")
    return "\n".join(text)
