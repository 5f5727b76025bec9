# SPDX-License-Identifier: Apache-2.0
"""The lanes: each is a way to build and run cases. This table is the whole list.

A lane names the CMake presets that must be built before it, the programs that must be installed,
and the function that finds its jobs (collect.py). Time limits are scaled by how much slower a lane
makes a program, not by how slow the machine is; that is --timeout-scale.
"""

from dataclasses import dataclass, field
from typing import Callable

import collect
import firmware
from cases import Job

# Cases in these files also run under memcheck: those that hand memory around by themselves, and the
# actors with their sockets and files.
VALGRIND_FILES = (
    "actor_death_test",
    "actor_ipc_test",
    "actor_life_test",
    "actor_memory_test",
    "actor_sched_test",
    "actor_sync_test",
    "actor_test",
    "arena_test",
    "bus_test",
    "call_test",
    "context_test",
    "crew_evict_test",
    "death_test",
    "fiber_test",
    "file_test",
    "io_test",
    "ipc_pools_test",
    "ipc_test",
    "link_test",
    "list_test",
    "mailbox_test",
    "monitor_test",
    "mpsc_test",
    "net_close_test",
    "pool_test",
    "registry_test",
    "request_test",
    "spsc_test",
    "udp_test",
    "unix_socket_test",
)

# Cases in these files also run on the machine itself: those that the simulator runs elsewhere.
REAL_WORLD_FILES = (
    "actor_cycle_test",
    "actor_death_test",
    "actor_examples_test",
    "actor_ipc_test",
    "actor_kill_test",
    "actor_life_test",
    "actor_memory_test",
    "actor_sched_test",
    "actor_sync_test",
    "actor_test",
    "actor_thread_test",
    "actor_timer_test",
    "actors_test",
    "bus_conform_test",
    "bus_examples_test",
    "bus_rules_test",
    "bus_test",
    "call_test",
    "death_test",
    "ipc_test",
    "link_test",
    "monitor_test",
    "registry_test",
    "runtime_conform_test",
    "timer_conform_test",
)

# Cases in these files, whose usual world is the machine, also run in the simulator's own.
SIM_IO_FILES = ("file_conform_test", "net_conform_test")

# Cases that wait for descriptors: they run with either kind of poller. The same cases pass with
# epoll in the plain lane.
URING_FILES = (
    "actor_parallel_test",
    "fork_test",
    "machine_platform_test",
    "net_close_test",
    "net_conform_test",
    "net_test",
    "poller_test",
    "port_linux_test",
    "request_test",
    "sched_linux_test",
    "select_socket_test",
    "shutdown_test",
    "signals_test",
    "task_io_test",
    "udp_test",
    "unix_socket_test",
)

# allow_addr2line: names and lines in the reports also where llvm-symbolizer is not installed.
SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0"
    ":allow_addr2line=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:allow_addr2line=1",
    "TSAN_OPTIONS": "atexit_sleep_ms=0:halt_on_error=1:second_deadlock_stack=1:allow_addr2line=1",
}

VALGRIND = (
    "valgrind",
    "--quiet",
    "--tool=memcheck",
    "--leak-check=full",
    "--show-leak-kinds=definite,indirect,possible",
    "--errors-for-leak-kinds=definite,indirect,possible",
    "--error-exitcode=99",
    "--child-silent-after-fork=yes",
)


FIRMWARE_TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")


