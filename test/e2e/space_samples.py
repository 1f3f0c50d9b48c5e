#!/usr/bin/env python3
"""Schedules of every task of ../shared's graphs: legal, built, and right.

The tasks of all networks and corpus graphs are collected first (weights decide nothing
about them, so one file of zeros without blocks on disk stands for all). Then schedules are
drawn, spread over the kinds of tasks: every one is judged by the independent checker, and
with --run some are built and compared with what their task says.

usage: space_samples.py [PATTERN ...] [--check N] [--run N] [--seed S] [--threads T]
                        [--mcpu X] [--tasks DIR]       PATTERN: a glob of graph names
"""
import argparse
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from shared_networks import CORPUS, MODELS, write_tasks  # noqa: E402

TLM = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin")) / "tlm"


def collect(patterns, tasks, flags):
    """Writes the tasks of all graphs; returns how many graphs there were and which failed."""
    skeletons = [p for where in (MODELS, CORPUS) for p in sorted(where.glob("*.onnx"))
                 if any(fnmatch.fnmatch(p.stem, pattern) for pattern in patterns)]
    return len(skeletons), write_tasks(skeletons, tasks, flags)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--check", type=int, default=1_000_000)
    parser.add_argument("--run", type=int, default=0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--threads")
    parser.add_argument("--mcpu")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--tasks", type=pathlib.Path, help="keep the tasks here; used again when there are some")
    arguments = parser.parse_args()
    flags = []
    for flag in ("threads", "mcpu"):
        if value := getattr(arguments, flag):
            flags += [f"--{flag}", value]
    with tempfile.TemporaryDirectory() as folder:
        tasks = arguments.tasks or pathlib.Path(folder) / "tasks"
        if not any(tasks.glob("*.task")):
            graphs, failed = collect(arguments.patterns, tasks, flags)
            if not graphs:
                print("space samples: no graphs there -> SKIPPED")
                return 77
            print(f"{graphs} graphs, {len(failed)} failed, {len(list(tasks.glob('*.task')))} distinct tasks", flush=True)
            if failed:
                print("space samples: FAILED")
                return 1
        good = True
        for count, how in ((arguments.check, "--check"), (arguments.run, "--run")):
            if not count:
                continue
            report = ["--json", arguments.json.with_suffix(f".{how[2:]}.json")] if arguments.json else []
            good &= subprocess.run([TLM, "space", "sample", tasks, "--count", str(count), "--seed",
                                    arguments.seed, how, *flags, *report]).returncode == 0
    print(f"space samples: {'OK' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
