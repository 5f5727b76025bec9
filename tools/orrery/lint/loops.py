# SPDX-License-Identifier: Apache-2.0
"""Rules about loops: many small waits, no wait at all, and starts without a limit."""

from clang.cindex import CursorKind

from rule import Rule
from tree import stripped

# A counting loop that goes on for longer than this should let others run.
LONG_LOOP = 100_000

# Files that one loop opens, renames or looks at, one after the other.
MANY_FILES = 1000

# Bytes of one transfer below which a loop should gather them.
SMALL_TRANSFER = 64

# Calls whose length argument says how much one turn of a loop moves: its place among the arguments.
TRANSFERS = {
    "rt_file_read": 2, "rt_file_write": 2, "rt_file_pread": 2, "rt_file_pwrite": 2,
    "rt_net_send": 2, "rt_net_recv": 2,
}

SPAWNS = (
    "rt_spawn", "rt_spawn_ex", "rt_go_at", "rt_region_go_at", "rt_async", "rt_behaviour_spawn",
)


def constant_of(cursor):
    """The value of a literal or of sizeof; None if it is not plain."""
    cursor = stripped(cursor)
    if cursor is None:
        return None
    if cursor.kind == CursorKind.INTEGER_LITERAL:
        tokens = [t.spelling for t in cursor.get_tokens()]
        digits = "".join(ch for ch in (tokens[0] if tokens else "") if ch.isdigit())
        return int(digits) if digits else None
    if cursor.kind == CursorKind.CXX_UNARY_EXPR:
        inner = list(cursor.get_children())
        size = inner[0].type.get_size() if inner else -1
        return size if size > 0 else None
    return None


def small_io_in_loop(source):
    for function in source.functions.values():
        for loop in function.loops:
            if any(source.may_suspend(c) and c.name not in TRANSFERS for c in loop.calls):
                continue  # each turn waits for something else as well: there is nothing to gather
            for call in loop.calls:
                place = TRANSFERS.get(call.name)
                if place is None or not call.may_suspend or len(call.arguments) <= place:
                    continue
                size = constant_of(call.arguments[place])
                if size is not None and size < SMALL_TRANSFER:
                    yield call.cursor, (
                        f"each turn of the loop may suspend for {size} byte(s): gather them and "
                        f"call {call.name} once"
                    )
        yield from _files_one_by_one(source, function)


def _files_one_by_one(source, function):
    """Loops that are long and open a file in each turn: its waits are all they do in a row."""
    for loop in function.loops:
        if loop.bound is None or loop.bound < MANY_FILES:
            continue
        for call in loop.calls:
            if call.may_suspend and call.name == "rt_file_open":
                yield call.cursor, (
                    f"each of the {loop.bound} turns of the loop may suspend: the files are opened "
                    "one after the other; have several tasks share them, or one job of a pool"
                )


def long_loop(source):
    for name in sorted(source.in_tasks):
        for loop in source.functions[name].loops:
            is_long = loop.bound is not None and loop.bound >= LONG_LOOP
            is_endless = loop.is_endless and not loop.can_leave
            if not (is_long or is_endless) or _is_shared(source, loop):
                continue
            how = "for ever" if is_endless else f"{loop.bound} times"
            yield loop.cursor, (
                f"the loop runs {how} and never comes to the runtime: nothing else runs meanwhile; "
                "call rt_yield or rt_checkpoint in it, or compute in a thread of its own"
            )


def _is_shared(source, loop):
    """Does the loop come to the runtime?"""
    return any(
        call.may_suspend or call.name.startswith("rt_") or call.name in source.entering
        for call in loop.calls
    )


def spawn_in_loop(source):
    for function in source.functions.values():
        for loop in function.loops:
            spawns = [call for call in loop.calls if call.name in SPAWNS]
            if not spawns or loop.bound is not None or _counts(loop):
                continue
            waits = [c for c in loop.calls if source.may_suspend(c) and c.name not in SPAWNS]
            if waits or _looks_at(loop, spawns[0]):
                continue
            yield spawns[0].cursor, (
                f"{spawns[0].name} in a loop without a limit: tasks are made faster than they end; "
                "wait for a permit, a message or an end in each turn, or count"
            )


def _counts(loop):
    """A `for` with a condition counts to something."""
    return loop.cursor.kind == CursorKind.FOR_STMT and not loop.is_endless


def _looks_at(loop, call):
    """The result of the start is looked at, so that a refusal ends the loop."""
    place = call.cursor.extent
    for node in loop.cursor.walk_preorder():
        if node.kind in (CursorKind.WHILE_STMT, CursorKind.DO_STMT, CursorKind.IF_STMT):
            for child in node.get_children():
                span = child.extent
                is_condition = child.kind.is_expression()
                if is_condition and (
                    span.start.offset <= place.start.offset and place.end.offset <= span.end.offset
                ):
                    return True
    return False


RULES = (
    Rule(
        "small-io-in-loop",
        "a loop that may suspend for a few bytes in each turn",
        """for (size_t i = 0; i < size; i++) {
    rt_file_write(fd, &bytes[i], 1, &written, -1);   /* gather, write once */
}""",
        small_io_in_loop,
    ),
    Rule(
        "long-loop",
        "a long or endless loop in a task that never comes to the runtime",
        """for (int i = 0; i < 10000000; i++) {
    sum += work(i);      /* nothing else runs meanwhile */
}""",
        long_loop,
    ),
    Rule(
        "spawn-in-loop",
        "a loop without a limit that starts tasks and waits for nothing",
        """for (;;) {
    rt_spawn(worker, NULL);
}""",
        spawn_in_loop,
    ),
)
