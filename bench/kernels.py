#!/usr/bin/env python3
"""onnxruntime, OpenVINO and tlm on single kernels, alternating in one process, one thread.

The kernels are those of kernel_cases.py: an operator of a network at its size with the epilogue
that it has there, as a model of its own. Two ratios, above 1 where tlm is faster:

  model    the better peer's whole model / ours, each less what a call of the engine costs. All
           three convert layouts at the border of a convolution's model, which inside a network
           they do not.
  kernel   the better peer's whole model / our kernel alone: the model's steps but for the layout
           copies at its border. The peers' copies stay in theirs, so this is the upper end.

The rate is GFLOP/s (of the direct algorithm) or GB/s, whichever limits the kernel by the measured
peak and the measured bandwidth of the cache that holds its operands; of roof is the share of that
limit, which Winograd may exceed.

--twins adds a column: the kernel under the schedule of kernel_twins.py, which states what the best
hand-written kernels do, over the default one; below 1 the default is behind its twin. "same": the
two are equal; "-": there is nothing to choose.

usage: kernels.py [--only REGEX] [--twins] [--rounds 3] [--json FILE] [--results docs/results.md ...]
--results replaces the section of the file between "<!-- kernels.py -->" and "<!-- end -->", or
appends it.
"""
import argparse
import json
import pathlib
import re
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
LEAST_KERNELS = 40
TOLERANCE = 1e-4       # of the largest value; Winograd's stated error is 1e-5
ROUND_SECONDS = 0.1    # of every contender in every round

sys.path.insert(0, str(ROOT / "python"))
from intervals import geometric_mean  # noqa: E402
from kernel_cases import CASES, Case, pointwise  # noqa: E402
from kernel_twins import TWINS, twin_schedule  # noqa: E402
from marked_section import write_section  # noqa: E402
from networks import ENGINES, OnnxRuntime, OpenVino, Tlm, machine_peak  # noqa: E402

CALL = Case("", "call", "", lambda b: pointwise(b, "relu", 16))


def timed(call):
    """Runs once and returns ms."""
    def run():
        begin = time.perf_counter()
        call()
        return (time.perf_counter() - begin) * 1e3
    return run


class KernelTimer:
    """The steps of a compiled model that are its kernel, timed by the artifact."""

    def __init__(self, tlm, feed):
        steps = tlm.model.steps()
        inside = [i for i, s in enumerate(steps) if not s["kernel"].startswith("copy_")]
        self.inside = set(inside or range(len(steps)))
        self.steps = [steps[i] for i in sorted(self.inside)]
        self.label = max(self.steps, key=lambda s: (s["flops"], s["bytes"]))["kernel"]
        self.outputs = tlm.model.new_outputs()
        inputs = [np.ascontiguousarray(feed[name]) for name, _, _ in tlm.model.inputs]
        self.call = tlm.model.context.bind(inputs, self.outputs, self.after_step)
        self.ns = 0

    def after_step(self, step, begin_ns, end_ns):
        if step in self.inside:
            self.ns += end_ns - begin_ns

    def run(self):
        self.ns = 0
        self.call()
        return self.ns / 1e6


def alternate(contenders, rounds):
    """name -> ms of every run; a contender runs once and returns its ms. Every round goes around
    them, from another start."""
    times = {name: [] for name in contenders}
    names = list(contenders)
    for round_ in range(-1, rounds):  # the first one warms up
        start = round_ % len(names)
        for name in names[start:] + names[:start]:
            contenders[name]()
            begin = time.perf_counter()
            ran = []
            while not ran or time.perf_counter() - begin < ROUND_SECONDS:
                ran.append(contenders[name]())
            if round_ >= 0:
                times[name] += ran
    return times


def relative_error(outputs, expected):
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(outputs, expected))


def roof(flops, moved, peak):
    """(ms, "GFLOP/s" or "GB/s"): what no kernel with this work beats, and which limit it is."""
    level = "l2" if moved < peak["l2_bytes"] else "l3" if moved < peak["l3_bytes"] else "memory"
    arithmetic, memory = flops / peak["peak_gflops"], moved / peak[f"{level}_gb_s"]
    return max(arithmetic, memory) / 1e6, "GFLOP/s" if arithmetic > memory else "GB/s"


