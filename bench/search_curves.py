#!/usr/bin/env python3
"""Best time against trials, strategy by strategy, on 20 tasks of ../shared's six networks.

Every strategy of `tlm tune` searches every task with several seeds. All share a store of records,
so that a candidate that comes up twice is measured once and the curves differ by what was proposed
alone; `transfer` goes last and knows the records of the other tasks. The default schedule and the
fixed one (`tlm tune` measures them in every search) are no proposal of a strategy: they do not count,
neither as trials nor as its best. Then the winners of all strategies and seeds of a task are
measured again, in turn, beside the default schedule.

Tasks of more than 5 GFLOP are left out: they would take most of the time. A full run takes 40
minutes; for one thread, as how far the cores of a virtual machine are apart changes while it runs.
It may be stopped at any time and goes on where it was: what is done stands in the work folder, one
file a search. --minutes ends it after so long.

usage: search_curves.py [--work DIR] [--tasks 20] [--trials 64] [--seeds 1 2 3] [--threads 1]
                        [--strategies NAME ...] [--minutes M] [--report-only] [--docs docs]
                        [--results FILE ...]
--docs DIR writes DIR/search_curves.csv and DIR/search_curves.svg, --results the table as markdown.
Verdict: evolutionary beats random at equal trials, and roller with 10 trials beats random with 10,
in the geometric mean of the times measured again.
"""
import argparse
import csv
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
from intervals import geometric_mean, interval, interval_text, median  # noqa: E402
from line_chart import write_chart  # noqa: E402
from marked_section import write_section  # noqa: E402
from searches import TimeLimit, fastest, measured_in_turn, proposals, search, write_json  # noqa: E402
from shared_networks import MODELS, network_tasks  # noqa: E402

# Networks, and how many of 20 tasks are theirs.
SHARES = {"resnet50": 4, "mobilenet_v2": 4, "efficientnet_b0": 3, "bert_base": 3, "gpt2": 3, "llama7b_1layer": 3}
STRATEGIES = ["random", "evolutionary", "metaschedule", "roller", "transfer"]
MOST_FLOPS = 5e9
ROLLER_TRIALS = 10
ROUNDS = 15
# Trials at which winners are taken, the last one being --trials.
EARLY = 10
# Candidates beyond ten times the default's time are cut off.
WORST = 0.05


def choose_tasks(work, count, threads):
    """The heaviest tasks of each network, two of a kind at most until every kind had its turn."""
    chosen_path = work / "tasks.json"
    if chosen_path.exists():
        chosen = json.loads(chosen_path.read_text())
        if len(chosen) >= count:
            return chosen[:count]
    per_network = []
    for name, share in SHARES.items():
        skeleton = MODELS / f"{name}.onnx"
        if not skeleton.exists():
            print(f"{name}: skipped, there is no {skeleton.name}", file=sys.stderr)
            continue
        tasks = [dict(t, network=name) for t in network_tasks(skeleton, work / "tasks", ["--threads", threads])]
        # With one schedule there is nothing to search.
        tasks = [t for t in tasks if t["log10_size"] > 1.5 and t["flops"] <= MOST_FLOPS]
        picked, kinds = [], {}
        for most in (2, share):
            for task in tasks:
                if len(picked) < share and task not in picked and kinds.get(task["kind"], 0) < most:
                    kinds[task["kind"]] = kinds.get(task["kind"], 0) + 1
                    picked.append(task)
        per_network.append(picked)
    # Network by network in turn, so that a prefix is a fair choice, too.
    chosen, keys = [], set()
    while any(per_network):
        for tasks in per_network:
            if tasks:
                task = tasks.pop(0)
                if task["key"] not in keys:
                    keys.add(task["key"])
                    chosen.append(task)
    write_json(chosen_path, chosen)
    return chosen[:count]


