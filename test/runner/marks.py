# SPDX-License-Identifier: Apache-2.0
"""The marks of src/base/marks.h: those in the source against those that some process hit."""

import re
from pathlib import Path

from cases import ROOT

SOURCE_DIR = ROOT / "src"
DEFINED_IN = "marks.h"

_NOISE = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.DOTALL)
_CALL = re.compile(r"\bRT_(?:SOMETIMES|BUGGIFY)\s*\(")
_LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')


def declared(directory: Path = SOURCE_DIR) -> tuple[dict[str, str], list[str]]:
    """Name of each mark in the source and the file it is in; and what is wrong with the marks."""
    marks, problems = {}, []
    for path in sorted(directory.rglob("*.[ch]")):
        if path.name == DEFINED_IN:
            continue
        for name in _names(path.read_text(encoding="utf-8")):
            if name is None:
                problems.append(f"{path.name}: a mark whose name is not a string literal")
            elif name in marks:
                problems.append(f"{path.name}: the mark {name!r} is also in {marks[name]}")
            else:
                marks[name] = path.name
    return marks, problems


def hit(path: Path) -> set[str]:
    """The names that the processes of this run have appended to the file of hit marks."""
    if not path.exists():
        return set()
    return set(path.read_text(encoding="utf-8").splitlines())


def _names(text):
    """The name of each mark in a source text; None for one that is not a literal."""
    text = _NOISE.sub(lambda match: match[1] or " ", text)
    for call in _CALL.finditer(text):
        arguments = text[call.end() : _closing(text, call.end())]
        literal = None
        for literal in _LITERAL.finditer(arguments):
            pass
        is_last = literal is not None and not arguments[literal.end() :].strip()
        yield literal[1] if is_last else None


def _closing(text, start):
    """Where the parenthesis closes that was opened just before `start`."""
    depth = 1
    at = start
    while at < len(text):
        if text[at] == '"':
            at = _LITERAL.match(text, at).end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
        at += 1
    return len(text)
