# SPDX-License-Identifier: Apache-2.0
"""Rules about what lives how long: messages, handles, permits, locals, thread-locals."""

from clang.cindex import CursorKind, TLSKind

from paths import unconsumed
from rule import Rule
from tree import LOOPS, mentions, references, stripped

RECEIVES = ("rt_ipc_recv", "rt_ipc_recv_match", "rt_ipc_release")
STARTS = {
    "rt_spawn": 1, "rt_spawn_ex": 1, "rt_go_at": 2, "rt_region_go_at": 3, "rt_async": 1,
    "rt_behaviour_spawn": 1,
}
RUNS = ("rt_run", "rt_sim_run", "rt_run_main")


# --- message-kept ---------------------------------------------------------------------------------


def _data_of(cursor):
    """The message whose `data` an expression is, or None."""
    cursor = stripped(cursor)
    if cursor is None or cursor.kind != CursorKind.MEMBER_REF_EXPR or cursor.spelling != "data":
        return None
    owner = next(iter(references(cursor)), None)
    is_message = owner is not None and "rt_message" in owner.type.spelling
    return owner.spelling if is_message else None


def _keepers(function):
    """Where a pointer is set to the data of a message: (variable, offset of the setting)."""
    for node in function.nodes:
        children = list(node.get_children())
        if node.kind == CursorKind.VAR_DECL and children:
            if _data_of(children[-1]) is not None and "*" in node.type.spelling:
                yield node.spelling, node.extent.end.offset
        elif node.kind == CursorKind.BINARY_OPERATOR and len(children) == 2:
            left = stripped(children[0])
            if left.kind == CursorKind.DECL_REF_EXPR and _data_of(children[1]) is not None:
                yield left.spelling, node.extent.end.offset


def _sets(function, name):
    """The offsets at which a variable gets another value."""
    for node in function.nodes:
        children = list(node.get_children())
        if node.kind == CursorKind.BINARY_OPERATOR and len(children) == 2:
            left = stripped(children[0])
            is_set = left.kind == CursorKind.DECL_REF_EXPR and left.spelling == name
            if is_set and not mentions(children[1], name):
                yield left.extent.start.offset


def message_kept(source):
    for function in source.functions.values():
        receives = [c for c in function.calls if c.name in RECEIVES]
        if receives:
            yield from _kept_pointers(function, receives)
            yield from _kept_messages(function, receives)


def _sentence(what, receive):
    return (
        f"{what} points to the data of a message that {receive.name} has ended the life of "
        f"(line {receive.cursor.location.line}): copy what is kept"
    )


def _kept_pointers(function, receives):
    """A pointer that was set to the data of a message, and is used behind the next receive."""
    for name, kept_at in _keepers(function):
        sets = sorted(_sets(function, name))
        for use in (c for c in references(function.body) if c.spelling == name):
            at = use.extent.start.offset
            between = [r for r in receives if kept_at < r.offset < at]
            again = [s for s in sets if kept_at < s <= at]
            if between and not again and not _is_ended(function, kept_at, between[0].offset):
                yield use, _sentence(name, between[0])
                break
            between = _in_next_turn(function, kept_at, at, receives)
            if between is not None and not any(between.offset < s <= at for s in sets):
                yield use, _sentence(name, between)
                break


def _in_next_turn(function, kept_at, at, receives):
    """The receive of a loop that stands before the use, which stands before the keeping: the use is
    in the next turn then. None if it is not so."""
    for loop in function.loops:
        span = loop.cursor.extent
        if span.start.offset < at < kept_at < span.end.offset:
            before = [r for r in receives if span.start.offset < r.offset < at]
            if before:
                return before[-1]
    return None


def _kept_messages(function, receives):
    """The data of a message itself, used when another message has been received since."""
    for node in function.nodes:
        owner = _data_of(node)
        if owner is None or node.kind != CursorKind.MEMBER_REF_EXPR:
            continue
        at = node.extent.start.offset
        own = [r for r in receives if r.arguments and mentions(r.arguments[0], owner)
               and r.offset < at]
        if not own:
            continue
        others = [r for r in receives if own[-1].offset < r.offset < at
                  and r.arguments and not mentions(r.arguments[0], owner)]
        if others:
            yield node, _sentence(f"{owner}.data", others[0])


def _is_ended(function, kept_at, receive_at):
    """Does the way from the keeping always leave before it comes to the receive? True if the block
    of the keeping ends with a return, break, goto or continue."""
    leaves = (CursorKind.RETURN_STMT, CursorKind.BREAK_STMT, CursorKind.GOTO_STMT,
              CursorKind.CONTINUE_STMT)
    inner = None
    for node in function.nodes:
        span = node.extent
        if node.kind == CursorKind.COMPOUND_STMT and (
            span.start.offset < kept_at < span.end.offset < receive_at
        ):
            inner = node
    if inner is None:
        return False
    last = list(inner.get_children())[-1]
    return last.kind in leaves or (
        last.kind == CursorKind.CALL_EXPR and last.spelling in ("rt_exit", "exit", "abort"))


