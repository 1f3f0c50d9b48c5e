#!/usr/bin/env python3
"""Wall time and peak memory of `tlm compile`, phase by phase.

A process of its own for every compile; the median of the wall times and the
largest resident set (ru_maxrss of the child) count. ResNet-50 has to take under
5 s and under 1.5 GB; the other networks stand beside.

usage: compile_time.py [--models NAME_OR_FILE ...] [--threads 2] [--runs 3] [--json FILE]
Models that are not there are skipped with a message.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin"))
MAX_SECONDS, MAX_BYTES = 5.0, 1.5e9
LIMITED = "resnet50"

sys.path.insert(0, str(ROOT / "python"))
from shared_networks import NETWORKS, materialise_all  # noqa: E402


def compile_once(model, threads, folder):
    report = folder / "report.json"
    command = [str(BIN / "tlm"), "compile", str(model), "-o", str(folder / "model.so"), "-q",
               "--threads", str(threads), "--json", str(report)]
    begin = time.perf_counter()
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command)}\nexit {child.returncode}")
    return dict(seconds=seconds, cpu_seconds=usage.ru_utime + usage.ru_stime,
                peak_bytes=usage.ru_maxrss * 1024,
                phases=json.loads(report.read_text())["phases"])


def measure(model, threads, runs, folder):
    done = [compile_once(model, threads, folder) for _ in range(runs)]
    names = [p["name"] for p in done[0]["phases"]]
    phases = [dict(name=name, seconds=statistics.median(d["phases"][i]["seconds"] for d in done),
                   peak_bytes=max(d["phases"][i]["peak_bytes"] for d in done))
              for i, name in enumerate(names)]
    return dict(model=pathlib.Path(model).stem, n=runs,
                seconds=statistics.median(d["seconds"] for d in done),
                all_seconds=[d["seconds"] for d in done],
                cpu_seconds=statistics.median(d["cpu_seconds"] for d in done),
                peak_bytes=max(d["peak_bytes"] for d in done), phases=phases)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", nargs="*", default=NETWORKS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for model in materialise_all(arguments.models, folder):
            row = measure(model, arguments.threads, arguments.runs, folder)
            row["ok"] = row["model"] != LIMITED or (row["seconds"] < MAX_SECONDS and
                                                    row["peak_bytes"] < MAX_BYTES)
            rows.append(row)
            spread = " ".join(f"{s:.2f}" for s in row["all_seconds"])
            print(f"{row['model']}: {row['seconds']:.2f} s ({spread}), {row['cpu_seconds']:.2f} s of CPU, "
                  f"peak {row['peak_bytes'] / 1e9:.2f} GB")
            for phase in row["phases"]:
                print(f"  {phase['name']:12} {phase['seconds']:7.3f} s   peak {phase['peak_bytes'] / 1e9:.2f} GB",
                      flush=True)
    limited = [r for r in rows if r["model"] == LIMITED]
    good = all(r["ok"] for r in rows)
    verdict = "SKIPPED" if not rows else "OK" if good else "FAILED"
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(
            dict(ok=good, skipped=not rows, threads=arguments.threads, cpus=len(os.sched_getaffinity(0)),
                 max_seconds=MAX_SECONDS, max_bytes=MAX_BYTES, rows=rows), indent=1))
    found = "".join(f", {LIMITED} {r['seconds']:.2f} s and {r['peak_bytes'] / 1e9:.2f} GB" for r in limited)
    print(f"compile time: {len(rows)} networks{found} (limits {MAX_SECONDS:.0f} s and {MAX_BYTES / 1e9} GB) "
          f"-> {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
