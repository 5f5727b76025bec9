# SPDX-License-Identifier: Apache-2.0
"""A source file as libclang sees it: functions, calls, loops, and who runs in a task.

What may suspend is read from the one mark in the headers (RT_SUSPENDS, an annotation under clang),
and what a signal handler may call from the manual text of the function; no rule has a list of
either.
"""

import functools
import glob
import re
from dataclasses import dataclass

from clang import cindex
from clang.cindex import CursorKind

LOOPS = (CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT)

# What is given as one of these types runs in a task.
TASK_TYPES = ("actor_fn", "rt_task_fn")

# Where Debian keeps libclang.
LIBRARIES = ("/usr/lib/*/libclang-14.so.1", "/usr/lib/llvm-*/lib/libclang.so.1",
             "/usr/lib/*/libclang-*.so.*")


class Unable(Exception):
    """The file cannot be looked at."""


def load_library():
    for pattern in LIBRARIES:
        for path in sorted(glob.glob(pattern)):
            cindex.Config.set_library_file(path)
            try:
                cindex.Index.create()
                return
            except cindex.LibclangError:
                cindex.Config.loaded = False
    raise Unable("libclang is not installed: apt-get install libclang1-14 python3-clang-14")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    column: int
    rule: str
    sentence: str

    def __str__(self):
        return f"{self.path}:{self.line}:{self.column}: {self.rule}: {self.sentence}"


class Call:
    """A call expression and what is called."""

    def __init__(self, cursor):
        self.cursor = cursor
        self.callee = cursor.referenced
        self.name = cursor.spelling
        self.offset = cursor.extent.start.offset
        self.end = cursor.extent.end.offset

    @functools.cached_property
    def arguments(self):
        return list(self.cursor.get_arguments())

    @property
    def may_suspend(self):
        return self.callee is not None and has_mark(self.callee)


_marks = {}


def has_mark(function):
    """Does a declaration of the function carry RT_SUSPENDS?"""
    key = function.get_usr()
    if key not in _marks:
        _marks[key] = any(
            child.kind == CursorKind.ANNOTATE_ATTR and child.spelling == "rt_suspends"
            for child in function.get_children()
        )
    return _marks[key]


def stripped(cursor):
    """An expression without casts and parentheses around it."""
    wrappers = (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR, CursorKind.CSTYLE_CAST_EXPR)
    while cursor is not None and cursor.kind in wrappers:
        inner = [c for c in cursor.get_children() if c.kind.is_expression()]
        if not inner:
            return cursor
        cursor = inner[-1]
    return cursor


def references(cursor):
    """The names of variables and functions used inside of an expression or statement."""
    return [c for c in cursor.walk_preorder() if c.kind == CursorKind.DECL_REF_EXPR]


def mentions(cursor, name):
    return any(c.spelling == name for c in references(cursor))


class Loop:
    def __init__(self, cursor, text):
        self.cursor = cursor
        children = list(cursor.get_children())
        is_do = cursor.kind == CursorKind.DO_STMT
        self.body = children[0] if is_do else children[-1]
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        inside = self.body.extent
        header = text[inside.end.offset : end] if is_do else text[start : inside.start.offset]
        self.header = header.decode("utf-8", "replace")

    @property
    def is_endless(self):
        return bool(
            re.match(r"for\s*\([^;]*;\s*;", self.header)
            or re.search(r"while\s*\(\s*(1|true)\s*\)", self.header)
        )

    @property
    def bound(self):
        """The constant that a counting loop counts to; None if it is not a number."""
        if self.cursor.kind != CursorKind.FOR_STMT and not re.search(r"\+\+|--", self.header):
            return None
        match = re.search(r"[<>]=?\s*(?:U?INT\d*_C\()?\s*(\d[\d']*)", self.header)
        return int(match[1].replace("'", "")) if match else None

    @property
    def calls(self):
        return [Call(c) for c in self.cursor.walk_preorder() if c.kind == CursorKind.CALL_EXPR]

    @property
    def can_leave(self):
        """Is there a way out of the body: break, return, goto, or a function that ends the task?"""
        ways = (CursorKind.BREAK_STMT, CursorKind.RETURN_STMT, CursorKind.GOTO_STMT)
        return any(
            c.kind in ways or (c.kind == CursorKind.CALL_EXPR and c.spelling in
                               ("rt_exit", "exit", "abort", "_exit", "rt_panic_task"))
            for c in self.body.walk_preorder()
        )


