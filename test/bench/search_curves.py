#!/usr/bin/env python3
"""The report of bench/search_curves.py from a work folder of finished searches: its verdict, table, csv and svg.

Two tasks, two seeds, 16 trials. What the searches of a strategy find is given as time by trial; the winners
have other times when they are measured again, and those are what the verdict is about.
"""
import json
import pathlib
import sys
import tempfile
import xml.etree.ElementTree

from expectations import HAND_WRITTEN, Expectations, run

TRIALS = 16
ROUNDS = 15
SEEDS = [1, 2]
TASKS = [dict(key="000000000000000a", label="conv1x1s1_7x7x8_8", network="one", kind="conv"),
         dict(key="000000000000000b", label="matmul_4x8x8", network="other", kind="matmul")]
# Strategy -> microseconds of the best candidate from that trial on.
FOUND = {"random": {1: 400, 4: 320, 12: 240}, "evolutionary": {1: 400, 6: 250, 16: 120},
         "roller": {2: 160, 7: 130}}
# Strategy -> of its winners after 10 and after all trials, measured again.
AGAIN = {"random": (300, 200), "evolutionary": (250, 100), "roller": (150, 150)}
DEFAULT = 125


def trials_of(strategy):
    return 10 if strategy == "roller" else TRIALS


def name_of(strategy, seed, trial):
    return f"{strategy} {0 if strategy == 'roller' else seed} {trial}"


def winner(steps, count):
    return max(trial for trial in steps if trial <= count)


def search(strategy, seed, steps):
    """The trials; what improves nothing is slower, or fails in one of the ways."""
    trials = []
    for number in range(1, trials_of(strategy) + 1):
        fails = {3: "crashed", 5: "wrong_values"}.get(number)
        trials.append(dict(schedule=name_of(strategy, seed, number), outcome=fails or "ok",
                           min_us=1.0 if fails else steps.get(number, 5000)))
    return trials


def write_work(work, found=None, again=None, tasks=TASKS, finals=True):
    """What a run over all strategies of `found` leaves."""
    found, again = found or FOUND, again or AGAIN
    for folder in (work / "runs", work / "finals"):
        folder.mkdir(parents=True)
    (work / "tasks.json").write_text(json.dumps(TASKS))
    (work / "host.json").write_text(json.dumps(dict(cpu="A CPU", cores=2)))
    for task in tasks:
        times = {"default": [DEFAULT] * ROUNDS}
        for strategy, steps in found.items():
            for seed in SEEDS[:1] if strategy == "roller" else SEEDS:
                path = work / "runs" / f"{task['key']}.{strategy}.{seed}.{trials_of(strategy)}.json"
                path.write_text(json.dumps(search(strategy, seed, steps)))
                for count, us in zip((10, trials_of(strategy)), again[strategy]):
                    times[name_of(strategy, seed, winner(steps, count))] = [us] * (ROUNDS - 1) + [9 * us]
        if finals:
            (work / "finals" / f"{task['key']}.json").write_text(json.dumps(times))
    return work


def report(work, *more, strategies=("random", "evolutionary", "roller")):
    return run("bench/search_curves.py", "--report-only", "--work", work, "--tasks", len(TASKS), "--trials", TRIALS,
               "--seeds", *SEEDS, "--strategies", *strategies, *more, TLM_SHARED_MODELS=work / "models")


def figures(expect, folder):
    results, docs = folder / "results.md", folder / "docs"
    results.write_text(HAND_WRITTEN.format(name="search_curves.py"))
    docs.mkdir()
    ran = report(write_work(folder / "good"), "--docs", docs, "--results", results)
    # Best known 120: after 16 trials random has 240, evolutionary 120, roller 130.
    rows = ["| random | 10 | 0.375 | 1.000 (1.000 to 1.000) | 0.417 (0.417 to 0.417) |",
            "| random | 16 | 0.500 | 1.000 (1.000 to 1.000) | 0.625 (0.625 to 0.625) |",
            "| evolutionary | 10 | 0.480 | 1.200 (1.200 to 1.200) | 0.500 (0.500 to 0.500) |",
            "| evolutionary | 16 | 1.000 | 2.000 (2.000 to 2.000) | 1.250 (1.250 to 1.250) |",
            "| roller | 10 | 0.923 | 2.000 (2.000 to 2.000) | 0.833 (0.833 to 0.833) |"]
    head = "A CPU, 2 tasks, seeds 1 2, 1 thread; intervals of 95 %. Default / fastest winner: 1.250x in the geometric mean."
    expect.ends(ran, 0, head, *rows, "search curves: 2 tasks, 4 searches: evolutionary 2.000x of random at 16 trials, "
                "roller 2.000x of random at 10 -> OK")
    expect.section(results, head, *rows)
    changes(expect, docs / "search_curves.csv")
    drawing(expect, docs / "search_curves.svg")


