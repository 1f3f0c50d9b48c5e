#!/usr/bin/env python3
"""The language model against searches, at every budget of measurements, on tasks that it has not learnt from.

Tasks are drawn from three splits, --tasks of each: the six networks of ../shared/models, and of ../shared/corpus
those of families that training has not seen (unseen_family) and of known networks in other shapes (test_variant).
A task belongs to the first of the --splits that has it. Kinds get as many of the draws as they have of the work (calls x
(FLOP + 8 bytes), each network counting alike), but one at least; within a kind heavy tasks are drawn more often;
the same --seed draws the same, and more --tasks add to them. Tasks of more than 2 GFLOP are left out, and those
that leave nothing to search.

  model   what `tlm compile` writes, which is its choice after 0 measurements and after 1, and
          `tlm tune --strategy model` with 4, 16 and 64 of them (other draws for each)
  others  evolutionary, metaschedule, random, roller: one search with 200, of which the first 1, 4, 16 and 64
          are what a shorter one would have measured; a proposal that is the default schedule is not among them,
          as `tlm tune` has measured it before, so with 0 the first other one stands

A store that all searches of a task share sees to it that identical candidates are measured once. Of the measurements
one is of the default schedule, for everyone, as in `tlm tune`; --bare judges proposals alone, by the same times. The
--finalists fastest of every strategy and budget are measured again, in turn with each other and the default schedule,
and the fastest of them by this is its winner. What found nothing that runs counts as ten times the default's time, at
which candidates are cut off.

  ratio   best search / model: the best search is evolutionary with 200 and the default schedule; geometric mean
  share   of the gap from the default schedule to the best search that the model closes, over tasks with a gap of
          over 1 %: sum of log(default / model) over sum of log(default / best search); and the same to the best
          schedule that anyone found
  time    of the evolutionary search until its proposals are as fast as what the model wrote, by the times of the
          searches, for each task and for all tasks of --whole networks, beside `tlm compile`

A full run takes 60 to 90 minutes on two quiet cores. It may be stopped at any time and goes on where it was: what is
done stands in the work folder, one file a search; new weights have the model's part measured anew, a new
compiler wants a new folder. --minutes ends it after so long; what is done by then is reported.

usage: equal_budgets.py [--model DIR] [--work DIR] [--splits NAME ...] [--tasks 14] [--seed 1] [--threads 1]
                        [--whole resnet50 ...] [--minutes M] [--report-only] [--bare] [--offline RECORDS ...]
                        [--docs docs] [--results FILE ...] [--json FILE]
--docs DIR writes DIR/equal_budgets.csv and a chart for each split. --offline: records that the weights have learnt from.
Verdict, of the six networks' tasks: a ratio of at least 0.98 with 0 measurements, 0.99 with 4, above 1 with 16; a
share of at least 0.7 and 0.9 with 0 and 4; better than default, random, metaschedule and roller at every budget.
"""
import argparse
import csv
import hashlib
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
from budget_tables import Tables, time_text  # noqa: E402
from intervals import geometric_mean, median  # noqa: E402
from line_chart import write_chart  # noqa: E402
from marked_section import write_section  # noqa: E402
from record_stores import measuring_seconds, records_of  # noqa: E402
from searches import (TimeLimit, explained, fastest, measured_in_turn, proposals, search, tlm, tune,  # noqa: E402
                      write_json)
from shared_networks import CORPUS, MODELS, network_tasks, with_zero_weights  # noqa: E402

SIX = ["resnet50", "mobilenet_v2", "efficientnet_b0", "bert_base", "gpt2", "llama7b_1layer"]
SPLITS = ["networks", "unseen_family", "test_variant"]
SEARCHES = ["evolutionary", "metaschedule", "random", "roller"]  # the first one is timed, so nothing is known to it
MOST_FLOPS = 2e9       # of a task
LEAST_SCHEDULES = 10
CUT_OFF = 10           # times the default's time
COMPILATIONS = 3       # of a whole network, of which the fastest counts


