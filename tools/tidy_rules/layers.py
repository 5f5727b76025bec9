# SPDX-License-Identifier: Apache-2.0
"""Who may include whom. The tables are the layers of docs/architecture.md.

A folder includes itself and what its row names: a folder with everything in it, or one file.
Nobody includes src/runtime/, which assembles everything. The public headers of include/ are open
to all and include only each other and the C library.
"""

import posixpath
import re

from .tree import Fixture, Rule

SEAM = ("port/port.h", "port/op.h", "port/net.h", "port/file.h", "port/fault.h", "port/backtrace.h")
GROUND = ("sync", "io", "time", "sched", "base")
PROGRAM = ("actor", "task", "machine", *GROUND)

LAYERS = {
    "base": (),
    "sched": ("base", *SEAM),
    "time": ("sched", "base"),
    "io": ("time", "sched", "base", *SEAM),
    "sync": ("time", "sched", "base"),
    "actor": GROUND,
    "task": GROUND,
    "machine": (*GROUND, *SEAM),
    "observe": PROGRAM,
    "runtime": (*PROGRAM, "observe", "port"),
    "port": ("base",),
    "port/arch": ("base",),
    "port/explore": ("base", "port/port.h"),
    "port/linux": ("base", *SEAM),
    "port/sim": ("base", *SEAM),
    "port/virtual": ("base", *SEAM, "port/arch", "sched/worker_local.h"),
}

# One file that may include more than its layer, and why.
EXCEPTIONS = {
    "src/base/assert.c": ("port/port.h",),  # a panic writes its last words through the port
    "src/base/marks.c": ("port/port.h",),  # marks are written to a file through the port
    # in the explored build the explorer owns the atomics; a virtual world has a point before each
    "src/base/atomic.h": ("port/explore", "port/virtual/point.h"),
    "src/base/probe.h": ("port/virtual/point.h",),  # a virtual world looks at the probes
    "src/sched/context.h": ("port/arch",),  # the switch itself is the processor's
    "src/sched/worker_local.h": ("port/arch",),  # and so is the way to the thread's own word
    "src/sched/recorder.c": ("port/arch",),  # and the count of time that is cheap enough for it
}

# Outside port/ the operating system is not there: only what a freestanding C library has, and what
# the compiler's and valgrind's own tools must be told.
C_NAMES = "errno float inttypes limits stdalign stdarg stdbool stddef stdint stdnoreturn string"
C_HEADERS = {f"{name}.h" for name in C_NAMES.split()}
# C11 and C++ name their atomics differently, and this header serves both.
HEADER_EXCEPTIONS = {"include/orrery/rt/spsc.h": ("stdatomic.h", "atomic")}
TOOL_FOLDERS = ("sanitizer/", "valgrind/", "sys/sdt.h")

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]", re.MULTILINE)


def includes(source):
    """Gives (line, is_quoted, path) of each include."""
    for match in _INCLUDE.finditer(source.uncommented):
        yield source.line_of(match.start(1)), match[1] == '"', match[2]


def layer_of(path):
    """The row of a path such as `port/linux/poller.h`: the longest one that it lies in."""
    folder = posixpath.dirname(path)
    while folder and folder not in LAYERS:
        folder = posixpath.dirname(folder)
    return folder or None


def _is_allowed(path, layer, allowed):
    is_own = layer_of(path) == layer
    return is_own or any(path == entry or path.startswith(entry + "/") for entry in allowed)


def _search_layers(tree):
    for source in tree.c_sources("src"):
        layer = layer_of(source.path.removeprefix("src/"))
        if layer is None:
            yield source, 1, "this folder has no row in the table of layers"
            continue
        allowed = (*LAYERS[layer], *EXCEPTIONS.get(source.path, ()))
        for line, is_quoted, path in includes(source):
            if is_quoted and not _is_allowed(path, layer, allowed):
                yield source, line, f"{layer} may not include {path}"
            if not is_quoted and layer_of(path) is not None and f"src/{path}" in tree.paths:
                yield source, line, f'{path} is ours: write it in quotes, "{path}"'
    for source in tree.c_sources("examples"):
        for line, is_quoted, path in includes(source):
            if is_quoted and f"{source.folder}/{path}" not in tree.paths:
                yield source, line, f"an example is a user: it may not include {path}"