def measure(case, twins, rounds, peak, folder):
    model = folder / "model.onnx"
    feed = case.make(model)
    engines = {e.name: e for e in (OnnxRuntime(model, 1), OpenVino(model, 1), Tlm(model, 1, folder))}
    calls = {name: e.bind(feed) for name, e in engines.items()}
    expected = calls["onnxruntime"]()
    error = {name: relative_error(calls[name](), expected) for name in ("openvino", "tlm")}
    kernel = KernelTimer(engines["tlm"], feed)
    contenders = {name: timed(e.raw) for name, e in engines.items()} | {"kernel": kernel.run}

    schedules = None
    if twins:
        wide = "avx512f" in json.loads(engines["tlm"].model.manifest())["target"]["features"]
        schedules = twin_schedule(case.kind, kernel.label, model, folder, wide)
    if schedules:
        engines["twin"] = Tlm(model, 1, folder, schedules)
        twin = KernelTimer(engines["twin"], feed)
        twin.run()
        error["twin"] = relative_error(twin.outputs, expected)
        contenders["twin"] = twin.run

    times = alternate(contenders, rounds)
    flops, moved = (sum(s[k] for s in kernel.steps) for k in ("flops", "bytes"))
    if case.copied_bytes:
        flops, moved = 0, case.copied_bytes
    roof_ms, unit = roof(flops, moved, peak)
    row = dict(network=case.network, kind=case.kind, name=case.name, kernel=kernel.label,
               more_steps=len(kernel.steps) - 1, error=error, unit=unit, roof_ms=roof_ms,
               versions={name: engines[name].version for name in ENGINES},
               flops=flops, bytes=moved,
               n={name: len(v) for name, v in times.items()},
               min={name: min(v) for name, v in times.items()},
               median={name: float(np.median(v)) for name, v in times.items()})
    if schedules:
        row["twin_schedule"] = schedules.read_text()
    row["twin_is_default"] = twins and case.kind in TWINS and not schedules
    for name in ("tlm", "twin"):
        if name in engines:
            engines[name].model.close()
    return row


def add_ratios(row, call_ms, peak):
    """call_ms: what a call of each engine costs, without the work."""
    for kind in ("min", "median"):
        ms = row[kind]
        # A kernel is never free, whatever noise there is.
        net = {e: max(ms[e] - call_ms[e], 0.1 * ms[e]) for e in ENGINES}
        better = min(net["onnxruntime"], net["openvino"])
        row[f"model_ratio_{kind}"] = better / net["tlm"]
        row[f"kernel_ratio_{kind}"] = better / ms["kernel"]
        if "twin" in ms:
            row[f"twin_ratio_{kind}"] = ms["twin"] / ms["kernel"]
    work = row["flops"] if row["unit"] == "GFLOP/s" else row["bytes"]
    row["rate"] = work / row["min"]["kernel"] / 1e6
    row["of_roof"] = row["roof_ms"] / row["min"]["kernel"]


def cells(row):
    """The row as the table prints it, but for network and kernel."""
    times = [f"{row['min'][e]:.3f} / {row['median'][e]:.3f}" for e in (*ENGINES, "kernel")]
    twin = (f"{row['twin_ratio_min']:.2f}" if "twin_ratio_min" in row
            else "same" if row["twin_is_default"] else "-")
    return [*times, f"{row['rate']:.0f} {row['unit']}", f"{100 * row['of_roof']:.0f} %",
            f"{row['model_ratio_min']:.2f} / {row['model_ratio_median']:.2f}",
            f"{row['kernel_ratio_min']:.2f} / {row['kernel_ratio_median']:.2f}", twin,
            f"{max(row['error'][k] for k in ('tlm', 'twin') if k in row['error']):.0e}"]


def label(row):
    return row["kernel"] + (f" +{row['more_steps']}" if row["more_steps"] else "")


HEADING = ("## Kernels against onnxruntime and OpenVINO\n\n"
           "Written by `bench/kernels.py --results`; do not edit.\n\n")


