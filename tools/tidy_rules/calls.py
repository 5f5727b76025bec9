# SPDX-License-Identifier: Apache-2.0
"""Time, chance, memory and atomics are reached through their seams, or the simulator and the
explorer cannot own them."""

import re

from .tree import Fixture, Rule

# The files that are the seam of the atomics.
ATOMIC_FILES = {
    "src/base/atomic.h",
    "include/orrery/rt/spsc.h",  # public, so it brings its own; same orders as the seam
}
ATOMIC_FOLDERS = ("src/port/explore",)  # the seam's explored build

_ATOMICS = re.compile(r"\b(_Atomic|atomic_\w+_explicit|__atomic_\w+|__sync_\w+)|<(stdatomic\.h)>")

CLOCK = "clock_gettime clock_getres clock_nanosleep nanosleep usleep sleep time gettimeofday clock"
RANDOM = "rand srand rand_r random srandom drand48 lrand48 getrandom getentropy arc4random"
HEAP = (
    "malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc "
    "strdup strndup asprintf vasprintf alloca"
)
PAGES = "mmap mmap64 munmap mremap mprotect madvise brk sbrk"

# What may not be called, and in which folders of src/ it may.
CALLS = (
    (CLOCK, ("src/port/linux", "src/port/explore"), "the clock is the port's"),
    (RANDOM, ("src/port/linux",), "chance is the port's, or base/rng.h with a seed"),
    (HEAP, ("src/port/linux/heap.c",), "the heap is only for malloc_stack, in heap.c"),
    (PAGES, ("src/port",), "memory comes from the port"),
)


def _pattern(names):
    # A member of that name is another function; so is one that is only declared as a pointer.
    return re.compile(r"(?<![\w.])(?<!->)(" + "|".join(names.split()) + r")[ \t]*\(")


_CALL_PATTERNS = [(_pattern(names), folders, why) for names, folders, why in CALLS]


def _search_atomics(tree):
    for source in tree.c_sources("src", "include"):
        if source.path in ATOMIC_FILES or source.is_under(*ATOMIC_FOLDERS):
            continue
        for match in _ATOMICS.finditer(source.code):
            word = match[1] or match[2]
            yield source, source.line_of(match.start()), f"{word} only in src/base/atomic.h"


def _search_calls(tree):
    for source in tree.c_sources("src"):
        for pattern, folders, why in _CALL_PATTERNS:
            if folders and source.is_under(*folders):
                continue
            for match in pattern.finditer(source.code):
                yield source, source.line_of(match.start(1)), f"{match[1]}: {why}"


def _in_base(code):
    return {"src/base/a.c": code}


RULES = (
    Rule(
        "atomic",
        "atomics only through base/atomic.h",
        _search_atomics,
        (
            Fixture("the seam itself", {"src/base/atomic.h": "__atomic_load_n(p, o);\n"}),
            Fixture("a word in a comment", _in_base("/* _Atomic is not used here. */\n")),
            Fixture("a type", _in_base("\n_Atomic int x;\n"), ("src/base/a.c:2",)),
            Fixture("a header", _in_base("#include <stdatomic.h>\n"), ("src/base/a.c:1",)),
            Fixture("a builtin", _in_base("__atomic_load_n(p, 0);\n"), ("src/base/a.c:1",)),
            Fixture("an old builtin", _in_base("__sync_synchronize();\n"), ("src/base/a.c:1",)),
            Fixture(
                "a public header", {"include/orrery/a.h": "_Atomic int x;\n"},
                ("include/orrery/a.h:1",),
            ),
        ),
    ),
    Rule(
        "call",
        "no clock, chance or allocation outside port/",
        _search_calls,
        (
            Fixture("a member of that name", _in_base("pool->free(x); pool.free(x); f_free(x);\n")),
            Fixture("a word in a literal", _in_base('f("malloc(1)");\n')),
            Fixture("the port's clock", {"src/port/linux/a.c": "clock_gettime(a, b);\n"}),
            Fixture("the port's pages", {"src/port/sim/a.c": "mmap(a);\n"}),
            Fixture("a clock", _in_base("\nclock_gettime(a, b);\n"), ("src/base/a.c:2",)),
            Fixture("the time", _in_base("x = time(NULL);\n"), ("src/base/a.c:1",)),
            Fixture("chance", _in_base("x = rand();\n"), ("src/base/a.c:1",)),
            Fixture("pages", _in_base("x = mmap(a);\n"), ("src/base/a.c:1",)),
            Fixture("a heap", _in_base("x = malloc (1);\n"), ("src/base/a.c:1",)),
            Fixture(
                "a heap in the port", {"src/port/linux/a.c": "free(x);\n"},
                ("src/port/linux/a.c:1",),
            ),
            Fixture(
                "a clock in the simulator", {"src/port/sim/a.c": "clock_gettime(a, b);\n"},
                ("src/port/sim/a.c:1",),
            ),
        ),
    ),
)
