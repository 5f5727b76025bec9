# SPDX-License-Identifier: Apache-2.0
"""A public function asks rti_worker_enter before it changes anything: there an actor whose stack is
used up comes to its end, and nowhere else may it (docs/internals/faults.md).

The rule follows calls by name, through all of src/: a public function must get to rti_worker_enter.
That it does so first is for people to see.
"""

import re

from .tree import Fixture, Rule

ENTER = "rti_worker_enter"
ENTER_INLINE = "rti_worker_enter_inline"  # the same where a call of it would be too dear

# Headers whose functions touch only what they are handed, or begin and end the runtime itself.
EXEMPT_HEADERS = {
    "budget", "loop", "machine", "machine_op", "main", "outcome", "runtime", "spsc", "status",
    "wheel",
}
# Functions that change nothing, and the one that is for interrupts, which have their own stack.
EXEMPT = {
    "rt_arm_default", "rt_arm_join", "rt_arm_none", "rt_arm_readable", "rt_arm_recv",
    "rt_arm_send", "rt_arm_tick", "rt_arm_writable", "rt_blob_bytes", "rt_blob_data",
    "rt_blob_size", "rt_clock", "rt_decode_exit", "rt_dump", "rt_is_exit_msg", "rt_is_stop_msg",
    "rt_isr_post", "rt_random", "rt_region_get_state", "rt_region_outcome", "rt_sim_run",
    "rt_timer_is_tick", "rt_trace_format", "rt_trace_parse",
}  # fmt: skip

_DECLARATION = re.compile(r"^RT_API\b[^;{]*?\b(\w+)\(", re.MULTILINE)
_DEFINITION = re.compile(
    r"^[A-Za-z_][^\n;={}#]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL
)
_CALL = re.compile(r"\b(\w+)\s*\(")


def _calls(tree):
    """Who calls whom, by name; functions of the same name in several files are taken as one."""
    calls = {}
    for source in tree.c_sources("src"):
        for match in _DEFINITION.finditer(source.code):
            calls.setdefault(match[1], set()).update(_CALL.findall(match[2]))
    return calls


def _reaches(calls, name):
    seen = set()
    left = [name]
    while left:
        at = left.pop()
        if at in (ENTER, ENTER_INLINE):
            return True
        if at not in seen:
            seen.add(at)
            left.extend(calls.get(at, ()))
    return False


def _search_enter(tree):
    calls = _calls(tree)
    for source in tree.c_sources("include"):
        if source.stem in EXEMPT_HEADERS:
            continue
        for match in _DECLARATION.finditer(source.code):
            name = match[1]
            if name in calls and name not in EXEMPT and not _reaches(calls, name):
                yield source, source.line_of(match.start()), f"{name} does not ask {ENTER}"


_HEADER = {"include/orrery/rt/a.h": "RT_API void rt_a(void);\n"}
_ENTERS = "void rt_a(void)\n{\n    (void)rti_worker_enter();\n}\n"
_WRAPS = "static void a(void)\n{\n    rti_worker_enter();\n}\n\nvoid rt_a(void)\n{\n    a();\n}\n"
_FORGETS = "void rt_a(void)\n{\n    rti_worker_current();\n}\n"
_COMMENTS = "void rt_a(void)\n{\n    /* rti_worker_enter() */\n}\n"
_AT_1 = ("include/orrery/rt/a.h:1",)

RULES = (
    Rule(
        "enter",
        f"every public function that changes something asks {ENTER}",
        _search_enter,
        (
            Fixture("it asks", {**_HEADER, "src/actor/a.c": _ENTERS}),
            Fixture("a function of its asks", {**_HEADER, "src/actor/a.c": _WRAPS}),
            Fixture("it is not there yet", _HEADER),
            Fixture(
                "an exempt header",
                {
                    "include/orrery/rt/wheel.h": "RT_API void rt_a(void);\n",
                    "src/time/a.c": _FORGETS,
                },
            ),
            Fixture("it forgets", {**_HEADER, "src/actor/a.c": _FORGETS}, _AT_1),
            Fixture("only a comment asks", {**_HEADER, "src/actor/a.c": _COMMENTS}, _AT_1),
        ),
    ),
)
