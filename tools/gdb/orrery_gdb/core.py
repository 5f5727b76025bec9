# SPDX-License-Identifier: Apache-2.0
"""A core file in spite of guard pages."""

import struct

import gdb

from .values import Trouble


class CoreCommand(gdb.Command):
    """Writes a core file of the program: orrery-core FILE

As generate-core-file does, but page by page: a page that guards the stack of a task cannot be read,
and gdb's own command leaves out the whole mapping that it lies in."""

    PT_LOAD = 1

    def __init__(self):
        super().__init__("orrery-core", gdb.COMMAND_SUPPORT, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, _from_tty):
        path = argument.strip()
        if not path:
            raise Trouble("usage: orrery-core FILE")
        gdb.execute(f"generate-core-file {path}", to_string=True)
        with open(path, "r+b") as core:
            for offset, address, size in self._segments(core):
                self._fill(core, offset, address, size)
        gdb.write(f"Saved corefile {path}\n")

    @classmethod
    def _segments(cls, core):
        """The parts of memory in a 64-bit core file: offset, address, size."""
        header = core.read(64)
        table, entry, count = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from(
            "<HH", header, 54)
        for index in range(count):
            core.seek(table + index * entry)
            kind, _, offset, address, _, size = struct.unpack("<IIQQQQ", core.read(40))
            if kind == cls.PT_LOAD and size > 0:
                yield offset, address, size

    @staticmethod
    def _fill(core, offset, address, size, page=4096):
        inferior = gdb.selected_inferior()
        for at in range(0, size, page):
            try:
                memory = inferior.read_memory(address + at, min(page, size - at))
            except gdb.MemoryError:
                continue
            core.seek(offset + at)
            core.write(memory)
