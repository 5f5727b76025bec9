# SPDX-License-Identifier: Apache-2.0
"""Rules about calls: what blocks the thread under a task, what a signal handler must not call, and
what waits where there is nobody to wait."""

import re

from clang.cindex import CursorKind

from rule import Rule
from tree import references

# Calls of the C library that stop the thread, and with it every task that runs on it; and what to
# call instead.
BLOCKING = {
    "sleep": "rt_sleep, or a receive with a limit",
    "usleep": "rt_sleep, or a receive with a limit",
    "nanosleep": "rt_sleep, or a receive with a limit",
    "clock_nanosleep": "rt_sleep, or a receive with a limit",
    "thrd_sleep": "rt_sleep, or a receive with a limit",
    "read": "rt_file_read or rt_net_recv",
    "pread": "rt_file_pread",
    "readv": "rt_file_read or rt_net_recv",
    "write": "rt_file_write or rt_net_send",
    "pwrite": "rt_file_pwrite",
    "writev": "rt_file_write or rt_net_send",
    "fsync": "rt_file_sync",
    "fdatasync": "rt_file_sync",
    "recv": "rt_net_recv",
    "recvfrom": "rt_udp_recv",
    "recvmsg": "rt_udp_recv",
    "send": "rt_net_send",
    "sendto": "rt_udp_send",
    "sendmsg": "rt_udp_send",
    "accept": "rt_net_accept",
    "accept4": "rt_net_accept",
    "connect": "rt_net_connect",
    "getaddrinfo": "rt_net_resolve",
    "gethostbyname": "rt_net_resolve",
    "gethostbyaddr": "rt_net_resolve",
    "getnameinfo": "a thread of its own",
    "poll": "rt_select",
    "ppoll": "rt_select",
    "select": "rt_select",
    "pselect": "rt_select",
    "epoll_wait": "rt_select",
    "epoll_pwait": "rt_select",
    "pthread_mutex_lock": "rt_mutex_lock",
    "pthread_mutex_timedlock": "rt_mutex_lock_until",
    "pthread_spin_lock": "rt_mutex_lock",
    "pthread_rwlock_rdlock": "rt_mutex_lock",
    "pthread_rwlock_wrlock": "rt_mutex_lock",
    "pthread_cond_wait": "rt_condition_wait",
    "pthread_cond_timedwait": "rt_condition_wait_until",
    "pthread_join": "rt_join",
    "thrd_join": "rt_join",
    "pthread_barrier_wait": "rt_wait_group_wait",
    "sem_wait": "rt_semaphore_acquire",
    "sem_timedwait": "rt_semaphore_acquire_until",
    "mtx_lock": "rt_mutex_lock",
    "mtx_timedlock": "rt_mutex_lock_until",
    "cnd_wait": "rt_condition_wait",
    "cnd_timedwait": "rt_condition_wait_until",
    "wait": "a thread of its own",
    "waitpid": "a thread of its own",
    "waitid": "a thread of its own",
    "system": "a thread of its own",
    "pause": "a receive",
    "sigwait": "a receive",
    "sigwaitinfo": "a receive",
    "sigsuspend": "a receive",
    "flock": "a thread of its own",
    "lockf": "a thread of its own",
    "fread": "rt_file_read",
    "getline": "rt_file_read",
    "getc": "rt_file_read",
    "fgetc": "rt_file_read",
    "getchar": "rt_file_read",
    "fgets": "rt_file_read",
    "scanf": "rt_file_read",
}

SIGNAL_SETTERS = ("signal", "sigset", "bsd_signal", "sysv_signal")
HANDLER_FIELDS = ("sa_handler", "sa_sigaction")


def is_of_system(call):
    """Is it the function of that name in the C library, and not one of the program's?"""
    file = call.callee.location.file if call.callee is not None else None
    return file is None or file.name.startswith("/usr/")


def blocking_call(source):
    for name in sorted(source.in_tasks):
        for call in source.functions[name].calls:
            instead = BLOCKING.get(call.name)
            if instead is not None and is_of_system(call):
                yield call.cursor, (
                    f"{call.name} stops the thread, and every task that runs on it; "
                    f"use {instead}"
                )


def handlers_of(source):
    """The functions of this file that are set as signal handlers."""
    found = set()
    for function in source.functions.values():
        for call in function.calls:
            if call.name in SIGNAL_SETTERS and len(call.arguments) == 2:
                found |= {c.spelling for c in references(call.arguments[1])}
        for node in function.nodes:
            if node.kind == CursorKind.BINARY_OPERATOR:
                left, right = list(node.get_children())[:2]
                fields = {c.spelling for c in left.walk_preorder()
                          if c.kind == CursorKind.MEMBER_REF_EXPR}
                if fields & set(HANDLER_FIELDS) or "sigaction_handler" in fields:
                    found |= {c.spelling for c in references(right)}
            elif node.kind == CursorKind.INIT_LIST_EXPR and "sigaction" in node.type.spelling:
                found |= {c.spelling for c in references(node)}
    return {name for name in found if name in source.functions}


def who_may_call(function):
    """The part of the manual text that says who may call."""
    text = " ".join((function.raw_comment or "").replace("*", " ").split())
    match = re.search(r"Callable\b.*?(?=\S*[Ss]uspend|Blocks|$)", text)
    return match[0] if match else ""


def is_for_handlers(function):
    """Does the manual text let signal handlers call the function?"""
    words = who_may_call(function)
    return "signal handler" in words and "outside of signal handlers" not in words


def signal_handler(source):
    pending, seen = list(handlers_of(source)), set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for call in source.functions[name].calls:
            if call.name in source.functions:
                pending.append(call.name)
            elif call.name.startswith("rt_") and not (call.callee and is_for_handlers(call.callee)):
                yield call.cursor, (
                    f"{call.name} is not for signal handlers, and {name} is one; "
                    "rt_shutdown and rt_isr_ functions are"
                )


def no_context(source):
    main = source.functions.get("main")
    for call in main.calls if main else ():
        if call.may_suspend and "main" not in who_may_call(call.callee):
            yield call.cursor, (
                f"{call.name} may suspend, and main is no task: there is nobody to wait here; "
                "call it in an actor or a task"
            )


RULES = (
    Rule(
        "blocking-call",
        "a call of the C library that blocks the thread, inside of a task",
        """static void worker(void *arg)
{
    sleep(1);            /* every other task of this thread sleeps too */
    rt_exit();
}""",
        blocking_call,
    ),
    Rule(
        "signal-handler",
        "a function of the runtime that is not for signal handlers, called in one",
        """static void on_signal(int number)
{
    rt_ipc_send(watcher, &number, sizeof(number), IPC_ASYNC);
}
... signal(SIGTERM, on_signal);""",
        signal_handler,
    ),
    Rule(
        "no-context",
        "a call that may suspend in main, where no task could wait",
        """int main(void)
{
    ...
    rt_ipc_recv(&msg, -1);   /* main is no actor */
}""",
        no_context,
    ),
)
