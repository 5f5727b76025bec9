# SPDX-License-Identifier: Apache-2.0
"""clang-format decides. Versions differ in what they decide, so it is always version 14."""

import re
import shutil
import subprocess

from .tree import Fixture, Rule

VERSION = 14
FILES_PER_RUN = 16
_MESSAGE = re.compile(r"^(.*?):(\d+):\d+: error: code should be clang-formatted", re.MULTILINE)


def formatter():
    """The command that is clang-format of our version, or None."""
    for command in (f"clang-format-{VERSION}", "clang-format"):
        if shutil.which(command):
            answer = subprocess.run([command, "--version"], capture_output=True, text=True)
            if re.search(rf"version {VERSION}\.", answer.stdout):
                return command
    return None


def _run(command, sources):
    paths = [source.path for source in sources]
    return subprocess.Popen(
        [command, "--dry-run", "--Werror", "--style=file", *paths],
        cwd=sources[0].root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _search_format(tree):
    sources = [s for s in tree.sources if s.is_c or s.suffix == ".cpp"]
    if not sources:
        return
    command = formatter()
    if command is None:
        yield sources[0], 1, f"clang-format {VERSION} is not here: run tools/setup test"
        return
    by_path = {source.path: source for source in sources}
    for start in range(0, len(sources), 2 * FILES_PER_RUN):
        batch = sources[start : start + 2 * FILES_PER_RUN]
        halves = [batch[0::2], batch[1::2]]
        for run in [_run(command, half) for half in halves if half]:
            _, messages = run.communicate()
            yield from _first_of_each(messages, by_path)
            if run.returncode != 0 and not _MESSAGE.search(messages):
                yield batch[0], 1, f"clang-format failed: {messages.strip()[:200]}"


def _first_of_each(messages, by_path):
    seen = set()
    for path, line in _MESSAGE.findall(messages):
        if path not in seen:
            seen.add(path)
            yield by_path[path], int(line), f"clang-format-{VERSION} -i {path} changes this"


RULES = (
    Rule(
        "format",
        "clang-format changes nothing",
        _search_format,
        (
            Fixture("clean", {".clang-format": "BasedOnStyle: LLVM\n", "a.c": "int x;\n"}),
            Fixture(
                "not",
                {".clang-format": "BasedOnStyle: LLVM\n", "a.c": "int x;\nint   y;\n"},
                ("a.c:2",),
            ),
        ),
    ),
)
