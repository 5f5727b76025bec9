# SPDX-License-Identifier: Apache-2.0
"""Which ways through a function leave a handle or a permit unconsumed.

The function is walked statement by statement with the set of states that a variable can be in: not
held (N), held (H), or done with (D). Both branches of an `if` are walked; loops are walked once,
with and without their body. A way that leaves the function, or the block that the variable belongs
to, while it may be held is a finding.

What counts as consumed: any use of the variable that is not a mere look at it (a comparison, the
memory of a permit). So a handle that is returned, stored or passed to another function is done with
here. A branch that is taken only if the start failed does not hold: its condition looks at the
handle itself, or at the status that the reserve gave.
"""

from clang.cindex import CursorKind

from tree import LOOPS, mentions, references, stripped

GIVES_HANDLE = ("rt_go_at", "rt_region_go_at", "rt_async")
GIVES_PERMIT = ("rt_channel_reserve", "rt_channel_reserve_until", "rt_channel_try_reserve")
LOOKS = ("rt_send_permit_slot", "rt_task_is_complete", "rt_send_permit_is_live")

NOT_HELD, HELD, DONE = "N", "H", "D"


class Walk:
    """The ways of one variable through one function."""

    def __init__(self, function, name, is_permit):
        self.function = function
        self.name = name
        self.is_permit = is_permit
        self.status = None  # the variable that holds the status of the reserve
        self.leaks = []

    # Each method takes the states before and gives the states after; an empty set: not reached.

    def block(self, cursor, states):
        for child in cursor.get_children():
            if not states:
                break
            states = self.statement(child, states)
        return states

    def statement(self, cursor, states):
        kind = cursor.kind
        if kind == CursorKind.COMPOUND_STMT:
            return self.block(cursor, states)
        if kind == CursorKind.IF_STMT:
            return self.branch(cursor, states)
        if kind in LOOPS:
            inside = self.expressions(cursor, states)
            return states | inside
        if kind == CursorKind.RETURN_STMT:
            states = self.expression(cursor, states)
            if HELD in states:
                self.leaks.append(cursor)
            return set()
        if kind in (CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT, CursorKind.GOTO_STMT):
            return states
        if kind == CursorKind.SWITCH_STMT:
            return states | self.expressions(cursor, states)
        states = self.expression(cursor, states)
        if any(c.spelling in ("rt_exit", "exit", "abort", "_exit", "rt_panic_task")
               for c in cursor.walk_preorder() if c.kind == CursorKind.CALL_EXPR):
            return set()
        return states

    def expressions(self, cursor, states):
        for child in cursor.get_children():
            if states:
                states = self.statement(child, states)
        return states

    def branch(self, cursor, states):
        parts = list(cursor.get_children())
        condition, then = parts[0], parts[1]
        other = parts[2] if len(parts) > 2 else None
        states = self.expression(condition, states)
        if not states:
            return states
        yes, no = set(states), set(states)
        if HELD in states:
            meaning = self.meaning(condition, self.text(cursor, then))
            if meaning == "failed":
                yes = {NOT_HELD if s == HELD else s for s in yes}
            elif meaning == "succeeded":
                no = {NOT_HELD if s == HELD else s for s in no}
        yes = self.statement(then, yes)
        no = self.statement(other, no) if other is not None else no
        return yes | no

    def text(self, cursor, then):
        """The condition of an `if` as it is written: tokens of macros have no own place."""
        start, end = cursor.extent.start.offset, then.extent.start.offset
        words = self.function.source.bytes[start:end].decode("utf-8", "replace")
        return " ".join(words.split()).removeprefix("if (")

    def meaning(self, condition, text):
        """What a condition that is true says of the start: failed, succeeded, or nothing."""
        looks_at_it = mentions(condition, self.name) or (
            self.status is not None and mentions(condition, self.status))
        if not looks_at_it and not (self.is_permit and "reserve" in text):
            return None
        is_failure = (
            "== NULL" in text or "!= RT_OK" in text or text.startswith("!")
            or "RT_FAILED" in text or "RT_ERR" in text)
        if "!RT_FAILED" in text or "== RT_OK" in text or "!= NULL" in text:
            return "succeeded"
        return "failed" if is_failure else "succeeded"

    def expression(self, cursor, states):
        if self.starts(cursor):
            if HELD in states:
                self.leaks.append(cursor)
            # What follows in the same expression, a join around the start, consumes at once.
            return {HELD}
        if self.consumes(cursor):
            return {DONE if s == HELD else s for s in states}
        return states

    def starts(self, cursor):
        for node in cursor.walk_preorder():
            if node.kind != CursorKind.CALL_EXPR:
                continue
            if not self.is_permit and node.spelling in GIVES_HANDLE:
                if self._is_kept_in(cursor, self.name):
                    return True
            if self.is_permit and node.spelling in GIVES_PERMIT:
                arguments = list(node.get_arguments())
                if arguments and mentions(arguments[-1], self.name):
                    self.status = self._kept_variable(cursor) or self.status
                    return True
        return False

    def _is_kept_in(self, cursor, name):
        return self._kept_variable(cursor) == name

    @staticmethod
    def _kept_variable(cursor):
        """The variable that a declaration or an assignment at the top of a statement sets."""
        if cursor.kind == CursorKind.DECL_STMT:
            variables = [c for c in cursor.get_children() if c.kind == CursorKind.VAR_DECL]
            return variables[0].spelling if variables else None
        if cursor.kind == CursorKind.BINARY_OPERATOR:
            left = stripped(next(iter(cursor.get_children())))
            return left.spelling if left.kind == CursorKind.DECL_REF_EXPR else None
        return None

    def consumes(self, cursor):
        uses = [c for c in references(cursor) if c.spelling == self.name]
        if not uses:
            return False
        if cursor.kind == CursorKind.RETURN_STMT:
            return True
        looks = 0
        for node in cursor.walk_preorder():
            if node.kind == CursorKind.CALL_EXPR and node.spelling in LOOKS:
                looks += sum(1 for c in references(node) if c.spelling == self.name)
            elif node.kind in (CursorKind.BINARY_OPERATOR, CursorKind.UNARY_OPERATOR):
                text = [t.spelling for t in node.get_tokens()]
                is_look = "==" in text or "!=" in text or text[:1] == ["!"]
                has_call = any(c.kind == CursorKind.CALL_EXPR for c in node.walk_preorder())
                if is_look and not has_call:
                    looks += sum(1 for c in references(node) if c.spelling == self.name)
        bare = stripped(cursor)
        if bare is not None and bare.kind == CursorKind.DECL_REF_EXPR:
            return False  # if (task)
        return len(uses) > looks


