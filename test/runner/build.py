# SPDX-License-Identifier: Apache-2.0
"""Configures and builds one CMake preset; its words are shown only when it fails."""

import process
from cases import BUILD_ROOT

BUILD_TIMEOUT_SECONDS = 1800


class BuildError(Exception):
    """A build that failed: the command, and what it said."""


def build(preset: str, jobs: int) -> None:
    _step(("cmake", "--preset", preset))
    _step(("cmake", "--build", str(BUILD_ROOT / preset), "--parallel", str(jobs)))


def _step(argv) -> None:
    outcome = process.run(argv, BUILD_TIMEOUT_SECONDS, {"NINJA_STATUS": "[%f/%t] "})
    if outcome.status != 0 or outcome.timed_out:
        end = "timed out" if outcome.timed_out else f"status {outcome.status}"
        raise BuildError(f"{' '.join(argv)}: {end}\n{_complaints(outcome.output)}")


def _complaints(output: str) -> str:
    """What a build said, without ninja's lines of progress."""
    lines = [line for line in output.splitlines() if not line.startswith("[")]
    return "\n".join(lines[-200:]) + "\n"
