#!/usr/bin/env python3
"""One model against onnxruntime, at its outputs and at every task boundary.

Two seeded inputs x0 and x1. For every tensor: error at most 1e-3 of its largest
value in onnxruntime and at most 1e-2 of max|y(x0) - y(x1)|, so that a network
whose output hardly depends on its input cannot pass by luck (boundaries get the
second bound where the tensor does depend on the input).

Outputs are compared end to end. At the boundaries onnxruntime gets, for every
value that a task reads, what our task read: each task answers for its own error
and not for the rounding that the network amplified before it. The error with
that, from the input on, is reported beside.

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


def draw_inputs(session, seed, floats):
    """floats(rng, shape) for f32 inputs; token ids; masks and types of 0 and 1, a mask mostly 1."""
    rng = np.random.default_rng(seed)

    def draw(i):
        shape = tuple(int(d) for d in i.shape)
        if i.type == "tensor(float)":
            return floats(rng, shape).astype(np.float32)
        if "mask" in i.name:
            return (rng.random(shape) < 0.9).astype(np.int64)
        return rng.integers(0, 2 if "type" in i.name else 1000, shape)

    return {i.name: draw(i) for i in session.get_inputs()}


def model_inputs(session, seed):
    """Standard normal: networks with drawn weights are scaled for it (and amplify rounding
    until onnxruntime disagrees with itself when fed much larger values)."""
    return draw_inputs(session, seed, lambda rng, shape: rng.standard_normal(shape))


def image_inputs(session, seed):
    """As images scaled to [0,1)."""
    return draw_inputs(session, seed, lambda rng, shape: rng.random(shape, dtype=np.float32))


def fed(name):
    return name + "//fed"


def session_with(model_path, names, threads, folder, feed=None):
    """onnxruntime with every boundary value as a graph output.

    With `feed`, name -> array, consumers of these values read graph inputs instead.
    """
    model = onnx.load(model_path)
    have = {o.name for o in model.graph.output}
    produced = {o for n in model.graph.node for o in n.output}
    for name in names:
        if name in produced and name not in have:
            model.graph.output.append(onnx.ValueInfoProto(name=name))
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name in (feed or {}):
                node.input[i] = fed(name)
    for name, array in (feed or {}).items():
        model.graph.input.append(onnx.helper.make_tensor_value_info(
            fed(name), onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
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


def largest_difference(a, b):
    return float(np.max(np.abs(a.astype(np.float64) - b), initial=0))


def check(model, artifact, threads, folder, draw=model_inputs):
    """(rows, names of boundaries that onnxruntime does not have) on two inputs of `draw`."""
    plain = session_with(model, [], threads, folder)
    x = [draw(plain, seed) for seed in (0, 1)]
    mine = [tlm_run(artifact, x[i], threads, folder, i) for i in (0, 1)]
    outputs = [o.name for o in plain.get_outputs()]
    session = session_with(model, list(mine[0][1]), threads, folder)
    names = [o.name for o in session.get_outputs()]
    theirs = [dict(zip(names, session.run(None, x[i]))) for i in (0, 1)]
    # A name with '#' is a value that only our graph has (the heads of an attention).
    missing = [n for n in mine[0][1] if n not in names and n not in x[0] and "#" not in n]
    boundaries = [n for n in mine[0][1] if n in names]
    for steps in (mine[0][1], mine[1][1]):
        for name in boundaries:  # a task may see [1,24] for [1,24,1,1]
            if steps[name].size == theirs[0][name].size:
                steps[name] = steps[name].reshape(theirs[0][name].shape)
    change = {n: largest_difference(theirs[0][n], theirs[1][n]) for n in names}

    inner = [n for n in boundaries if mine[0][1][n].shape == theirs[0][n].shape]
    local = session_with(model, boundaries, threads, folder, {n: mine[0][1][n] for n in inner})
    wanted = {i.name for i in local.get_inputs()}
    rows = []
    for i in (0, 1):
        feed = {**x[i], **{fed(n): mine[i][1][n] for n in inner}}
        answers = dict(zip([o.name for o in local.get_outputs()],
                           local.run(None, {k: v for k, v in feed.items() if k in wanted})))
        for name in boundaries:
            row = compare(name, "boundary", mine[i][1][name], answers[name], change[name])
            if row.get("largest"):
                row["from_input"] = largest_difference(mine[i][1][name], theirs[i][name])
            rows.append(dict(row, input=i))
        for name in (n for n in mine[i][1] if n in x[i]):  # a task that copies an input
            rows.append(dict(compare(name, "boundary", mine[i][1][name], x[i][name], 0), input=i))
        for name in outputs:
            rows.append(dict(compare(name, "output", mine[i][0][name], theirs[i][name], change[name]),
                             input=i))
    return rows, missing


def summary(rows, missing):
    """What the rows come to; `ok` is the verdict."""
    outputs = [r for r in rows if r["kind"] == "output"]
    relative = [r["error"] / r["largest"] for r in rows if r.get("largest")]
    return dict(
        ok=all(r["ok"] for r in rows) and not missing and bool(outputs) and len(rows) > len(outputs),
        boundaries=(len(rows) - len(outputs)) // 2, outputs=len(outputs) // 2,
        worst=max(relative, default=0),
        worst_output=max((r["error"] / r["largest"] for r in outputs if r.get("largest")), default=0),
        from_input=max((r["from_input"] / r["largest"] for r in rows if "from_input" in r), default=0),
        of_change=max((r["error"] / r["change"] for r in outputs if r.get("change")), default=0))


def print_bad(rows, missing):
    for row in [r for r in rows if not r["ok"]][:10]:
        print(f"{row['kind']} {row['name']} (input {row['input']}): {row['text']}")
    if missing:
        print(f"{len(missing)} boundaries are no value of the ONNX graph: {' '.join(missing[:5])}")


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

    print_bad(rows, missing)
    result = summary(rows, missing)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(
            dict(model=arguments.model, **result, rows=rows, missing=missing,
                 onnxruntime=onnxruntime.__version__), indent=1))
    print(f"against onnxruntime {onnxruntime.__version__}: {pathlib.Path(arguments.model).name}, "
          f"{result['boundaries']} boundaries and {result['outputs']} outputs, two inputs: "
          f"worst error {result['worst']:.1e} of the largest value ({result['from_input']:.1e} from the input on), "
          f"outputs {result['of_change']:.1e} of the change -> {'OK' if result['ok'] else 'FAILED'}")
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
