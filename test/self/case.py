# SPDX-License-Identifier: Apache-2.0
"""Lets a Python file behave as a test binary: `--list`, or one case by name.

    @case
    def runner_sees_a_failure(): ...

    main()
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 60

sys.path.insert(0, str(ROOT / "test" / "runner"))

_cases = {}


def case(function):
    assert function.__name__ not in _cases, f"two cases are called {function.__name__}"
    _cases[function.__name__] = function
    return function


def check(condition, text=""):
    if not condition:
        raise AssertionError(text)


def check_equal(actual, wanted):
    check(actual == wanted, f"got    {actual!r}\nwanted {wanted!r}")


def main():
    if sys.argv[1:] == ["--list"]:
        for name in _cases:
            print(f"{name} {TIMEOUT_SECONDS}")
    elif len(sys.argv) == 2 and sys.argv[1] in _cases:
        _cases[sys.argv[1]]()
        print(f"passed: {sys.argv[1]}")
    else:
        print(f"usage: {sys.argv[0]} --list | CASE")
        sys.exit(2)