class Run:
    def __init__(self, arguments, tasks):
        self.arguments, self.tasks = arguments, tasks
        self.work = arguments.work
        self.runs, self.finals = self.work / "runs", self.work / "finals"
        for folder in (self.runs, self.finals):
            folder.mkdir(parents=True, exist_ok=True)
        self.limit = TimeLimit(arguments.minutes)

    def trials_of(self, strategy):
        return min(ROLLER_TRIALS, self.arguments.trials) if strategy == "roller" else self.arguments.trials

    def seeds_of(self, strategy):
        return self.arguments.seeds[:1] if strategy == "roller" else self.arguments.seeds

    def searches(self):
        """(task, strategy, seed), transfer after all others."""
        strategies = self.arguments.strategies
        for later in (False, True):
            for task in self.tasks:
                for strategy in strategies:
                    if (strategy == "transfer") == later:
                        for seed in self.seeds_of(strategy):
                            yield task, strategy, seed

    def path_of(self, task, strategy, seed):
        return self.runs / f"{task['key']}.{strategy}.{seed}.{self.trials_of(strategy)}.json"

    def load(self, task, strategy, seed):
        path = self.path_of(task, strategy, seed)
        return json.loads(path.read_text()) if path.exists() else None

    def search(self, task, strategy, seed):
        result = search(self.work / "tasks" / f"{task['key']}.task", strategy, self.trials_of(strategy),
                        self.work / "records.tlm", "--threads", self.arguments.threads, "--seed", seed)
        write_json(self.path_of(task, strategy, seed), proposals(result))

    def best_after(self, trials, count):
        """(microseconds, schedule) of the fastest of the first `count`."""
        return (fastest(trials[:count]) or [(math.inf, None)])[0]

    def share_after(self, trials, count, known):
        """Best known time / best time; before there is one, WORST."""
        return max(WORST, known / self.best_after(trials, count)[0])

    def winners(self, task):
        """{schedule: [(strategy, seed, trials)]} of all searches of the task, or None before they are done."""
        found = {}
        for strategy in self.arguments.strategies:
            for seed in self.seeds_of(strategy):
                trials = self.load(task, strategy, seed)
                if trials is None:
                    return None
                for count in sorted({min(EARLY, self.trials_of(strategy)), self.trials_of(strategy)}):
                    _, schedule = self.best_after(trials, count)
                    if schedule:
                        found.setdefault(schedule, []).append((strategy, seed, count))
        return found

    def measure_winners(self, task):
        path = self.finals / f"{task['key']}.json"
        winners = self.winners(task)
        if winners is None:
            return
        if path.exists() and set(json.loads(path.read_text())) >= set(winners):
            return
        times, default, host = measured_in_turn(self.work / "tasks" / f"{task['key']}.task", winners, ROUNDS, "--threads",
                                                self.arguments.threads)
        write_json(self.work / "host.json", host)
        write_json(path, dict(times, default=default))

    def work_on(self):
        """Whether everything is done."""
        todo = [s for s in self.searches() if not self.path_of(*s).exists()]
        for done, (task, strategy, seed) in enumerate(todo):
            if self.limit.is_over():
                print(f"{len(todo) - done} searches are left; the same command goes on", file=sys.stderr)
                return False
            print(f"{done + 1}/{len(todo)} {task['label']} {strategy} {seed}", file=sys.stderr)
            self.search(task, strategy, seed)
        for task in self.tasks:
            if self.limit.is_over():
                print("winners are left; the same command goes on", file=sys.stderr)
                return False
            self.measure_winners(task)
        return True


def comparison(run, ours, our_count, theirs, their_count):
    """Their time / our time by the winners measured again, over tasks and seeds; `theirs` may be the default."""
    pairs = []
    for task in run.tasks:
        path = run.finals / f"{task['key']}.json"
        winners = run.winners(task)
        if not path.exists() or winners is None:
            continue
        times = json.loads(path.read_text())
        by_search = {search: times.get(schedule) for schedule, searches in winners.items() for search in searches}
        for seed in run.arguments.seeds:
            # Roller's one search stands beside every seed of another.
            our_seed = seed if seed in run.seeds_of(ours) else run.seeds_of(ours)[0]
            a = times["default"] if theirs == "default" else by_search.get((theirs, seed, their_count))
            b = by_search.get((ours, our_seed, our_count))
            if a and b:
                pairs.append((a, b))
    return (interval(pairs), len(pairs)) if pairs else (None, 0)


def curves(run):
    """strategy -> best known time / best time after 1, 2, ... trials, geometric mean over tasks and seeds."""
    result = {}
    tasks = [t for t in run.tasks if run.winners(t) is not None]
    known = {}
    for task in tasks:
        known[task["key"]] = min(run.best_after(run.load(task, s, seed), run.trials_of(s))[0]
                                 for s in run.arguments.strategies for seed in run.seeds_of(s))
    for strategy in run.arguments.strategies:
        points = []
        searches = [(t["key"], run.load(t, strategy, seed)) for t in tasks for seed in run.seeds_of(strategy)]
        for count in range(1, run.trials_of(strategy) + 1):
            shares = [run.share_after(trials, count, known[key]) for key, trials in searches]
            points.append(geometric_mean(shares) if shares else math.nan)
        result[strategy] = points
    return result, len(tasks)


