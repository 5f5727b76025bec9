# SPDX-License-Identifier: Apache-2.0
"""What every text file keeps: its license line, its size, its words, its white space."""

import re

from .tree import Fixture, Rule

LINES_MAX = 800
COLUMNS_MAX = 100

CODE_SUFFIXES = {".c", ".h", ".S", ".cpp", ".py", ".sh", ".cmake", ".gdb"}
CODE_NAMES = {"Makefile", "CMakeLists.txt"}
TEXT_SUFFIXES = CODE_SUFFIXES | {".md", ".json", ".tsv", ".in", ".txt"}
NOT_OURS = {"LICENSE"}

LICENSE = "SPDX-License-Identifier: Apache-2.0"
C_LICENSE = f"/* {LICENSE} */"

# Words that promise instead of doing, and paths that exist on one machine only. The brackets keep
# this file from finding itself.
WORDS = (
    (r"\bT[O]DO\b", "finish it or leave it out"),
    (r"\bF[I]XME\b", "fix it or leave it out"),
    (r"\bX[X]X\b", "say it in a sentence"),
    (r"\b[Ff]or n[o]w\b", "what it is now is what it is"),
    (r"\b[Ss]t[u]bs?\b", "finish it or leave it out"),
    (r"\b[Hh]a[c]ks?\b", "say why it is right, or make it right"),
    (r"\b[Pp]lace[h]olders?\b", "finish it or leave it out"),
    (r"(?<![\w.})>*])/(?:w[o]rk|h[o]me|r[o]ot|U[s]ers)/", "a path of one machine"),
)
_WORDS = [(re.compile(pattern), why) for pattern, why in WORDS]


def is_code(source):
    name = source.path.rsplit("/", 1)[-1]
    if source.suffix in CODE_SUFFIXES or name in CODE_NAMES:
        return True
    return source.suffix == "" and source.text.startswith("#!")


def is_text(source):
    return is_code(source) or source.suffix in TEXT_SUFFIXES


def _search_license(tree):
    for source in filter(is_code, tree.sources):
        if source.is_c or source.suffix == ".S":
            if source.lines[:1] != [C_LICENSE]:
                yield source, 1, f"the first line is not {C_LICENSE}"
            continue
        line = 2 if source.text.startswith("#!") else 1
        if not source.lines[line - 1 : line] or LICENSE not in source.lines[line - 1]:
            yield source, line, f"this line is not {LICENSE}"


def _search_size(tree):
    for source in filter(is_code, tree.sources):
        if len(source.lines) > LINES_MAX:
            yield source, LINES_MAX + 1, f"longer than {LINES_MAX} lines: look for the second noun"
        for number, line in enumerate(source.lines, 1):
            if len(line) > COLUMNS_MAX:
                yield source, number, f"{len(line)} columns, {COLUMNS_MAX} are allowed"


def _search_words(tree):
    for source in filter(is_text, tree.sources):
        for pattern, why in _WORDS:
            for match in pattern.finditer(source.text):
                yield source, source.line_of(match.start()), f"{match[0]!r}: {why}"


def _search_space(tree):
    for source in filter(is_text, tree.sources):
        if source.path in NOT_OURS or not source.text:
            continue
        if not source.text.endswith("\n") or source.text.endswith("\n\n"):
            yield source, max(len(source.lines), 1), "the file does not end with one line end"
        takes_tabs = source.suffix in (".tsv", ".S") or source.path.endswith("Makefile")
        for number, line in enumerate(source.text.split("\n"), 1):
            if line != line.rstrip():
                yield source, number, "white space at the end of the line"
            elif "\t" in line and not takes_tabs:
                yield source, number, "a tab"


_OK = f"{C_LICENSE}\n"
_WORD = "TO" + "DO"

RULES = (
    Rule(
        "license",
        "the SPDX line comes first",
        _search_license,
        (
            Fixture("C", {"src/base/a.c": _OK}),
            Fixture("a script", {"tools/a": f"#!/bin/sh\n# {LICENSE}\n"}),
            Fixture("a document", {"a.md": "text\n"}),
            Fixture("none", {"src/base/a.c": "int x;\n"}, ("src/base/a.c:1",)),
            Fixture("late", {"src/base/a.c": "\n" + _OK}, ("src/base/a.c:1",)),
            Fixture("a script without", {"tools/a": "#!/bin/sh\n"}, ("tools/a:2",)),
            Fixture("a build file without", {"CMakeLists.txt": "x\n"}, ("CMakeLists.txt:1",)),
        ),
    ),
    Rule(
        "size",
        f"at most {LINES_MAX} lines of at most {COLUMNS_MAX} columns",
        _search_size,
        (
            Fixture("the limit", {"a.c": ("x" * COLUMNS_MAX + "\n") * LINES_MAX}),
            Fixture("a wide document", {"a.md": "x" * 300 + "\n"}),
            Fixture("too long", {"a.c": "x\n" * (LINES_MAX + 1)}, (f"a.c:{LINES_MAX + 1}",)),
            Fixture("too wide", {"a.c": "\n" + "x" * (COLUMNS_MAX + 1) + "\n"}, ("a.c:2",)),
        ),
    ),
    Rule(
        "word",
        "no word that promises, no path of one machine",
        _search_words,
        (
            Fixture("parts of words", {"a.c": "mkstemp(t_XXXXXX); HACKING.md; network/io\n"}),
            Fixture("a promise", {"a.c": f"\n/* {_WORD}: finish */\n"}, ("a.c:2",)),
            Fixture("a promise in a document", {"a.md": "Works for" + " now.\n"}, ("a.md:1",)),
            Fixture("a path", {"a.cmake": "include(/ho" + "me/me/x)\n"}, ("a.cmake:1",)),
        ),
    ),
    Rule(
        "space",
        "no tab, no white space at the end of a line, one line end at the end of a file",
        _search_space,
        (
            Fixture("clean", {"a.c": "x\n", "Makefile": "a:\n\tb\n", "a.tsv": "a\tb\n"}),
            Fixture("at the end of a line", {"a.md": "x \n"}, ("a.md:1",)),
            Fixture("a tab", {"a.c": "x\n\ty\n"}, ("a.c:2",)),
            Fixture("no line end", {"a.c": "x"}, ("a.c:1",)),
            Fixture("empty lines at the end", {"a.c": "x\n\n"}, ("a.c:2",)),
        ),
    ),
)