def results_text(rows, call_ms, peak, twins, verdict):
    versions = rows[0]["versions"]
    columns = ["network", "kind", "kernel", "onnxruntime", "OpenVINO", "tlm", "kernel alone", "rate",
               "of roof", "model ratio", "kernel ratio", "twin", "error"]
    shown = [c for c in columns if twins or c != "twin"]
    lines = [
        f"{peak['cpu']} ({peak['target']}), one thread. f32, milliseconds, minimum / median; "
        f"onnxruntime {versions['onnxruntime']}, OpenVINO {versions['openvino']} (f32 pinned), "
        f"tlm {versions['tlm']}, alternating in one process.",
        f"Measured limits: {peak['peak_gflops']:.0f} GFLOP/s; L2 {peak['l2_gb_s']:.0f}, L3 "
        f"{peak['l3_gb_s']:.0f}, memory {peak['memory_gb_s']:.0f} GB/s. A call without work costs "
        + ", ".join(f"{1e3 * call_ms[e]:.0f}" for e in ENGINES)
        + " microseconds; they are in the times and not in the ratios.",
        "The ratios are the better peer's time over that of our model and of our kernel alone, "
        "without the layout copies at the model's border: above 1 is faster."
        + (" The twin is the kernel under a hand-written schedule, over the default: below 1 the "
           "default is behind." if twins else ""),
        "", "| " + " | ".join(shown) + " |", "|" + "---|" * len(shown)]
    for row in rows:
        values = dict(zip(columns, [row["network"], row["kind"], label(row), *cells(row)]))
        lines.append("| " + " | ".join(values[c] for c in shown) + " |")
    return "\n".join(lines + ["", f"`bench/kernels.py`: {verdict}", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="kernels whose network, kind and sizes match")
    parser.add_argument("--twins", action="store_true",
                        help="measure hand-written schedules beside the default ones")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("--results", nargs="*", default=[], metavar="FILE",
                        help="write the table as markdown to these files")
    arguments = parser.parse_args()
    chosen = [c for c in CASES if re.search(arguments.only, c.name)]
    if not chosen:
        parser.error(f"no kernel matches '{arguments.only}'")

    peak = machine_peak(1)
    print("{cpu} ({target}): {peak_gflops} GFLOP/s, L2 {l2_gb_s}, L3 {l3_gb_s}, memory {memory_gb_s} "
          "GB/s".format(**peak))
    rows, call_ms = [], None
    for case in [CALL, *chosen]:
        with tempfile.TemporaryDirectory() as folder:
            row = measure(case, arguments.twins, arguments.rounds, peak, pathlib.Path(folder))
        if call_ms is None:
            call_ms = row["min"]
            print("a call costs " + ", ".join(f"{1e3 * call_ms[e]:.1f} ({e})" for e in ENGINES)
                  + " microseconds\n" + f"{'':38} min / median ms")
            print(f"{'kernel':38} {'onnxruntime':>17} {'openvino':>17} {'tlm':>17} {'kernel':>17} "
                  f"{'rate':>12} {'of roof':>7} {'model ratio':>11} {'kernel':>11} {'twin':>5}  error")
            continue
        add_ratios(row, call_ms, peak)
        rows.append(row)
        widths = (17, 17, 17, 17, 12, 7, 11, 11, 5, 6)
        print(f"{label(row):38} " + " ".join(f"{c:>{w}}" for c, w in zip(cells(row), widths)),
              flush=True)

    wrong = [r["name"] for r in rows if not all(e < TOLERANCE for e in r["error"].values())]
    slower = [r["name"] for r in rows if r["model_ratio_min"] < 1]
    mean, alone = (geometric_mean([r[f"{k}_ratio_min"] for r in rows]) for k in ("model", "kernel"))
    enough = len(rows) >= LEAST_KERNELS or arguments.only
    good = bool(not wrong and enough)
    behind_twin = [r["name"] for r in rows if r.get("twin_ratio_min", 1) < 0.95]
    verdict = (f"{len(rows)} kernels, {'WRONG: ' + ', '.join(wrong) if wrong else 'all right'}, "
               f"geometric mean ratio {mean:.2f} (better peer / ours; kernel alone {alone:.2f}), "
               f"{len(slower)} slower than the better peer"
               + (f", {len(behind_twin)} over 5 % behind their twins" if arguments.twins else "")
               + f" -> {'OK' if good else 'FAILED'}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(
            dict(ok=good, right=not wrong, wrong=wrong, slower=slower, behind_twin=behind_twin,
                 geometric_mean=mean, geometric_mean_kernel=alone, verdict=verdict,
                 tolerance=TOLERANCE, least_kernels=LEAST_KERNELS, peak=peak,
                 call_ms={e: call_ms[e] for e in ENGINES}, rows=rows), indent=1))
    for path in arguments.results:
        write_section(path, "kernels.py",
                      results_text(rows, call_ms, peak, arguments.twins, verdict), HEADING)
    print(f"kernels: {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
