#!/usr/bin/env python3
"""How much the choice of a schedule matters, task by task.

For the heaviest tasks of each of ../shared's networks `tlm tune` measures the default schedule,
a fixed one that knows nothing of the task (direct, tiles of 2 vectors by 7, a chunk a thread) and
the candidates of a search; winners are measured again, in turn. Printed are the gaps
default / best and fixed / best per network, weighted by time, and their distribution over tasks.
The space has to be worth deciding in: fixed / best, weighted by time, at least 1.15.

usage: schedule_gap.py [--models NAME ...] [--threads 1 2] [--trials 64] [--heaviest 10]
                       [--strategy evolutionary] [--schedules DIR] [--json FILE] [--results FILE ...]
Weights decide nothing here: one file of zeros stands for all.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin"))
sys.path.insert(0, str(ROOT / "python"))
from marked_section import write_section  # noqa: E402
from shared_networks import MODELS, with_zero_weights  # noqa: E402

ALL = ["resnet50", "mobilenet_v2", "efficientnet_b0", "bert_base", "gpt2", "llama7b_1layer"]
WANTED = 1.15


def tune(name, threads, arguments, folder):
    """The report of `tlm tune`, or None where the network is not there."""
    skeleton = MODELS / f"{name}.onnx"
    if not skeleton.exists():
        print(f"{name}: skipped, there is no {skeleton.name}", file=sys.stderr)
        return None
    model = with_zero_weights(skeleton, folder)
    report = folder / "report.json"
    command = [BIN / "tlm", "tune", model, "--threads", str(threads), "--trials", str(arguments.trials),
               "--strategy", arguments.strategy, "--heaviest", str(arguments.heaviest),
               "--json", report]
    if arguments.schedules:
        arguments.schedules.mkdir(parents=True, exist_ok=True)
        command += ["-o", arguments.schedules / f"{name}.{threads}.schedules"]
    subprocess.run(command, check=True)
    return json.loads(report.read_text())


def sums(tasks):
    """Milliseconds of all calls: fixed, default, best."""
    return [sum(sum(t["calls"]) * t[key] for t in tasks) / 1e3
            for key in ("fixed_us", "default_us", "best_us")]


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def distribution(tasks):
    gaps = [t["default_us"] / t["best_us"] for t in tasks if t["best_us"] > 0]
    mean = math.exp(sum(map(math.log, gaps)) / len(gaps))
    text = ", ".join(f"{100 * share:.0f} % of tasks {percentile(gaps, share):.3f}x" for share in (0.5, 0.75, 0.9))
    over = sum(gap > 1.05 for gap in gaps)
    return f"default / best: geometric mean {mean:.3f}x, {text}, worst {max(gaps):.3f}x; {over} of {len(gaps)} over 1.05x"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", nargs="*", default=ALL)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--heaviest", type=int, default=10)
    parser.add_argument("--strategy", default="evolutionary")
    parser.add_argument("--schedules", type=pathlib.Path, help="keep the fastest schedules here")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--results", nargs="*", default=[], metavar="FILE",
                        help="write the table as markdown to these files")
    arguments = parser.parse_args()
    rows, tasks, host = [], [], {}
    for threads in arguments.threads:
        for name in arguments.models:
            with tempfile.TemporaryDirectory() as folder:
                report = tune(name, threads, arguments, pathlib.Path(folder))
            if report:
                host = report["host"]
                rows.append((name, threads, *sums(report["tasks"])))
                tasks += [dict(t, network=name, threads=threads) for t in report["tasks"]]
    if not rows:
        print("schedule gap: no networks there -> SKIPPED")
        return 77
    lines = [f"CPU: {host['cpu']}. {arguments.strategy}, {arguments.trials} trials a task, the {arguments.heaviest} heaviest "
             "tasks of each network; sums over their calls, winners measured again in turn.", "",
             "| network | threads | fixed ms | default ms | best ms | default / best | fixed / best |",
             "|---|---|---|---|---|---|---|"]
    for name, threads, fixed, default, best in rows:
        lines.append(f"| {name} | {threads} | {fixed:.2f} | {default:.2f} | {best:.2f} | {default / best:.3f} | {fixed / best:.3f} |")
    lines += ["", distribution(tasks) + "."]
    print("\n".join(lines))
    for path in arguments.results:
        write_section(path, "schedule_gap.py", "\n".join(lines) + "\n", "## The gap between schedules\n\n")
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows, "tasks": tasks, "host": host}, indent=1))
    weighted = math.exp(sum(math.log(fixed / best) for *_, fixed, _, best in rows) / len(rows))
    good = weighted >= WANTED
    print(f"schedule gap: {len(tasks)} tasks, fixed / best {weighted:.3f}x by time in the geometric mean of "
          f"{len(rows)} rows (wanted {WANTED}) -> {'OK' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
