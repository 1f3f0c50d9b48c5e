#!/usr/bin/env python3
"""How many candidates a second are built, checked, measured and stored, and where their time goes.

`tlm collect` measures random candidates of two lots of tasks: small convolutions (of less than 0.1 GFLOP) of
../shared's networks, and tasks of the whole corpus, drawn with a seed. A second run over the same
candidates, which the store knows, tells what is neither building nor measuring. Wants a quiet machine:
what others had of it stands beside the rates.

usage: measure_rates.py [--tasks 20] [--count 4] [--threads 2] [--seed 1] [--json FILE] [--results FILE ...]
Verdict: at least 8 candidates a second on small convolutions, 3 over the corpus.
"""
import argparse
import json
import pathlib
import random
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "python"))
from marked_section import write_section  # noqa: E402
from repeatability import BIN, NETWORKS, Load, run_tlm  # noqa: E402
from shared_networks import MODELS, write_tasks  # noqa: E402

WANTED = {"small convolutions": 8.0, "the corpus": 3.0}
SMALL_FLOPS = 1e8


def lots(folder, count, seed):
    """name -> files of tasks."""
    networks = [path for name in NETWORKS if (path := MODELS / f"{name}.onnx").exists()]
    write_tasks(networks, folder / "networks", ["--threads", "1"])
    listing = folder / "tasks.json"
    files = {path.stem: path for path in sorted((folder / "networks").glob("*.task"))}
    run_tlm(BIN / "tlm", "tune", *files.values(), "--dry-run", "--json", listing)
    small = [files[task["key"]] for task in json.loads(listing.read_text())["tasks"]
             if task["kind"] in ("conv", "depthwise") and task["flops"] < SMALL_FLOPS]
    write_tasks(sorted((MODELS.parent / "corpus").glob("*.onnx")), folder / "corpus", ["--threads", "1"])
    whole = sorted((folder / "corpus").glob("*.task"))
    generator = random.Random(seed)
    return {name: generator.sample(sorted(tasks), min(count, len(tasks)))
            for name, tasks in (("small convolutions", small), ("the corpus", whole))}


def collect(folder, name, files, arguments):
    """The report of a run, and of one more that measures nothing."""
    reports = []
    for number in range(2):
        path, load = folder / "report.json", Load()
        run_tlm(BIN / "tlm", "collect", *files, "--records", folder / f"{name}.db", "--count", arguments.count, "--sources",
                "random", "--seed", arguments.seed, "--threads", arguments.threads, "--json", path, "-q")
        reports.append(dict(json.loads(path.read_text()), others=load.others()))
        if number == 1 and reports[1]["measured"]:
            raise SystemExit(f"{name}: the second run measured {reports[1]['measured']} candidates")
    return reports


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--results", nargs="*", default=[], metavar="FILE")
    arguments = parser.parse_args()
    if not MODELS.exists():
        print("measure rates: no networks there -> SKIPPED")
        return 77
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, files in lots(folder, arguments.tasks, arguments.seed).items():
            first, again = collect(folder, name, files, arguments)
            rows.append({"lot": name, "tasks": len(files), "measured": first["measured"], "seconds": first["seconds"],
                         "rate": first["measured"] / first["seconds"], "build": first["build_s"],
                         "measure": first["measure_s"], "rest": again["seconds"], "others": first["others"],
                         "outcomes": first["outcomes"], "cpu": first["host"]["cpu"]})
    lines = [f"CPU: {rows[0]['cpu']}. Random candidates with {arguments.threads} threads, built on all cores; milliseconds a candidate.",
             "", "| tasks | candidates | a second | build | check and measure, stored | known again | others had of the machine |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        each = [f"{1e3 * row[key] / row['measured']:.0f}" for key in ("build", "measure", "rest")]
        lines.append(f"| {row['tasks']} of {row['lot']} | {row['measured']} | {row['rate']:.1f} | {' | '.join(each)} | "
                     f"{100 * row['others']:.0f} % |")
    print("\n".join(lines))
    for path in arguments.results:
        write_section(path, "measure_rates.py", "\n".join(lines) + "\n", "## Candidates a second\n\n")
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows}, indent=1))
    good = all(row["rate"] >= WANTED[row["lot"]] for row in rows)
    print("measure rates: " + ", ".join(f"{row['rate']:.1f} a second on {row['lot']} (wanted {WANTED[row['lot']]:g})"
                                        for row in rows) + f" -> {'OK' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
