#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner sees what goes wrong: each case starts a runner of its own on a broken case."""

import os
import subprocess
import sys
import tempfile
import time

from case import ROOT, case, check, check_equal, main
from lanes import by_name


def run_runner(*options, env=None):
    """Runs the runner; returns exit status and output lines."""
    with tempfile.TemporaryDirectory() as run_dir:
        done = subprocess.run(
            [sys.executable, "test/runner/run", "--run-dir", run_dir, *options],
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    print(done.stdout)
    return done.returncode, done.stdout.splitlines()


# The limit of the broken cases is 1 s, which a busy machine may need to start one that is sound.
PATIENT = ("--timeout-scale", "30")
STRICT = ("--timeout-scale", "1")


def run_broken(name, *options, lane="plain"):
    """Runs one broken case as it is built for a lane; patiently, unless the options say else."""
    binary = f"build/{by_name()[lane].presets[0]}/self/broken_cases"
    return run_runner("--lane", lane, "--binary", binary, "--case", name, *PATIENT, *options)


def check_fails(name, why, *options, lane="plain", says="", repeat=""):
    """The case fails with `why`, says `says`, is counted, and can be repeated by one command."""
    status, lines = run_broken(name, *options, lane=lane)
    check_equal(status, 1)
    check_equal(lines[-1], "0 passed, 1 failed")
    headline = f"FAIL {lane} {name}: "
    failures = [line for line in lines if line.startswith(headline)]
    check_equal(len(failures), 1)
    check(why in failures[0], f"{failures[0]!r} does not say {why!r}")
    check(any(says in line for line in lines), f"nothing says {says!r}")
    command = f"  repeat: test/runner/run --lane {lane} --case {name}{repeat}"
    check(command in lines, f"no line {command!r}")


def check_passes(name, *options, lane="plain", last="1 passed, 0 failed"):
    status, lines = run_broken(name, *options, lane=lane)
    check_equal(lines[-1], last)
    check_equal(status, 0)
    return lines


@case
def runner_sees_a_pass():
    check_passes("good_case_passes")


@case
def runner_sees_a_failure():
    check_fails("bad_case_fails", "exit status 1", says="zero is 0, wanted 1")


@case
def runner_sees_a_hang():
    check_fails("bad_case_hangs", "timed out after 1 s", *STRICT)


@case
def runner_ends_a_case_that_ignores_signals():
    check_fails("bad_case_hangs_and_ignores_signals", "timed out after 1 s", *STRICT)


@case
def runner_scales_time_limits():
    start = time.monotonic()
    check_fails("bad_case_hangs", "timed out after 0.1 s", "--timeout-scale", "0.1")
    check_fails("bad_case_hangs", "timed out after 0.3 s", "--timeout-scale", "0.1", lane="asan")
    check(time.monotonic() - start < 30)


@case
def runner_sees_a_crash():
    check_fails("bad_case_crashes", "killed by SIGSEGV")


@case
def runner_sees_a_panic():
    check_fails("bad_case_panics", "killed by SIGABRT", says="orrery: panic: broken:")


@case
def runner_sees_a_case_that_leaves_before_its_end():
    check_fails("bad_case_exits_early", "the case never finished")
    check_fails("bad_case_leaves_without_flushing", "the case never finished")


@case
def runner_counts_a_skip_with_its_reason_and_refuses_one_without():
    lines = check_passes("good_case_skips", last="0 passed, 0 failed, 1 skipped")
    check("skipped in plain: there is no moon tonight: good_case_skips" in lines)
    check_fails("bad_case_skips_without_a_reason", "skipped without a reason")


@case
def runner_sees_a_leak_under_asan():
    check_fails("bad_case_leaks", "exit status 1", lane="asan", says="LeakSanitizer")


@case
def runner_sees_use_of_freed_memory_under_asan():
    check_fails("bad_case_uses_freed_memory", "", lane="asan", says="heap-use-after-free")


@case
def runner_sees_undefined_behaviour_under_ubsan():
    check_fails("bad_case_overflows_an_integer", "", lane="asan", says="signed integer overflow")


@case
def runner_sees_a_race_under_tsan():
    check_fails("bad_case_races", "", lane="tsan", says="ThreadSanitizer: data race")


@case
def runner_sees_a_leak_and_a_bad_read_under_valgrind():
    check_fails("bad_case_leaks", "exit status 99", lane="valgrind", says="definitely lost")
    name = "bad_case_uses_freed_memory"
    check_fails(name, "exit status 99", lane="valgrind", says="Invalid read")


@case
def runner_kills_what_a_case_leaves_behind():
    start = time.monotonic()
    binary = "build/plain/self/broken_cases"
    with tempfile.NamedTemporaryFile("w+", suffix="_test.py", delete=False) as wrapper:
        wrapper.write("#!/bin/sh\n")
        pid_file = f"{wrapper.name}.pid"
        # Passes everything on, and keeps what the case says about its child.
        wrapper.write(f'{ROOT}/{binary} "$@" | tee -a {pid_file}\n')
    os.chmod(wrapper.name, 0o755)
    try:
        # The pipe of tee stays open as long as the child lives: this passes only if it is killed.
        status, lines = run_runner(
            "--binary", wrapper.name, "--case", "good_case_leaves_a_child_behind"
        )
        check_equal(status, 1)
        check(any("timed out" in line for line in lines))
        with open(pid_file, encoding="utf-8") as text:
            child = int(text.read().split("child ")[1].split()[0])
        check(not is_alive(child), "the child of the case is still there")
    finally:
        os.unlink(wrapper.name)
        os.unlink(pid_file)
    check_passes("good_case_leaves_a_child_behind")
    check(time.monotonic() - start < 50)


def is_alive(pid):
    """A zombie that nobody waits for is dead too."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@case
def runner_ends_a_case_that_writes_without_end():
    check_fails("bad_case_writes_without_end", "killed:")


@case
def runner_names_the_seed_that_fails():
    many = ("--seeds", "20")
    check_passes("good_case_takes_any_seed", *many)
    check_fails("bad_case_fails_with_seed_13", "seed 13", *many, repeat=" --seed 13")
    check_fails("bad_case_panics_with_seed_7", "seed 7", *many, repeat=" --seed 7")
    check_fails(
        "bad_case_hangs_with_seed_3",
        "seed 3",
        *("--seeds", "200", *STRICT),
        says="seed 3 runs for ever",
        repeat=" --seed 3",
    )


@case
def runner_repeats_one_seed():
    check_passes("bad_case_fails_with_seed_13", "--seed", "12")
    check_fails("bad_case_fails_with_seed_13", "seed 13", "--seed", "13", repeat=" --seed 13")
    check_passes("bad_case_fails_with_seed_13", "--seed", "14", "--seeds", "5")


@case
def runner_fails_if_no_case_has_the_name():
    status, lines = run_broken("no_such_case")
    check_equal(status, 1)
    check_equal(lines[-1], "0 passed, 1 failed")


@case
def runner_fails_if_a_binary_is_missing():
    status, lines = run_runner("--binary", "build/plain/self/no_such_binary")
    check_equal(status, 1)
    check_equal(lines[-1], "0 passed, 1 failed")


@case
def runner_refuses_two_cases_of_one_name():
    binary = "build/plain/self/broken_cases"
    status, lines = run_runner("--binary", binary, "--binary", binary)
    check_equal(status, 1)
    check_equal(lines[-1], "0 passed, 1 failed")
    check(any("two cases are called" in line for line in lines))


@case
def runner_fails_a_lane_whose_tools_are_missing():
    with tempfile.TemporaryDirectory() as directory:
        for tool in ("cmake", "ninja", "gcc"):
            os.symlink("/bin/true", f"{directory}/{tool}")
        status, lines = run_runner("--lane", "valgrind", env={"PATH": directory})
    check_equal(status, 1)
    check(any("not installed: valgrind; run: tools/setup test" in line for line in lines))


@case
def runner_fails_a_lane_that_does_not_build():
    with tempfile.TemporaryDirectory() as directory:
        for tool in ("cmake", "ninja", "gcc"):
            os.symlink("/bin/false", f"{directory}/{tool}")
        status, lines = run_runner("--lane", "plain", env={"PATH": directory})
    check_equal(status, 1)
    check(any(line.startswith("FAIL plain plain_lane_can_run: cmake") for line in lines))


@case
def runner_runs_all_cases_and_counts_them():
    status, lines = run_runner(
        *("--binary", "build/plain/self/broken_cases", "--filter", "^good_", "--seeds", "3"),
        *PATIENT,
    )
    check_equal(status, 0)
    check_equal(lines[-1], "3 passed, 0 failed, 1 skipped")


@case
def runner_lists_cases_and_runs_none():
    status, lines = run_runner(
        *("--binary", "build/plain/self/broken_cases", "--filter", "^bad_case_(fails|hangs)$"),
        "--list",
    )
    check_equal(status, 0)
    check_equal(lines, ["plain bad_case_fails", "plain bad_case_hangs"])


@case
def runner_is_interrupted_and_leaves_nothing():
    argv = [sys.executable, "test/runner/run", "--binary", "build/plain/self/broken_cases"]
    argv += ["--case", "bad_case_hangs", "--timeout-scale", "100"]
    with tempfile.TemporaryDirectory() as run_dir:
        runner = subprocess.Popen(
            [*argv, "--run-dir", run_dir], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        child = wait_for_child(runner.pid)
        runner.terminate()
        output, _ = runner.communicate(timeout=20)
    check_equal(runner.returncode, 130)
    check("interrupted" in output, output)
    check(not is_alive(child), "the case is still there")


def wait_for_child(pid):
    """The case that the runner `pid` has started, once it is there."""
    for _ in range(200):
        for name in os.listdir("/proc"):
            if name.isdigit() and is_case_of(int(name), pid):
                return int(name)
        time.sleep(0.05)
    raise AssertionError("the runner has started nothing")


def is_case_of(pid, parent):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            is_child = int(stat.read().rpartition(")")[2].split()[1]) == parent
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as command:
            return is_child and "bad_case_hangs" in command.read()
    except (FileNotFoundError, ProcessLookupError):
        return False


if __name__ == "__main__":
    main()
