# SPDX-License-Identifier: Apache-2.0
"""Builds model programs with the compiler alone: the explorer once as an archive, then one program
per model file with the library sources it explores."""

import os
import pathlib
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "test" / "model"
EXPLORER = ROOT / "src" / "port" / "explore"

CC = shlex.split(os.environ.get("CC", "gcc"))
DEFINES = ["-DRTI_EXPLORED=1", "-DRT_CHECKS=1"]
INCLUDES = ["-Isrc", "-Iinclude"]
COMMON = ["-std=c11", "-g", "-fno-strict-aliasing", *DEFINES]
STRICT = ["-O2", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
LOOSE = ["-O1", "-w"]  # a mutant may leave a variable unused


class BuildError(Exception):
    """A compiler or linker said no."""


def run_tool(argv):
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{shlex.join(argv)}\n{done.stdout}{done.stderr}")


def rows(path):
    """The rows of a tab-separated table, without its comments."""
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def _words(cell):
    return [] if cell == "-" else cell.split()


class Program:
    """A model file and what it is built from."""

    def __init__(self, name, sources, flags):
        self.name = name
        self.sources = [f"test/model/{name}_model.c", *_words(sources)]
        self.flags = _words(flags)


def programs():
    return [Program(*row) for row in rows(MODELS / "models.tsv")]


def build_object(source, target):
    run_tool([*CC, *COMMON, *STRICT, *INCLUDES, "-c", str(source), "-o", str(target)])


def build_archive(folder, pool):
    """The explorer, with its main last so that another program may bring its own."""
    objects = []
    for source in sorted(EXPLORER.glob("*.c")):
        objects.append((source.relative_to(ROOT), folder / f"{source.stem}.o"))
    list(pool.map(lambda pair: build_object(*pair), objects))
    archive = folder / "libexplore.a"
    archive.unlink(missing_ok=True)
    run_tool(["ar", "rcs", str(archive), *(str(target) for _, target in objects)])
    return archive


def build_program(program, archive, target):
    run_tool(
        [*CC, *COMMON, *STRICT, *program.flags, *INCLUDES, *program.sources, str(archive)]
        + ["-o", str(target)]
    )


def build_mutant(program, archive, target, changed, overlay):
    """Builds with `changed`, a path in the tree, taken from the folder `overlay` instead. A file of
    the explorer is linked before the archive and so replaces its member."""
    mutated = str(overlay / changed)
    sources = [mutated if source == changed else source for source in program.sources]
    if changed.endswith(".c") and mutated not in sources:
        sources.append(mutated)
    run_tool(
        [*CC, *COMMON, *LOOSE, *program.flags, f"-I{overlay / 'src'}", *INCLUDES, *sources]
        + [str(archive), "-o", str(target)]
    )
