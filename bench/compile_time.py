#!/usr/bin/env python3
"""Wall time and peak memory of `tlm compile`, by phase and by kernel.

A process of its own for every compile; the median of the wall times and the
largest resident set (ru_maxrss of the child, in which mapped files count)
are taken. ResNet-50 has to take under 5 s and under 1.5 GB, and a model of more
than 500 MB under 2.5 times its size, with its external data. Of the unique
kernels of each network the median has to take under 60 ms and the slowest
under 500 ms.

usage: compile_time.py [--models NAME_OR_FILE ...] [--threads 2] [--runs 3] [--json FILE]
Models that are not there are skipped with a message.
"""
import argparse
import json
import multiprocessing
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
BIG_MODEL, MAX_RATIO = 500e6, 2.5               # bytes of a model, peak / model
MAX_MEDIAN_KERNEL, MAX_KERNEL = 0.060, 0.500    # seconds

sys.path.insert(0, str(ROOT / "python"))
from shared_networks import NETWORKS, materialise_all  # noqa: E402


def read_model_bytes(path):
    """Of the model file and of the files its initializers point into."""
    import onnx
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data
    path = pathlib.Path(path)
    graph = onnx.load(str(path), load_external_data=False).graph
    beside = {ExternalDataInfo(t).location for t in graph.initializer if uses_external_data(t)}
    return path.stat().st_size + sum((path.parent / name).stat().st_size for name in beside)


def model_bytes(path):
    """In a process of its own: a child starts with the ru_maxrss of its parent, so what this one
    held would count as the compiler's."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(read_model_bytes, (path,))


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
    told = json.loads(report.read_text())
    return dict(seconds=seconds, cpu_seconds=usage.ru_utime + usage.ru_stime,
                peak_bytes=usage.ru_maxrss * 1024, phases=told["phases"], kernels=told["kernels"])


def measure(model, threads, runs, folder):
    done = [compile_once(model, threads, folder) for _ in range(runs)]
    names = [p["name"] for p in done[0]["phases"]]
    phases = [dict(name=name, seconds=statistics.median(d["phases"][i]["seconds"] for d in done),
                   peak_bytes=max(d["phases"][i]["peak_bytes"] for d in done))
              for i, name in enumerate(names)]
    kernels = [dict(label=kernel["label"], key=kernel["key"],
                    seconds=statistics.median(d["kernels"][i]["seconds"] for d in done),
                    cpu_seconds=statistics.median(d["kernels"][i]["cpu_seconds"] for d in done))
               for i, kernel in enumerate(done[0]["kernels"])]
    return dict(model=pathlib.Path(model).stem, n=runs, model_bytes=model_bytes(model),
                seconds=statistics.median(d["seconds"] for d in done),
                all_seconds=[d["seconds"] for d in done],
                cpu_seconds=statistics.median(d["cpu_seconds"] for d in done),
                peak_bytes=max(d["peak_bytes"] for d in done), phases=phases,
                kernels=sorted(kernels, key=lambda k: -k["seconds"]))


def judge(row):
    """Adds the derived figures and which limits the row does not keep."""
    seconds = [k["seconds"] for k in row["kernels"]]
    row["peak_ratio"] = row["peak_bytes"] / row["model_bytes"]
    row["median_kernel_seconds"] = statistics.median(seconds)
    row["worst_kernel_seconds"] = max(seconds)
    limits = {"seconds": row["model"] != LIMITED or row["seconds"] < MAX_SECONDS,
              "bytes": row["model"] != LIMITED or row["peak_bytes"] < MAX_BYTES,
              "ratio": row["model_bytes"] <= BIG_MODEL or row["peak_ratio"] < MAX_RATIO,
              "median kernel": row["median_kernel_seconds"] < MAX_MEDIAN_KERNEL,
              "worst kernel": row["worst_kernel_seconds"] < MAX_KERNEL}
    row["exceeded"] = [name for name, kept in limits.items() if not kept]
    row["ok"] = not row["exceeded"]


def print_row(row):
    spread = " ".join(f"{s:.2f}" for s in row["all_seconds"])
    print(f"{row['model']}: {row['seconds']:.2f} s ({spread}), {row['cpu_seconds']:.2f} s of CPU, "
          f"peak {row['peak_bytes'] / 1e9:.2f} GB, {row['peak_ratio']:.2f} x the model of "
          f"{row['model_bytes'] / 1e9:.2f} GB")
    for phase in row["phases"]:
        print(f"  {phase['name']:12} {phase['seconds']:7.3f} s   peak {phase['peak_bytes'] / 1e9:.2f} GB")
    cpu = [kernel["cpu_seconds"] for kernel in row["kernels"]]
    print(f"  {len(cpu)} kernels: median {row['median_kernel_seconds'] * 1e3:.0f} ms, worst "
          f"{row['worst_kernel_seconds'] * 1e3:.0f} ms ({row['kernels'][0]['label']}); of CPU "
          f"{statistics.median(cpu) * 1e3:.0f} ms and {max(cpu) * 1e3:.0f} ms")
    if row["exceeded"]:
        print(f"  over the limit: {', '.join(row['exceeded'])}")
    sys.stdout.flush()


def verdict_line(rows, verdict):
    text = f"compile time: {len(rows)} networks"
    for row in rows:
        if row["model"] == LIMITED:
            text += f", {LIMITED} {row['seconds']:.2f} s and {row['peak_bytes'] / 1e9:.2f} GB"
    text += f" (limits {MAX_SECONDS:.0f} s and {MAX_BYTES / 1e9} GB)"
    big = [row for row in rows if row["model_bytes"] > BIG_MODEL]
    for row in big:
        text += f", {row['model']} peak {row['peak_bytes'] / 1e9:.2f} GB, {row['peak_ratio']:.2f} x its file"
    if big:
        text += f" (limit {MAX_RATIO} x above {BIG_MODEL / 1e6:.0f} MB)"
    if rows:
        text += (f", kernels median {max(r['median_kernel_seconds'] for r in rows) * 1e3:.0f} ms, worst "
                 f"{max(r['worst_kernel_seconds'] for r in rows) * 1e3:.0f} ms (limits "
                 f"{MAX_MEDIAN_KERNEL * 1e3:.0f} and {MAX_KERNEL * 1e3:.0f} ms)")
    return f"{text} -> {verdict}"


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
            judge(row)
            rows.append(row)
            print_row(row)
    good = all(r["ok"] for r in rows)
    verdict = "SKIPPED" if not rows else "OK" if good else "FAILED"
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(
            dict(ok=good, skipped=not rows, threads=arguments.threads, cpus=len(os.sched_getaffinity(0)),
                 max_seconds=MAX_SECONDS, max_bytes=MAX_BYTES, big_model_bytes=BIG_MODEL, max_ratio=MAX_RATIO,
                 max_median_kernel_seconds=MAX_MEDIAN_KERNEL, max_kernel_seconds=MAX_KERNEL, rows=rows), indent=1))
    print(verdict_line(rows, verdict))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
