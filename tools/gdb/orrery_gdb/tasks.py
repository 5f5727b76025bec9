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
    names_of,
    number,
    place_of,
    text_of,
)


# Tasks and poll tasks have these bits in the numbers that traces know them by.
TASK_BIT = 0x80000000
POLL_BIT = 0x40000000

# The registers of a task that does not run, as its context calls them.
REGISTER_NAMES = ("sp", "fp", "pc", "base")

# No chain of spawns is longer, and what stands in it for an address that is not known.
SPAWNS_MAX = 16
NOWHERE = 1

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
    is_stackless = False

    def __init__(self, value, fiber):
        self.value = value
        self.fiber = fiber

    @property
    def id(self):
        return number(self.run["id"])

    @property
    def number(self):
        return short(self.id)

    @property
    def title(self):
        return f"{self.number} {self.name}" if self.name else self.number

    @property
    def name(self):
        return text_of(self.value["name"]) if has_field(self.value, "name") else ""

    @property
    def state(self):
        word = number(self.run["state"])
        name = names_of("enum rti_runnable_state").get(word, "")
        return STATES.get(name, str(word))

    @property
    def run(self):
        return self.fiber["run"]

    @property
    def is_parked(self):
        registers = self.registers
        return registers is not None and int(registers["pc"]) != 0

    @property
    def registers(self):
        """Where it continues, by name; None, or a pc of 0, while it runs. Those that its slot has
        not are below its stack pointer."""
        saved = self.fiber["context"]["saved"]
        if not has_field(saved, "pc"):
            if int(saved["sp"]) == 0:
                return None
            kept = gdb.lookup_type("struct rti_arch_kept").pointer()
            below = (saved["sp"].cast(kept) - 1).dereference()
            return {"sp": saved["sp"], "fp": below["fp"], "pc": below["pc"], "base": below["base"]}
        return {name: saved[name] for name in REGISTER_NAMES if has_field(saved, name)}

    @property
    def waits_for(self):
        """Each event that would end its wait, in words."""
        wait = self.fiber["wait"]
        return self.words_of(wait) if int(wait) != 0 else []

    def words_of(self, wait):
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
        if int(self.fiber["wait"]) == 0 or self.state != STATES["RTI_RUNNABLE_PARKED"]:
            return None
        # On a small machine the fiber has a word for it; elsewhere it is where a queue links it.
        holder = self.fiber if has_field(self.fiber, "parked_ns") else self.run
        if not has_field(holder, "parked_ns"):
            return None
        return max(0, now_ns() - number(holder["parked_ns"]))

    @property
    def sites(self):
        """Where it was spawned, and its ancestors, youngest first, in words."""
        return [place_of(site) for site in self.origin]

    @property
    def spawns(self):
        """Its entries in the table of spawns, youngest first."""
        found = []
        if not has_field(self.fiber, "origin") or not has_field(self.fiber["origin"], "number"):
            return found
        entries = self.fiber["sched"]["origins"]["entries"]
        at = number(self.fiber["origin"]["number"])
        while at != 0 and len(found) < SPAWNS_MAX:
            found.append(entries[at])
            at = number(entries[at]["before"])
        return found

    @property
    def origin(self):
        """The addresses behind the calls that spawned it, youngest first."""
        if not has_field(self.fiber, "origin"):
            return []
        if has_field(self.fiber["origin"], "number"):
            addresses = [number(spawn["address"]) for spawn in self.spawns]
            return [address for address in addresses if address != NOWHERE]
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
    """The actors that have a stack."""
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
    def side(self):
        """What not all tasks have; it lies apart from the slot."""
        cx = self.value["cx"]
        unit = gdb.lookup_type("void").pointer().sizeof
        address = int(cx.address) + number(cx["cancel"]["owner_word"]) * unit
        return gdb.Value(address).cast(gdb.lookup_type("struct rti_task_side").pointer())

    @property
    def name(self):
        if int(self.value["has_name"]):
            return self.side["name"].string(errors="replace")
        lines = self.lines
        return lines[0]["what"].string(errors="replace") if lines and int(lines[0]["what"]) else ""

    @property
    def lines(self):
        """Where it was spawned, and its ancestors, as the source says."""
        if has_field(self.value, "sites"):
            low, high = self.value["sites"].type.range()
            sites = [self.value["sites"][index] for index in range(low, high + 1)]
        elif number(self.fiber["origin"]["number"]) == 0:
            sites = [self.side["site"]]
        else:
            pointer = gdb.lookup_type("rt_site").const().pointer()
            sites = [spawn["line"].cast(pointer) for spawn in self.spawns]
        return [site for site in sites if int(site) != 0]

    @property
    def sites(self):
        found = []
        for site in self.lines:
            file = site["file"].string().rsplit("/", 1)[-1]
            found.append(f"{file}:{number(site['line'])}")
        return found


def slot_of(tasks, index):
    """A slot of the table: the first are in it, the others in a room that was reserved."""
    count = tasks["slots"].type.range()[1] + 1
    return tasks["slots"][index] if index < count else tasks["more"][index - count]


