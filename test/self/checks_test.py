#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks over a whole run see what is wrong: rules, marks, models, tables, the display."""

import io
import tempfile
from pathlib import Path
from types import SimpleNamespace

from case import case, check, check_equal, main

import binaries
import cases
import collect
import conform
import display
import lanes
import marks
import report
import whole

GOOD_ROW = "task-runtime\t2.1\tT1\ta rule\tsome_case_passes"


class RulesDir:
    """A directory like test/conform with one part in it."""

    def __init__(self, *lines):
        self.lines = lines

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        path = Path(self.temporary.name)
        (path / "rules.d").mkdir()
        (path / "rules.d" / "part.tsv").write_text("".join(f"{line}\n" for line in self.lines))
        return path

    def __exit__(self, *_):
        self.temporary.cleanup()


def result(name, verdict, lane="plain"):
    return cases.Result(lane, name, verdict, 0.5)


def check_refused(line, why):
    with RulesDir(line) as path:
        problems = conform.form_problems(path)
        check_equal(len(problems), 1)
        check(why in problems[0], problems[0])
        check_equal(conform.merge(path), problems)
        check(not (path / "rules.tsv").exists())


@case
def rules_check_accepts_good_rows_and_skips_comments():
    with RulesDir("# a comment", "", GOOD_ROW) as path:
        check_equal(conform.merge(path), [])
        check_equal(conform.form_problems(path), [])
        wanted = f"spec\tsection\tid\trule\ttest\n{GOOD_ROW}\n"
        check_equal((path / "rules.tsv").read_text(), wanted)


@case
def rules_check_refuses_bad_rows():
    check_refused("task-runtime\t2.1\ta rule\tsome_case", "4 columns")
    check_refused("task-runtimes\t2.1\t\ta rule\tsome_case", "no specification")
    check_refused("task-runtime\t2.1\t\ta rule\tSome Case", "not the name of a case")
    check_refused("task-runtime\t2.1\t\ta rule\t", "not the name of a case")
    check_refused("task-runtime\t\t\ta rule\tsome_case", "never empty")
    check_refused("task-runtime\t2.1\t\ta rule \tsome_case", "blanks around")
    check_refused("task-runtime\t2.1\t\ta rule\tnot for a library: ", "blanks around")
    check_refused("task-runtime\t2.1\t\ta rule\tnot for a library:", "not the name of a case")


@case
def rules_check_refuses_the_same_row_twice():
    with RulesDir(GOOD_ROW, GOOD_ROW) as path:
        check_equal(conform.form_problems(path), ["part.tsv:2: the same row as part.tsv:1"])


@case
def rules_check_sees_that_the_merged_table_is_old():
    with RulesDir(GOOD_ROW) as path:
        check("--merge-rules" in conform.form_problems(path)[0])
        conform.merge(path)
        (path / "rules.d" / "zebra.tsv").write_text(GOOD_ROW.replace("T1", "T2") + "\n")
        check("--merge-rules" in conform.form_problems(path)[0])


@case
def rules_are_sorted_by_spec_then_section_then_id_as_people_count():
    rows = [
        "task-runtime\t10\tB\tr\tc",
        "task-runtime\t2\tB10\tr\tc",
        "task-runtime\t2\tB9\tr\tc",
        "actor-runtime\tZ\t\tr\tc",
    ]
    with RulesDir(*rows) as path:
        loaded, problems = conform.load(path)
        check_equal(problems, [])
        check_equal([row.text() for row in loaded], [rows[3], rows[2], rows[1], rows[0]])


@case
def rules_count_only_if_their_test_passed_where_it_lives():
    exempt = "actor-runtime\t1\t\tr\tnot for a library: about a board"
    with RulesDir(GOOD_ROW, exempt) as path:
        name = "some_case_passes"
        passed = [result(name, cases.PASSED), result(name, cases.FAILED, "asan")]
        covered = conform.coverage(passed, path)
        check_equal(covered.problems, [])
        check_equal(covered.lines()[0], "conform: 1 of 1 rules")
        check_equal(covered.exempt, 1)
        for verdict in (cases.FAILED, cases.SKIPPED):
            covered = conform.coverage([result(name, verdict)], path)
            check_equal((covered.shown, len(covered.problems)), (0, 1))
        missing = conform.coverage([result("another_case", cases.PASSED)], path)
        check_equal(missing.lines()[0], "conform: 0 of 1 rules")
        check("is not there" in missing.problems[0])


