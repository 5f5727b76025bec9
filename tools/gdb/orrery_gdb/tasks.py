# SPDX-License-Identifier: Apache-2.0
"""What runs: actors and tasks, what each waits for, where it comes from."""

import gdb

from .runtime import module, now_ns, runtime
from .values import (
    LIST_MAX,
    Trouble,
    container,
    duration,
    function_at,
    has_field,
    number,
    text_of,
)


STATES = {
    "RTI_RUNNABLE_NEW": "new",
    "RTI_RUNNABLE_READY": "ready",
    "RTI_RUNNABLE_RUNNING": "running",
    "RTI_RUNNABLE_WOKEN": "ready",
    "RTI_RUNNABLE_PARKED": "waits",
    "RTI_RUNNABLE_DONE": "done",
}




class Task:
    """Something that runs and has a stack: an actor, a task."""

    kind = "task"

    def __init__(self, value, fiber):
        self.value = value
        self.fiber = fiber

    @property
    def id(self):
        return number(self.fiber["run"]["id"])

    @property
    def name(self):
        return text_of(self.value["name"]) if has_field(self.value, "name") else ""

    @property
    def state(self):
        word = number(self.fiber["run"]["state"])
        known = gdb.lookup_type("enum rti_runnable_state").fields()
        name = next((field.name for field in known if field.enumval == word), "")
        return STATES.get(name, str(word))

    @property
    def is_parked(self):
        return int(self.fiber["context"]["saved"]["pc"]) != 0

    @property
    def waits_for(self):
        """Each event that would end its wait, in words."""
        wait = self.fiber["wait"]
        if int(wait) == 0:
            return []
        words = []
        waiter = wait["waiters"]
        while int(waiter) != 0 and len(words) < LIST_MAX:
            words.append(describe_waiter(self, waiter))
            waiter = waiter["sibling"]
        # A deadline is the least telling of them.
        return sorted(words, key=lambda word: word.startswith(("until", "a cancel")))

    @property
    def waited_ns(self):
        if int(self.fiber["wait"]) == 0 or not has_field(self.fiber, "parked_ns"):
            return None
        return max(0, now_ns() - number(self.fiber["parked_ns"]))

    @property
    def origin(self):
        """The addresses behind the calls that spawned it, youngest first."""
        if not has_field(self.fiber, "origin"):
            return []
        sites = self.fiber["origin"]["sites"]
        low, high = sites.type.range()
        return [int(sites[i]) for i in range(low, high + 1) if int(sites[i]) != 0]

    @property
    def parent(self):
        return number(self.fiber["origin"]["parent"]) if has_field(self.fiber, "origin") else 0


class Actor(Task):
    kind = "actor"

    @property
    def mailbox(self):
        return number(self.value["mailbox"]["count"])


def actors():
    table = runtime()["actors"]["table"]
    if module("RTI_MODULE_ACTOR") == 0:
        return
    low, high = table.type.range()
    for index in range(low, high + 1):
        if number(table[index]["id"]) != 0:
            yield Actor(table[index], table[index]["fiber"])


def all_tasks():
    yield from actors()
    for source in TASK_SOURCES:
        yield from source()


# Functions that give more tasks; other modules of this file add theirs.
TASK_SOURCES = []


def task_named(word):
    """The task with this id or this name."""
    found = [task for task in all_tasks() if str(task.id) == word or task.name == word]
    if not found:
        raise Trouble(f"no task has the id or the name {word}; info tasks lists them")
    if len(found) > 1:
        ids = " ".join(str(task.id) for task in found)
        raise Trouble(f"several tasks are called {word}: say which of {ids}")
    return found[0]


def label(identity):
    """An id with its name."""
    for task in all_tasks():
        if task.id == identity:
            return f"{identity} {task.name}" if task.name else str(identity)
    return f"{identity} (ended)"


def describe_waiter(task, waiter):
    function = function_at(int(waiter["unlink"]))
    describe = WAITERS.get(function)
    if describe is not None:
        return describe(task, waiter)
    event = number(waiter["event"])
    if event == int(gdb.parse_and_eval("RTI_EVENT_CANCEL")):
        return "a cancel"
    if function == "rti_waitlist_unlink":
        return "its turn in a line"
    return function.removesuffix("_unlink").replace("_", " ")


def describe_deadline(_task, waiter):
    deadline = container(waiter, "struct rti_deadline", "waiter")
    due = number(deadline["timer"]["deadline_ns"])
    left = due - now_ns()
    return f"until in {duration(left)}" if left > 0 else "until now"


def describe_channel(_task, waiter):
    record = container(waiter, "struct rti_channel_waiter", "waiter")
    kinds = gdb.lookup_type("enum rti_channel_waiter_kind").fields()
    kind = next(f.name for f in kinds if f.enumval == number(record["kind"]))
    what = {"RTI_CHANNEL_SEND": "room", "RTI_CHANNEL_RESERVE": "a permit"}.get(kind, "a value")
    channel = record["channel"]
    return (
        f"{what} of channel {number(channel['number'])}"
        f" (at {int(channel):#x})"
    )


def describe_answer(task, _waiter):
    return f"the answer of actor {label(number(task.value['waits_for']))}"


def describe_release(task, _waiter):
    return f"actor {label(number(task.value['waits_for']))} to release its message"


WAITERS = {
    "rti_mailbox_unwatch": lambda task, waiter: "mail",
    "rti_sync_wait_unlink": describe_release,
    "call_unlink": describe_answer,
    "channel_fiber_unlink": describe_channel,
    "deadline_unlink": describe_deadline,
    "request_unlink": lambda task, waiter: "I/O",
}
