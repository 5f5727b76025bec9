# SPDX-License-Identifier: Apache-2.0
"""The manual text of a public function: six things, in this order, in the comment directly above.

    what it does; who may call it; whether it may suspend; who owns each pointer; what it returns;
    what is lost on cancel

The manual pages are made from it, so each part must be found: the second starts with "Callable",
the third has "suspend" or starts with "Blocks", the fifth starts with "Returns" and the last has
"lost" and "cancel". What stands between the third and the fifth is the fourth.
include/orrery/rt/status.h is the model.
"""

import re

from .tree import Fixture, Rule

_DECLARATION = re.compile(r"^RT_API\b[^;{]*?\b(\w+)\(", re.MULTILINE)
# A line of attributes, RT_MUST_CHECK, may stand between the comment and the function.
_COMMENT_ABOVE = re.compile(
    r"/\*((?:(?!\*/).)*)\*/[ \t]*\n(?:RT_\w+(?:\([^\n]*\))?[ \t]*\n)*$", re.DOTALL
)

# The parts that have a word to know them by: name, the part's first words or its words.
_MARKED = (
    ("who may call it, \"Callable ...\"", re.compile(r"^Callable\b")),
    ("whether it may suspend, \"Never suspends.\"", re.compile(r"\b[Ss]uspend|^Blocks\b")),
    ("what it returns, \"Returns ...\"", re.compile(r"^Returns\b")),
    ("what is lost on cancel", re.compile(r"\b[Ll]os(t|es?)\b.*\bcancel|\bcancel.*\blos(t|es?)\b")),
)


def sentences_of(comment):
    """The sentences of a comment, or their parts between semicolons, in one line each."""
    words = re.sub(r"\n[ \t]*\*[ \t]?", " ", comment)
    words = re.sub(r"\s+", " ", words).strip()
    return [part for part in re.split(r"(?<=[.:!?])\s+(?=[A-Z\"`])|;\s+", words) if part]


def fault_of(comment):
    """What is wrong with a manual text, as a sentence, or None."""
    sentences = sentences_of(comment)
    places = []
    start = 1  # the first sentence says what the function does
    for part, pattern in _MARKED:
        place = _find(sentences, pattern, start)
        if place is None:
            if _find(sentences, pattern, 0) is not None:
                return f"out of order in its manual text: {part}"
            return f"missing in its manual text: {part}"
        places.append(place)
        start = place + 1
    _, suspends, returns, _ = places
    if returns == suspends + 1:
        return "missing in its manual text: who owns each pointer"
    return None


def _find(sentences, pattern, start):
    for place in range(start, len(sentences)):
        if pattern.search(sentences[place]):
            return place
    return None


def _search_manual(tree):
    for source in tree.c_sources("include"):
        for match in _DECLARATION.finditer(source.code):
            above = _COMMENT_ABOVE.search(source.text[: match.start()])
            fault = fault_of(above[1]) if above else "has no manual text directly above"
            if fault:
                yield source, source.line_of(match.start()), f"{match[1]}: {fault}"


_NEVER = re.compile(r"^[Nn]ever suspends|^Blocks\b")


def _search_suspends(tree):
    """RT_SUSPENDS is what tools go by, the sentence what people do: they say the same."""
    for source in tree.c_sources("include"):
        for match in _DECLARATION.finditer(source.code):
            above = _COMMENT_ABOVE.search(source.text[: match.start()])
            sentences = sentences_of(above[1]) if above else []
            place = _find(sentences, _MARKED[1][1], 1)
            if place is None:
                continue  # the rule `manual` says so
            may_suspend = _NEVER.search(sentences[place]) is None
            if may_suspend != ("RT_SUSPENDS" in match[0]):
                what = "the macro is missing" if may_suspend else "the text says that it never does"
                yield source, source.line_of(match.start()), f"{match[1]}: RT_SUSPENDS: {what}"


_GOOD = """/* Stops the clock.
 * Callable from any thread.
 * Never suspends.
 * The clock stays the caller's.
 * Returns RT_OK, or RT_ERR_STATE if it is stopped already.
 * Nothing is lost on cancel. */
"""
_FUNCTION = "RT_API rt_status rt_clock_stop(struct rt_clock *clock);\n"
_SUSPENDING = _FUNCTION.replace("RT_API", "RT_API RT_SUSPENDS")


def _header(*parts):
    return {"include/orrery/a.h": "".join(parts)}


_AT_1 = ("include/orrery/a.h:1",)


def _without(line):
    lines = _GOOD.splitlines(keepends=True)
    text = "".join(lines[:line] + lines[line + 1 :])
    text = text if text.startswith("/*") else "/*" + text[2:]
    return _header(text if text.rstrip().endswith("*/") else text.rstrip() + " */\n", _FUNCTION)


RULES = (
    Rule(
        "manual",
        "every public function says the six things of its manual text, in order",
        _search_manual,
        (
            Fixture("all six", _header(_GOOD, _FUNCTION)),
            Fixture("attributes between", _header(_GOOD, "RT_MUST_CHECK\n", _FUNCTION)),
            Fixture(
                "in few words",
                _header(
                    "/* Stops. Callable from any thread; never suspends; the clock stays the\n"
                    " * caller's. Returns nothing. Nothing is lost on cancel. */\n",
                    _FUNCTION,
                ),
            ),
            Fixture(
                "a thread that blocks",
                _header(_GOOD.replace("Never suspends", "Blocks the thread"), _FUNCTION),
            ),
            Fixture("a macro", _header("#define RT_API\n")),
            Fixture("no comment", _header(_FUNCTION), _AT_1),
            Fixture(
                "a gap", _header(_GOOD, "int other;\n", _FUNCTION), ("include/orrery/a.h:8",)
            ),
            Fixture("no first sentence", _without(0), ("include/orrery/a.h:6",)),
            Fixture("no caller", _without(1), ("include/orrery/a.h:6",)),
            Fixture("no suspension", _without(2), ("include/orrery/a.h:6",)),
            Fixture("no owner", _without(3), ("include/orrery/a.h:6",)),
            Fixture("no result", _without(4), ("include/orrery/a.h:6",)),
            Fixture("no loss", _without(5), ("include/orrery/a.h:6",)),
            Fixture(
                "wrong order",
                _header(
                    "/* Stops. Never suspends. Callable from any thread. The clock is the\n"
                    " * caller's. Returns nothing. Nothing is lost on cancel. */\n",
                    _FUNCTION,
                ),
                ("include/orrery/a.h:3",),
            ),
        ),
    ),
    Rule(
        "suspends",
        "a public function has RT_SUSPENDS iff its manual text says that it may suspend",
        _search_suspends,
        (
            Fixture("never", _header(_GOOD, _FUNCTION)),
            Fixture(
                "may, and says so",
                _header(_GOOD.replace("Never suspends", "May suspend"), _SUSPENDING),
            ),
            Fixture(
                "may in one case, and says so",
                _header(_GOOD.replace("Never suspends", "A never suspends, B does"), _SUSPENDING),
            ),
            Fixture(
                "a thread that blocks",
                _header(_GOOD.replace("Never suspends", "Blocks the thread"), _FUNCTION),
            ),
            Fixture(
                "no macro",
                _header(_GOOD.replace("Never suspends", "May suspend"), _FUNCTION),
                ("include/orrery/a.h:7",),
            ),
            Fixture("no reason for it", _header(_GOOD, _SUSPENDING), ("include/orrery/a.h:7",)),
        ),
    ),
)
