# SPDX-License-Identifier: Apache-2.0
"""Finds the jobs of a lane, once everything it needs is built."""

import os
import re
from dataclasses import replace

import binaries
from cases import (
    BUILD_ROOT,
    FAILED,
    PASSED,
    ROOT,
    Job,
    describe_end,
    judge_by_status,
    make_result,
)

# For what hangs: a machine that is busy with other things is no reason to fail.
SCRIPT_TIMEOUT_SECONDS = 900
EXAMPLE_TIMEOUT_SECONDS = 30
BENCH_TIMEOUT_SECONDS = 60
BENCH_ITERATIONS = 100
MODELS_TIMEOUT_SECONDS = 2700


# The simulators: whole programs over many seeds, on one worker or on virtual threads.
SIM_FOLDERS = ("sim", "virtual")
# Tests on virtual threads need a library of their own; these presets build it (ORRERY_VIRTUAL).
VIRTUAL_PRESETS = ("plain", "tsan")


def all_binaries(lane, settings):
    has_virtual = lane.presets[0] in VIRTUAL_PRESETS
    return _jobs_of_binaries(lane, settings, lambda folder: has_virtual or folder != "virtual")


def all_but_sim(lane, settings):
    return _jobs_of_binaries(lane, settings, lambda folder: folder not in SIM_FOLDERS)


def only_sim(lane, settings):
    jobs = _jobs_of_binaries(lane, settings, lambda folder: folder in SIM_FOLDERS)
    return jobs + _scripts(lane, settings, sorted((ROOT / "test" / "sim").glob("*.sh")))


def self_tests(lane, settings):
    """The tests of the runner, written in Python with the manners of a test binary."""
    jobs = []
    for script in sorted((ROOT / "test" / "self").glob("*_test.py")):
        jobs += binaries.jobs_of(lane, script, settings)
    return jobs


def scripts(lane, settings):
    found = sorted((ROOT / "test").glob("*/*.sh"))
    return _scripts(lane, settings, [path for path in found if path.parent.name != "sim"])


def tidy(lane, settings):
    tool = str(ROOT / "tools" / "tidy")
    return [
        _job(lane, settings, "tidy_finds_nothing_in_the_tree", (tool,), 300, "tools/tidy"),
        _job(
            lane, settings, "tidy_finds_what_is_planted", (tool, "--self-test"), 300, "tools/tidy"
        ),
    ]


def benches(lane, settings):
    """Each benchmark, so short that its figures mean nothing: it must run and print a table."""
    jobs = []
    for source in sorted((ROOT / "bench").glob("*_bench.c")):
        binary = BUILD_ROOT / lane.presets[0] / "bench" / source.stem
        name = f"{source.stem}_runs_and_prints_a_table"
        argv = (str(binary), str(BENCH_ITERATIONS))
        job = _job(lane, settings, name, argv, BENCH_TIMEOUT_SECONDS, source.name)
        jobs.append(replace(job, judge=judge_bench))
    return jobs


def examples(lane, settings):
    """Each example and each step of the tutorial that says how it is tested must end well.

    It says so in its head comment, with the commands that run it: ` * Tested: ping_pong 10000`.
    A document may show what such a command prints, and then it must print that.
    """
    jobs = []
    folder = BUILD_ROOT / lane.presets[0] / "examples"
    outputs_shown = _outputs_shown()
    for source in _example_sources():
        for program, arguments in _TESTED.findall(source.read_text()):
            if program != source.stem:
                raise binaries.ListError(f"{source} is tested by the command {program!r}")
            words = "_".join(re.findall("[a-z0-9]+", program + arguments))
            name = f"example_{words}_runs_to_its_end"
            argv = (str(folder / program), *arguments.split())
            job = _job(lane, settings, name, argv, EXAMPLE_TIMEOUT_SECONDS, source.name)
            shown = outputs_shown.pop(program + arguments, None)
            if shown is not None:
                job = replace(job, judge=_judge_by_output(shown))
            jobs.append(job)
    if outputs_shown:
        raise binaries.ListError(f"a document shows what is not tested: {[*outputs_shown]}")
    return jobs


def _judge_by_output(shown):
    def judge(job, outcome):
        (result,) = judge_by_status(job, outcome)
        if result.verdict == PASSED and outcome.output != shown:
            why = "the output is not what the documents show"
            return [make_result(job, outcome, FAILED, why)]
        return [result]

    return judge


