#!/usr/bin/env python3
"""Run ONNX's own operator tests on the reference path.

usage: onnx_node_tests.py TLM_REFERENCE [-v]

Takes the test cases that come with the onnx package (their operators must all
be in Operators.def), feeds f32 inputs and makes the others constants, as
exporters do; where that is refused, more inputs become constants. A case that
runs must agree within the tolerance it states; a case that is refused must be
refused with an error, and is listed with -v. Skips (exit 77) without onnx.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.loader import load_model_tests
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Fewer cases than this that agree: something refuses what it used to run.
MIN_PASSED = 380


def known_operators():
    text = (REPOSITORY / "src/import/Operators.def").read_text()
    return set(re.findall(r"^TLM_ONNX_OP\((\w+),", text, re.MULTILINE))


def load(path, kind):
    """A tensor from a .pb file; None for sequences and optionals."""
    if not kind.HasField("tensor_type"):
        return None
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def cases():
    """(name, model, inputs, outputs, rtol, atol) of every usable case."""
    for kind in ("node", "simple", "pytorch-converted", "pytorch-operator"):
        for case in load_model_tests(kind=kind):
            model = case.model
            if model is not None:
                data = case.data_sets[0]
                yield (case.name, model, *data, case.rtol, case.atol)
                continue
            folder = pathlib.Path(case.model_dir)
            model = onnx.load(folder / "model.onnx")
            sets = folder / "test_data_set_0"
            initializers = {t.name for t in model.graph.initializer}
            given = [i for i in model.graph.input if i.name not in initializers]
            yield (case.name, model,
                   [load(sets / f"input_{n}.pb", value.type)
                    for n, value in enumerate(given)],
                   [load(sets / f"output_{n}.pb", value.type)
                    for n, value in enumerate(model.graph.output)],
                   case.rtol, case.atol)


def raise_opset(model):
    """Opset 6 as 7, where they mean the same: no explicit broadcasting."""
    explicit = any(a.name == "axis" and n.op_type in ("Add", "Sub", "Mul", "Div")
                   for n in model.graph.node for a in n.attribute)
    if model.opset_import[0].version == 6 and not explicit:
        model.opset_import[0].version = 7


def with_constants(model, inputs, is_constant):
    """A copy of the model with some inputs made initializers; what stays."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    initializers = {t.name for t in model.graph.initializer}
    given = [i.name for i in model.graph.input if i.name not in initializers]
    fed = []
    for index, (name, value) in enumerate(zip(given, inputs)):
        if not is_constant(index, value):
            fed.append(value)
            continue
        copy.graph.initializer.append(
            numpy_helper.from_array(np.asarray(value), name))
        for entry in [i for i in copy.graph.input if i.name == name]:
            copy.graph.input.remove(entry)
    return copy, fed


def run(tool, folder, model, inputs, flags):
    path, out = folder / "model.onnx", folder / "output.bin"
    onnx.save(model, path)
    files = []
    for index, value in enumerate(inputs):
        files.append(folder / f"input{index}.bin")
        value.tofile(files[-1])
    return subprocess.run([tool, path, out, *flags, *files],
                          capture_output=True, text=True, check=False), out


def attempt(tool, folder, model, inputs, outputs, rtol, atol):
    """"ok", or ("refused" | "FAIL", why)."""
    def is_f32(value):
        return value.dtype == np.float32
    choices = (lambda i, v: not is_f32(v),
               lambda i, v: not is_f32(v) or v.ndim == 0,
               lambda i, v: not is_f32(v) or i > 0,
               lambda i, v: True)
    why = ""
    for is_constant in choices:
        changed, fed = with_constants(model, inputs, is_constant)
        for flags in ([], ["--simplify"]):
            result, out = run(tool, folder, changed, fed, flags)
            if result.returncode == 1:
                why = why or result.stderr.strip().replace("\n", " ")
                break
            if result.returncode != 0:
                return "FAIL", f"exit {result.returncode}: {result.stderr}"
            found = np.fromfile(out, np.float32)
            if found.size != sum(y.size for y in outputs):
                return "FAIL", f"{found.size} elements"
            for y in outputs:
                ours, found = found[:y.size].reshape(y.shape), found[y.size:]
                if not np.allclose(ours, y, rtol, max(atol, 1e-6),
                                   equal_nan=True):
                    return "FAIL", (f"{flags} {ours.ravel()[:8]} != "
                                    f"{y.ravel()[:8]}")
        else:
            return "ok", ""
    return "refused", why


def main(tool, verbose):
    known = known_operators()
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for name, model, inputs, outputs, rtol, atol in cases():
            if any(n.domain or n.op_type not in known
                   for n in model.graph.node):
                continue
            arrays = all(isinstance(v, np.ndarray) or np.isscalar(v)
                         for v in [*inputs, *outputs])
            if not arrays or any(np.asarray(y).dtype != np.float32
                                 for y in outputs):
                continue
            raise_opset(model)
            inputs = [np.asarray(v) for v in inputs]
            outputs = [np.asarray(v) for v in outputs]
            verdict, why = attempt(tool, folder, model, inputs, outputs, rtol,
                                   atol)
            counts[verdict] += 1
            if verdict == "FAIL" or (verbose and verdict == "refused"):
                print(f"{verdict} {name}: {why[:300]}")
    print(dict(counts))
    return 1 if counts["FAIL"] or counts["ok"] < MIN_PASSED else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], "-v" in sys.argv[2:]))
