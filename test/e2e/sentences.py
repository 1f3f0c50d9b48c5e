#!/usr/bin/env python3
"""Sentences of every task of ../shared's graphs: read back, and how long they are.

The tasks are collected as space_samples.py does. Each prompt must read back as the task, and
the answers of the default schedule and of random ones as these schedules.

usage: sentences.py [PATTERN ...] [--samples N] [--threads T] [--mcpu X] [--tasks DIR] [--docs]
       PATTERN: a glob of graph names      --docs: write the lengths into docs/language.md
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from space_samples import ROOT, TLM, collect  # noqa: E402
sys.path.insert(0, str(ROOT / "python"))
from marked_section import write_section  # noqa: E402

ROWS = [("prompt", "prompt of a task with something to decide"),
        ("prompt_undecided", "prompt of a task without a decision"),
        ("answer", "answer with [EOS]")]


def table(report):
    lines = ["| tokens of | min | median | mean | 95 % | max |", "|---|---|---|---|---|---|"]
    for key, name in ROWS:
        row = report[key]
        lines.append(f"| {name} ({row['count']}) | {row['min']:.0f} | {row['median']:.0f} | {row['mean']:.1f} "
                     f"| {row['p95']:.0f} | {row['max']:.0f} |")
    words = report["vocabulary"]
    lines += ["", f"{words['words']} words, of which {words['met']} were met."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--mcpu", default="znver5")
    parser.add_argument("--tasks", type=pathlib.Path, help="keep the tasks here; used again when there are some")
    parser.add_argument("--docs", action="store_true")
    arguments = parser.parse_args()
    flags = ["--threads", arguments.threads, "--mcpu", arguments.mcpu]
    with tempfile.TemporaryDirectory() as folder:
        tasks = arguments.tasks or pathlib.Path(folder) / "tasks"
        if not any(tasks.glob("*.task")):
            graphs, failed = collect(arguments.patterns, tasks, flags)
            if not graphs:
                print("sentences: no graphs there -> SKIPPED")
                return 77
            print(f"{graphs} graphs, {len(failed)} failed, {len(list(tasks.glob('*.task')))} distinct tasks", flush=True)
            if failed:
                print("sentences: FAILED")
                return 1
        report = pathlib.Path(folder) / "report.json"
        good = subprocess.run([TLM, "lang", "stats", tasks, "--samples", str(arguments.samples), "--json", report,
                               *flags]).returncode == 0
        if good and arguments.docs:
            write_section(ROOT / "docs/language.md", "lengths", table(json.loads(report.read_text())))
    print(f"sentences: {'OK' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
