#!/usr/bin/env python3
"""Compare the reference path with onnxruntime on whole networks.

usage: reference_against_onnxruntime.py TLM_REFERENCE [MODEL.onnx | NAME ...]

A NAME is a graph of the corpus or the models in ../shared (or $TLM_SHARED).
Without any: three of those networks, and the light models that come with the
onnx package. Models without weights get seeded ones. Both the imported and the simplified graph are compared. Skips (exit 77)
when onnx, onnxruntime or the models are not there.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# Largest error allowed, as a share of the output's largest magnitude: a few
# hundred roundings deep, onnxruntime's sums are in f32 and in another order.
TOLERANCE = 1e-4

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TLM_SHARED", REPOSITORY.parent / "shared"))
NETWORKS = ("resnet50", "mobilenet_v2", "efficientnet_b0")
# Light models with more weights (alexnet, vgg19, zfnet) take long to fill.
MAX_WEIGHTS = 30_000_000


def materialised(folder, names):
    """Networks with their weights drawn, one at a time."""
    script = SHARED / "models" / "materialize.py"
    if not script.exists():
        print(f"{script} is not there: its networks are left out")
        return
    for name in names:
        source = SHARED / "models" / f"{name}.onnx"
        if not source.exists():
            source = SHARED / "corpus" / f"{name}.onnx"
        out = folder / f"{name}.onnx"
        subprocess.run([sys.executable, script, source, out],
                       check=True, stdout=subprocess.DEVNULL)
        yield out
        for file in folder.glob(f"{name}.onnx*"):
            file.unlink()


def light(folder):
    """The onnx package's models, their constant weights made random."""
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
    for path in sorted(data.glob("*.onnx")):
        model = onnx.load(path)
        rng = np.random.default_rng(1)
        shapes = {t.name: numpy_helper.to_array(t)
                  for t in model.graph.initializer}
        filled = [n for n in model.graph.node
                  if n.op_type == "ConstantOfShape"]
        if sum(int(np.prod(shapes[n.input[0]])) for n in filled) > MAX_WEIGHTS:
            continue
        dropped = set()
        for node in filled:
            dims = shapes[node.input[0]]
            fan_in = int(np.prod(dims[1:])) or 1
            values = rng.standard_normal(dims) * (2.0 / fan_in) ** 0.5
            if len(dims) == 1:  # also variances, which must be positive
                values = 0.5 + 0.1 * np.abs(values)
            model.graph.initializer.append(
                numpy_helper.from_array(values.astype(np.float32),
                                        node.output[0]))
            dropped.add(node.input[0])
            model.graph.node.remove(node)
        for kept in (model.graph.initializer, model.graph.input):
            for entry in [e for e in kept if e.name in dropped]:
                kept.remove(entry)
        last = model.graph.node[-1]
        if last.op_type == "Softmax":  # may saturate: compare the logits too
            model.graph.output.append(onnx.helper.make_tensor_value_info(
                last.input[0], onnx.TensorProto.FLOAT, None))
        out = folder / path.name
        onnx.save(model, out)
        yield out


def feed(info, rng):
    """Small ids where integers are asked for; masks keep everything."""
    if info.type == "tensor(float)":
        return rng.standard_normal(info.shape).astype(np.float32)
    dtype = {"tensor(int32)": np.int32, "tensor(bool)": np.bool_}.get(
        info.type, np.int64)
    if "mask" in info.name:
        return np.ones(info.shape, dtype)
    return rng.integers(0, 2 if "type" in info.name else 100, info.shape,
                        dtype=np.int64).astype(dtype)


def compare(tool, path, folder):
    """Whether both graphs of one model agree with onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options)
    initializers = {t.name for t in
                    onnx.load(path, load_external_data=False).graph.initializer}
    rng = np.random.default_rng(0)
    feeds = {i.name: feed(i, rng)
             for i in session.get_inputs() if i.name not in initializers}
    files = []
    for index, value in enumerate(feeds.values()):
        files.append(folder / f"input{index}.bin")
        value.tofile(files[-1])
    expected = session.run(None, feeds)
    good = True
    for flags in ([], ["--simplify"]):
        out = folder / "output.bin"
        run = subprocess.run([tool, path, out, *flags, *files],
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            print(f"FAIL {path.name} {flags}: {run.stderr.strip()}")
            good = False
            continue
        found = out.read_bytes()
        passed = len(found) == sum(y.nbytes for y in expected)
        errors = []
        for y in expected:
            ours = np.frombuffer(found[:y.nbytes], y.dtype).reshape(y.shape)
            found = found[y.nbytes:]
            errors.append(np.abs(ours - y).max() / max(np.abs(y).max(), 1e-30))
        passed = passed and max(errors) <= TOLERANCE
        time = run.stdout.strip().splitlines()[-1]
        print(f"{'ok  ' if passed else 'FAIL'} {path.name} {' '.join(flags)}: "
              f"max error {max(errors):.2e} of the largest, {time}")
        good = good and passed
    return good


def main(tool, models):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = [pathlib.Path(m) for m in models if m.endswith(".onnx")]
        names = [m for m in models if not m.endswith(".onnx")]
        results = [compare(tool, path, folder) for path in paths]
        results += [compare(tool, path, folder) for path in
                    materialised(folder, names if models else NETWORKS)]
        if not models:
            results += [compare(tool, path, folder) for path in light(folder)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
