#!/usr/bin/env python3
"""One model against onnxruntime, at its outputs and at every task boundary.

Two seeded inputs x0 and x1. For every tensor: error at most 1e-3 of its largest
value in onnxruntime and, at the outputs, at most 1e-2 of max|y(x0) - y(x1)|, so
that a network whose output hardly depends on its input cannot pass by luck. The
boundaries get the second bound too, where the tensor does depend on the input.

usage: against_onnxruntime.py MODEL.onnx [ARTIFACT.so] [--threads N] [--json FILE]
Ends with a verdict line; exit 0 when all holds, 1 when not.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin"))
OF_LARGEST, OF_CHANGE = 1e-3, 1e-2


def field(shape, seed):
    """Smooth patches under noise, as images are: outputs differ from seed to seed."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float32)
    if len(shape) == 4:
        coarse = rng.standard_normal(shape[:2] + (7, 7)).astype(np.float32)
        rows = np.arange(shape[2]) * 7 // shape[2]
        columns = np.arange(shape[3]) * 7 // shape[3]
        x = 0.5 * x + 1.5 * coarse[:, :, rows][:, :, :, columns]
    return np.ascontiguousarray(x, dtype=np.float32)


def model_inputs(session, seed):
    return {i.name: field(tuple(int(d) for d in i.shape), 100 * seed + n)
            for n, i in enumerate(session.get_inputs())}


def session_with(model_path, names, threads, folder):
    """onnxruntime with every boundary value as a graph output."""
    model = onnx.load(model_path)
    have = {o.name for o in model.graph.output}
    produced = {o for n in model.graph.node for o in n.output}
    for name in names:
        if name in produced and name not in have:
            model.graph.output.append(onnx.ValueInfoProto(name=name))
    path = folder / "boundaries.onnx"
    onnx.save(model, str(path), save_as_external_data=model.ByteSize() > 1 << 30)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Its own fusions would hide values; the plain graph is the better witness.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def tlm(*arguments):
    done = subprocess.run([str(BIN / "tlm"), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"tlm {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}exit {done.returncode}")


def tlm_run(artifact, inputs, threads, folder, tag):
    """(outputs, boundaries) by value name."""
    flags = []
    for n, (name, x) in enumerate(inputs.items()):
        path = folder / f"x{tag}_{n}.npy"
        np.save(path, x)
        flags += ["--input", f"{name}=@{path}"]
    out, dump = folder / f"y{tag}.npz", folder / f"steps{tag}.npz"
    tlm("run", artifact, *flags, "--threads", threads, "--output", f"@{out}", "--dump", dump, "-q")
    return dict(np.load(out)), dict(np.load(dump))


def compare(name, kind, found, expected, change):
    if kind == "boundary" and found.size == expected.size:
        found = found.reshape(expected.shape)  # a task may see [1,24] for [1,24,1,1]
    if found.shape != expected.shape:
        return dict(name=name, kind=kind, ok=False,
                    text=f"shape {found.shape}, onnxruntime has {expected.shape}")
    error = float(np.max(np.abs(found.astype(np.float64) - expected), initial=0))
    largest = float(np.max(np.abs(expected), initial=0))
    ok = bool(np.isfinite(found).all() and error <= OF_LARGEST * largest)
    if kind == "output" or change > 1e-3 * largest:
        ok = ok and error <= OF_CHANGE * change
    return dict(name=name, kind=kind, ok=ok, error=error, largest=largest, change=change,
                text=f"error {error:.2g}, largest {largest:.3g}, change {change:.3g}")


def check(model, artifact, threads, folder):
    plain = session_with(model, [], threads, folder)
    x = [model_inputs(plain, seed) for seed in (0, 1)]
    mine = [tlm_run(artifact, x[i], threads, folder, i) for i in (0, 1)]
    outputs = [o.name for o in plain.get_outputs()]
    # A network's output may be a boundary too: both are checked.
    boundaries = list(mine[0][1])
    session = session_with(model, boundaries, threads, folder)
    names = [o.name for o in session.get_outputs()]
    theirs = [dict(zip(names, session.run(None, x[i]))) for i in (0, 1)]
    for i in (0, 1):
        theirs[i].update(x[i])  # a task may copy an input
    names += list(x[0])
    rows, missing = [], [b for b in boundaries if b not in names]
    for kind, part, wanted in (("boundary", 1, boundaries), ("output", 0, outputs)):
        for name in wanted:
            if name not in names:
                continue
            change = float(np.max(np.abs(theirs[0][name].astype(np.float64) - theirs[1][name]), initial=0))
            for i in (0, 1):
                row = compare(name, kind, mine[i][part][name], theirs[i][name], change)
                rows.append(dict(row, input=i))
    return rows, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("artifact", nargs="?")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        artifact = arguments.artifact
        if not artifact:
            artifact = folder / "model.so"
            tlm("compile", arguments.model, "-o", artifact, "--threads", arguments.threads, "-q")
        rows, missing = check(arguments.model, artifact, arguments.threads, folder)

    bad = [r for r in rows if not r["ok"]]
    for row in bad[:10]:
        print(f"{row['kind']} {row['name']} (input {row['input']}): {row['text']}")
    if missing:
        print(f"{len(missing)} boundaries are no value of the ONNX graph: {' '.join(missing[:5])}")
    outputs = [r for r in rows if r["kind"] == "output"]
    good = not bad and bool(outputs) and len(rows) > 2 * len(outputs) - 1
    worst = max((r["error"] / r["largest"] for r in rows if r.get("largest")), default=0)
    worst_change = max((r["error"] / r["change"] for r in outputs if r.get("change")), default=0)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(
            dict(model=arguments.model, ok=good, rows=rows, missing=missing,
                 onnxruntime=onnxruntime.__version__), indent=1))
    print(f"against onnxruntime {onnxruntime.__version__}: {pathlib.Path(arguments.model).name}, "
          f"{(len(rows) - len(outputs)) // 2} boundaries and {len(outputs) // 2} outputs, two inputs: "
          f"worst error {worst:.1e} of the largest value, outputs {worst_change:.1e} of the change "
          f"-> {'OK' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