class OutOfTime(Exception):
    pass


def skeletons(split):
    if split == "networks":
        return [path for path in (MODELS / f"{name}.onnx" for name in SIX) if path.exists()]
    lists = CORPUS / "splits.json"
    return [CORPUS / f"{name}.onnx" for name in json.loads(lists.read_text())[split]] if lists.exists() else []


def weighed(networks):
    """The distinct tasks of {network: tasks}, with their shares of the work of the networks as weights."""
    tasks = {}
    for name, listed in networks.items():
        work = {task["key"]: sum(task["calls"]) * (task["flops"] + 8 * task["bytes"]) for task in listed}
        for task in listed:
            known = tasks.setdefault(task["key"], dict(task, network=name, weight=0))
            known["weight"] += work[task["key"]] / sum(work.values())
    return list(tasks.values())


def drawn(tasks, count, seed):
    """So many of them, kinds in turn by their weight for each that they have; fewer are the beginning of more."""
    def place(task):
        return random.Random(f"{seed} {task['key']}").random() ** (1 / task["weight"])

    waiting = {}
    for task in sorted(tasks, key=place, reverse=True):
        waiting.setdefault(task["kind"], []).append(task)
    weights = {kind: sum(task["weight"] for task in listed) for kind, listed in waiting.items()}
    chosen = [waiting[kind].pop(0) for kind in sorted(weights, key=weights.get, reverse=True)]
    seats = dict.fromkeys(weights, 1)
    while len(chosen) < count and any(waiting.values()):
        kind = max((kind for kind in waiting if waiting[kind]), key=lambda kind: weights[kind] / (seats[kind] + 1))
        seats[kind] += 1
        chosen.append(waiting[kind].pop(0))
    return chosen[:count]


