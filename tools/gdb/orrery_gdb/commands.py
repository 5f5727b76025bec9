# SPDX-License-Identifier: Apache-2.0
"""The commands: info tasks, info actors, info workers, task."""

import gdb

from .frames import Selection, select, selection, task_caller, thread_of
from .runtime import workers
from .tasks import actors, all_tasks, behaviours, label, task_named
from .values import Trouble, duration, has_field, number


def table(rows):
    """Rows in columns; the last one is as long as it likes."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        gdb.write(("  ".join([*cells, row[-1]])).rstrip() + "\n")


def waiting(task):
    """What a task waits for, in which function, since when; "" if it does not wait."""
    words = ", or ".join(task.waits_for)
    if not words:
        return ""
    caller, since = "" if task.is_stackless else task_caller(task), task.waited_ns
    if caller:
        words += f" in {caller}"
    return f"{words} (for {duration(since)})" if since is not None else words


def spawn_site(task):
    return task.sites[0] if task.sites else "-"


def mark_of(task):
    return "*" if Selection.task is not None and Selection.task.id == task.id else " "


class InfoTasks(gdb.Command):
    """Lists every task and actor: id, name, state, what it waits for and since when."""

    def __init__(self):
        super().__init__("info tasks", gdb.COMMAND_STATUS)

    def invoke(self, _argument, _from_tty):
        rows = [("", "Id", "Kind", "Name", "State", "Waits for")]
        for task in all_tasks():
            row = (task.number, task.kind, task.name or "-", task.state, waiting(task) or "-")
            rows.append((mark_of(task), *row))
        if len(rows) == 1:
            gdb.write("No tasks.\n")
            return
        table(rows)


class InfoActors(gdb.Command):
    """Lists the actors: state, mailbox, spawn site, what each waits for and since when."""

    def __init__(self):
        super().__init__("info actors", gdb.COMMAND_STATUS)

    def invoke(self, _argument, _from_tty):
        rows = [("", "Id", "Name", "State", "Mail", "Spawned at", "Waits for")]
        for task in (*actors(), *behaviours()):
            row = (task.number, task.name or "-", task.state, str(task.mailbox))
            rows.append((mark_of(task), *row, spawn_site(task), waiting(task) or "-"))
        if len(rows) == 1:
            gdb.write("No actors.\n")
            return
        table(rows)


def turns_of(worker):
    """Dispatches: one of several workers counts them where it takes its work from."""
    is_one_of_several = has_field(worker, "station") and int(worker["station"]) != 0
    return number(worker["station"]["turns"] if is_one_of_several else worker["turns"])


class InfoWorkers(gdb.Command):
    """Lists the threads of the runtime and what runs on each."""

    def __init__(self):
        super().__init__("info workers", gdb.COMMAND_STATUS)

    def invoke(self, _argument, _from_tty):
        rows = [("Worker", "Turns", "Thread", "Runs")]
        tasks = {int(t.fiber.address): t for t in all_tasks() if not t.is_stackless}
        for index, worker in enumerate(workers()):
            fiber = worker["fiber"]
            runs, thread = "its own stack: the scheduler", "-"
            if int(fiber) != 0:
                task = tasks.get(int(fiber))
                kind = f"{task.kind} {label(task.id)}" if task else f"a fiber at {int(fiber):#x}"
                runs = kind
                on = thread_of(fiber.dereference())
                thread = str(on.num) if on is not None else "-"
            rows.append((str(index), str(turns_of(worker)), thread, runs))
        table(rows)


def print_chain(task):
    """Under a backtrace: who spawned whom."""
    for index, site in enumerate(task.sites):
        who = f" by {label(task.parent)}" if index == 0 and task.parent != 0 else ""
        gdb.write(f"    spawned at {site}{who}\n")


class TaskCommand(gdb.Command):
    """Selects a task, or runs a command in one.

    task                      which one is selected
    task ID                   select it: bt, frame, info locals show its stack
    task ID COMMAND           run a command there
    task apply all COMMAND    run a command in each
    task none                 back to the thread's own stack

A task is named by its number or by its name."""

    def __init__(self):
        super().__init__("task", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        words = argument.split(None, 1)
        if not words:
            self._show()
        elif words[0] == "none":
            select(None)
            gdb.execute("frame")
        elif words[0] == "apply":
            self._apply(words[1] if len(words) > 1 else "", from_tty)
        elif len(words) == 1:
            task = task_named(words[0])
            words = title(task)
            select(task)
            gdb.write(f"[{words}]\n")
            gdb.execute("frame")
        else:
            run_in(task_named(words[0]), words[1], from_tty)

    @staticmethod
    def _show():
        if Selection.task is None:
            gdb.write("No task is selected.\n")
        else:
            gdb.write(f"[{title(Selection.task)}]\n")

    @staticmethod
    def _apply(rest, from_tty):
        words = rest.split(None, 1)
        if len(words) < 2 or words[0] != "all":
            raise Trouble("usage: task apply all COMMAND")
        for task in list(all_tasks()):
            gdb.write(f"\n{title(task)}\n")
            try:
                run_in(task, words[1], from_tty)
            except (gdb.error, gdb.GdbError) as error:
                gdb.write(f"    {error}\n")


def title(task):
    words = f"{task.kind} {label(task.id)}: {task.state}"
    reason = waiting(task)
    if not reason:
        return words
    return f"{words} {reason}" if reason.startswith("until") else f"{words} for {reason}"


def run_in(task, command, from_tty):
    if task.is_stackless:
        raise Trouble(f"{task.kind} {task.title} has no stack")
    with selection(task):
        gdb.execute(command, from_tty)
        if command.split()[0] in ("bt", "backtrace", "where"):
            print_chain(task)
