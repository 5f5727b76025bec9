#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/tools.md shows real output: runs each command that it shows and compares.

A block of the document follows a comment `<!-- shown: NAME -->`; NAME is a function below. Numbers,
addresses and time spans differ from run to run and are not compared. With --write the blocks are
replaced by what the commands print now. Usage: document.py [--write] TOOL BUILD_DIR SOURCE_DIR WORK
"""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time

BLOCK = re.compile(r"(<!-- shown: ([\w-]+) -->\n+```[a-z]*\n)(.*?)(```\n)", re.DOTALL)


class Stage:
    """Where the commands are run."""

    def __init__(self, tool, build, source, work):
        self.tool, self.build, self.source, self.work = tool, build, source, work

    def run(self, *words, env=None):
        """What a command prints, with its own line before it."""
        result = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            env={**os.environ, **(env or {})})
        return result.stdout

    def orrery(self, *words, env=None):
        return self.run(self.tool, *words, env=env)

    def program(self, source, name, *flags):
        path = self.work / name
        if not path.exists():
            subprocess.run(
                ["gcc", "-std=c11", "-g", *flags, f"-I{self.source}/include",
                 f"-I{self.source}/src", str(self.source / source),
                 str(self.build / "liborrery.a"), "-lpthread", "-o", str(path)], check=True)
        return path

    @contextlib.contextmanager
    def deadlock(self):
        """The example, when it has come to its deadlock."""
        path = self.program("examples/deadlock.c", "deadlock", "-O2")
        with subprocess.Popen([path], env={**os.environ, "ORRERY_OBSERVE": "1"}) as process:
            try:
                for _ in range(200):
                    time.sleep(0.05)
                    said = subprocess.run(
                        [self.tool, "stats", str(process.pid)], capture_output=True, text=True,
                        check=False).stdout
                    if re.search(r"^actors_waiting +2$", said, re.MULTILINE):
                        break
                yield str(process.pid)
            finally:
                process.kill()


def dump(stage):
    with stage.deadlock() as pid:
        return stage.orrery("dump", pid)


def stats(stage):
    with stage.deadlock() as pid:
        return stage.orrery("stats", pid)


def inside(stage):
    said = stage.run(str(stage.program("test/tools/dumping_program.c", "program", "-O2")))
    return re.sub(r"\S*/(?=\w+\.c:)", "", said)


def inside_lines(stage):
    """The place of the first backtrace, by addr2line, as the text says."""
    path = stage.program("test/tools/dumping_program.c", "program", "-O2")
    place = re.search(r"  at program\+(0x[0-9a-f]+)", inside(stage))[1]
    said = stage.run("addr2line", "-f", "-s", "-e", str(path), place)
    return f"$ addr2line -f -s -e program {place}\n{said}"


def gdb(stage):
    extension = stage.source / "tools/gdb/orrery-gdb.py"
    with stage.deadlock() as pid:
        said = stage.run(
            "gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set width 0",
            "-ex", f"source {extension}", "-p", pid, "-ex", "echo (gdb) info actors\\n",
            "-ex", "info actors", "-ex", "echo (gdb) task kitchen bt\\n", "-ex", "task kitchen bt",
            "-ex", "echo (gdb) task kitchen\\n", "-ex", "task kitchen",
            "-ex", "echo (gdb) info locals\\n", "-ex", "info locals",
            "-ex", "echo (gdb) print payments_rx\\n", "-ex", "print payments_rx")
    text = said[said.find("(gdb) info actors"):]
    return re.sub(r"\S*/(?=\w+\.c:)", "", text)


def _journal(stage):
    path = stage.work / "run.journal"
    program = stage.program("docs/tutorial/step2.c", "step2")
    del program
    make = stage.program("test/tools/make_journal.c", "make_journal")
    stage.run(str(make), str(path))
    return str(path)


def journal(stage):
    lines = stage.orrery("journal", _journal(stage)).splitlines(keepends=True)
    return "".join(lines[:12]) + "...\n"


def tree(stage):
    return stage.orrery("journal", "--tree", _journal(stage))


def trace(stage):
    return stage.orrery("trace", "-o", str(stage.work / "out.pftrace"), _journal(stage))


def _lint(stage, *words):
    case = stage.source / "test/tools/lint/message_kept.c"
    (stage.work / "compile_commands.json").write_text(
        f'[{{"directory": "{stage.work}", "file": "{case}", '
        f'"command": "cc -std=gnu11 -I{stage.source}/include -c x"}}]', encoding="utf-8")
    said = stage.orrery("lint", *words, "-p", str(stage.work), str(case))
    return said.replace(str(case), case.name)


def lint(stage):
    return _lint(stage)


def lint_list(stage):
    return stage.orrery("lint", "--list")


def lint_explain(stage):
    return stage.orrery("lint", "--explain", "all")


def pauses(stage):
    return "".join(_lint(stage, "--pauses").splitlines(keepends=True)[:3])


def hover(stage):
    folder = stage.work / "hover"
    folder.mkdir(exist_ok=True)
    names = [name for name in ("clangd-19", "clangd-14", "clangd")
             if subprocess.run(["which", name], capture_output=True, check=False).returncode == 0]
    said = stage.run(
        sys.executable, str(stage.source / "test/tools/hover.py"), names[0], str(stage.source),
        str(folder), "rt_yield")
    return "\n".join(line for line in said.splitlines() if "functions," not in line).strip() + "\n"


def probes(stage):
    library = stage.work / "library.so"
    stage.run("gcc", "-shared", "-o", str(library), "-Wl,--whole-archive",
              str(stage.build / "liborrery.a"), "-Wl,--no-whole-archive", "-lpthread")
    notes = stage.run("readelf", "-n", str(library))
    names = re.findall(r"Provider: orrery\s+Name: (\w+)", notes)
    return "".join(f"orrery:{name}\n" for name in sorted(set(names)))


def overview(stage):
    return stage.orrery("--help")


SHOWN = {f.__name__.replace("_", "-"): f for f in (
    dump, stats, gdb, journal, tree, trace, lint, lint_list, lint_explain, pauses, hover, probes,
    overview, inside, inside_lines)}


def normal(text):
    """Without what differs from run to run."""
    text = re.sub(r"0x[0-9a-f]+", "#", text)
    text = re.sub(r"\d+(\.\d+)?", "#", text)
    text = re.sub(r"# (ns|us|ms|s)\b", "# t", text)
    return re.sub(r"[ \t]+", " ", text).strip()


def main():
    is_writing = "--write" in sys.argv
    tool, *folders = [word for word in sys.argv[1:] if word != "--write"]
    build, source, work = (pathlib.Path(word).resolve() for word in folders)
    stage = Stage(str(pathlib.Path(tool).resolve()), build, source, work)
    path = source / "docs/tools.md"
    faults = []

    def replace(match):
        output = SHOWN[match[2]](stage).expandtabs(8)
        output = "".join(line.rstrip() + "\n" for line in output.splitlines())
        if normal(output) != normal(match[3]):
            faults.append(f"{match[2]}: the document shows\n{match[3]}\nbut it is\n{output}")
        return match[1] + output + match[4] if is_writing else match[0]

    text = path.read_text(encoding="utf-8")
    missing = set(SHOWN) - {match[2] for match in BLOCK.finditer(text)}
    faults += [f"{name} is shown nowhere" for name in sorted(missing)]
    text = BLOCK.sub(replace, text)
    if is_writing:
        path.write_text(text, encoding="utf-8")
        return 0
    print("\n".join(faults) or f"{len(SHOWN)} blocks are as they are shown")
    return 1 if faults else 0


sys.exit(main())