@case
def rules_table_without_a_row_is_a_problem():
    with RulesDir() as path:
        check_equal(len(conform.coverage([], path).problems), 1)


def declared_in(text):
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "source.c").write_text(text)
        return marks.declared(Path(directory))


@case
def marks_are_found_in_the_source():
    found, problems = declared_in(
        """
        RT_SOMETIMES(a == b, "one");
        RT_SOMETIMES(strcmp(a, "x)") == 0 &&
                     is_full(b), /* why */
                     "two");
        if (RT_BUGGIFY("three")) { }
        // RT_SOMETIMES(a, "in a comment")
        /* RT_BUGGIFY("in a comment") */
        """
    )
    check_equal(sorted(found), ["one", "three", "two"])
    check_equal(problems, [])


@case
def marks_need_a_literal_name_of_their_own():
    _, problems = declared_in('RT_SOMETIMES(strcmp(a, "x"), name);')
    check_equal(len(problems), 1)
    _, problems = declared_in('RT_SOMETIMES(a, "x"); RT_BUGGIFY("x");')
    check_equal(len(problems), 1)


@case
def marks_that_were_hit_are_read_from_the_file():
    with tempfile.TemporaryDirectory() as directory:
        check_equal(marks.hit(Path(directory, "marks")), set())
        Path(directory, "marks").write_text("one\ntwo words\none\n")
        check_equal(marks.hit(Path(directory, "marks")), {"one", "two words"})


@case
def mark_that_no_process_hit_fails_the_whole_run():
    saved = marks.declared
    marks.declared = lambda: ({"hit": "a.c", "missed": "b.c"}, [])
    try:
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, "marks").write_text("hit\n")
            settings = SimpleNamespace(
                pattern=None, binaries=[], is_complete=True, run_dir=Path(directory)
            )
            verdicts, lines = whole.judge(settings, [])
    finally:
        marks.declared = saved
    by_case = {verdict.case: verdict for verdict in verdicts}
    check_equal(by_case["every_mark_was_hit"].verdict, cases.FAILED)
    check("'missed'" in by_case["every_mark_was_hit"].output)
    check("'hit'" not in by_case["every_mark_was_hit"].output)
    check("marks: 1 of 2 hit" in lines)


@case
def name_of_two_cases_in_two_lanes_fails_the_whole_run():
    def verdict(first, second):
        results = [
            cases.Result("plain", "a_case", cases.PASSED, 1, source=first),
            cases.Result("explorer", "a_case", cases.PASSED, 1, source=second),
        ]
        settings = SimpleNamespace(pattern=None, binaries=[], is_complete=False)
        verdicts, _ = whole.judge(settings, results)
        return {each.case: each.verdict for each in verdicts}["every_name_belongs_to_one_case"]

    check_equal(verdict("pool_test", "pool_test"), cases.PASSED)
    check_equal(verdict("pool_test", "test/model"), cases.FAILED)


def judged_models(output, status, timed_out=False):
    job = cases.Job("explorer", "models", ("run_models",), 1, collect.judge_models)
    outcome = cases.Outcome(status, output, 1.0, timed_out)
    return [(each.case, each.verdict) for each in job.judge(job, outcome)]


@case
def models_are_cases_of_their_own():
    output = "noise\npass model_a 12 executions\nfail model_b lost a wake\n1 passed, 1 failed\n"
    wanted = [("model_a", cases.PASSED), ("model_b", cases.FAILED)]
    check_equal(judged_models(output, 1), wanted)