class Run:
    def __init__(self, arguments):
        self.arguments, self.limit = arguments, TimeLimit(arguments.minutes)
        self.work = arguments.work / f"threads{arguments.threads}"
        for name in ("tasks", "listings", "records", "runs", "finals", "whole"):
            (self.work / name).mkdir(parents=True, exist_ok=True)
        self.flags = ["--threads", arguments.threads]
        self.weights = hashlib.sha256((arguments.model / "model.safetensors").read_bytes()).hexdigest()[:8]

    def may_measure(self):
        return not self.arguments.report_only and not self.limit.is_over()

    def kept(self, path, make):
        """What stands in a file of the work folder; it is made where it is missing and there is time."""
        path = self.work / path
        if not path.exists():
            if not self.may_measure():
                raise OutOfTime
            write_json(path, make())
        return json.loads(path.read_text())

    def listed(self, skeleton):
        """Tasks of a network that leave something to search."""
        tasks = self.kept(f"listings/{skeleton.stem}.json", lambda: network_tasks(skeleton, self.work / "tasks", self.flags))
        return [task for task in tasks if 10 ** task["log10_size"] >= LEAST_SCHEDULES]

    def choose(self):
        """[(split, task)]: the splits in turn, so that a prefix is a fair choice, too."""
        seen, lists = set(), []
        for split in self.arguments.splits:
            if not self.arguments.report_only and not skeletons(split):
                print(f"{split}: skipped, there are no graphs of it", file=sys.stderr)
                continue

            def listing(split=split):
                return weighed({path.stem: self.listed(path) for path in skeletons(split)})
            tasks = [task for task in self.kept(f"listings/{split}.split.json", listing)
                     if task["key"] not in seen and task["flops"] <= MOST_FLOPS]
            seen.update(task["key"] for task in tasks)
            lists.append([(split, task) for task in drawn(tasks, self.arguments.tasks, self.arguments.seed)])
        return [tasks[i] for i in range(self.arguments.tasks) for tasks in lists if i < len(tasks)]

    def file(self, task):
        return self.work / "tasks" / f"{task['key']}.task"

    def records(self, task):
        return self.work / "records" / f"{task['key']}.tlm"

    def answer(self, task):
        """What the model writes: its source (default where it cannot answer), the schedule, the times of that and of the
        default schedule as a search measures them."""
        def make():
            source, schedule = explained(self.file(task), task["key"], *self.flags, "--model", self.arguments.model)
            with tempfile.TemporaryDirectory() as folder:
                also = pathlib.Path(folder) / "answer.schedule"
                also.write_text(schedule + "\n")
                result = tune(self.file(task), *self.flags, "--strategy", "default", "--trials", 3, "--also", also,
                              "--final-rounds", 0, "--records", self.records(task))
            times = {t["schedule"].strip(): t["min_us"] for t in result["trials"] if t["outcome"] == "ok"}
            return dict(source=source, schedule=schedule, us=times.get(schedule), default_us=result["default_us"])
        return self.kept(f"runs/{task['key']}.answer-{self.weights}.json", make)

    def search(self, task, strategy, trials):
        """The proposals of a search, and the trials that it has measured itself in so many seconds."""
        flags = ["--model", self.arguments.model] if strategy == "model" else []
        name = f"model-{self.weights}" if strategy == "model" else strategy

        def make():
            begin = time.monotonic()
            result = search(self.file(task), strategy, trials, self.records(task), *self.flags, "--seed",
                            self.arguments.seed, *flags)
            seconds = time.monotonic() - begin
            write_json(self.work / "host.json", result["host"])
            return dict(measured=len(result["trials"]) - result["remembered"], seconds=seconds,
                        proposals=[dict(schedule=t["schedule"].strip(), outcome=t["outcome"], min_us=t["min_us"])
                                   for t in proposals(result)])
        return self.kept(f"runs/{task['key']}.{name}.{trials}.{self.arguments.seed}.json", make)

    def candidates(self, task, bare):
        """(strategy, measurements) -> schedules for the final; of model with 0 what it wrote."""
        most = self.arguments.trials
        budgets = [k for k in self.arguments.budgets if k < most]

        def own(measurements):
            """Proposals among so many measurements; to choose from one takes none."""
            return max(1, measurements - (0 if bare else 1))

        written = self.answer(task)["schedule"]
        found = {}
        for strategy in SEARCHES:
            trials = self.search(task, strategy, most)["proposals"]
            for k in [0] + budgets + [most]:
                found[strategy, k] = trials[:own(k)]
        for k in budgets:
            found["model", k] = self.search(task, "model", k)["proposals"][:own(k)]
        found = {key: [schedule for _, schedule in fastest(trials, self.arguments.finalists)] for key, trials in found.items()}
        return found | {("model", 0): [written]}

    def final(self, task):
        """schedule -> time of each round, of all candidates of the task, with and without --bare, and `default`."""
        wanted = sorted({schedule for bare in (False, True) for schedules in self.candidates(task, bare).values()
                         for schedule in schedules})
        path = self.work / f"finals/{task['key']}.{self.arguments.rounds}.json"
        if path.exists() and not set(wanted) <= set(json.loads(path.read_text())):
            if not self.may_measure():
                raise OutOfTime
            path.unlink()

        def make():
            times, default, _ = measured_in_turn(self.file(task), wanted, self.arguments.rounds, *self.flags)
            found = {schedule.strip(): rounds for schedule, rounds in times.items()}
            return dict(dict.fromkeys(wanted, []), **found, default=default)
        return self.kept(path.relative_to(self.work), make)

    def judged(self, split, task):
        """Times of the winner of each (strategy, measurements), of the default schedule, the best search and the best known."""
        times, answer, found = self.final(task), self.answer(task), {}
        default, bare = times["default"], self.arguments.bare
        for (strategy, k), schedules in self.candidates(task, bare).items():
            good = [times[schedule] for schedule in schedules if times[schedule]]
            if (k > 0 and not bare) or (strategy == "model" and answer["source"] != "model"):
                good.append(default)
            found[strategy, k] = min(good, key=median) if good else [CUT_OFF * us for us in default]
        best = min(found[SEARCHES[0], self.arguments.trials], default, key=median)
        timed = self.search(task, SEARCHES[0], self.arguments.trials)
        return dict(split=split, task=task, times=found, default=default, search=best, source=answer["source"],
                    best=min([rounds for rounds in times.values() if rounds], key=median), same=times[answer["schedule"]] == default,
                    reached=reached(timed, answer), rate=rate(timed))

    def whole(self, name):
        """What `tlm compile` takes for a network, and each of its tasks searched."""
        skeleton = MODELS / f"{name}.onnx"
        if not skeleton.exists() and not self.arguments.report_only:
            return None

        def make():
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                model, report, seconds = with_zero_weights(skeleton, folder), folder / "report.json", []
                for _ in range(COMPILATIONS):
                    begin = time.monotonic()
                    tlm("compile", model, "-o", folder / "net.so", *self.flags, "--model", self.arguments.model, "-q", "--json", report)
                    seconds.append(time.monotonic() - begin)
                inference = json.loads(report.read_text())["inference"]
            return dict(compile=min(seconds), write=inference["load_seconds"] + inference["write_seconds"])
        row, tasks = self.kept(f"whole/{name}.{self.weights}.json", make), self.listed(skeleton)
        answers = [self.answer(task) for task in tasks]
        searches = [self.search(task, SEARCHES[0], self.arguments.trials) for task in tasks]
        # A kernel whose answer has no time would make the search's goal unknown.
        parts = [(sum(task["calls"]), answer, timed) for task, answer, timed in zip(tasks, answers, searches) if answer["us"]]
        return dict(row, network=name, tasks=len(parts), default=sum(calls * answer["default_us"] for calls, answer, _ in parts),
                    model=sum(calls * answer["us"] for calls, answer, _ in parts), **whole_search(parts, self.arguments.trials))

    def work_on(self):
        """(rows, whole networks, whether everything is done)"""
        rows, networks, left = [], [], 0
        chosen = self.choose()
        for number, (split, task) in enumerate(chosen, 1):
            try:
                rows.append(self.judged(split, task))
            except (OutOfTime, subprocess.CalledProcessError) as failure:
                self.say_failure(task["label"], failure)
                left += 1
                continue
            if not self.arguments.report_only:
                print(f"{number}/{len(chosen)} {split} {task['label']}: {time_text(rows[-1])}", flush=True)
        for name in self.arguments.whole:
            try:
                networks += filter(None, [self.whole(name)])
            except (OutOfTime, subprocess.CalledProcessError) as failure:
                self.say_failure(name, failure)
                left += 1
        if left:
            print(f"{left} tasks and networks are left; the same command goes on", file=sys.stderr)
        return rows, networks, left == 0

    @staticmethod
    def say_failure(name, failure):
        """One task that fails is no reason to leave the others."""
        if not isinstance(failure, OutOfTime):
            print(f"{name}: tlm {failure.cmd[1]} failed with {failure.returncode}", file=sys.stderr)

    def host(self):
        path = self.work / "host.json"
        return json.loads(path.read_text()) if path.exists() else dict(cpu="an unknown CPU", target="?")


