# SPDX-License-Identifier: Apache-2.0
"""The documents show only what is there.

A C block in a document is an excerpt of a program that the tests run. The line above it names the
program: `<!-- tested: examples/hello.c -->`. The README's C blocks all have that line; elsewhere a
block without it is a sketch. A link to a file of the tree leads to a file.
"""

import posixpath
import re

from .tree import Fixture, Rule

TESTED_FOLDERS = ("examples", "docs/tutorial", "test")

_BLOCK = re.compile(
    r"(?:^<!-- tested: (?P<path>\S+) -->\n)?^```c\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
_ANY_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")


def _documents(tree):
    return [source for source in tree.sources if source.suffix == ".md"]


def _program(tree, path):
    for source in tree.sources:
        if source.path == path and source.is_under(*TESTED_FOLDERS):
            return source
    return None


def _search_blocks(tree):
    for source in _documents(tree):
        for match in _BLOCK.finditer(source.text):
            line = source.line_of(match.start())
            if match["path"] is None:
                if source.path == "README.md":
                    yield source, line, "the line above does not name the program it is from"
                continue
            program = _program(tree, match["path"])
            if program is None:
                yield source, line, f"{match['path']} is no program that the tests run"
            elif match["body"] not in program.text:
                yield source, line, f"this block is not in {match['path']} word by word"


def _search_links(tree):
    folders = {posixpath.dirname(path) for path in tree.paths}
    for source in _documents(tree):
        prose = _ANY_BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source.text)
        for match in _LINK.finditer(prose):
            target = match[1].split("#")[0]
            if not target or "://" in target or target.startswith("mailto:"):
                continue
            path = posixpath.normpath(posixpath.join(source.folder, target))
            if path not in tree.paths and path not in folders:
                yield source, source.line_of(match.start()), f"nothing is at {path}"


_PROGRAM = {"examples/a.c": "int a;\nint b;\n"}


def _readme(*lines):
    return {**_PROGRAM, "README.md": "\n".join(lines) + "\n"}


RULES = (
    Rule(
        "block",
        "a C block of the README is an excerpt of a tested program",
        _search_blocks,
        (
            Fixture(
                "an excerpt", _readme("<!-- tested: examples/a.c -->", "```c", "int b;", "```")
            ),
            Fixture("another language", _readme("```sh", "make", "```")),
            Fixture("a sketch elsewhere", {"docs/a.md": "```c\nint z;\n```\n"}),
            Fixture("not named", _readme("", "```c", "int b;", "```"), ("README.md:2",)),
            Fixture(
                "another text",
                _readme("<!-- tested: examples/a.c -->", "```c", "int c;", "```"),
                ("README.md:1",),
            ),
            Fixture(
                "no such program",
                _readme("<!-- tested: examples/b.c -->", "```c", "int b;", "```"),
                ("README.md:1",),
            ),
        ),
    ),
    Rule(
        "link",
        "a link leads to a file",
        _search_links,
        (
            Fixture("a file", _readme("[a](examples/a.c) [b](examples#x) [c](https://c.org/x)")),
            Fixture("nothing", _readme("", "[a](examples/z.c)"), ("README.md:2",)),
            Fixture("nothing near", {"docs/a.md": "[a](docs/a.md)\n"}, ("docs/a.md:1",)),
        ),
    ),
)