@case
def model_that_fails_shows_what_stands_above_it_and_may_quote_another():
    output = "pass model_a 1 s\nquoted:\npass model_a 1 s\nfail mutant_b 2.5 s\n"
    output += "1 passed, 1 failed\n"
    job = cases.Job("explorer", "models", ("run_models",), 1, collect.judge_models)
    first, second = job.judge(job, cases.Outcome(1, output, 9.0))
    check_equal((first.case, first.verdict, first.output), ("model_a", cases.PASSED, ""))
    check_equal((second.case, second.verdict, second.seconds), ("mutant_b", cases.FAILED, 2.5))
    check_equal(second.output, "quoted:\npass model_a 1 s")
    check_equal(second.repeat, "test/runner/run --lane explorer --case mutant_b")


@case
def models_that_do_not_come_to_their_end_fail():
    broken = ("models", cases.FAILED)
    check_equal(judged_models("", 0), [broken])
    check_equal(judged_models("pass model_a\n", 0)[-1], broken)
    check_equal(judged_models("pass model_a\n2 passed, 0 failed\n", 0)[-1], broken)
    check_equal(judged_models("pass model_a\n1 passed, 0 failed\n", 3)[-1], broken)
    check_equal(judged_models("pass model_a\n1 passed, 0 failed\n", 0, True)[-1], broken)


@case
def bench_must_print_a_table():
    job = cases.Job("bench-smoke", "x_bench", ("x",), 1, collect.judge_bench)

    def verdict(output, status=0):
        return job.judge(job, cases.Outcome(status, output, 1.0))[0].verdict

    check_equal(verdict("# about\nname\tns\nswitch\t3.2\n"), cases.PASSED)
    check_equal(verdict(""), cases.FAILED)
    check_equal(verdict("# only\n"), cases.FAILED)
    check_equal(verdict("no tabs\n"), cases.FAILED)
    check_equal(verdict("a\tb\n", 1), cases.FAILED)


@case
def last_line_counts_and_names_skips_only_if_there_are():
    passed, failed = result("a", cases.PASSED), result("b", cases.FAILED)
    check_equal(report.last_line([passed, passed, failed]), "2 passed, 1 failed")
    skipped = result("c", cases.SKIPPED)
    check_equal(report.last_line([passed, skipped]), "1 passed, 0 failed, 1 skipped")


@case
def terminal_display_redraws_one_line_per_lane():
    out = io.StringIO()
    view = display.TerminalDisplay(["plain", "asan"], out)
    view.lane_building("plain")
    view.lane_ready("plain", 2, 1.5)
    view.job_started("plain", "a_case")
    view.job_ended("plain", [result("a_case", cases.PASSED)])
    view.job_started("plain", "b_case")
    view.job_ended("plain", [result("b_case", cases.FAILED)])
    view.finish()
    last_drawing = out.getvalue().rpartition("\x1b[J")[2].splitlines()
    check_equal(len(last_drawing), 2)
    check("1 passed, 1 failed" in last_drawing[0], last_drawing[0])
    check("waiting" in last_drawing[1], last_drawing[1])
    check("FAIL plain b_case" in out.getvalue())


@case
def long_output_of_a_failure_keeps_head_and_tail():
    text = "".join(f"line {number}\n" for number in range(5000))
    shown = display.failure_text(cases.Result("plain", "c", cases.FAILED, 1, "why", text, "again"))
    check("line 0\n" in shown and "line 4999\n" in shown and "lines left out" in shown)
    check(len(shown.splitlines()) < 250)
    check_equal(shown.splitlines()[-1], "  repeat: again")


@case
def runner_takes_the_number_of_seeds_from_a_program_that_says_it():
    sim, asan = lanes.by_name()["sim"], lanes.by_name()["asan"]
    settings = SimpleNamespace(seeds=None)
    says, is_silent = Path("machine_sim_test"), Path("channel_test")
    check(binaries.seeds_of(sim, says, settings) == 2000, "the program's own number")
    check(binaries.seeds_of(sim, is_silent, settings) == sim.seeds, "the lane's number")
    check(binaries.seeds_of(asan, says, settings) == asan.seeds, "a lane of few seeds")
    check(binaries.seeds_of(sim, says, SimpleNamespace(seeds=3)) == 3, "the command line's")


if __name__ == "__main__":
    main()
