# SPDX-License-Identifier: Apache-2.0
"""gdb and Orrery: what runs, what waits for what, and the stack of each, live and in a core file.

    info tasks                 every task and actor: state, what it waits for and since when
    info actors                the actors, with mailbox and spawn site
    info workers               the threads of the runtime and what runs on them
    task ID                    selects one: bt, frame, info locals then show its stack
    task ID COMMAND            one command there, for example: task 65 bt
    task apply all COMMAND     a command in each
    task none                  back to the thread's own stack
    set orrery verbose on      backtraces show the frames of the runtime too
    orrery-core FILE           a core file, also where generate-core-file stumbles over guard pages

It is loaded with the library (liborrery.so.N-gdb.py in gdb's auto-load folder), or by hand:
source tools/gdb/orrery-gdb.py.

A parked fiber is shown without touching a register, so that it works in a core file: an unwinder
says that the caller of the innermost frame is the place where the fiber is parked. Everything is
read by the names that the debug information has; no offset and no size is written here.
"""

import os
import sys

import gdb


def package_folders():
    """Where the modules may lie: beside this file, or in share/orrery/gdb of the same prefix."""
    here = os.path.dirname(os.path.realpath(__file__))
    yield here
    while here != os.path.dirname(here):
        here = os.path.dirname(here)
        yield os.path.join(here, "share", "orrery", "gdb")


def load():
    for folder in package_folders():
        if os.path.exists(os.path.join(folder, "orrery_gdb", "__init__.py")):
            if folder not in sys.path:
                sys.path.insert(0, folder)
            sys.dont_write_bytecode = True
            from orrery_gdb import register  # pylint: disable=import-outside-toplevel

            register.register()
            return
    gdb.write("Orrery: the folder orrery_gdb is not where it was installed\n", gdb.STDERR)


load()
