# SPDX-License-Identifier: Apache-2.0
"""How channels and mailboxes print."""

import gdb

from .tasks import green_tasks, label, module_as
from .values import items_of, names_of, number


# The kind of a lone waiter, as enum rti_channel_waiter_kind has it.
LONE_KIND = {"sender_line": 0, "receiver_line": 2}


class ChannelPrinter:
    """channel 3: 2 of 8 queued, 1 sender, 1 receiver, 0 waiting"""

    def __init__(self, value):
        self.value = value

    def _line(self, name):
        lone = self.value["lone"]
        is_lone = int(lone) != 0 and (number(lone["kind"]) == LONE_KIND[name])
        return int(is_lone) + sum(
            1 for _ in items_of(self.value[name]["list"], "struct rti_waiter", "link"))

    def to_string(self):
        value = self.value
        queued = number(value["tail"]) - number(value["head"])
        kind = "rendezvous" if number(value["is_rendezvous"]) else "channel"
        return (
            f"{kind} {number(value['number'])}: {queued} of {number(value['capacity'])} queued, "
            f"{number(value['reserved'])} reserved, {number(value['senders'])} sender(s) with "
            f"{self._line('sender_line')} waiting, {number(value['receivers'])} receiver(s) with "
            f"{self._line('receiver_line')} waiting"
        )


class MailboxPrinter:
    """mailbox of 2 messages, with each of them"""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        reader = "its owner waits" if int(self.value["reader"]) != 0 else "nobody waits"
        return f"mailbox: {number(self.value['count'])} message(s), {reader}"

    def children(self):
        queue = items_of(self.value["queue"], "struct rti_entry", "link")
        for index, entry in enumerate(queue):
            kind = names_of("enum rti_entry_kind").get(number(entry["kind"]), "?")
            what = kind.removeprefix("RTI_ENTRY_")
            sender = label(number(entry["sender"]))
            yield f"[{index}]", f"{what} of {number(entry['len'])} bytes from {sender}"

    @staticmethod
    def display_hint():
        return None


class HandlePrinter:
    """What a handle of the program names: it looks like a pointer and is a number."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        words = self.named() if int(self.value) != 0 else None
        return f"{int(self.value):#x}" + (f" {words}" if words else "")

    def named(self):
        """What it names, in words; None if nothing."""
        raise NotImplementedError

    @staticmethod
    def display_hint():
        return None


class EndPrinter(HandlePrinter):
    """0x1001 sender of channel 1: 0 of 4 queued, ..."""

    table = word = ""

    def named(self):
        channels = module_as("RTI_MODULE_CHANNEL", "struct rti_channels")
        if channels is None:
            return None
        ends = channels[self.table]["table"]
        low, high = ends.type.range()
        for index in range(low, high + 1):
            if number(ends[index]["id"]) == int(self.value):
                pointer = number(ends[index]["channel"])
                kind = gdb.lookup_type("struct rti_channel").pointer()
                channel = gdb.Value(pointer).cast(kind).dereference()
                return f"{self.word} of {ChannelPrinter(channel).to_string()}"
        return f"a {self.word} that is closed"


class SenderPrinter(EndPrinter):
    table, word = "senders", "sender"


class ReceiverPrinter(EndPrinter):
    table, word = "receivers", "receiver"


class TaskPrinter(HandlePrinter):
    """0x10000001 task t1 washer: waits"""

    def named(self):
        bits = 28 if gdb.lookup_type("void").pointer().sizeof == 8 else 20
        in_use = 1 << (bits - 1)  # RTI_TASK_HANDLE_IN_USE
        for task in green_tasks():
            if number(task.value["handle"]) & ~in_use == int(self.value):
                return f"task {task.title}: {task.state}"
        return "a task that has ended"


PRINTERS = {"rti_channel": ChannelPrinter, "rti_mailbox": MailboxPrinter}
HANDLES = {
    "rt_channel_sender": SenderPrinter,
    "rt_channel_receiver": ReceiverPrinter,
    "rt_task": TaskPrinter,
}


def printer_for(value):
    kind = value.type.strip_typedefs().unqualified()
    if kind.code == gdb.TYPE_CODE_PTR:
        printer = HANDLES.get(kind.target().strip_typedefs().tag or "")
    else:
        printer = PRINTERS.get(kind.tag or "")
    return printer(value) if printer else None


printer_for.name = "orrery"
printer_for.enabled = True
