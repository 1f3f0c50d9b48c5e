#!/usr/bin/env python3
"""Run ONNX's own operator tests on the reference path.

usage: onnx_node_tests.py TLM_REFERENCE [-v] [--write] [NAME_PART]

Takes every test case that comes with the onnx package. Inputs are fed; where
that is refused, integers and bools become constants, as exporters have them,
then more. A case that runs must agree within the tolerance it states, in type,
dims and values, and again after graph simplification. A case that is refused
must stand in onnx_node_expected.txt with its reason, and one that stands there
must be refused: a listed case that passes fails the run. --write makes that file
anew. Skips (exit 77) without onnx.
"""
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
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

EXPECTED = pathlib.Path(__file__).with_name("onnx_node_expected.txt")
# Fewer node cases than this that agree: something refuses what it used to run.
MIN_PASSED = 1400
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
DTYPES = {"f32": np.float32, "f64": np.float64, "bool": np.bool_,
          "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
          "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}
KNOWN = {np.dtype(dtype) for dtype in DTYPES.values()}


def load(path, kind):
    """A tensor from a .pb file; None for sequences and optionals."""
    if not kind.HasField("tensor_type"):
        return None
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def cases():
    """(kind, name, model, inputs, outputs, rtol, atol) of every case."""
    for kind in KINDS:
        for case in load_model_tests(kind=kind):
            model = case.model
            if model is not None:
                data = case.data_sets[0]
                yield (kind, case.name, model, *data, case.rtol, case.atol)
                continue
            folder = pathlib.Path(case.model_dir)
            model = onnx.load(folder / "model.onnx")
            sets = folder / "test_data_set_0"
            initializers = {t.name for t in model.graph.initializer}
            given = [i for i in model.graph.input if i.name not in initializers]
            yield (kind, case.name, model,
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


def strange_type(model, values):
    """Why no value of the case can be fed or compared, or nothing."""
    for info in [*model.graph.input, *model.graph.output]:
        if not info.type.HasField("tensor_type"):
            return "sequence, map or optional values"
        name = onnx.TensorProto.DataType.Name(info.type.tensor_type.elem_type)
        if name not in ("FLOAT", "DOUBLE", "BOOL", "UNDEFINED") and not (
                re.fullmatch(r"U?INT(8|16|32|64)", name)):
            return f"type {name}"
    for value in values:
        if not (isinstance(value, np.ndarray) or np.isscalar(value)):
            return "sequence, map or optional values"
        if np.asarray(value).dtype not in KNOWN:
            return f"type {np.asarray(value).dtype}"
    return ""


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


def compare(result, out, outputs, rtol, atol):
    """What is wrong, or nothing."""
    types = re.findall(r"^output (\w+)\[([\d,]*)\]", result.stdout, re.MULTILINE)
    data, offset = out.read_bytes(), 0
    if len(types) != len(outputs):
        return f"{len(types)} outputs, expected {len(outputs)}"
    for (dtype, dims), y in zip(types, outputs):
        shape = tuple(int(dim) for dim in dims.split(",") if dim)
        if DTYPES[dtype] != y.dtype or shape != y.shape:
            return f"{dtype}[{dims}], expected {y.dtype}{list(y.shape)}"
        ours = np.frombuffer(data, DTYPES[dtype], y.size, offset).reshape(shape)
        offset += ours.nbytes
        same = (np.allclose(ours, y, rtol, max(atol, 1e-6), equal_nan=True)
                if y.dtype.kind == "f" else np.array_equal(ours, y))
        if not same:
            return f"{ours.ravel()[:8]} != {y.ravel()[:8]}"
    return ""


def attempt(tool, folder, model, inputs, outputs, rtol, atol):
    """"ok", or ("refused" | "FAIL", why)."""
    def is_float(value):
        return value.dtype.kind == "f"
    choices = (lambda i, v: False,
               lambda i, v: not is_float(v),
               lambda i, v: not is_float(v) or v.ndim == 0,
               lambda i, v: not is_float(v) or i > 0,
               lambda i, v: True)
    why, seen = "", set()
    for is_constant in choices:
        chosen = tuple(is_constant(i, v) for i, v in enumerate(inputs))
        if chosen in seen:
            continue
        seen.add(chosen)
        changed, fed = with_constants(model, inputs, is_constant)
        for flags in ([], ["--simplify"]):
            result, out = run(tool, folder, changed, fed, flags)
            if result.returncode == 1:
                # The last refusal, with most inputs constant, says most.
                why = result.stderr.strip()
                break
            if result.returncode != 0:
                return "FAIL", f"exit {result.returncode}: {result.stderr}"
            wrong = compare(result, out, outputs, rtol, atol)
            if wrong:
                return "FAIL", f"{flags} {wrong}"
        else:
            return "ok", ""
    return "refused", why


def reason_of(error):
    """An error as the short reason of the list."""
    rows = re.findall(r"^  (\S+) +(\S+) +\d+ +\d+ +'.*?'(?:: (.*))?$", error,
                      re.MULTILINE)
    if rows:
        return "; ".join(f"{op}: {why}" if why else f"{op}: no such operator"
                         for op, _, why in rows)
    text = re.sub(r"^error: \S*model\.onnx: ", "", error)
    return re.sub(r"\s*\n.*", "", text, flags=re.DOTALL)


def expected_failures():
    if not EXPECTED.exists():
        return {}
    lines = [line for line in EXPECTED.read_text().splitlines()
             if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def main(tool, verbose, write, part):
    expected = {} if write else expected_failures()
    counts = {kind: collections.Counter() for kind in KINDS}
    lock = threading.Lock()
    problems, listed, seen = [], {}, set()

    def judge(case):
        kind, name, model, inputs, outputs, rtol, atol = case
        why = strange_type(model, [*inputs, *outputs])
        if why:
            verdict = "refused"
        else:
            raise_opset(model)
            with tempfile.TemporaryDirectory() as folder:
                verdict, why = attempt(tool, pathlib.Path(folder), model,
                                       [np.asarray(v) for v in inputs],
                                       [np.asarray(v) for v in outputs],
                                       rtol, atol)
            why = reason_of(why) if verdict == "refused" else why
        with lock:
            counts[kind][verdict] += 1
            seen.add(name)
            if verdict == "FAIL":
                problems.append(f"FAIL {name}: {why[:300]}")
            if verdict == "refused":
                listed[name] = why
                if name not in expected and not write:
                    problems.append(f"refused but not listed: {name}: {why}")
            if verdict == "ok" and name in expected:
                problems.append(f"listed but passes: {name}")
            if verbose and verdict == "refused":
                print(f"refused {name}: {why}")

    chosen = [case for case in cases() if part in case[1]]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(judge, chosen))
    if write:
        EXPECTED.write_text(
            "# Cases of ONNX's own operator tests that TLM refuses, and why.\n"
            "# Written by onnx_node_tests.py --write; a case that passes must "
            "leave.\n" + "".join(f"{name}: {listed[name]}\n"
                                 for name in sorted(listed)))
    if not part:
        problems += [f"listed but no such case: {name}"
                     for name in sorted(set(expected) - seen)]
    for line in sorted(problems):
        print(line)
    for kind in KINDS:
        print(f"{kind}: {counts[kind]['ok']} pass, "
              f"{counts[kind]['refused']} refused, {counts[kind]['FAIL']} wrong")
    passed = counts["node"]["ok"]
    good = not problems and (bool(part) or passed >= MIN_PASSED)
    print(f"verdict: {'ok' if good else 'FAILED'}, {passed} node cases pass")
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    words = [word for word in sys.argv[2:] if not word.startswith("-")]
    sys.exit(main(sys.argv[1], "-v" in sys.argv, "--write" in sys.argv,
                  words[0] if words else ""))
