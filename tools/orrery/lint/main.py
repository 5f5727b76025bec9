#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""orrery lint: finds what a compiler does not know about tasks, on libclang.

usage: orrery lint [-p compile_commands.json] [--rule ID] [--json] FILES
       orrery lint --list
       orrery lint --explain ID
       orrery lint --pauses [-p compile_commands.json] FILES

A finding is one line, file:line:column: rule: sentence. A comment on the line, or on the one above,
lets it be:   /* orrery-lint: allow long-loop: it is over in a millisecond */
--pauses lists each call that may suspend, for editors that mark them.

Exit status: 0 clean, 1 findings, 2 wrong usage, 3 a file cannot be parsed or libclang is missing.
"""

import argparse
import json
import os
import shlex
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

try:
    import tree
    from calls import RULES as CALL_RULES
    from lifetimes import RULES as LIFETIME_RULES
    from loops import RULES as LOOP_RULES
except ModuleNotFoundError as error:
    print(f"orrery lint: {error}: apt-get install python3-clang-14 libclang1-14", file=sys.stderr)
    sys.exit(3)

RULES = (*CALL_RULES, *LOOP_RULES, *LIFETIME_RULES)

# Flags of a compile command that mean nothing to a parser, or name outputs: with one more word.
DROPPED_WITH_WORD = ("-o", "-MF", "-MT", "-MQ", "-c")
DROPPED = ("-MD", "-MMD", "-MP")


def parse(argv):
    parser = argparse.ArgumentParser(prog="orrery lint", description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("-p", metavar="COMMANDS", help="compile_commands.json, or the folder it lies in")
    add("--rule", action="append", metavar="ID", choices=[rule.name for rule in RULES],
        help="only this rule; may come again")
    add("--list", action="store_true", help="name the rules")
    add("--explain", metavar="ID", choices=["all", *(rule.name for rule in RULES)],
        help="show what a rule finds; all: what each of them does")
    add("--pauses", action="store_true", help="list the calls that may suspend")
    add("--json", action="store_true", help="one JSON document")
    add("files", nargs="*", metavar="FILES")
    options = parser.parse_args(argv)
    if not (options.files or options.list or options.explain):
        parser.error("a file is needed")
    return options


def commands_of(path):
    """The flags of each file in a compile_commands.json: real path to words."""
    if path is None:
        return {}
    if os.path.isdir(path):
        path = os.path.join(path, "compile_commands.json")
    try:
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)
    except (OSError, ValueError) as error:
        raise tree.Unable(f"{path}: {error}") from error
    found = {}
    for entry in entries:
        words = entry.get("arguments") or shlex.split(entry["command"])
        name = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
        found.setdefault(name, _flags(words, entry["directory"]))
    return found


def _flags(words, folder):
    flags = []
    words = iter(words)
    for word in words:
        if word in DROPPED_WITH_WORD:
            if word != "-c":
                next(words, None)
        elif word.startswith("-I") and not os.path.isabs(word[2:]):
            flags.append("-I" + os.path.join(folder, word[2:]))
        elif word.startswith(("-I", "-D", "-U", "-std", "-isystem", "-include")):
            flags.append(word)
            if word in ("-I", "-D", "-U", "-isystem", "-include"):
                flags.append(next(words, ""))
    return flags


def findings_of(source, rules):
    found = set()
    for rule in rules:
        for cursor, sentence in rule.search(source):
            finding = source.finding(cursor, rule.name, sentence)
            if not source.is_allowed(finding.line, rule.name):
                found.add(finding)
    return sorted(found, key=lambda f: (f.line, f.column, f.rule))


def pauses_of(source):
    for function in source.functions.values():
        for call in function.calls:
            if source.may_suspend(call):
                yield source.finding(call.cursor, "pauses", f"{call.name} \u27e8pauses\u27e9")


def suppression_of(rule):
    return f"/* orrery-lint: allow {rule.name}: reason */"


def explain(rules):
    for index, rule in enumerate(rules):
        print(("\n" if index > 0 else "") + f"{rule.name}: {rule.about}\n")
        print("\n".join("    " + line for line in rule.example.splitlines()))
        print(f"\nTo let it be: {suppression_of(rule)}")


def describe(options):
    """Tells of the rules themselves."""
    is_all = options.explain in (None, "all")
    rules = [rule for rule in RULES if is_all or rule.name == options.explain]
    if options.json:
        rows = [{"id": rule.name, "about": rule.about, "example": rule.example,
                 "suppression": suppression_of(rule)} for rule in rules]
        print(json.dumps({"rules": rows}, indent=2, ensure_ascii=False))
    elif options.explain:
        explain(rules)
    else:
        for rule in rules:
            print(f"{rule.name:18} {rule.about}")


def show(findings, is_json):
    if is_json:
        rows = [vars(finding) for finding in findings]
        print(json.dumps({"findings": rows}, indent=2, ensure_ascii=False))
    else:
        for finding in findings:
            print(finding)


def look(options):
    tree.load_library()
    commands = commands_of(options.p)
    rules = [rule for rule in RULES if not options.rule or rule.name in options.rule]
    findings = []
    for path in options.files:
        if not os.path.exists(path):
            raise tree.Unable(f"{path}: there is no such file")
        flags = commands.get(os.path.realpath(path), ["-std=gnu11"])
        source = tree.Source(path, flags)
        findings += pauses_of(source) if options.pauses else findings_of(source, rules)
    show(findings, options.json)
    return 1 if findings and not options.pauses else 0


def main(argv):
    options = parse(argv)
    if options.list or options.explain:
        describe(options)
        return 0
    try:
        return look(options)
    except tree.Unable as error:
        print(f"orrery lint: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
