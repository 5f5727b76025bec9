#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks clangd, as an editor does, what it shows on each public function of the library.

The hover text must have the function's whole manual text: what it does, who may call it, whether it
may suspend and what is lost on cancel; and, for one that may suspend, the mark.

Usage: hover.py CLANGD SOURCE_DIR WORK_DIR [NAME...]; the texts of NAMEs are printed. Exit status: 0
or 1.
"""

import json
import pathlib
import re
import subprocess
import sys

DECLARATION = re.compile(r"^RT_API\b[^;{]*?\b(rt_\w+)\(", re.MULTILINE)


class Client:
    """The little of the protocol that hovering needs."""

    def __init__(self, argv):
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.id = 0

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            name, value = line.split(b":", 1)
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))

    def request(self, method, params):
        self.id += 1
        self.send({"id": self.id, "method": method, "params": params})
        while True:
            answer = self.receive()
            if answer.get("id") == self.id and "method" not in answer:
                return answer.get("result")

    def notify(self, method, params):
        self.send({"method": method, "params": params})


def functions(source):
    """The public functions: name to whether it may suspend."""
    found = {}
    for header in sorted((source / "include/orrery").rglob("*.h")):
        for match in DECLARATION.finditer(header.read_text(encoding="utf-8")):
            found[match[1]] = "RT_SUSPENDS" in match[0]
    return found


def hovers(client, names, source, work):
    """Opens a program that calls nothing but names everything, and asks at each name."""
    headers = sorted((source / "include/orrery/rt").glob("*.h"))
    lines = [f"#include <orrery/rt/{header.name}>" for header in headers]
    lines += ["void name_all(void);", "void name_all(void) {"]
    first = len(lines)
    lines += [f"    (void){name};" for name in names]
    path = work / "hover.c"
    path.write_text("\n".join([*lines, "}", ""]), encoding="utf-8")
    (work / "compile_flags.txt").write_text(f"-std=c11\n-I{source}/include\n", encoding="utf-8")
    uri = path.as_uri()
    client.request(
        "initialize",
        {
            "processId": None,
            "rootUri": work.as_uri(),
            "capabilities": {"textDocument": {"hover": {"contentFormat": ["plaintext"]}}},
        },
    )
    client.notify("initialized", {})
    document = {"uri": uri, "languageId": "c", "version": 1, "text": path.read_text("utf-8")}
    client.notify("textDocument/didOpen", {"textDocument": document})
    for row, name in enumerate(names, start=first):
        place = {"line": row, "character": 12}
        answer = client.request(
            "textDocument/hover", {"textDocument": {"uri": uri}, "position": place}
        )
        yield name, (answer or {}).get("contents", {}).get("value", "")


def fault_of(text, may_suspend):
    words = " ".join(text.split())
    if not re.search(r"\bCallable\b", words):
        return "who may call it is not shown"
    if may_suspend and not re.search(r"\b[Ss]uspends?\b", words):
        return "that it may suspend is not shown"
    if not may_suspend and not re.search(r"[Nn]ever suspends|\bBlocks\b", words):
        return "that it never suspends is not shown"
    if not re.search(r"\bReturns\b", words):
        return "what it returns is not shown"
    if not re.search(r"\blos(t|es?)\b", words) or "cancel" not in words:
        return "what is lost on cancel is not shown"
    if may_suspend and "rt_suspends" not in words:
        return "the mark of a function that may suspend is not shown"
    return None


def main():
    clangd = sys.argv[1]
    source, work = (pathlib.Path(word).resolve() for word in sys.argv[2:4])
    known = functions(source)
    client = Client([clangd, "--log=error", "--background-index=false", "-j=1"])
    faults = 0
    asked = 0
    for name, text in hovers(client, list(known), source, work):
        asked += 1
        fault = fault_of(text, known[name])
        if name in sys.argv[4:]:
            print(text)
        if fault:
            faults += 1
            print(f"{name}: {fault}:\n{text}\n")
    client.request("shutdown", None)
    client.notify("exit", None)
    client.process.wait(timeout=20)
    print(f"{asked} functions, {faults} faults")
    return 1 if faults or asked < 100 else 0


sys.exit(main())