def rate(timed):
    """Trials a second of a search; None where it knew most of them from a run that was stopped."""
    return timed["measured"] / timed["seconds"] if 2 * timed["measured"] > len(timed["proposals"]) else None


def reached(timed, answer):
    """Proposals until one is as fast as the answer; None: none is."""
    for number, trial in enumerate(timed["proposals"], 1):
        if answer["us"] and trial["outcome"] == "ok" and trial["min_us"] <= answer["us"]:
            return number
    return None


def whole_search(parts, most):
    """With as many proposals for every task, how many (`trials` in all), and what seconds, until the sum over calls is that of the
    answers; and the same where the default schedule counts as found. None: not with so many."""
    goal = sum(calls * answer["us"] for calls, answer, _ in parts)
    rates = [rate(timed) for _, _, timed in parts]
    usual = geometric_mean([each for each in rates if each] or [math.nan])
    found = dict(rate=usual)
    for name in ("proposals", "beside_default"):
        for count in range(1, most + 1):
            times = []
            for calls, answer, timed in parts:
                good = [us for us, _ in fastest(timed["proposals"][:count])]
                good += [answer["default_us"]] if name == "beside_default" else []
                times.append(calls * min(good, default=math.inf))
            if sum(times) <= goal:
                break
        trials = [min(count, len(timed["proposals"])) for _, _, timed in parts]
        found[name] = dict(reached=sum(times) <= goal, each=count, trials=sum(trials),
                           seconds=sum(n / (each or usual) for n, each in zip(trials, rates)))
    return found