def module_as(enum_name, type_name):
    """What a module has hung at the scheduler; None if it is not there."""
    address = module(enum_name)
    if address == 0:
        return None
    return gdb.Value(address).cast(gdb.lookup_type(type_name).pointer()).dereference()


def is_over(life):
    """Does a slot with this word of its life hold nobody who lives?"""
    return names_of("enum rti_task_life").get(number(life)) in (
        "RTI_TASK_FREE", "RTI_TASK_COMPLETE")


def green_tasks():
    tasks = module_as("RTI_MODULE_TASK", "struct rti_tasks")
    for index in range(number(tasks["fresh"]) if tasks is not None else 0):
        task = slot_of(tasks, index)
        if not is_over(task["life"]):
            yield Green(task, task["fiber"])


class Stackless(Task):
    """What has a turn and no stack."""

    is_parked = False
    is_stackless = True
    sites = ()
    origin = ()
    parent = 0
    waited_ns = None

    def __init__(self, value):
        super().__init__(value, None)

    @property
    def run(self):
        return self.value["run"]


class Behaviour(Stackless):
    """An actor without a stack."""

    kind = "behaviour"
    mailbox = "-"

    @property
    def number(self):
        return f"b{self.id & ~TASK_BIT}"

    @property
    def name(self):
        kind = self.value["type"]
        return kind["name"].string(errors="replace") if int(kind) and int(kind["name"]) else ""

    @property
    def waits_for(self):
        if self.state != "waits":
            return []
        on = number(self.value["pressure"]["on"])
        return [f"room in the mailbox of actor {label(on)}"] if on else ["mail"]


class Poll(Stackless):
    """A poll task; its name is its function's."""

    kind = "poll task"

    @property
    def number(self):
        return f"p{self.id & ~POLL_BIT}"

    @property
    def name(self):
        return function_at(int(self.value["poll"]))

    @property
    def state(self):
        word = names_of("enum rti_async_word").get(number(self.value["word"]), "")
        run = names_of("enum rti_runnable_state").get(number(self.value["run"]["state"]), "")
        if run == "RTI_RUNNABLE_READY":
            return "ready"
        return {
            "RTI_ASYNC_NOTIFIED": "ready",
            "RTI_ASYNC_CALLED": "ready",
            "RTI_ASYNC_RUNNING": "running",
        }.get(word, "waits")

    @property
    def waits_for(self):
        if self.state != "waits":
            return []
        words = []
        if self.value["is_joining"]:
            words.append("the end of a poll task")
        elif int(self.value["cx"]) != 0:
            poll = self.value["cx"].cast(gdb.lookup_type("struct rti_poll_cx").pointer())
            if poll["is_waiting"]:
                words += self.words_of(poll["wait"])
        if int(self.value["nap"]) != 0:
            words.append(until(number(self.value["nap"]["timer"]["deadline_ns"])))
        return words


def behaviours():
    table = module_as("RTI_MODULE_BEHAVIOUR", "struct rti_behaviours")
    for index in range(number(table["fresh"]) if table is not None else 0):
        if table["places"][index]["is_alive"]:
            yield Behaviour(table["places"][index])


def poll_tasks():
    table = module_as("RTI_MODULE_ASYNC", "struct rti_asyncs")
    for index in range(number(table["fresh"]) if table is not None else 0):
        task = table["slots"][index]
        if int(task["poll"]) != 0 and not is_over(task["life"]):
            yield Poll(task)


def all_tasks():
    yield from actors()
    yield from green_tasks()
    yield from behaviours()
    yield from poll_tasks()


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


_labels = {}


def forget_labels():
    """The program goes on, or is another one: who is who may change."""
    _labels.clear()


def label(identity):
    """An id with its name."""
    if not _labels:
        for task in all_tasks():
            _labels.setdefault(task.id, task.title)
    return _labels.get(identity, f"{short(identity)} (ended)")


def describe_waiter(task, waiter):
    """What one waiter waits for: its event tells, or what the wait is for."""
    event = number(waiter["event"])
    if event == int(gdb.parse_and_eval("RTI_EVENT_TIMEOUT")):
        return describe_deadline(task, waiter)
    if event == int(gdb.parse_and_eval("RTI_EVENT_CANCEL")):
        return "a cancel"
    if "channel" in function_at(int(waiter["unlink"])):
        return describe_channel(task, waiter)
    name = names_of("enum rti_wait_reason").get(number(waiter["wait"]["reason"]), "")
    describe = REASONS.get(name)
    if describe is None:
        return name.removeprefix("RTI_REASON_").lower() or "its turn in a line"
    return describe(task, waiter)


def describe_deadline(_task, waiter):
    deadline = container(waiter, "struct rti_deadline", "waiter")
    return until(number(deadline["timer"]["deadline_ns"]))


def until(due):
    left = due - now_ns()
    return f"until in {duration(left)}" if left > 0 else "until now"


def describe_channel(_task, waiter):
    record = container(waiter, "struct rti_channel_waiter", "waiter")
    kind = names_of("enum rti_channel_waiter_kind").get(number(record["kind"]))
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
