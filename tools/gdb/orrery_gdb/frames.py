# SPDX-License-Identifier: Apache-2.0
"""Standing in a parked fiber: the unwinder, the filter of frames, the selection."""

import re
import struct

import gdb
from gdb.FrameDecorator import FrameDecorator
from gdb.unwinder import Unwinder

from .tasks import forget_labels
from .values import Trouble, forget_names, function_at, has_field


# The registers that a context keeps, by what struct rti_arch_context calls them.
REGISTERS = {
    "i386:x86-64": {"sp": "rsp", "fp": "rbp", "pc": "rip", "base": "rbx"},
    "aarch64": {"sp": "sp", "fp": "x29", "pc": "pc", "base": "x19"},
}

ASYNC = "\u27e8async\u27e9"


class Selection:
    """The parked fiber that backtraces show instead of the thread's own stack."""

    task = None
    thread = None
    place = None  # stack pointer and pc of the thread: its innermost frame is known by them
    running = None  # the task that was asked for runs on its thread: nothing to unwind


class ParkedUnwinder(Unwinder):
    """Says that whoever parked the selected fiber was called from where the fiber is."""

    def __init__(self):
        super().__init__("orrery")

    def __call__(self, pending):
        task = Selection.task
        if task is None or gdb.selected_thread() != Selection.thread:
            return None
        # Frames of functions that were inlined into it stand before the innermost one.
        if place_of_thread(pending) != Selection.place:
            return None
        registers = REGISTERS.get(pending.architecture().name())
        if registers is None:
            return None
        saved = task.registers
        # The innermost frame is given a place just below the fiber's stack: gdb takes a stack whose
        # frames do not go one way for a corrupt one.
        kind = gdb.lookup_type("unsigned long")
        below = gdb.Value(int(saved["sp"]) - 64).cast(kind)
        info = pending.create_unwind_info(FrameId(below, pending.read_register("pc")))
        for field, register in registers.items():
            if field in saved:
                like = pending.read_register(register)
                info.add_saved_register(register, saved[field].cast(kind).cast(like.type))
        return info


def place_of_thread(frame):
    return int(frame.read_register("sp")), int(frame.read_register("pc"))


def parked_frame():
    """The innermost frame of the selected fiber: behind the thread's own one, with all that was
    inlined into that."""
    frame = gdb.newest_frame()
    while frame is not None and frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    return frame.older() if frame is not None else None


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class selection:  # pylint: disable=invalid-name
    """`with selection(task):` the frames are those of the task, which is parked or runs."""

    def __init__(self, task):
        self.task = task
        self.before = None

    def __enter__(self):
        self.before = (Selection.task, Selection.thread, Selection.place, gdb.selected_thread())
        try:
            select(self.task)
        except (gdb.error, gdb.GdbError):
            self.__exit__()
            raise

    def __exit__(self, *_):
        Selection.running = None
        Selection.task, Selection.thread, Selection.place, current = self.before
        gdb.invalidate_cached_frames()
        if current is not None:
            current.switch()


class unselected(selection):  # pylint: disable=invalid-name
    def __init__(self):
        super().__init__(None)


def select(task):
    """Makes the frames those of `task`; None: of the thread."""
    Selection.task = Selection.running = None
    gdb.invalidate_cached_frames()
    if task is None:
        return
    if task.is_stackless:
        raise Trouble(f"{task.kind} {task.title} has no stack")
    if not task.is_parked:
        thread = thread_of(task.fiber)
        if thread is None:
            raise Trouble(f"task {task.id} runs, but no thread is on its stack")
        thread.switch()
        Selection.running = task
        return
    Selection.thread = gdb.selected_thread()
    if Selection.thread is None:
        raise Trouble("there is no process and no core file")
    Selection.place = place_of_thread(gdb.newest_frame())
    Selection.task = task
    gdb.invalidate_cached_frames()
    outer = parked_frame()
    if outer is None:
        Selection.task = None
        raise Trouble(f"no unwinder for {gdb.newest_frame().architecture().name()}")
    first_own_frame(outer).select()


def first_own_frame(frame):
    """The innermost frame that is the program's, not the runtime's."""
    own = frame
    while own is not None and is_of_library(own):
        own = own.older()
    return frame if own is None else own


def forget_selection(_event=None):
    """A program that goes on moves its fibers, and a new one its code."""
    Selection.task = Selection.running = None
    _code.clear()
    forget_labels()
    forget_names()


