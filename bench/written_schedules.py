#!/usr/bin/env python3
"""How good are the schedules that the language model writes, without a measurement?

For the heaviest tasks, of up to 2 GFLOP, of each of ../shared's six networks that leave something to decide: the answer of
the model, the default schedule, the best of --random drawn ones, the best of roller's ten, and the
best known one, of searches with --trials each (or of all of these, or of --records). All of them are
then measured in turn, and judged by these last times:

  gain     default / model, random / model, roller / model: geometric means over tasks
  share    of the gap from the default schedule to the best one that the model closes, over the tasks
           whose gap is above the noise: sum of log(default / model) over sum of log(default / best),
           and of calls x (default - model) over calls x (default - best)
  network  time of the whole network with the model's schedules over that with the default ones, in turn;
           kernels whose chunks fit run in chains without barriers (src/driver/Stripes.h), which schedules
           chosen kernel by kernel may break: so the steps in chains are counted

Weights of the networks are zeros, which changes no time. A full run takes about a quarter of an hour
on two cores. It may be stopped at any time and goes on where it was: what is done stands in the work folder.
--minutes ends it after so long; tasks are taken from all networks in turn.

usage: written_schedules.py [--model DIR] [--work DIR] [--models NAME ...] [--heaviest 8] [--trials 40]
                            [--strategies NAME ...] [--threads 2] [--samples 1] [--minutes M]
                            [--records STORE] [--results FILE ...] [--json FILE]
Verdict: a share of at least 0.4, no network more than 3 % slower than with default schedules, and
ResNet-50's schedules written in less than 0.3 s. Without weights it is SKIPPED.
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
import tlm_ctypes  # noqa: E402
from intervals import geometric_mean, interval, interval_text, median, share_interval  # noqa: E402
from marked_section import write_section  # noqa: E402
from networks import alternate  # noqa: E402
from searches import (BIN, TimeLimit, explained, fastest, measured_in_turn, proposals, schedules_of, search,  # noqa: E402
                      tlm, write_json)
from shared_networks import MODELS, network_tasks, with_zero_weights  # noqa: E402

ALL = ["resnet50", "mobilenet_v2", "efficientnet_b0", "bert_base", "gpt2", "llama7b_1layer"]
SHARE = 0.4            # of the gap, at least
SLOWEST = 1.03         # a network with the model's schedules over one with default ones, at most
WRITE_SECONDS = 0.3    # for ResNet-50
NOISE = 1.01           # gaps below this are none
ROUNDS = 15            # of the winners of a task
NETWORK_ROUNDS = 7
ROLLER_TRIALS = 10
MOST_FLOPS = 2e9       # of a task


class Network:
    """What is known of one network, in a folder of its own."""

    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments
        self.folder = arguments.work / f"{name}.{arguments.threads}"
        (self.folder / "tasks").mkdir(parents=True, exist_ok=True)
        self.model = with_zero_weights(MODELS / f"{name}.onnx", self.folder)
        self.flags = ["--threads", str(arguments.threads)]

    def choose_tasks(self):
        """The heaviest of those that leave something to decide and do not take most of the time."""
        listing = self.folder / "tasks.json"
        if not listing.exists():
            write_json(listing, dict(tasks=network_tasks(self.model, self.folder / "tasks", self.flags)))
        tasks = json.loads(listing.read_text())["tasks"]
        tasks = [task for task in tasks if task["log10_size"] > 0 and task["flops"] <= MOST_FLOPS]
        return tasks[:self.arguments.heaviest]

    def write(self):
        """Asks the model; {key: schedule} of what it wrote, and what it took."""
        given = ["--model", str(self.arguments.model), "--samples", str(self.arguments.samples)]
        report = self.folder / "written.json"
        tlm("compile", self.model, "-o", self.folder / "model.so", *self.flags, *given, "-q", "--json", report)
        compiled = json.loads(report.read_text())
        self.inference, self.fallbacks = compiled["inference"], compiled["fallbacks"]
        self.chained = compiled["chained_steps"]
        self.seconds = self.inference["load_seconds"] + self.inference["write_seconds"]
        text = self.folder / "written.schedules"
        tlm("explain", self.model, *self.flags, *given, "-o", text)
        self.written = schedules_of(text)

    def measure(self):
        """Times of whole calls in turn, or those of another run with the same schedules."""
        path = self.folder / "network.json"
        digest = hashlib.sha256((self.folder / "written.schedules").read_bytes()).hexdigest()
        if path.exists() and (known := json.loads(path.read_text()))["schedules"] == digest and "chained" in known:
            return known
        report = self.folder / "default.json"
        tlm("compile", self.model, "-o", self.folder / "default.so", *self.flags, "--schedules=default", "-q", "--json",
            report)
        times = {"model": [], "default": []}
        models = {name: tlm_ctypes.Model(self.folder / f"{name}.so", threads=self.arguments.threads) for name in times}
        calls = {name: self.bind(model) for name, model in models.items()}
        # What looks too slow is measured again, longer.
        for rounds in (NETWORK_ROUNDS, 2 * NETWORK_ROUNDS):
            for name, values in alternate(calls, rounds).items():
                times[name] += values
            if min(times["model"]) <= SLOWEST * min(times["default"]):
                break
        for model in models.values():
            model.close()
        row = dict(network=self.name, schedules=digest, min={k: min(v) for k, v in times.items()},
                   median={k: median(v) for k, v in times.items()}, n=len(times["model"]),
                   chained=dict(default=json.loads(report.read_text())["chained_steps"], model=self.chained))
        write_json(path, row)
        return row

    @staticmethod
    def bind(model):
        generator = np.random.default_rng(0)
        inputs = [np.ones(shape, dtype) if np.issubdtype(dtype, np.integer) else
                  generator.random(shape, dtype=np.float32).astype(dtype) for _, dtype, shape in model.inputs]
        return model.context.bind(inputs, model.new_outputs())


class TaskRun:
    """The searches of one task, and its winners measured in turn."""

    def __init__(self, network, task):
        self.network, self.task, self.arguments = network, task, network.arguments
        self.file = network.folder / f"tasks/{task['key']}.task"
        self.path = network.folder / f"{task['key']}.json"
        self.state = json.loads(self.path.read_text()) if self.path.exists() else {"searches": {}, "times": {}}

    def search(self, strategy, trials):
        """The fastest candidate of a search: (microseconds, schedule), or None."""
        name = f"{strategy}.{trials}"
        if name not in self.state["searches"]:
            result = search(self.file, strategy, trials, self.arguments.work / "records.tlm", *self.network.flags)
            best = fastest(proposals(result))
            self.state["searches"][name] = (best[0][0], best[0][1].strip()) if best else None
            self.state["default"] = result["default_schedule"].strip()
            write_json(self.path, self.state)
        return self.state["searches"][name]

    def recorded(self):
        """The best schedule of --records, or None."""
        if not self.arguments.records:
            return None
        source, schedule = explained(self.file, self.task["key"], *self.network.flags, "--schedules=records", "--records",
                                     self.arguments.records)
        return schedule if source == "records" else None

    def searches(self):
        """role -> (strategy, trials)"""
        return {"random": ("random", self.arguments.random), "roller": ("roller", ROLLER_TRIALS),
                **{strategy + " search": (strategy, self.arguments.trials) for strategy in self.arguments.strategies}}

    def is_searched(self):
        return all(f"{strategy}.{trials}" in self.state["searches"] for strategy, trials in self.searches().values())

    def work_on(self):
        """Searches, then measures what no earlier run measured in this company."""
        fastest = {role: self.search(*search) for role, search in self.searches().items()}
        self.roles = {role: best[1] for role, best in fastest.items() if best}
        self.roles["default"] = self.state["default"]
        # A task of which the model wrote nothing keeps the default schedule.
        self.roles["model"] = self.network.written.get(self.task["key"], self.state["default"])
        if recorded := self.recorded():
            self.roles["records"] = recorded
        wanted = sorted(set(self.roles.values()) - {self.state["default"]})
        if not set(wanted) <= set(self.state["times"]):
            times, _, _ = measured_in_turn(self.file, wanted, ROUNDS, *self.network.flags)
            self.state["times"] = {schedule.strip(): rounds for schedule, rounds in times.items()}
            write_json(self.path, self.state)

    def row(self):
        """Times of each role, round by round; None where a candidate has none."""
        times = {role: self.state["times"].get(schedule) for role, schedule in self.roles.items()}
        if not times["default"] or not times["model"]:
            return None
        best = min((t for t in times.values() if t), key=median)
        return dict(network=self.network.name, label=self.task["label"], key=self.task["key"], calls=sum(self.task["calls"]),
                    best=best, best_role=min((r for r in times if times[r]), key=lambda role: median(times[role])),
                    same_as_default=self.roles["model"] == self.roles["default"], **times)


def summary(rows, draws=1000):
    """What the last times of the tasks say; `draws` are for the intervals."""
    result = dict(tasks=len(rows), same_as_default=sum(r["same_as_default"] for r in rows))
    for role in ("default", "random", "roller", "best"):
        pairs = [(r[role], r["model"]) for r in rows if r.get(role)]
        result[f"{role}_over_model"] = interval(pairs, draws) if pairs else None
    gaps = [r for r in rows if median(r["default"]) > NOISE * median(r["best"])]
    result["with_gap"] = len(gaps)
    if gaps:
        result["default_over_best"] = geometric_mean([median(r["default"]) / median(r["best"]) for r in gaps])
        result["share"] = share_interval([(r["default"], r["model"], r["best"]) for r in gaps], draws)
        possible = sum(r["calls"] * (median(r["default"]) - median(r["best"])) for r in gaps)
        result["share_by_time"] = sum(r["calls"] * (median(r["default"]) - median(r["model"])) for r in gaps) / possible
    return result


def texts_of(found):
    return [interval_text(found.get(key)) for key in ("default_over_model", "random_over_model", "roller_over_model", "share")]


def results_text(run, rows, networks, found, verdict):
    arguments = run.arguments
    lines = [f"{run.cpu}, {arguments.threads} threads; the {arguments.heaviest} heaviest tasks of each network that leave "
             f"something to decide, answers written without a measurement"
             + (f", the best of {arguments.samples} by the model's own judgement" if arguments.samples > 1 else "")
             + f". Best known: {' and '.join(arguments.strategies)} searches with {arguments.trials} trials a task"
             + (", records" if arguments.records else "") + ", or any other column. Winners measured in turn "
             f"({ROUNDS} rounds), medians; intervals of 95 %.", "",
             "| network | tasks | default / model | random / model | roller / model | default / best | share of the gap | "
             "whole network, ms, default | model | model / default | steps in chains, default / model | schedules written in |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in networks:
        own = [r for r in rows if r["network"] == row["network"]]
        of = summary(own, draws=1) if own else None
        cells = [f"{of[f'{role}_over_model'][0]:.3f}" if of and of[f"{role}_over_model"] else "-"
                 for role in ("default", "random", "roller")]
        cells.append(f"{of['default_over_best']:.3f}" if of and of["with_gap"] else "-")
        cells.append(f"{of['share'][0]:.2f}" if of and of["with_gap"] else "-")
        lines.append(f"| {row['network']} | {len(own)} | {' | '.join(cells)} | {row['min']['default']:.2f} | "
                     f"{row['min']['model']:.2f} | {row['ratio']:.3f} | {row['chained']['default']} / {row['chained']['model']} | "
                     f"{row['seconds']:.3f} s |")
    default, drawn, roller, share = texts_of(found)
    lines += ["", f"All {found['tasks']} tasks, geometric means: default / model {default}, best of {arguments.random} random / "
              f"model {drawn}, best of roller's {ROLLER_TRIALS} / model {roller}. Tasks with a gap of over "
              f"{100 * (NOISE - 1):.0f} % to the best known schedule: {found['with_gap']}, with {found.get('default_over_best', 1):.3f}x "
              f"in the geometric mean, of which the model closes {share}, by time {found.get('share_by_time', 0):.2f}. Answers "
              f"that are the default schedule: {found['same_as_default']}.", "",
              f"`bench/written_schedules.py`: {verdict}"]
    return "\n".join(lines) + "\n"


class Run:
    def __init__(self, arguments):
        self.arguments, self.limit = arguments, TimeLimit(arguments.minutes)
        arguments.work.mkdir(parents=True, exist_ok=True)
        peak = subprocess.run([str(BIN / "tlm-peak"), str(arguments.threads)], capture_output=True, text=True, check=True)
        self.cpu = json.loads(peak.stdout)["cpu"]

    def networks(self):
        found = []
        for name in self.arguments.models:
            if (MODELS / f"{name}.onnx").exists():
                found.append(Network(name, self.arguments))
            else:
                print(f"{name}: skipped, there is no {name}.onnx", file=sys.stderr)
        return found

    def tasks(self, networks):
        """(whether all are done, rows): network by network in turn, so that a prefix is a fair choice, too."""
        lists = [[TaskRun(network, task) for task in network.choose_tasks()] for network in networks]
        order = [tasks[i] for i in range(self.arguments.heaviest) for tasks in lists if i < len(tasks)]
        rows = []
        left = 0
        for number, task in enumerate(order):
            if self.limit.is_over() and not task.is_searched():
                left += 1
                continue
            task.work_on()
            if row := task.row():
                rows.append(row)
                print(f"{number + 1}/{len(order)} {row['network']} {row['label']}: "
                      + ", ".join(f"{role} {median(row[role]):.1f}" for role in ("default", "model", "random", "roller")
                                  if row.get(role)) + f", best {median(row['best']):.1f} us, of {row['best_role']}", flush=True)
        if left:
            print(f"{left} tasks are left; the same command goes on", file=sys.stderr)
        return left == 0, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "models/tlm", help="folder of weights")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/written_schedules")
    parser.add_argument("--models", nargs="*", default=ALL)
    parser.add_argument("--heaviest", type=int, default=8, help="tasks of each network")
    parser.add_argument("--trials", type=int, default=40, help="of each search for the best schedule")
    parser.add_argument("--strategies", nargs="*", default=["evolutionary", "near-default"], help="of these searches")
    parser.add_argument("--random", type=int, default=10, help="random schedules")
    parser.add_argument("--samples", type=int, default=1, help="answers that the model chooses from")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--records", type=pathlib.Path, help="a store whose best schedules count as known")
    parser.add_argument("--results", nargs="*", default=[], metavar="FILE", help="write the table as markdown to these files")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    if not (arguments.model / "config.json").exists():
        print("written schedules: there are no weights of the language model -> SKIPPED")
        return 77
    run = Run(arguments)
    networks = run.networks()
    if not networks:
        print("written schedules: no networks there -> SKIPPED")
        return 77
    measured = []
    for network in networks:
        network.write()
        row = dict(network.measure(), seconds=network.seconds, fallbacks=len(network.fallbacks),
                   refused=network.inference["refused"])
        row["ratio"] = row["min"]["model"] / row["min"]["default"]
        measured.append(row)
        print(f"{network.name}: {network.inference['written']} schedules in {network.seconds:.3f} s, default "
              f"{row['min']['default']:.2f} ms, model {row['min']['model']:.2f} ms, {row['ratio']:.3f}x; steps in "
              f"chains {row['chained']['default']} and {row['chained']['model']}", flush=True)
    complete, rows = run.tasks(networks)
    if not rows:
        print("written schedules: no task is done -> SKIPPED")
        return 77
    found = summary(rows)
    default, drawn, roller, share = texts_of(found)
    slow = [f"{row['network']} {row['ratio']:.3f}" for row in measured if row["ratio"] > SLOWEST]
    late = [f"{row['seconds']:.3f} s" for row in measured if row["network"] == "resnet50" and row["seconds"] >= WRITE_SECONDS]
    good = complete and not slow and not late and "share" in found and found["share"][0] >= SHARE
    verdict = (f"{found['tasks']} tasks: default / model {default}, random / model {drawn}, roller / model {roller}; "
               f"share of the gap {share} (wanted {SHARE})"
               + (f"; slower than default schedules: {', '.join(slow)}" if slow else
                  f"; no network over {SLOWEST} x default")
               + (f"; ResNet-50 written in {late[0]} (wanted {WRITE_SECONDS})" if late else "")
               + ("" if complete else "; tasks are left") + f" -> {'OK' if good else 'FAILED'}")
    text = results_text(run, rows, measured, found, verdict)
    print(text, end="")
    for path in arguments.results:
        write_section(path, "written_schedules.py", text, "## Schedules of the language model\n\n")
    if arguments.json:
        write_json(arguments.json, dict(ok=good, complete=complete, cpu=run.cpu, threads=arguments.threads, options={
            k: getattr(arguments, k) for k in ("heaviest", "trials", "strategies", "random", "samples")},
            summary=found, networks=measured, tasks=rows, verdict=verdict, results=text))
    print(f"written schedules: {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
