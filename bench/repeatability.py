#!/usr/bin/env python3
"""Whether measurements repeat: random candidates, measured twice, hours apart.

The first run draws tasks from ../shared's six networks and its corpus and measures random candidates
of each (`tlm collect`, each with the number of threads of --threads). The same command, --hours later
or more, measures the same candidates again with the same program, of which the work folder keeps a
copy, and compares. A run that is stopped goes on. Beside the times stands how much of the machine
others had meanwhile, and the calibration loop's time, so that a machine that is slower as a whole
shows: a candidate is marked when the loop took more than 1.08 of its fastest around it, in either
pass, against the fastest of both passes.

usage: repeatability.py [--work DIR] [--candidates 200] [--threads 1 2] [--seed 1] [--hours 2]
                        [--report-only] [--json FILE] [--results FILE ...]
Verdict: half of the candidates differ by less than 2 %, none that is not marked by more than 10 %, and
no more than a tenth of them is marked.
"""
import argparse
import json
import math
import os
import pathlib
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin"))
sys.path.insert(0, str(ROOT / "python"))
from marked_section import write_section  # noqa: E402
from shared_networks import MODELS, write_tasks  # noqa: E402

NETWORKS = ["resnet50", "mobilenet_v2", "efficientnet_b0", "bert_base", "gpt2", "llama7b_1layer"]
PER_TASK = 2
MOST_FLOPS = 5e9
DRIFT = 1.08
MEDIAN, WORST, MOST_MARKED = 0.02, 0.10, 0.10


def write_json(path, value):
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(value, indent=1))
    part.replace(path)


