#!/usr/bin/env python3
"""onnxruntime, OpenVINO and tlm on whole networks, alternating in one process.

For each network and thread count: every engine is warmed up, then rounds of a
few runs each go around the engines, so that a drifting clock or a noisy
neighbour hits all of them. Reported: minimum and median ms, the ratio better
peer / tlm (above 1 is faster than both), and the physical floor of the machine:
FLOP / measured peak + bytes of the weights and of the steps that do hardly
any arithmetic / measured bandwidth. FLOP are those of the direct algorithm, so
Winograd convolutions may go below.

All f32: OpenVINO is pinned to it (it would take bf16 or f16 where it may). The
engines' thread pools sleep while another one runs.

usage: networks.py [--models NAME_OR_FILE ...] [--threads 1 2] [--rounds 7] [--json FILE]
                   [--any-speed] [--results docs/results.md ...]
                   [--schedules DIR] [--tune TRIALS]
--schedules compiles with the schedules of DIR/NAME.THREADS.schedules, as schedule_gap.py --schedules
leaves them; --tune searches for those that are not there, so many trials a task.
--results replaces the section of the file between "<!-- networks.py -->" and "<!-- end -->",
or appends it; what is compiled for another processor has a section of its own.
The three CNNs by default, drawn from ../shared/models; those that are not there
are skipped with a message.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin"))
SLOWEST = 1.05         # no network slower than this times the better peer
# Better peer's time / ours that is wanted, with one and with more threads.
GOALS = dict(resnet50=(1.2, 1.2), mobilenet_v2=(1.15, 1.25), efficientnet_b0=(1.2, 1.2),
             bert_base=(1.05, 1.05), gpt2=(1.05, 1.05), llama7b_1layer=(1.0, 1.0))
ROUND_SECONDS = 0.35   # of every engine in every round
PAUSE = 0.05           # lets the pool of the engine before go to sleep

sys.path.insert(0, str(ROOT / "python"))
import tlm_ctypes  # noqa: E402
from marked_section import write_section  # noqa: E402
from shared_networks import NETWORKS, materialise_all  # noqa: E402


class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self, model, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(model), options,
                                                    providers=["CPUExecutionProvider"])
        self.version = onnxruntime.__version__

    def draw(self, rng):
        """Images scaled to [0,1), token ids, masks of ones. EfficientNet with standard normal
        inputs is so ill-conditioned that right engines disagree
        (test/e2e/networks_against_onnxruntime.py prints how much)."""
        feed = {}
        for i in self.session.get_inputs():
            shape = tuple(int(d) for d in i.shape)
            if i.type == "tensor(float)":
                feed[i.name] = rng.random(shape, dtype=np.float32)
            elif "mask" in i.name:
                feed[i.name] = np.ones(shape, np.int64)
            else:
                feed[i.name] = rng.integers(0, 2 if "type" in i.name else 1000, shape)
        return feed

    def bind(self, feed):
        """Bound to fixed memory on both sides, as its fastest users do."""
        outputs = self.session.run(None, feed)
        binding = self.session.io_binding()
        for name, x in feed.items():
            binding.bind_cpu_input(name, x)
        for info, y in zip(self.session.get_outputs(), outputs):
            binding.bind_output(info.name, "cpu", 0, y.dtype, y.shape, y.ctypes.data)
        self.raw = lambda: self.session.run_with_iobinding(binding)

        def call():
            self.raw()
            return outputs
        return call


class OpenVino:
    name = "openvino"

    def __init__(self, model, threads):
        import openvino
        core = openvino.Core()
        self.version = openvino.__version__.split("-")[0]
        self.compiled = core.compile_model(str(model), "CPU", {
            "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1})
        self.request = self.compiled.create_infer_request()

    def bind(self, feed):
        import openvino
        for port in self.compiled.inputs:
            # A port has the names of every value it stands for after folding.
            name = next(n for n in port.names if n in feed)
            self.request.set_tensor(port, openvino.Tensor(feed[name]))

        def call():
            self.request.infer()
            return [np.array(self.request.get_tensor(p).data) for p in self.compiled.outputs]
        self.raw = self.request.infer
        return call


class Tlm:
    name = "tlm"
    flags = []   # of tlm compile, besides

    def __init__(self, model, threads, folder, schedules=None):
        """schedules: a file for --schedule-from."""
        artifact = folder / f"{pathlib.Path(schedules or model).stem}_{threads}.so"
        report = artifact.with_suffix(".json")
        if not artifact.exists():
            given = ["--schedule-from", str(schedules)] if schedules else []
            subprocess.run([str(BIN / "tlm"), "compile", str(model), "-o", str(artifact), "-q", "--json", str(report),
                            "--threads", str(threads), *given, *self.flags], check=True)
        sources = [kernel["schedule_source"] for kernel in json.loads(report.read_text())["kernels"]]
        self.sources = {source: sources.count(source) for source in sorted(set(sources))}
        self.model = tlm_ctypes.Model(artifact, threads=threads)
        self.version = json.loads(self.model.manifest())["versions"]["tool"]

    def bind(self, feed):
        inputs = [np.ascontiguousarray(feed[name]) for name, _, _ in self.model.inputs]
        outputs = self.model.new_outputs()
        self.raw = self.model.context.bind(inputs, outputs)

        def call():
            self.raw()
            return outputs
        return call


def alternate(calls, rounds):
    """name -> list of ms; every round goes around the engines, from another start."""
    times = {name: [] for name in calls}
    names = list(calls)
    for name in names:
        begin = time.perf_counter()
        while time.perf_counter() - begin < ROUND_SECONDS:
            calls[name]()
    for round_ in range(rounds):
        start = round_ % len(names)
        for name in names[start:] + names[:start]:
            time.sleep(PAUSE)
            calls[name]()
            begin = time.perf_counter()
            while (before := time.perf_counter()) - begin < ROUND_SECONDS:
                calls[name]()
                times[name].append((time.perf_counter() - before) * 1e3)
    return times


def floor_ms(steps, weight_bytes, peak):
    """Time that no program on this machine can beat, from measured limits.

    Arithmetic at the FMA peak. Weights come from L3 or, when they do not fit,
    memory; steps of under one FLOP a byte move their bytes at the L2's rate.
    """
    gflops, l2, l3, memory = (peak[k] for k in ("peak_gflops", "l2_gb_s", "l3_gb_s", "memory_gb_s"))
    fits = weight_bytes < peak["l3_bytes"]
    arithmetic = sum(s["flops"] for s in steps if s["flops"] >= s["bytes"])
    moved = sum(s["bytes"] for s in steps if s["flops"] < s["bytes"])
    seconds = max(arithmetic / gflops, weight_bytes / (l3 if fits else memory)) / 1e9
    return (seconds + moved / l2 / 1e9) * 1e3


def known_schedules(model, threads, folder, trials):
    """The file of them, or None; made by a search where `trials` are given."""
    file = folder / f"{pathlib.Path(model).stem}.{threads}.schedules"
    if not file.exists() and trials:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([str(BIN / "tlm"), "tune", str(model), "--threads", str(threads), "--trials", str(trials),
                        "-q", "-o", str(file)], check=True, stdout=subprocess.DEVNULL)
    return file if file.exists() else None


def measure(model, threads, rounds, peak, folder, schedules=None):
    ort = OnnxRuntime(model, threads)
    rng = np.random.default_rng(0)
    feed = ort.draw(rng)
    engines = [ort, OpenVino(model, threads), Tlm(model, threads, folder, schedules)]
    calls = {e.name: e.bind(feed) for e in engines}
    # A fast wrong answer is no answer.
    expected = calls["onnxruntime"]()
    errors = {}
    for name in ("openvino", "tlm"):
        errors[name] = max(float(np.max(np.abs(a - b)) / np.max(np.abs(b)))
                           for a, b in zip(calls[name](), expected))
    timed = {e.name: getattr(e, "raw", calls[e.name]) for e in engines}
    times = alternate(timed, rounds)
    ours = engines[2]
    row = dict(model=pathlib.Path(model).stem, threads=threads, error=errors,
               versions={e.name: e.version for e in engines}, n={k: len(v) for k, v in times.items()},
               min={k: min(v) for k, v in times.items()},
               median={k: float(np.median(v)) for k, v in times.items()})
    for kind in ("min", "median"):
        row[f"ratio_{kind}"] = min(row[kind]["onnxruntime"], row[kind]["openvino"]) / row[kind]["tlm"]
    steps = ours.model.steps()
    weights = json.loads(ours.model.manifest())["weights"]["bytes"]
    row["floor_ms"] = floor_ms(steps, weights, peak)
    row["schedule_sources"] = ours.sources
    row["gflop"] = sum(s["flops"] for s in steps) / 1e9
    ours.model.close()
    return row


def machine_peak(threads):
    done = subprocess.run([str(BIN / "tlm-peak"), str(threads)], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)


ENGINES = ("onnxruntime", "openvino", "tlm")


def heading(mcpu):
    return ("## Networks against onnxruntime and OpenVINO" + (f", compiled for {mcpu}" if mcpu else "")
            + "\n\nWritten by `bench/networks.py --results`; do not edit.\n\n")


def results_text(rows, peaks, verdict, trials):
    """The rows as markdown: all of them, the lost ones too."""
    first = next(iter(peaks.values()))
    versions = rows[0]["versions"]
    limits = "; ".join(
        f"threads {n}: {p['peak_gflops']:.0f} GFLOP/s, memory {p['memory_gb_s']:.0f} GB/s"
        for n, p in peaks.items())
    lines = [
        f"{first['cpu']} ({first['target']}). f32, batch 1, milliseconds, minimum / median; "
        f"onnxruntime {versions['onnxruntime']}, OpenVINO {versions['openvino']} (f32 pinned), "
        f"tlm {versions['tlm']}, alternating in one process.",
        f"Measured limits: {limits}. The floor is FLOP of the direct algorithm and bytes over them "
        "(Winograd may go below). The ratio is the better peer's time over ours: above 1 is faster."
        + (f" Schedules of `tlm tune`, {trials} trials a task." if trials else
           " Schedules are written by the language model."
           if any("model" in row["schedule_sources"] for row in rows) else ""),
        "",
        "| network | threads | onnxruntime | OpenVINO | tlm | ratio | floor | error |",
        "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = " | ".join(f"{row['min'][e]:.2f} / {row['median'][e]:.2f}" for e in ENGINES)
        lines.append(f"| {row['model']} | {row['threads']} | {cells} | {row['ratio_min']:.2f} / "
                     f"{row['ratio_median']:.2f} | {row['floor_ms']:.2f} | {row['error']['tlm']:.0e} |")
    return "\n".join(lines + ["", f"`bench/networks.py`: {verdict}", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", nargs="*", default=NETWORKS)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    parser.add_argument("--results", nargs="*", default=[], metavar="FILE",
                        help="write the table as markdown to these files")
    parser.add_argument("--schedules", type=pathlib.Path, help="folder of NAME.THREADS.schedules")
    parser.add_argument("--tune", type=int, default=0, metavar="TRIALS", help="a task, where there are none")
    parser.add_argument("--any-speed", action="store_true",
                        help="only wrong results fail: other machines, other ratios")
    parser.add_argument("--mcpu", help="compile for this processor, as x86-64-v3; the peers use what they find")
    arguments = parser.parse_args()
    Tlm.flags = ["--mcpu", arguments.mcpu] if arguments.mcpu else []
    rows, peaks = [], {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        models = materialise_all(arguments.models, folder)
        for threads in arguments.threads:
            peaks[threads] = machine_peak(threads)
            if threads == arguments.threads[0]:
                print(f"{peaks[threads]['cpu']} ({peaks[threads]['target']})")
            print("threads {threads}: {peak_gflops} GFLOP/s, L2 {l2_gb_s}, L3 {l3_gb_s}, memory "
                  "{memory_gb_s} GB/s".format(**peaks[threads]))
        print(f"{'network':16} {'threads':>7} {'onnxruntime':>15} {'openvino':>15} {'tlm':>15} "
              f"{'ratio':>11} {'floor':>7}   error\n{'':24} {'min / median ms':>15} {'':15} {'':15} "
              f"{'min / med':>11}")
        for model in models:
            for threads in arguments.threads:
                schedules = known_schedules(model, threads, arguments.schedules or folder, arguments.tune)
                row = measure(model, threads, arguments.rounds, peaks[threads], folder, schedules)
                rows.append(row)
                cells = [f"{row['min'][e]:.2f} / {row['median'][e]:.2f}" for e in ENGINES]
                print(f"{row['model']:16} {threads:7d} {cells[0]:>15} {cells[1]:>15} {cells[2]:>15} "
                      f"{row['ratio_min']:.2f} / {row['ratio_median']:.2f} {row['floor_ms']:7.2f}   "
                      f"{row['error']['tlm']:.0e}", flush=True)
    if not rows:
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(dict(ok=True, skipped=True, rows=[])))
        print("networks: no model to measure -> SKIPPED")
        return 0
    right = all(row["error"]["tlm"] < 1e-3 for row in rows)
    slow = [f"{r['model']}@{r['threads']}" for r in rows if r["ratio_min"] < 1 / SLOWEST]
    behind = [f"{r['model']}@{r['threads']}" for r in rows if r["model"] == "resnet50" and r["ratio_min"] <= 1]
    short = [f"{r['model']}@{r['threads']} {r['ratio_min']:.2f} of {GOALS[r['model']][r['threads'] > 1]:.2f}" for r in rows
             if r["model"] in GOALS and r["ratio_min"] < GOALS[r["model"]][r["threads"] > 1]]
    good = right and (arguments.any_speed or not (slow or behind))
    verdict = (f"{len(rows)} rows, results {'right' if right else 'WRONG'}, "
               + (f"slower than {SLOWEST} x the better peer: {' '.join(slow)}" if slow else
                  f"none slower than {SLOWEST} x the better peer")
               + (f", ResNet-50 not ahead: {' '.join(behind)}" if behind else "")
               + (f", short of the goal: {', '.join(short)}" if short else ", all at their goals")
               + f" -> {'OK' if good else 'FAILED'}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(
            dict(ok=good, right=right, slow=slow, behind=behind, any_speed=arguments.any_speed,
                 verdict=verdict, limit=SLOWEST, peaks=peaks, rows=rows), indent=1))
    for path in arguments.results:
        section = "networks.py" + (f" --mcpu {arguments.mcpu}" if arguments.mcpu else "")
        write_section(path, section, results_text(rows, peaks, verdict, arguments.tune), heading(arguments.mcpu))
    print(f"networks: {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
