# SPDX-License-Identifier: Apache-2.0
"""Mutants (rule R12): small wrong changes to the code under test, or to the explorer, each of which
a model must notice. One whose text is not found exactly once, that does not compile or that
survives is a failure."""

import collections
import re
import subprocess

import build

RUN_TIMEOUT_SECONDS = 60

Verdict = collections.namedtuple("Verdict", "is_killed reason")


class Mutant:
    """One row of mutants.tsv."""

    def __init__(self, name, path, original, replacement, models, memory):
        self.name = name
        self.path = path
        self.original = original.replace("\\n", "\n")
        self.replacement = replacement.replace("\\n", "\n")
        self.models = models.split(",")
        self.memory = memory

    def text(self):
        """The mutated file, or a BuildError."""
        text = (build.ROOT / self.path).read_text()
        found = text.count(self.original)
        if found != 1:
            raise build.BuildError(f"the original text is found {found} times in {self.path}")
        return text.replace(self.original, self.replacement)


def load():
    return [Mutant(*row) for row in build.rows(build.MODELS / "mutants.tsv")]


def program_of(mutant, programs):
    """The program that has the mutant's models."""
    for program in programs:
        text = (build.ROOT / program.sources[0]).read_text()
        if all(f"MODEL({model})" in text for model in mutant.models):
            return program
    raise build.BuildError(f"no program has the models {mutant.models}")


def run_model(mutant, model, target):
    """Whether the model fails, and what it says."""
    argv = [str(target), "--model", model, "--memory", mutant.memory]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=RUN_TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Verdict(False, f"{model} did not end in {RUN_TIMEOUT_SECONDS} s")
    if done.returncode != 1 or not done.stdout.startswith(f"fail {model}_{mutant.memory}"):
        return Verdict(False, f"{model} does not notice it:\n{done.stdout}{done.stderr}")
    said = re.search(rf"^{model} \(.*$", done.stdout, re.MULTILINE)
    return Verdict(True, said[0] if said else "")


def try_mutant(mutant, programs, archive, folder):
    """Builds the mutant and runs its models, each of which must fail."""
    overlay = folder / mutant.name
    target = overlay / "program"
    try:
        changed = overlay / mutant.path
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_text(mutant.text())
        program = program_of(mutant, programs)
        build.build_mutant(program, archive, target, mutant.path, overlay)
    except build.BuildError as error:
        return Verdict(False, str(error))
    verdicts = [run_model(mutant, model, target) for model in mutant.models]
    return next((v for v in verdicts if not v.is_killed), verdicts[0])