def changes(expect, path):
    """A row where the best time changes, and one at the end; failed candidates are none."""
    lines = path.read_text().split("\n")
    expect.holds(lines[0] == "network,task,strategy,seed,trial,best_us" and lines[-1] == "", "first and last line", str(lines))
    of_random = [line for line in lines if line.startswith("one,conv1x1s1_7x7x8_8,random,2,")]
    expect.holds([line.split(",")[4:] for line in of_random] == [["1", "400.000"], ["4", "320.000"], ["12", "240.000"],
                                                                ["16", "240.000"]], "rows of a search", str(of_random))
    # 4, 3 and 4 rows: the last trial of evolutionary is its best, the first one of roller is slow.
    expect.holds(len(lines) == 2 + 2 * (2 * 4 + 2 * 3 + 4), "number of rows", str(lines))


def drawing(expect, path):
    """A line a strategy, with a point a trial."""
    root = xml.etree.ElementTree.parse(path).getroot()
    name = "{http://www.w3.org/2000/svg}"
    points = [[tuple(map(float, point.split(","))) for point in line.get("points").split()]
              for line in root.iter(f"{name}polyline")]
    expect.holds([len(line) for line in points] == [16, 16, 10], "points of the curves", str(points))
    for line in points:
        expect.holds(all(a[0] < b[0] and a[1] >= b[1] for a, b in zip(line, line[1:])), "a best time that gets worse", str(line))
    # The best known time is the upper edge.
    expect.holds(points[1][-1][1] == 40.0 and points[0][-1][1] > points[2][-1][1] > 40.0, "heights at the end", str(points))
    texts = [text.text for text in root.iter(f"{name}text")]
    expect.holds(texts[-3:] == ["random", "evolutionary", "roller"] and "mean over 2 tasks" in texts[0], "labels", str(texts))


def verdicts(expect, folder):
    """By the times measured again: what looked faster when it was found may not be."""
    def failing(name, strategy, us):
        return report(write_work(folder / name, again=dict(AGAIN, **{strategy: us})))
    expect.ends(failing("luck", "evolutionary", (250, 210)), 1, "evolutionary 0.952x of random at 16 trials", "-> FAILED")
    expect.ends(failing("equal", "evolutionary", (250, 200)), 1, "evolutionary 1.000x of random", "-> FAILED")
    expect.ends(failing("roller", "roller", (320, 320)), 1, "roller 0.938x of random at 10 -> FAILED")


def hopeless(expect, folder):
    """A strategy none of whose candidates ran counts as the worst and has no winner."""
    work = write_work(folder / "hopeless", found=dict(FOUND, transfer={1: 200}), again=dict(AGAIN, transfer=(200, 200)))
    for path in (work / "runs").glob("*.transfer.*"):
        path.write_text(json.dumps([dict(trial, outcome="rejected") for trial in json.loads(path.read_text())]))
    expect.ends(report(work, strategies=("random", "evolutionary", "roller", "transfer")), 0,
                "| transfer | 16 | 0.050 | - | - |", "-> OK")


def unfinished(expect, folder):
    part = report(write_work(folder / "part", tasks=TASKS[:1]))
    expect.ends(part, 0, "A CPU, 1 tasks", "search curves: 1 tasks, 2 searches: evolutionary 2.000x", "-> OK")
    expect.ends(report(write_work(folder / "first"), strategies=("random", "roller")), 77,
                "| roller | 10 |", "a strategy of the verdict is missing -> SKIPPED")
    expect.ends(report(write_work(folder / "found", finals=False)), 77, "| random | 16 | 0.500 | - | - |",
                "winners are not measured again yet -> SKIPPED")
    expect.ends(report(write_work(folder / "begun", tasks=[])), 77, "no task is done -> SKIPPED")
    nameless = write_work(folder / "nameless")
    (nameless / "host.json").unlink()
    ran = report(nameless)
    expect.ends(ran, 0, "-> OK")
    expect.holds(ran[1].startswith("2 tasks, seeds 1 2"), "a processor that nothing names", ran[1])
    expect.ends(report(folder / "empty"), 77, "resnet50: skipped", "no networks there -> SKIPPED")


def main():
    expect = Expectations("bench search_curves")
    with tempfile.TemporaryDirectory() as name:
        for part in (figures, verdicts, hopeless, unfinished):
            part(expect, pathlib.Path(name))
    return expect.verdict()


if __name__ == "__main__":
    sys.exit(main())
