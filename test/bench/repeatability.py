#!/usr/bin/env python3
"""The report of bench/repeatability.py from two canned passes: its verdict, and what it marks."""
import json
import pathlib
import sqlite3
import sys
import tempfile

from expectations import HAND_WRITTEN, Expectations, run

COUNT = 20  # candidates a pass and thread count
OK, CRASHED = 0, 3
SCHEMA = """
CREATE TABLE task(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, label TEXT NOT NULL);
CREATE TABLE record(task INTEGER NOT NULL, schedule TEXT NOT NULL, outcome INTEGER NOT NULL, min_us REAL NOT NULL,
                    slowdown REAL NOT NULL, trial INTEGER NOT NULL, rounds INTEGER NOT NULL);
INSERT INTO task VALUES (1, '000000000000000a', 'conv1x1s1_7x7x8_8');
"""


class Pass:
    """Of one thread count: 100 us each on a quiet machine, the default and the fixed schedule before them."""

    def __init__(self, us=100.0, calibration=2.0):
        self.rows = {number: dict(us=us, outcome=OK, slowdown=1.0) for number in range(COUNT)}
        self.calibration = calibration

    def but(self, *numbers, **values):
        for number in numbers:
            self.rows[number].update(values)
        return self

    def without(self, number):
        del self.rows[number]
        return self

    def write(self, path):
        connection = sqlite3.connect(path)
        connection.executescript(SCHEMA)
        # No random candidates, and a final: they may be as far off from pass to pass as they like.
        far = 500.0 if path.stem.startswith("pass1") else 50.0
        others = [("default", 0, far, 0, 1), ("fixed", 0, far, 1, 1),
                  ("0", 0, far, 2, 5)]
        connection.executemany("INSERT INTO record VALUES (1, ?, ?, ?, ?, ?, 1)", [
            (str(number), row["outcome"], row["us"], row["slowdown"], number + 2) for number, row in self.rows.items()])
        connection.executemany("INSERT INTO record VALUES (1, ?, ?, ?, 1.0, ?, ?)", others)
        connection.commit()
        connection.close()


def write_work(work, *passes):
    """passes: lists of a Pass for each thread count, two hours apart."""
    work.mkdir()
    state = dict(cpu="A CPU", tasks=["000000000000000a"], threads=list(range(1, 1 + len(passes[0]))), seed=1, passes=[])
    for number, of_threads in enumerate(passes, 1):
        for threads, one in enumerate(of_threads, 1):
            one.write(work / f"pass{number}.{threads}.db")
        state["passes"].append(dict(ended=1.6e9 + 7200 * number, others=0.125 * number,
                                    calibration_us={str(threads): one.calibration for threads, one in enumerate(of_threads, 1)}))
    (work / "state.json").write_text(json.dumps(state))
    return work


def report(work, *more):
    return run("bench/repeatability.py", "--report-only", "--work", work, *more, TLM_SHARED_MODELS=work)


def of_two(folder, first, second):
    return report(write_work(folder, [first], [second]))


def figures(expect, folder):
    results, facts = folder / "results.md", folder / "facts.json"
    results.write_text(HAND_WRITTEN.format(name="repeatability.py"))
    work = write_work(folder / "good", [Pass(), Pass()],
                      [Pass().but(*range(12), us=101.0).but(3, us=105.0),
                       Pass(us=99.0).but(5, us=140.0, slowdown=1.25).but(6, us=108.0)])
    ran = report(work, "--results", results, "--json", facts)
    head = "CPU: A CPU. 40 random candidates of 1 tasks, measured twice, 2.0 hours apart; others had 12.5 % and 25.0 % of the machine."
    rows = ["| 1 | 20 | 1.0 % | 1.0 % | 5.0 % | 5.0 % | 0 |", "| 2 | 20 | 1.0 % | 8.0 % | 40.0 % | 8.0 % | 1 |"]
    expect.ends(ran, 0, head, *rows, "conv1x1s1_7x7x8_8, 2 threads: 100.00 and 140.00 us, 40.0 %, marked",
                "repeatability: 40 candidates, 2.0 hours apart, median difference 1.01 %, worst unmarked 8.0 %, 1 marked -> OK")
    expect.section(results, head, *rows)
    kept = json.loads(facts.read_text())
    expect.holds(len(kept["pairs"]) == 40 and kept["pairs"][-1]["marked"] and kept["failures"] == [], "pairs in the JSON",
                 facts.read_text())


