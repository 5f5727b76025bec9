# SPDX-License-Identifier: Apache-2.0
"""Starts one process, waits with a limit, and leaves nothing of it behind.

Each process leads a session of its own; when it ends or its time is up, whatever is left of its
process group is killed. Output goes to an unlinked file, not to a pipe: a stray grandchild that
keeps the pipe open could otherwise hold the runner for ever.
"""

import os
import select
import signal
import subprocess
import tempfile
import threading
import time

from cases import ROOT, Outcome

OUTPUT_BYTES_MAX = 32 << 20  # past this a process is killed
OUTPUT_LOOK_SECONDS = 0.5  # so often the size of the output is looked at
OUTPUT_BYTES_KEPT = 512 << 10  # of a long output, the head and the tail of this size together

_running: set[int] = set()
_running_lock = threading.Lock()
_is_ending = False  # kill_all was called: whatever starts still is killed at once


def run(argv, timeout, env=None) -> Outcome:
    """Runs `argv` in the root of the tree; `env` is added to this process's environment."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            child = subprocess.Popen(
                argv,
                cwd=ROOT,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return Outcome(None, f"{argv[0]}: {error.strerror}\n", 0.0)
        with _running_lock:
            _running.add(child.pid)
            if _is_ending:
                _kill_group(child.pid)
        try:
            timed_out, overran = _wait(child, output.fileno(), start + timeout)
        finally:
            _kill_group(child.pid)
            status = child.wait()
            with _running_lock:
                _running.discard(child.pid)
        text = _read_output(output)
    return Outcome(status, text, time.monotonic() - start, timed_out, overran)


def kill_all() -> None:
    """Ends every process that run() has started, and each that it starts from now on."""
    global _is_ending
    with _running_lock:
        _is_ending = True
        for pid in _running:
            _kill_group(pid)


def _wait(child, output_fd, deadline) -> tuple[bool, bool]:
    """Waits for the end of the child; says whether its time was up, or its output too long."""
    with _EndOf(child) as end:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return True, False
            if end.comes_within(min(left, OUTPUT_LOOK_SECONDS)):
                return False, False
            if os.fstat(output_fd).st_size > OUTPUT_BYTES_MAX:
                return False, True


class _EndOf:
    """Waits for a child without reaping it, so that its process group keeps its number."""

    def __init__(self, child):
        self._child = child
        try:
            self._pidfd = os.pidfd_open(child.pid)
        except OSError:  # a container that forbids it
            self._pidfd = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._pidfd is not None:
            os.close(self._pidfd)

    def comes_within(self, seconds) -> bool:
        if self._pidfd is not None:
            poller = select.poll()
            poller.register(self._pidfd, select.POLLIN)
            return bool(poller.poll(seconds * 1000 + 1))
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return True
            time.sleep(0.005)
        return False


def _kill_group(pid) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _read_output(output) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(0)
    if size <= OUTPUT_BYTES_KEPT:
        data = output.read()
    else:
        half = OUTPUT_BYTES_KEPT // 2
        head = output.read(half)
        output.seek(size - half)
        cut = f"\n[... {size - 2 * half} bytes left out ...]\n".encode()
        data = head + cut + output.read(half)
    return data.decode("utf-8", "replace")
