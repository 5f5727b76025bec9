# SPDX-License-Identifier: Apache-2.0
"""What a rule is written with: the tree, its files, a finding, and the rule itself."""

import functools
import pathlib
import re
import subprocess
from dataclasses import dataclass
from typing import Callable, Iterable

# Folders that are not source, for a tree that git does not know.
NOT_SOURCE = {".git", "build", "__pycache__"}

_COMMENT_OR_LITERAL = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)


@dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    rule: str
    sentence: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.sentence}"


@dataclass(frozen=True)
class Fixture:
    """A little tree and the places, `path:line`, where the rule must find something in it."""

    about: str
    files: dict[str, str]
    found: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    name: str
    about: str
    search: Callable[["Tree"], Iterable[tuple["Source", int, str]]]
    fixtures: tuple[Fixture, ...]

    def check(self, tree):
        for source, line, sentence in self.search(tree):
            yield Finding(source.path, line, self.name, sentence)


class Source:
    """One text file. `path` is relative to the root, with slashes."""

    def __init__(self, root, path):
        self.root = root
        self.path = path

    @functools.cached_property
    def text(self):
        return (self.root / self.path).read_text(encoding="utf-8", errors="replace")

    @functools.cached_property
    def lines(self):
        return self.text.splitlines()

    @functools.cached_property
    def code(self):
        """The text with comments and literals blanked out; every place keeps its line."""
        return _COMMENT_OR_LITERAL.sub(_blank, self.text)

    @functools.cached_property
    def uncommented(self):
        """The text with comments blanked out, literals left."""
        return _COMMENT_OR_LITERAL.sub(
            lambda match: _blank(match) if match[0].startswith("/") else match[0], self.text
        )

    @property
    def suffix(self):
        return pathlib.PurePosixPath(self.path).suffix

    @property
    def stem(self):
        return pathlib.PurePosixPath(self.path).stem

    @property
    def folder(self):
        return str(pathlib.PurePosixPath(self.path).parent)

    @property
    def is_c(self):
        return self.suffix in (".c", ".h")

    def is_under(self, *places):
        """Whether it lies in one of these folders, or is one of these files."""
        return any(self.path == place or self.path.startswith(place + "/") for place in places)

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1


class Tree:
    def __init__(self, root, paths):
        self.root = root
        self.sources = [Source(root, path) for path in paths]
        self.paths = set(paths)

    @classmethod
    def of_folder(cls, root):
        return cls(root, sorted(_tracked(root) or _walked(root)))

    def c_sources(self, *folders):
        return [s for s in self.sources if s.is_c and (not folders or s.is_under(*folders))]


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def _tracked(root):
    """The files that git has or would take; nothing when this is no git tree."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others"]
    try:
        answer = subprocess.run(
            command + ["--exclude-standard"], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return []
    paths = answer.stdout.split("\0") if answer.returncode == 0 else []
    return [path for path in set(paths) if path and (root / path).is_file()]


def _walked(root):
    for path in root.rglob("*"):
        relative = path.relative_to(root)
        if path.is_file() and not NOT_SOURCE.intersection(relative.parts):
            yield relative.as_posix()