@dataclass(frozen=True)
class Lane:
    name: str
    about: str
    collect: Callable[["Lane", object], list[Job]]
    presets: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    timeout_scale: float = 1
    seeds: int = 1  # how many seeds a seeded case runs with
    own_seeds: bool = False  # unless its program says so itself (binaries.own_seeds)
    wrapper: tuple[str, ...] = ()  # goes before a test binary that runs a case
    list_wrapper: tuple[str, ...] = ()  # and before one that lists its cases
    env: dict[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()  # only these test binaries; empty: all


LANES = (
    Lane(
        "tidy",
        "the rules of style and layers that a program can check",
        collect.tidy,
        tools=("git",),
    ),
    Lane(
        "plain",
        "gcc -O2, checks on",
        collect.all_but_sim,
        ("plain",),
        ("gcc",),
        env={"ORRERY_WHEEL_OPS": "10000000"},  # the wheels beside their references
    ),
    Lane(
        "real",
        "the actors on the real clock",
        collect.all_but_sim,
        ("plain",),
        ("gcc",),
        env={"ORRERY_WORLD": "real"},
        files=REAL_WORLD_FILES,
    ),
    Lane(
        "sim-io",
        "the conformance of sockets and files in the simulator",
        collect.all_but_sim,
        ("plain",),
        ("gcc",),
        env={"ORRERY_WORLD": "sim"},
        files=SIM_IO_FILES,
    ),
    Lane(
        "uring",
        "sockets that io_uring watches",
        collect.all_but_sim,
        ("plain",),
        ("gcc",),
        env={"ORRERY_POLLER": "io_uring"},
        files=URING_FILES,
    ),
    Lane(
        "sim",
        "the simulator over many seeds",
        collect.only_sim,
        ("plain",),
        ("gcc", "clang-19", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
        seeds=200,
        own_seeds=True,
    ),
    Lane(
        "explorer",
        "the lock-free structures over all interleavings",
        collect.models,
        ("plain",),
        ("gcc",),
    ),
    Lane(
        "unchecked",
        "gcc -O2, checks off: what is released",
        collect.all_binaries,
        ("unchecked",),
        ("gcc",),
    ),
    Lane(
        "asan",
        "AddressSanitizer, leaks, undefined behaviour",
        collect.all_binaries,
        ("asan",),
        ("clang-19",),
        timeout_scale=3,
        seeds=20,
        env=SANITIZER_ENV,
    ),
    Lane(
        "tsan",
        "ThreadSanitizer",
        collect.all_binaries,
        ("tsan",),
        ("clang-19",),
        timeout_scale=5,
        seeds=20,
        env=SANITIZER_ENV,
    ),
    Lane(
        "valgrind",
        "memcheck with leak check, on some files",
        collect.all_binaries,
        ("plain",),
        ("gcc", "valgrind"),
        timeout_scale=20,
        wrapper=VALGRIND,
        files=VALGRIND_FILES,
    ),
    Lane(
        "aarch64",
        "64-bit ARM under qemu",
        collect.all_binaries,
        ("aarch64",),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
        timeout_scale=10,
        seeds=2,
        # This qemu takes memory from GLib's slices, whose locks a child of fork() may find taken.
        env={"G_SLICE": "always-malloc"},
        wrapper=("qemu-aarch64",),
        list_wrapper=("qemu-aarch64",),
    ),
    Lane(
        "cortex-m3",
        "Cortex-M3 under qemu",
        firmware.jobs,
        ("cortex_m",),
        FIRMWARE_TOOLS,
        wrapper=("mps2-an385",),
    ),
    Lane(
        "cortex-m4f",
        "Cortex-M4 with floating point",
        firmware.jobs,
        ("cortex_m",),
        FIRMWARE_TOOLS,
        wrapper=("mps2-an386",),
    ),
    Lane(
        "cortex-m7",
        "Cortex-M7 with floating point",
        firmware.jobs,
        ("cortex_m",),
        FIRMWARE_TOOLS,
        wrapper=("mps2-an500",),
    ),
    Lane(
        "cortex-m33",
        "Cortex-M33, in the secure state, with floating point",
        firmware.jobs,
        ("cortex_m",),
        FIRMWARE_TOOLS,
        wrapper=("mps2-an505",),
    ),
    Lane(
        "bench-smoke",
        "every benchmark, too short to measure anything",
        collect.benches,
        ("release",),
    ),
    Lane("examples", "the examples that end by themselves", collect.examples, ("release",)),
    Lane(
        "scripts",
        "what is driven from outside: install, headers, debugger",
        collect.scripts,
        ("plain", "release", "cortex_m", "tsan"),
        ("gcc", "g++", "clang-14", "clang-19", "gdb", "pkg-config", *FIRMWARE_TOOLS),
    ),
    Lane(
        "self",
        "the runner sees what it must see",
        collect.self_tests,
        ("plain", "asan", "tsan"),
        ("gcc", "clang-19", "valgrind"),
    ),
)


def by_name() -> dict[str, Lane]:
    return {lane.name: lane for lane in LANES}