def _search_headers(tree):
    for source in tree.c_sources("include"):
        for line, is_quoted, path in includes(source):
            allowed = path in C_HEADERS or path in HEADER_EXCEPTIONS.get(source.path, ())
            if is_quoted or not (path.startswith("orrery/") or allowed):
                yield source, line, f"a public header may not include {path}"
    for source in tree.c_sources("src"):
        if source.is_under("src/port"):
            continue
        for line, is_quoted, path in includes(source):
            known = path in C_HEADERS or path.startswith(("orrery/", *TOOL_FOLDERS))
            if not is_quoted and not known:
                yield source, line, f"<{path}> belongs to a system: only port/ may include it"


RULES = (
    Rule(
        "layer",
        "a folder includes only the layers below it",
        _search_layers,
        (
            Fixture("a lower layer", {"src/time/a.c": '#include "sched/b.h"\n'}),
            Fixture("the seam", {"src/sched/a.c": '#include "port/port.h"\n'}),
            Fixture("a commented include", {"src/base/a.c": '/*\n#include "sched/b.h"\n*/\n'}),
            Fixture(
                "an upper layer",
                {"src/base/a.c": '#include "base/b.h"\n#include "sched/b.h"\n'},
                ("src/base/a.c:2",),
            ),
            Fixture(
                "a port's inside",
                {"src/sched/a.c": '#include "port/linux/b.h"\n'},
                ("src/sched/a.c:1",),
            ),
            Fixture(
                "the seam's own inside", {"src/port/port.h": '#include "port/linux/b.h"\n'},
                ("src/port/port.h:1",),
            ),
            Fixture(
                "a sibling port", {"src/port/sim/a.c": '#include "port/linux/b.h"\n'},
                ("src/port/sim/a.c:1",),
            ),
            Fixture(
                "the seam from below", {"src/base/list.c": '#include "port/port.h"\n'},
                ("src/base/list.c:1",),
            ),
            Fixture(
                "the assembled runtime", {"src/actor/a.c": '#include "runtime/b.h"\n'},
                ("src/actor/a.c:1",),
            ),
            Fixture(
                "no folder named", {"src/base/a.c": '#include "b.h"\n'}, ("src/base/a.c:1",)
            ),
            Fixture("an unknown folder", {"src/misc/a.c": "\n"}, ("src/misc/a.c:1",)),
            Fixture(
                "ours in angles",
                {"src/base/a.c": "#include <base/b.h>\n", "src/base/b.h": ""},
                ("src/base/a.c:1",),
            ),
            Fixture(
                "an example that looks inside", {"examples/a.c": '#include "base/b.h"\n'},
                ("examples/a.c:1",),
            ),
        ),
    ),
    Rule(
        "header",
        "system headers only in port/, public headers include only C and each other",
        _search_headers,
        (
            Fixture("C", {"src/base/a.c": "#include <stdint.h>\n#include <orrery/rt/a.h>\n"}),
            Fixture("a system in the port", {"src/port/linux/a.c": "#include <unistd.h>\n"}),
            Fixture(
                "a system above", {"src/io/a.c": "#include <sys/socket.h>\n"}, ("src/io/a.c:1",)
            ),
            Fixture(
                "a private header in a public one",
                {"include/orrery/a.h": '#include "base/b.h"\n'},
                ("include/orrery/a.h:1",),
            ),
            Fixture(
                "a system in a public header", {"include/orrery/a.h": "#include <pthread.h>\n"},
                ("include/orrery/a.h:1",),
            ),
        ),
    ),
)
