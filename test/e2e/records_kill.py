#!/usr/bin/env python3
"""kill -9 at random moments while `tlm tune --records` runs.

A run prints a line for each record once it is in the store. After every kill the
store opens, SQLite's integrity_check and tlm's own are ok, every record that was
printed is there, no kernel's process is left, and the same command goes on:
what the store knows is not measured again. Candidates are built in batches and
stored one by one: at most the one in flight is lost. So many kills find a
batch that is stored in part; were batches stored whole, none would. At the end a run that nobody kills
finishes, and one more measures nothing.

usage: records_kill.py [--kills 20] [--seed 1] [--json FILE]
"""
import argparse
import json
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from models import BIN, small_cnn

RECORDED = re.compile(r"^recorded ([0-9a-f]{32}) (\w+)$")
FROM_RECORDS = re.compile(r" (\d+) from records$")
RUN_SECONDS = 300
FIRST_RECORDS = 30  # more than one batch
TRIALS = 48
# Of the kills, the share that is sure to meet a batch that is being measured; others meet one that is being built.
INSIDE = 0.15
# Trials after each batch of a task: the default and the fixed schedule, then 16 each.
WHOLE_BATCHES = {0, 2, 18, 34, TRIALS}


class Run:
    """One `tlm tune`; identities of records as they are printed."""

    def __init__(self, command, log):
        self.process = subprocess.Popen(command, stdout=open(log, "w"), stderr=subprocess.STDOUT)
        self.log = log

    def end(self, seconds=None):
        """Killed after so many seconds, or not at all; its exit code."""
        try:
            self.process.wait(RUN_SECONDS if seconds is None else seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            if seconds is None:
                raise
        return self.process.returncode

    def seconds_until(self, count):
        """Until so many records are printed."""
        begin = time.monotonic()
        while len(self.recorded()) < count and self.process.poll() is None:
            time.sleep(0.02)
        return time.monotonic() - begin

    def lines(self):
        # The last line may be cut.
        return self.log.read_text().split("\n")[:-1]

    def recorded(self):
        return {m[1] for m in map(RECORDED.match, self.lines()) if m}


def stored(store):
    connection = sqlite3.connect(store)
    try:
        verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
        ids = {row[0] for row in connection.execute("SELECT id FROM record")}
        twice = connection.execute("SELECT count(*) FROM (SELECT 1 FROM record WHERE rounds = 1 GROUP BY "
                                   "task, target, schedule HAVING count(*) > 1)").fetchone()[0]
    finally:
        connection.close()
    return verdict, ids, twice


def trials_in_work(store, seed):
    """How many trials the task that was searched last has, or None where that is not sure."""
    if not store.exists():
        return None
    connection = sqlite3.connect(store)
    try:
        rows = connection.execute("SELECT max(time), max(trial) + 1 FROM record WHERE rounds = 1 AND seed = ? "
                                  "GROUP BY task ORDER BY 1 DESC", [seed]).fetchall()
        last = connection.execute("SELECT max(time) FROM record WHERE rounds > 1 AND seed = ?", [seed]).fetchone()[0]
    except sqlite3.OperationalError:  # killed before it had tables
        return None
    finally:
        connection.close()
    # Tasks of the same second, or a final: another task may have been in work.
    if not rows or (len(rows) > 1 and rows[0][0] == rows[1][0]) or (last or 0) >= rows[0][0]:
        return None
    return rows[0][1]


def orphans(run_id):
    """Processes that a killed run left."""
    left = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if run_id.encode() in path.read_bytes():
                left.append(path.parent.name)
        except OSError:
            pass
    return left


def judge(store, printed, run_id):
    """What is wrong after a kill, and how many records there are."""
    if not store.exists():
        return ([f"{len(printed)} records were printed, and there is no store"] if printed else []), 0
    wrong = []
    checked = subprocess.run([str(BIN / "tlm"), "records", "stats", str(store), "--check"], capture_output=True, text=True)
    empty = "it is empty" in checked.stderr and not printed
    if checked.returncode and not empty:
        wrong.append(f"records stats --check: {checked.stderr.strip()}")
    verdict, ids, twice = stored(store) if not empty else ("ok", set(), 0)
    if verdict != "ok":
        wrong.append(f"integrity_check: {verdict}")
    if printed - ids:
        wrong.append(f"{len(printed - ids)} finished records are lost")
    if twice:
        wrong.append(f"{twice} candidates were measured twice")
    for _ in range(20):
        left = orphans(run_id)
        if not left:
            break
        time.sleep(0.1)
    if left:
        wrong.append(f"processes left: {' '.join(left)}")
    return wrong, len(ids)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    failures, rows = [], []
    with tempfile.TemporaryDirectory(prefix="tlm-kill-") as name:
        folder = pathlib.Path(name)
        small_cnn(folder / "m.onnx")
        store, printed = folder / "store.db", set()
        seed = 1

        def command():
            return [str(BIN / "tlm"), "tune", str(folder / "m.onnx"), "--threads", "1", "--trials", str(TRIALS),
                    "--strategy", "random", "--seed", str(seed), "--records", str(store), "-vv"]
        while sum(not row["finished"] for row in rows) < options.kills and len(rows) < 3 * options.kills:
            number = len(rows)
            run = Run(command(), folder / f"run{number}.txt")
            # Moments spread over about three batches, however fast the machine is.
            if number == 0:
                window = 1.5 * run.seconds_until(FIRST_RECORDS)
            code = run.end(0 if number == 0 else rng.uniform(0.02, window))
            if code not in (0, -signal.SIGKILL):
                failures.append(f"run {number}: exit {code}: {run.lines()[-1:]}")
            printed |= run.recorded()
            wrong, count = judge(store, printed, name)
            failures += [f"run {number}: {text}" for text in wrong]
            rows.append({"run": number, "finished": code == 0, "recorded": len(run.recorded()), "stored": count,
                         "trials": trials_in_work(store, seed) if code and run.recorded() else None})
            seed += code == 0  # new work for the next one
            print(f"run {number:2}: {len(run.recorded()):4} records printed, {count:5} in the store, "
                  f"{'ended' if code == 0 else 'killed'}", flush=True)
        last = Run(command(), folder / "last.txt")
        if last.end():
            failures.append(f"the last run: exit {last.process.returncode}: {last.lines()[-1:]}")
        again = Run(command(), folder / "again.txt")
        again.end()
        if again.recorded():
            failures.append(f"a run after the last one measured {len(again.recorded())} candidates")
        known = sum(int(m[1]) for m in map(FROM_RECORDS.search, again.lines()) if m)
        wrong, count = judge(store, printed | last.recorded(), name)
        failures += wrong
    killed = sum(not row["finished"] for row in rows)
    if killed < options.kills:
        failures.append(f"only {killed} of {len(rows)} runs were killed before they ended")
    sure = [row["trials"] for row in rows if row["trials"] is not None]
    inside = sum(trials not in WHOLE_BATCHES for trials in sure)
    if inside < INSIDE * killed:
        failures.append(f"only {inside} of {len(sure)} kills found a batch that was stored in part")
    if len({row["stored"] for row in rows}) < 3:
        failures.append("the runs did not go on from each other")
    for failure in failures:
        print(f"FAIL {failure}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"rows": rows, "failures": failures}, indent=2))
    print(f"records_kill: {'FAILED' if failures else 'OK'}, {killed} of {len(rows)} runs killed, "
          f"{inside} of {len(sure)} in the middle of a batch, {count} records, {len(printed)} of them printed by killed runs, {known} candidates not measured again, "
          f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