def _outputs_shown():
    """What the documents say that a command prints, by command: a block of text below the line
    `<!-- output: step7 3 -->`."""
    shown = {}
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))):
        shown.update(_OUTPUT.findall(document.read_text()))
    return shown


_OUTPUT = re.compile(r"^<!-- output: ([^\n]+) -->\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TESTED = re.compile(r"^ \* Tested: (\S+)(.*?)(?: \*/)?$", re.MULTILINE)


def _example_sources():
    """The sources with a program's name: single files, and in a folder the one named after it."""
    sources = list((ROOT / "examples").glob("*.c"))
    sources += [p for p in (ROOT / "examples").glob("*/*.c") if p.stem == p.parent.name]
    sources += (ROOT / "docs" / "tutorial").glob("*.c")
    return sorted(sources)


def models(lane, settings):
    """One process runs all models of the explorer and says what became of each."""
    argv = (str(ROOT / "test" / "model" / "run_models"), str(BUILD_ROOT / lane.presets[0]))
    job = _job(lane, settings, "models", argv, MODELS_TIMEOUT_SECONDS, "test/model")
    repeat = f"test/runner/run --lane {lane.name}"
    return [replace(job, judge=judge_models, repeat=repeat, decides_many=True)]


def judge_bench(job, outcome):
    (result,) = judge_by_status(job, outcome)
    rows = [line for line in outcome.output.splitlines() if line and not line.startswith("#")]
    if result.verdict == PASSED and not (rows and all("\t" in row for row in rows)):
        return [make_result(job, outcome, FAILED, "the output is not a table of tabs")]
    return [result]


def judge_models(job, outcome):
    """Lines `pass MODEL ...` and `fail MODEL ...`; what failed is above; the last line counts."""
    lines = outcome.output.splitlines()
    results = {}  # by name: the reason of a failure may quote the line of another model
    since = 0
    for number, line in enumerate(lines):
        match = re.fullmatch(r"(pass|fail) ([a-z][a-z0-9_]*)\b(.*)", line)
        if match is None or results.get(match[2]):
            continue
        said, since = "\n".join(lines[since:number]), number + 1
        its_outcome = replace(outcome, output=said, seconds=_seconds(match[3]))
        its_job = replace(job, name=match[2], repeat=_repeat(job.lane, match[2]))
        verdict = PASSED if match[1] == "pass" else FAILED
        results[match[2]] = make_result(its_job, its_outcome, verdict, match[3].strip())
    results = list(results.values())
    passed = sum(result.verdict == PASSED for result in results)
    agrees = lines[-1:] == [f"{passed} passed, {len(results) - passed} failed"]
    status_wanted = 0 if passed == len(results) else 1
    if not results or not agrees or outcome.timed_out or outcome.status != status_wanted:
        why = f"the models did not come to their end: {describe_end(job, outcome)}"
        results.append(make_result(job, outcome, FAILED, why))
    return results


def _seconds(text):
    match = re.search(r"([0-9.]+) ?s\b", text)
    return float(match[1]) if match else 0.0


def _scripts(lane, settings, found):
    """Each executable script is one case; a line `# timeout: SECONDS` changes its limit."""
    jobs = []
    for script in found:
        if os.access(script, os.X_OK):
            limit = re.search(r"^# timeout: ([0-9]+)", script.read_text(), re.MULTILINE)
            seconds = float(limit[1]) if limit else SCRIPT_TIMEOUT_SECONDS
            argv = (str(script),)
            jobs.append(_job(lane, settings, script.stem, argv, seconds, script.parent.name))
        elif script.stem.endswith("_test"):
            raise binaries.ListError(f"{script} is not executable")
    return jobs


def _job(lane, settings, name, argv, timeout, source):
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise binaries.ListError(f"{name!r} cannot be the name of a case")
    return Job(
        lane=lane.name,
        name=name,
        argv=argv,
        timeout=timeout * lane.timeout_scale * settings.timeout_scale,
        judge=judge_by_status,
        source=source,
        repeat=_repeat(lane.name, name),
        env=dict(lane.env),
    )


def _repeat(lane_name, case):
    return f"test/runner/run --lane {lane_name} --case {case}"


def _jobs_of_binaries(lane, settings, wants_folder):
    if settings.binaries:
        return [job for path in settings.binaries for job in binaries.jobs_of(lane, path, settings)]
    jobs = []
    for source in binaries.sources():
        if not wants_folder(source.parent.name) or (lane.files and source.stem not in lane.files):
            continue
        jobs += binaries.jobs_of(lane, binaries.binary_of(source, lane.presets[0]), settings)
    return jobs