def write_csv(run, path):
    """A row where the best time of a search changes, and one at its end."""
    with open(path, "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["network", "task", "strategy", "seed", "trial", "best_us"])
        for task in run.tasks:
            for strategy in run.arguments.strategies:
                for seed in run.seeds_of(strategy):
                    trials = run.load(task, strategy, seed)
                    best = math.inf
                    for number, trial in enumerate(trials or [], 1):
                        better = trial["outcome"] == "ok" and trial["min_us"] < best
                        best = min(best, trial["min_us"]) if trial["outcome"] == "ok" else best
                        if better or (number == len(trials) and best < math.inf):
                            rows.writerow([task["network"], task["label"], strategy, seed, number, f"{best:.3f}"])


def report(run):
    lines, count = curves(run)
    if count == 0:
        print("search curves: no task is done -> SKIPPED")
        return 77
    rows = ["| strategy | trials | best known / best, by first measurements | random / best, measured again | "
            "default / best, measured again |", "|---|---|---|---|---|"]
    for strategy in run.arguments.strategies:
        for trials in sorted({min(EARLY, run.trials_of(strategy)), run.trials_of(strategy)}):
            texts = []
            for other in ("random", "default"):
                against, _ = comparison(run, strategy, trials, other, trials)
                texts.append(interval_text(against))
            rows.append(f"| {strategy} | {trials} | {lines[strategy][trials - 1]:.3f} | {' | '.join(texts)} |")
    host_path, threads = run.work / "host.json", run.arguments.threads
    cpu = json.loads(host_path.read_text())["cpu"] + ", " if host_path.exists() else ""
    text = "\n".join([f"{cpu}{count} tasks, seeds {' '.join(map(str, run.arguments.seeds))}, {threads} "
                      f"thread{'s' if threads > 1 else ''}; "
                      f"intervals of 95 %. Default / fastest winner: {gap_to_default(run):.3f}x in the geometric mean.",
                      "", *rows])
    print(text)
    if run.arguments.docs:
        write_csv(run, run.arguments.docs / "search_curves.csv")
        title = f"Best known time / best time so far, geometric mean over {count} tasks and their seeds"
        write_chart(run.arguments.docs / "search_curves.svg", title, "trials",
                    {name: list(enumerate(points, 1)) for name, points in lines.items()})
    for path in run.arguments.results:
        write_section(path, "search_curves.py", text + "\n", "## Search strategies\n\n")
    needed = {"random", "evolutionary", "roller"}
    if not needed <= set(run.arguments.strategies):
        print("search curves: a strategy of the verdict is missing -> SKIPPED")
        return 77
    trials = run.arguments.trials
    evolved, pairs = comparison(run, "evolutionary", trials, "random", trials)
    early = min(EARLY, trials)
    rolled, _ = comparison(run, "roller", min(ROLLER_TRIALS, trials), "random", early)
    good = evolved and rolled and evolved[0] > 1 and rolled[0] > 1
    if not evolved or not rolled:
        print("search curves: winners are not measured again yet -> SKIPPED")
        return 77
    print(f"search curves: {count} tasks, {pairs} searches: evolutionary {evolved[0]:.3f}x of random at {trials} trials, "
          f"roller {rolled[0]:.3f}x of random at {early} -> {'OK' if good else 'FAILED'}")
    return 0 if good else 1


def gap_to_default(run):
    gaps = []
    for task in run.tasks:
        path = run.finals / f"{task['key']}.json"
        if path.exists():
            times = {name: median(values) for name, values in json.loads(path.read_text()).items() if values}
            gaps.append(times["default"] / min(times.values()))
    return geometric_mean(gaps) if gaps else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/search_curves")
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES, choices=STRATEGIES)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--results", nargs="*", default=[], metavar="FILE")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    tasks = choose_tasks(arguments.work, arguments.tasks, arguments.threads)
    if not tasks:
        print("search curves: no networks there -> SKIPPED")
        return 77
    run = Run(arguments, tasks)
    if not arguments.report_only:
        run.work_on()
    return report(run)


if __name__ == "__main__":
    sys.exit(main())