def run_tlm(program, *arguments):
    subprocess.run([str(program), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def choose_tasks(work, program, count, seed):
    """Half of the tasks of the six networks, half of the corpus's; none that takes seconds, none without a choice."""
    generator = random.Random(seed)
    chosen = []
    corpus = sorted((MODELS.parent / "corpus").glob("*.onnx"))
    for skeletons in ([MODELS / f"{name}.onnx" for name in NETWORKS], corpus):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            write_tasks([path for path in skeletons if path.exists()], folder / "tasks", ["--threads", "1"])
            files = sorted((folder / "tasks").glob("*.task"))
            generator.shuffle(files)
            listing = folder / "tasks.json"
            run_tlm(program, "tune", *files[:4 * count], "--dry-run", "--json", listing)
            facts = {task["key"]: task for task in json.loads(listing.read_text())["tasks"]}
            for path in files[:4 * count]:
                task = facts[path.stem]
                fits = task["flops"] <= MOST_FLOPS and task["log10_size"] > 1.5
                if fits and path.stem not in chosen and len(chosen) < (count // 2 if skeletons is not corpus else count):
                    chosen.append(path.stem)
                    (work / "tasks").mkdir(exist_ok=True)
                    shutil.copy(path, work / "tasks")
    return chosen


class Load:
    """The share of the machine's time that others have."""

    def __init__(self):
        self.begin = self.now()

    @staticmethod
    def now():
        ticks = [int(value) for value in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        own = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(ticks), sum(ticks) - ticks[3] - ticks[4], own * os.sysconf("SC_CLK_TCK")

    def others(self):
        whole, busy, own = (after - before for before, after in zip(self.begin, self.now()))
        return max(0.0, (busy - own) / max(1, whole))


def measure(work, state, number):
    """One pass over all candidates."""
    load, fastest = Load(), {}
    for threads in state["threads"]:
        report = work / f"pass{number}.{threads}.json"
        files = [work / "tasks" / f"{key}.task" for key in state["tasks"]]
        run_tlm(work / "tlm", "collect", *files, "--records", work / f"pass{number}.{threads}.db", "--count", PER_TASK,
                "--sources", "random", "--seed", state["seed"], "--threads", threads, "--json", report)
        found = json.loads(report.read_text())
        fastest[str(threads)] = found["calibration_us"]
        state["cpu"] = found["host"]["cpu"]
    state["passes"].append({"ended": time.time(), "calibration_us": fastest, "others": load.others()})
    write_json(work / "state.json", state)


def candidates(work, state, number, threads):
    """(label, schedule) -> record, of the random ones."""
    connection = sqlite3.connect(work / f"pass{number}.{threads}.db")
    connection.row_factory = sqlite3.Row
    try:
        rows = connection.execute("SELECT t.key, t.label, r.schedule, r.outcome, r.min_us, r.slowdown FROM record r "
                                  "JOIN task t ON t.id = r.task WHERE r.trial > 1 AND r.rounds = 1").fetchall()
    finally:
        connection.close()
    passes = [state["passes"][0], state["passes"][number - 1]]
    best, own = (f([p["calibration_us"][str(threads)] for p in passes]) for f in (min, lambda list: list[-1]))
    # No kernel was timed where the store knew all of them: a pass that was taken up at its very end.
    drift = own / best if best else 1
    return {(row["key"], row["schedule"]): dict(row, slowdown=row["slowdown"] * drift) for row in rows}


def compare(work, state, number):
    """Pairs of measurements: what, threads, times, difference, whether marked."""
    pairs, failed = [], []
    for threads in state["threads"]:
        first, second = candidates(work, state, 1, threads), candidates(work, state, number, threads)
        # Drift of the first pass against the second one.
        reference = [state["passes"][k - 1]["calibration_us"][str(threads)] for k in (1, number)]
        late = reference[0] / min(reference) if min(reference) else 1
        if first.keys() != second.keys():
            raise SystemExit(f"the passes measured other candidates: {len(first.keys() ^ second.keys())} are in one only")
        for key, a in first.items():
            b = second[key]
            if a["outcome"] != b["outcome"]:
                failed.append(f"{a['label']}, {threads} threads: outcome {a['outcome']}, then {b['outcome']}")
            if a["outcome"] or b["outcome"]:
                continue
            times = (a["min_us"], b["min_us"])
            pairs.append({"task": a["label"], "threads": threads, "us": times, "difference": max(times) / min(times) - 1,
                          "marked": max(a["slowdown"] * late, b["slowdown"]) > DRIFT})
    return sorted(pairs, key=lambda pair: pair["difference"]), failed


def report(work, state, arguments):
    pairs, failed = compare(work, state, len(state["passes"]))
    first, last = state["passes"][0], state["passes"][-1]
    hours = (last["ended"] - first["ended"]) / 3600
    quiet = [pair for pair in pairs if not pair["marked"]]
    marked = len(pairs) - len(quiet)
    # Where no candidate ran in both passes there is nothing to say, and nothing is good.
    median = pairs[len(pairs) // 2]["difference"] if pairs else math.inf
    worst = quiet[-1]["difference"] if quiet else 0.0
    lines = [f"CPU: {state['cpu']}. {len(pairs)} random candidates of {len(state['tasks'])} tasks, measured twice, "
             f"{hours:.1f} hours apart; others had {100 * first['others']:.1f} % and {100 * last['others']:.1f} % of the machine.",
             "", "| threads | candidates | median | 90 % | 99 % | worst unmarked | marked |", "|---|---|---|---|---|---|---|"]
    for threads in state["threads"]:
        own = [pair for pair in pairs if pair["threads"] == threads]
        calm = [pair["difference"] for pair in own if not pair["marked"]]
        at = [own[min(len(own) - 1, int(share * len(own)))]["difference"] if own else math.inf for share in (0.5, 0.9, 0.99)]
        lines.append(f"| {threads} | {len(own)} | {' | '.join(f'{100 * value:.1f} %' for value in at)} | "
                     f"{100 * max(calm, default=0):.1f} % | {len(own) - len(calm)} |")
    print("\n".join(lines))
    for pair in pairs[-6:]:
        print(f"  {pair['task']}, {pair['threads']} threads: {pair['us'][0]:.2f} and {pair['us'][1]:.2f} us, "
              f"{100 * pair['difference']:.1f} %{', marked' if pair['marked'] else ''}")
    for text in failed:
        print(f"FAIL {text}")
    for path in arguments.results:
        write_section(path, "repeatability.py", "\n".join(lines) + "\n", "## Measurements, repeated\n\n")
    if arguments.json:
        write_json(arguments.json, {"cpu": state["cpu"], "passes": state["passes"], "pairs": pairs, "failures": failed})
    good = not failed and median < MEDIAN and worst <= WORST and marked <= MOST_MARKED * len(pairs)
    print(f"repeatability: {len(pairs)} candidates, {hours:.1f} hours apart, median difference {100 * median:.2f} %, "
          f"worst unmarked {100 * worst:.1f} %, {marked} marked -> {'OK' if good else 'FAILED'}")
    return 0 if good else 1


def begin(arguments):
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    # Links to libraries of the system only; a rebuild meanwhile is another program.
    shutil.copy2(BIN / "tlm", work / "tlm")
    count = arguments.candidates // (PER_TASK * len(arguments.threads))
    state = {"tasks": choose_tasks(work, work / "tlm", count, arguments.seed), "threads": arguments.threads,
             "seed": arguments.seed, "passes": []}
    write_json(work / "state.json", state)
    return state


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/repeatability")
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hours", type=float, default=2, help="the least time between the passes")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--results", nargs="*", default=[], metavar="FILE")
    arguments = parser.parse_args()
    if not MODELS.exists():
        print("repeatability: no networks there -> SKIPPED")
        return 77
    path = arguments.work / "state.json"
    state = json.loads(path.read_text()) if path.exists() else begin(arguments)
    if not state["passes"]:
        measure(arguments.work, state, 1)
        one = state["passes"][0]
        print(f"repeatability: first pass at {time.strftime('%Y-%m-%d %H:%M', time.gmtime(one['ended']))} UTC on "
              f"{state['cpu']}, others had {100 * one['others']:.1f} % of the machine; the same command in "
              f"{arguments.hours:g} hours -> SKIPPED")
        return 77
    if len(state["passes"]) == 1:
        hours = (time.time() - state["passes"][0]["ended"]) / 3600
        if arguments.report_only or hours < arguments.hours:
            print(f"repeatability: the first pass was {hours:.1f} hours ago, the second one is to be {arguments.hours:g} "
                  "hours after it -> SKIPPED")
            return 77
        measure(arguments.work, state, 2)
    return report(arguments.work, state, arguments)


if __name__ == "__main__":
    sys.exit(main())
