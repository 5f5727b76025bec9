# SPDX-License-Identifier: Apache-2.0
"""The runtime of the program: its scheduler, its workers, its clock."""

import time

import gdb

from .values import Trouble, has_field, number


def symbol(name):
    found = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
    if found is None:
        return None
    return found.value()


def runtime():
    value = symbol("rti_runtime")
    if value is None:
        raise Trouble("there is no Orrery runtime with debug information in this program")
    return value


def sched():
    return runtime()["sched"]


def module(enum_name):
    """The state that a module has hung at the scheduler, as a number; 0 if it is not there."""
    try:
        index = int(gdb.parse_and_eval(enum_name))
    except gdb.error:
        return 0
    return int(sched()["modules"][index])


def is_on_this_clock():
    """Whether the runtime goes by the clock of this machine: it lives and is not simulated."""
    if not gdb.selected_inferior().pid or "core" in (target_name() or ""):
        return False
    return sched()["port"]["ops"]["name"].string() == "linux"


def target_name():
    connection = getattr(gdb.selected_inferior(), "connection", None)
    return connection.type if connection is not None else None


def now_ns():
    """The clock of the runtime: read now, or, in a core file, as the scheduler saw it last."""
    value = sched()
    seen = number(value["now_ns"]) if has_field(value, "now_ns") else 0
    return max(seen, time.clock_gettime_ns(time.CLOCK_MONOTONIC)) if is_on_this_clock() else seen


def workers():
    """The one of the fixed engine, or those of the crew."""
    value = sched()
    crew = value["crew"] if has_field(value, "crew") else 0
    if int(crew) == 0:
        return [value["worker"]]
    members = crew["members"]
    return [members[i]["worker"].dereference() for i in range(number(crew["members_count"]))]