def offline_cost(paths):
    """(measurements, hours)"""
    rows = records_of(paths) if paths else []
    return len(rows), measuring_seconds(rows) / 3600


def write_csv(path, rows):
    """A row for each task, strategy and budget: the median of the last times of its winner."""
    with open(path, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["split", "network", "task", "label", "kind", "strategy", "measurements", "us"])
        for row in rows:
            given = {("default", ""): row["default"], ("best search", ""): row["search"], ("best known", ""): row["best"]}
            for (strategy, k), rounds in (given | row["times"]).items():
                table.writerow([row["split"], row["task"]["network"], row["task"]["key"], row["task"]["label"],
                                row["task"]["kind"], strategy, k, f"{median(rounds):.3f}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "models/tlm", help="folder of weights")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/equal_budgets")
    parser.add_argument("--splits", nargs="*", default=SPLITS, choices=SPLITS)
    parser.add_argument("--tasks", type=int, default=14, help="of each split")
    parser.add_argument("--seed", type=int, default=1, help="of the draw, and of the searches")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trials", type=int, default=200, help="of each search")
    parser.add_argument("--budgets", type=int, nargs="*", default=[4, 16, 64], help="measurements of the model, and of shorter searches")
    parser.add_argument("--finalists", type=int, default=2, help="fastest of a strategy and budget that are measured again")
    parser.add_argument("--rounds", type=int, default=9, help="of the final")
    parser.add_argument("--whole", nargs="*", default=["resnet50"], help="networks whose compilation is timed beside a search")
    parser.add_argument("--bare", action="store_true", help="the default schedule is no one's candidate")
    parser.add_argument("--offline", nargs="*", type=pathlib.Path, default=[ROOT / "data/records"],
                        help="records that the weights have learnt from: a store (*.db), or folders of shards")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--results", nargs="*", default=[], metavar="FILE", help="write the tables as markdown to these files")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    if not (arguments.model / "model.safetensors").exists():
        print("equal budgets: there are no weights of the language model -> SKIPPED")
        return 77
    if not arguments.report_only and not any(skeletons(split) for split in arguments.splits):
        print("equal budgets: no networks there -> SKIPPED")
        return 77
    run = Run(arguments)
    try:
        rows, networks, complete = run.work_on()
    except OutOfTime:
        rows, networks, complete = [], [], False
    if not rows:
        print("equal budgets: no task is done -> SKIPPED")
        return 77
    tables = Tables(rows, networks, arguments, run.host(), offline_cost(arguments.offline))
    good, verdict = tables.verdict(complete)
    text = f"{tables.text()}\n`bench/equal_budgets.py`: {verdict}\n"
    print(text, end="")
    if arguments.docs:
        write_csv(arguments.docs / "equal_budgets.csv", rows)
        for split in tables.splits:
            write_chart(arguments.docs / f"equal_budgets_{split}.svg", *tables.chart(split))
    for path in arguments.results:
        write_section(path, "equal_budgets.py", text, "## The language model against searches\n\n")
    if arguments.json:
        write_json(arguments.json, dict(ok=good, complete=complete, host=run.host(), weights=run.weights, verdict=verdict,
                                        figures=tables.figures(), networks=networks, results=text))
    print(f"equal budgets: {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
