# SPDX-License-Identifier: Apache-2.0
"""Firmware: the portable test programs on the boards that qemu-system-arm emulates.

A firmware runs all its cases in one boot, each on the memory of a fresh start
(test/cortex_m/harness/). It says `over: NAME passed`, `failed` or `skipped` after each, and counts
them in its last line. With -icount every run takes the same instructions at the same virtual time,
so a failure repeats. A hang is ended by the time limit, which fails the firmware as a whole.
"""

import re
from dataclasses import replace

import binaries
from cases import (
    BUILD_ROOT,
    FAILED,
    PASSED,
    SKIPPED,
    Job,
    describe_end,
    make_result,
    skip_reason,
)

TIMEOUT_SECONDS = 60
OVER = re.compile(r"^over: ([a-z][a-z0-9_]*) (passed|failed|skipped)$", re.MULTILINE)
VERDICTS = {"passed": PASSED, "failed": FAILED, "skipped": SKIPPED}
SEMIHOSTING = "enable=on,target=native"
EMULATOR = (
    "qemu-system-arm",
    *("-display", "none", "-monitor", "none", "-serial", "none"),
    *("-icount", "shift=6,sleep=off"),
)


def emulate(machine, image, *arguments):
    """The command that boots an image; the arguments reach it as its command line."""
    words = "".join(f",arg={word}" for word in (image.stem, *arguments))
    semihosting = ("-semihosting-config", SEMIHOSTING + words)
    return (*EMULATOR, *semihosting, "-M", machine, "-kernel", str(image))


def jobs(lane, settings):
    """A job for each test firmware of the lane's board; the wrapper names the machine."""
    board = lane.name.removeprefix("cortex-")
    (machine,) = lane.wrapper
    images = sorted((BUILD_ROOT / "cortex_m" / board).glob("*_test.elf"))
    if not images:
        raise binaries.ListError(f"no firmware was built for {board}")
    return [
        Job(
            lane=lane.name,
            name=f"{image.stem}_firmware_comes_to_its_end",
            argv=emulate(machine, image),
            timeout=TIMEOUT_SECONDS * lane.timeout_scale * settings.timeout_scale,
            judge=judge,
            source=image.stem,
            repeat=f"test/runner/run --lane {lane.name}",
            env=dict(lane.env),
            decides_many=True,
        )
        for image in images
    ]


def judge(job, outcome):
    """A result for each case, and one for the firmware if it did not come to its end."""
    results, since = [], 0
    for match in OVER.finditer(outcome.output):
        said, since = outcome.output[since : match.start()], match.end() + 1
        its_job = replace(job, name=match[1], repeat=f"{job.repeat} --case {match[1]}")
        its_outcome = replace(outcome, output=said, seconds=0.0)
        reasons = {"passed": "", "failed": "a check failed", "skipped": skip_reason(said)}
        results.append(make_result(its_job, its_outcome, VERDICTS[match[2]], reasons[match[2]]))
    counts = [sum(result.verdict == verdict for result in results) for verdict in VERDICTS.values()]
    last = "ended: {} passed, {} failed, {} skipped".format(*counts)
    is_last = outcome.output.splitlines()[-1:] == [last]
    status_wanted = 1 if counts[1] else 0
    if outcome.timed_out or not is_last or outcome.status != status_wanted or not results:
        rest = replace(outcome, output=outcome.output[since:])
        why = f"the firmware did not come to its end: {describe_end(job, outcome)}"
        results.append(make_result(job, rest, FAILED, why))
    return results