# --- local-escapes --------------------------------------------------------------------------------


def _address_of_local(function, argument):
    """The local variable that an argument points into, or None."""
    cursor = stripped(argument)
    if cursor is None:
        return None
    if cursor.kind == CursorKind.UNARY_OPERATOR:
        tokens = [t.spelling for t in cursor.get_tokens()]
        if not tokens or tokens[0] != "&":
            return None
        variable = next(iter(references(cursor)), None)
    elif cursor.kind == CursorKind.DECL_REF_EXPR and "[" in cursor.type.spelling:
        variable = cursor
    else:
        return None
    if variable is None or variable.referenced is None:
        return None
    declared = variable.referenced
    if "*" in declared.type.spelling and cursor.kind == CursorKind.UNARY_OPERATOR:
        inner = list(cursor.get_children())
        if inner and stripped(inner[0]).kind != CursorKind.DECL_REF_EXPR:
            return None  # &pointer->field points to somebody else's memory
    return declared if function.is_local(declared) else None


def local_escapes(source):
    for function in source.functions.values():
        stays = {c.name for c in function.calls} & {*RUNS, "rt_region_close", "rt_wait_group_wait"}
        for call in function.calls:
            place = STARTS.get(call.name)
            if place is None or len(call.arguments) <= place:
                continue
            local = _address_of_local(function, call.arguments[place])
            if local is None or stays or _is_joined(function, call):
                continue
            yield call.arguments[place], (
                f"{local.spelling} ends with {function.name}, and the task that is started here "
                "may outlive it: give it memory that lives as long, or wait for its end"
            )


def _is_joined(function, start):
    """The handle of the start is joined or cancelled in the same function."""
    joins = ("rt_join", "rt_join_until", "rt_join_result", "rt_cancel", "rt_async_join",
             "rt_async_join_until")
    name = _variable_of(function, start)
    return any(
        c.name in joins and (
            (name is not None and c.arguments and mentions(c.arguments[0], name))
            or (c.offset <= start.offset and start.end <= c.end))
        for c in function.calls
    )


def _variable_of(function, call):
    """The variable that the result of a call is kept in."""
    for node in function.nodes:
        span = node.extent
        if not span.start.offset <= call.offset <= call.end <= span.end.offset:
            continue
        children = list(node.get_children())
        if node.kind == CursorKind.VAR_DECL:
            return node.spelling
        if node.kind == CursorKind.BINARY_OPERATOR and len(children) == 2:
            left = next(iter(references(children[0])), None)
            if left is not None:
                return left.spelling
    return None


# --- thread-local-kept ----------------------------------------------------------------------------


def thread_local_kept(source):
    for function in source.functions.values():
        waits = [c for c in function.calls if source.may_suspend(c)]
        if not waits:
            continue
        uses = {}
        for node in function.nodes:
            name = _thread_local(node)
            if name is not None:
                uses.setdefault(name, []).append(node)
        for name, nodes in uses.items():
            for node in nodes[1:]:
                at = node.extent.start.offset
                first = nodes[0].extent.start.offset
                between = [w for w in waits if first < w.offset < at]
                if between:
                    yield node, (
                        f"{name} is used on both sides of {between[0].name}, which may suspend: "
                        "the task may go on in another thread, where it is another object"
                    )
                    break


def _thread_local(node):
    if node.kind == CursorKind.CALL_EXPR and node.spelling == "__errno_location":
        return "errno"
    if node.kind == CursorKind.DECL_REF_EXPR and node.referenced is not None:
        variable = node.referenced
        if variable.kind == CursorKind.VAR_DECL and variable.tls_kind != TLSKind.NONE:
            return variable.spelling
    return None


def handle_leaked(source):
    for function in source.functions.values():
        yield from unconsumed(function)


RULES = (
    Rule(
        "message-kept",
        "the data of a message, used after the receive or release that ends the message's life",
        """rt_ipc_recv(&msg, -1);
const char *name = msg.data;
rt_ipc_recv(&msg, -1);
puts(name);              /* the first message is gone */""",
        message_kept,
    ),
    Rule(
        "local-escapes",
        "the address of a local variable, given to a task that may outlive it",
        """static void start(void)
{
    struct job job = {1};
    rt_spawn(worker, &job);
}                        /* job ends here, worker does not */""",
        local_escapes,
    ),
    Rule(
        "thread-local-kept",
        "errno or another thread-local, used on both sides of a call that may suspend",
        """errno = 0;
rt_channel_recv(rx, NULL, &value);
if (errno != 0) {        /* perhaps of another thread */""",
        thread_local_kept,
    ),
    Rule(
        "handle-leaked",
        "a handle of a task or a permit that some way through the function does not consume",
        """rt_task *task = rt_go(work, NULL);
if (failed) {
    return -1;           /* nobody joins task */
}
rt_join(task, NULL);""",
        handle_leaked,
    ),
)