def verdicts(expect, folder):
    half, most = range(10), range(11)
    expect.ends(of_two(folder / "under", Pass(), Pass().but(*most, us=101.9)), 0, "median difference 1.90 %", "-> OK")
    expect.ends(of_two(folder / "median", Pass(), Pass().but(*half, us=102.5)), 1, "median difference 2.50 %", "-> FAILED")
    expect.ends(of_two(folder / "edge", Pass(), Pass().but(7, us=91.0)), 0, "worst unmarked 9.9 %, 0 marked -> OK")
    expect.ends(of_two(folder / "outlier", Pass(), Pass().but(7, us=112.0)), 1, "worst unmarked 12.0 %, 0 marked -> FAILED")
    expect.ends(of_two(folder / "marked", Pass().but(7, us=112.0, slowdown=1.09), Pass()), 0,
                "worst unmarked 0.0 %, 1 marked -> OK")
    expect.ends(of_two(folder / "quiet", Pass().but(7, us=112.0, slowdown=1.07), Pass()), 1, "12.0 %, 0 marked -> FAILED")
    expect.ends(of_two(folder / "tenth", Pass().but(1, 2, slowdown=1.5), Pass()), 0, "2 marked -> OK")
    expect.ends(of_two(folder / "many", Pass().but(1, 2, slowdown=1.5), Pass().but(3, slowdown=1.5)), 1, "3 marked -> FAILED")


def slower_machine(expect, folder):
    """A pass in which even the fastest calibration was slow is marked as a whole, whichever it was."""
    expect.ends(of_two(folder / "later", Pass(), Pass(us=120.0, calibration=2.4)), 1, "worst unmarked 0.0 %, 20 marked -> FAILED")
    expect.ends(of_two(folder / "earlier", Pass(us=120.0, calibration=2.4), Pass()), 1, "20 marked -> FAILED")
    expect.ends(of_two(folder / "little", Pass(calibration=2.1), Pass()), 0, "0 marked -> OK")


def failures(expect, folder):
    expect.ends(of_two(folder / "crash", Pass(), Pass().but(4, outcome=CRASHED)), 1,
                "FAIL conv1x1s1_7x7x8_8, 1 threads: outcome 0, then 3", "19 candidates", "-> FAILED")
    expect.ends(of_two(folder / "both", Pass().but(4, outcome=CRASHED), Pass().but(4, outcome=CRASHED)), 0, "19 candidates", "-> OK")
    expect.ends(of_two(folder / "none", Pass().but(*range(COUNT), outcome=CRASHED), Pass()), 1, "outcome 3, then 0",
                "0 candidates", "-> FAILED")
    expect.ends(of_two(folder / "other", Pass(), Pass().without(4)), 1, "the passes measured other candidates: 1 are in one only")


def unfinished(expect, folder):
    expect.ends(report(write_work(folder / "one", [Pass()])), 77, "the first pass was", "-> SKIPPED")
    expect.ends(run("bench/repeatability.py", "--report-only", "--work", folder / "one", TLM_SHARED_MODELS=folder / "nowhere"), 77,
                "no networks there -> SKIPPED")


def main():
    expect = Expectations("bench repeatability")
    with tempfile.TemporaryDirectory() as name:
        for part in (figures, verdicts, slower_machine, failures, unfinished):
            part(expect, pathlib.Path(name))
    return expect.verdict()


if __name__ == "__main__":
    sys.exit(main())
