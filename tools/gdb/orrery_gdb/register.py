# SPDX-License-Identifier: Apache-2.0
"""Makes gdb know all of it, once."""

import gdb
import gdb.unwinder

from .commands import InfoActors, InfoTasks, InfoWorkers, TaskCommand
from .core import CoreCommand
from .frames import FiberFilter, Parameter, ParameterPrefix, ParkedUnwinder, forget_selection
from .printers import printer_for


def register():
    if any(getattr(printer, "name", "") == "orrery" for printer in gdb.pretty_printers):
        return
    gdb.pretty_printers.append(printer_for)
    gdb.unwinder.register_unwinder(None, ParkedUnwinder(), replace=True)
    gdb.frame_filters[FiberFilter.name] = FiberFilter()
    gdb.events.cont.connect(forget_selection)
    gdb.events.exited.connect(forget_selection)
    gdb.events.new_objfile.connect(forget_selection)
    ParameterPrefix("set orrery", "Settings of the Orrery extension.")
    ParameterPrefix("show orrery", "Settings of the Orrery extension.")
    Parameter()
    InfoTasks()
    InfoActors()
    InfoWorkers()
    TaskCommand()
    CoreCommand()