def candidates(function):
    """The local variables that get a handle or a permit here: (name, is_permit)."""
    found = {}
    for node in function.nodes:
        if node.kind != CursorKind.VAR_DECL or not function.is_local(node):
            continue
        kind = node.type.spelling.replace("struct ", "")
        if kind in ("rt_task *", "rt_async_task *"):
            found[node.spelling] = False
        elif kind == "rt_send_permit":
            found[node.spelling] = True
    return found.items()


def unconsumed(function):
    """Findings: (cursor, sentence)."""
    calls = {c.name for c in function.calls}
    if not calls & {*GIVES_HANDLE, *GIVES_PERMIT}:
        return
    for call in function.calls:
        if call.name in GIVES_HANDLE and _is_dropped(function, call):
            yield call.cursor, (
                "the handle is dropped: give it to rt_join, rt_detach or rt_cancel")
    for name, is_permit in candidates(function):
        walk = Walk(function, name, is_permit)
        states = walk.block(function.body, {NOT_HELD})
        what, how = (("the permit", "send or abort it") if is_permit
                     else ("the handle", "join, detach or cancel it"))
        for leak in walk.leaks[:1]:
            yield leak, f"{what} {name} is not consumed on this way: {how}"
        if HELD in states and not walk.leaks:
            end = function.body
            yield end, f"{what} {name} is not consumed when {function.name} ends: {how}"


def _is_dropped(function, call):
    """The call is a statement of its own, perhaps cast to void."""
    for node in function.nodes:
        if node.kind != CursorKind.COMPOUND_STMT:
            continue
        for child in node.get_children():
            inner = stripped(child) if child.kind.is_expression() else None
            if inner is not None and inner == call.cursor:
                return True
    return False