def library_code():
    """Where the code of the library lies: the table of base/text.h, as (begin, end) pairs."""
    key = int(gdb.parse_and_eval("(long)&__start_orrery_text"))
    if key not in _code:
        end = int(gdb.parse_and_eval("(long)&__stop_orrery_text"))
        memory = bytes(gdb.selected_inferior().read_memory(key, end - key))
        rows = []
        for place in range(0, len(memory) - 7, 8):
            begin, stop = struct.unpack_from("<ii", memory, place)
            # Each number is relative to where it stands.
            rows.append((key + place + begin, key + place + 4 + stop))
        _code[key] = rows
    return _code[key]


_code = {}


def is_of_library(frame):
    """Is it a frame of the runtime? Its assembly is not in the table."""
    if (frame.name() or "").startswith("rti_"):
        return True
    try:
        return any(begin <= frame.pc() - 1 < end for begin, end in library_code())
    except gdb.error:
        return False


class Marked(FrameDecorator):
    """A frame of a fiber: its name carries the mark."""

    def __init__(self, base, mark):
        super().__init__(base)
        self.mark = mark

    def function(self):
        name = super().function()
        if isinstance(name, int):
            name = function_at(name)
        return f"{name} {self.mark}" if name else self.mark


class FiberFilter:
    """Frames of a selected task: the thread's own and those of the runtime are left out."""

    name = "orrery"
    enabled = True
    priority = 50

    def filter(self, frames):
        if Selection.task is None and Selection.running is None:
            return frames
        return self._fiber_frames(frames, Selection.running is not None)

    @staticmethod
    def _fiber_frames(frames, is_running):
        is_inside = not is_running  # among the innermost frames, which are the runtime's
        is_threads = not is_running
        for decorated in frames:
            frame = decorated.inferior_frame()
            if is_threads:
                is_threads = frame.type() == gdb.INLINE_FRAME
                continue
            name = frame.name() or ""
            if not Parameter.verbose:
                if name in ("rti_arch_entry", "rti_fiber_entry", "rti_fiber_call", "rti_task_main"):
                    continue
                is_library = is_of_library(frame)
                if is_inside and is_library and not name.startswith("rt_"):
                    continue
                is_inside = False
            yield Marked(decorated, ASYNC)


class Parameter(gdb.Parameter):
    """Whether backtraces of tasks show the frames of the runtime too."""

    verbose = False
    set_doc = "Set whether backtraces of tasks show the frames of the runtime."
    show_doc = "Show whether backtraces of tasks show the frames of the runtime."

    def __init__(self):
        super().__init__("orrery verbose", gdb.COMMAND_STACK, gdb.PARAM_BOOLEAN)
        self.value = False

    def get_set_string(self):
        Parameter.verbose = self.value
        return ""

    def get_show_string(self, value):
        return f"Frames of the runtime are shown: {value}"


class ParameterPrefix(gdb.Command):
    def __init__(self, words, doc):
        self.__doc__ = doc
        super().__init__(words, gdb.COMMAND_STACK, prefix=True)

    def invoke(self, _argument, _from_tty):
        gdb.write("see: help set orrery verbose\n")


# The mark in the limit of a stack whose fiber is summoned (src/sched/stack.h).
SUMMONED = 1 << 63


def thread_of(fiber):
    """The gdb thread whose stack pointer lies in the fiber's stack, or None."""
    stack = fiber["stack"]
    high = int(stack["high_guard"])
    if has_field(stack, "low"):
        low = int(stack["low"])
    elif int(stack["low_guard_at"]) != 0:
        low = high + int(stack["low_guard_at"])
    else:
        low = int(stack["limit"]) & ~SUMMONED
    before = gdb.selected_thread()
    found = None
    with unselected():
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            pointer = int(gdb.newest_frame().read_register("sp"))
            if low <= pointer < high:
                found = thread
                break
        if before is not None:
            before.switch()
    return found


def task_caller(task):
    """The public function that the task called, as its stack tells; "" if it does not."""
    try:
        with selection(task):
            frame = parked_frame()
            while frame is not None and is_of_library(frame):
                if re.match(r"rt_[a-z]", frame.name() or ""):
                    return frame.name()
                frame = frame.older()
            return called_by(frame) if frame is not None else ""
    except (gdb.error, gdb.GdbError):
        return ""


def called_by(frame):
    """The function that a frame's call instruction names: one that left by a jump has no frame."""
    block = frame.function()
    if block is None:
        return ""
    start = block.value().address
    lines = frame.architecture().disassemble(int(start), frame.pc() - 1)
    match = re.search(r"<(rt_\w+)(@plt)?>", lines[-1]["asm"]) if lines else None
    return match[1] if match else ""
