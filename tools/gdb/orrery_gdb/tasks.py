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
    place_of,
    text_of,
)


# Tasks have this bit in the numbers that traces know them by.
TASK_BIT = 0x80000000

STATES = {
    "RTI_RUNNABLE_NEW": "new",
    "RTI_RUNNABLE_READY": "ready",
    "RTI_RUNNABLE_RUNNING": "running",
    "RTI_RUNNABLE_WOKEN": "ready",
    "RTI_RUNNABLE_PARKED": "waits",
    "RTI_RUNNABLE_HELD": "waits",
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
    def number(self):
        return short(self.id)

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
        if len(words) > 1:
            # Every task can be cancelled: that it can tells nothing.
            words = [word for word in words if word != "a cancel"]
        # A deadline is the least telling of them.
        return sorted(words, key=lambda word: word.startswith("until"))

    @property
    def waited_ns(self):
        if int(self.fiber["wait"]) == 0 or not has_field(self.fiber, "parked_ns"):
            return None
        return max(0, now_ns() - number(self.fiber["parked_ns"]))

    @property
    def sites(self):
        """Where it was spawned, and its ancestors, youngest first, in words."""
        return [place_of(site) for site in self.origin]

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


class Green(Task):
    """A task: its sites are files and lines, and its name may be missing."""

    @property
    def name(self):
        name = self.value["name"]
        return name.string(errors="replace") if int(name) != 0 else ""

    @property
    def sites(self):
        low, high = self.value["sites"].type.range()
        found = []
        for index in range(low, high + 1):
            site = self.value["sites"][index]
            if int(site) != 0:
                file = site["file"].string().rsplit("/", 1)[-1]
                found.append(f"{file}:{number(site['line'])}")
        return found


def green_tasks():
    address = module("RTI_MODULE_TASK")
    if address == 0:
        return
    tasks = gdb.Value(address).cast(gdb.lookup_type("struct rti_tasks").pointer()).dereference()
    lives = {f.name: f.enumval for f in gdb.lookup_type("enum rti_task_life").fields()}
    for index in range(number(tasks["fresh"])):
        task = tasks["slots"][index]
        if number(task["life"]) not in (lives["RTI_TASK_FREE"], lives["RTI_TASK_COMPLETE"]):
            yield Green(task, task["fiber"])


def all_tasks():
    yield from actors()
    yield from green_tasks()


def task_named(word):
    """The task with this id or this name."""
    found = [task for task in all_tasks() if word in (str(task.id), task.number, task.name)]
    if not found:
        raise Trouble(f"no task has the id or the name {word}; info tasks lists them")
    if len(found) > 1:
        ids = " ".join(str(task.id) for task in found)
        raise Trouble(f"several tasks are called {word}: say which of {ids}")
    return found[0]


def short(identity):
    """How people call it: tasks count from t1 on, actors have their ids."""
    return f"t{identity & ~TASK_BIT}" if identity & TASK_BIT else str(identity)


def label(identity):
    """An id with its name."""
    for task in all_tasks():
        if task.id == identity:
            return f"{task.number} {task.name}" if task.name else task.number
    return f"{short(identity)} (ended)"


def describe_waiter(task, waiter):
    """What one waiter waits for: its event tells, or what the wait is for."""
    event = number(waiter["event"])
    if event == int(gdb.parse_and_eval("RTI_EVENT_TIMEOUT")):
        return describe_deadline(task, waiter)
    if event == int(gdb.parse_and_eval("RTI_EVENT_CANCEL")):
        return "a cancel"
    if "channel" in function_at(int(waiter["unlink"])):
        return describe_channel(task, waiter)
    reasons = gdb.lookup_type("enum rti_wait_reason").fields()
    reason = number(waiter["wait"]["reason"])
    name = next((f.name for f in reasons if f.enumval == reason), "")
    describe = REASONS.get(name)
    if describe is None:
        return name.removeprefix("RTI_REASON_").lower() or "its turn in a line"
    return describe(task, waiter)


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


def describe_end(_task, waiter):
    joined = waiter["slot"].cast(gdb.lookup_type("struct rti_task").pointer())
    return f"the end of task {label(number(joined['fiber']['run']['id']))}"


# By what the wait is for.
REASONS = {
    "RTI_REASON_MAIL": lambda task, waiter: "mail",
    "RTI_REASON_SEND": describe_release,
    "RTI_REASON_CALL": describe_answer,
    "RTI_REASON_BUS": lambda task, waiter: "a publication on a bus",
    "RTI_REASON_JOIN": describe_end,
    "RTI_REASON_REGION": lambda task, waiter: "the last member of its region",
    "RTI_REASON_IO": lambda task, waiter: "I/O",
    "RTI_REASON_LOCK": lambda task, waiter: "a lock, semaphore or the like",
    "RTI_REASON_UNKNOWN": lambda task, waiter: "its turn in a line",
}
