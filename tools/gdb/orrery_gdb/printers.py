# SPDX-License-Identifier: Apache-2.0
"""How channels and mailboxes print."""

import gdb

from .tasks import label
from .values import items_of, number


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
        kinds = gdb.lookup_type("enum rti_entry_kind").fields()
        queue = items_of(self.value["queue"], "struct rti_entry", "link")
        for index, entry in enumerate(queue):
            kind = next(
                (f.name for f in kinds if f.enumval == number(entry["kind"])), "RTI_ENTRY_?")
            what = kind.removeprefix("RTI_ENTRY_")
            sender = label(number(entry["sender"]))
            yield f"[{index}]", f"{what} of {number(entry['len'])} bytes from {sender}"

    @staticmethod
    def display_hint():
        return None


PRINTERS = {"rti_channel": ChannelPrinter, "rti_mailbox": MailboxPrinter}


def printer_for(value):
    printer = PRINTERS.get(value.type.strip_typedefs().unqualified().tag or "")
    return printer(value) if printer else None


printer_for.name = "orrery"
printer_for.enabled = True