class Function:
    def __init__(self, cursor, source):
        self.cursor = cursor
        self.source = source
        self.name = cursor.spelling
        self.body = next(
            (c for c in cursor.get_children() if c.kind == CursorKind.COMPOUND_STMT), None)

    @functools.cached_property
    def nodes(self):
        return list(self.body.walk_preorder())

    @functools.cached_property
    def calls(self):
        return [Call(c) for c in self.nodes if c.kind == CursorKind.CALL_EXPR]

    @functools.cached_property
    def loops(self):
        return [Loop(c, self.source.bytes) for c in self.nodes if c.kind in LOOPS]

    def is_local(self, variable):
        return (
            variable.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL)
            and variable.storage_class != cindex.StorageClass.STATIC
            and variable.semantic_parent == self.cursor
        )


class Source:
    """One file, parsed with the flags that it is compiled with."""

    def __init__(self, path, arguments):
        self.path = path
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.lines = self.bytes.decode("utf-8", "replace").splitlines()
        self.unit = cindex.Index.create().parse(path, args=[*arguments, "-fparse-all-comments"])
        errors = [d for d in self.unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if errors:
            place = errors[0].location
            raise Unable(f"{place.file or path}:{place.line}: {errors[0].spelling}")

    @functools.cached_property
    def functions(self):
        """The functions that are defined in this file."""
        found = {}
        for cursor in self.unit.cursor.get_children():
            is_here = cursor.location.file is not None and cursor.location.file.name == self.path
            if cursor.kind == CursorKind.FUNCTION_DECL and cursor.is_definition() and is_here:
                found[cursor.spelling] = Function(cursor, self)
        return found

    @functools.cached_property
    def suspending(self):
        """The functions of this file that may suspend, because they call one that may."""
        found = {f.name for f in self.functions.values() if any(c.may_suspend for c in f.calls)}
        return self._callers_of(found)

    @functools.cached_property
    def entering(self):
        """The functions of this file that come to the runtime, by whatever call."""
        found = {
            f.name
            for f in self.functions.values()
            if any(c.name.startswith("rt_") for c in f.calls)
        }
        return self._callers_of(found)

    def _callers_of(self, found):
        found = set(found)
        while True:
            more = {
                f.name
                for f in self.functions.values()
                if f.name not in found and any(c.name in found for c in f.calls)
            }
            if not more:
                return found
            found |= more

    def may_suspend(self, call):
        return call.may_suspend or call.name in self.suspending

    @functools.cached_property
    def in_tasks(self):
        """The functions of this file that run in a task: those given to a start, those that may
        suspend, and what they call. main does not."""
        found = {name for name in self.suspending if name != "main"}
        for function in self.functions.values():
            for call in function.calls:
                found |= self._task_arguments(call)
        found = {name for name in found if name in self.functions}
        while True:
            more = {
                call.name
                for name in found
                for call in self.functions[name].calls
                if call.name in self.functions and call.name not in found
            }
            if not more:
                return found
            found |= more

    @staticmethod
    def _task_arguments(call):
        if call.callee is None or call.callee.type is None:
            return set()
        found = set()
        parameters = list(call.callee.get_arguments() or ())
        for parameter, argument in zip(parameters, call.arguments):
            if parameter.type.spelling in TASK_TYPES:
                found |= {c.spelling for c in references(argument)}
        return found

    def is_allowed(self, line, rule):
        """Does a comment on the line, or on the one above, let the rule be broken?"""
        for number in (line, line - 1):
            text = self.lines[number - 1] if 0 < number <= len(self.lines) else ""
            match = re.search(r"orrery-lint: allow ([\w, -]+)", text)
            if match and rule in re.split(r"[ ,]+", match[1]):
                return True
        return any(
            re.search(rf"orrery-lint: allow-file [\w, -]*\b{re.escape(rule)}\b", text)
            for text in self.lines[:40]
        )

    def finding(self, cursor, rule, sentence):
        place = cursor.extent.start
        place = cursor.location if place.line == 0 else place
        return Finding(self.path, place.line, place.column, rule, sentence)
