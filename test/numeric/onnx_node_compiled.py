#!/usr/bin/env python3
"""Compile and run ONNX's own test cases.

usage: onnx_node_compiled.py TLM_CASES [-v] [--jobs N] [--json FILE] [NAME...]

Every case that comes with the onnx package, with all its inputs fed at run
time; where that is refused, inputs become constants, as exporters write them:
first those that are not f32, then all but the first, then all. Cases that do
not pass must stand in onnx_node_expected.txt with a reason; a case there that
passes fails the run, and so does a wrong result anywhere. NAME... runs those
cases only. Skips (exit 77) without onnx.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
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

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "onnx_node_expected.txt"
# Cases that pass at least; fewer: something refuses what it used to run.
MIN_PASSED = 1000
SECONDS = 60


def expected_failures():
    """name -> reason; '#' starts a comment."""
    entries = {}
    if EXPECTED.exists():
        for line in EXPECTED.read_text().splitlines():
            line = line.split("#")[0].strip()
            if line:
                name, _, reason = line.partition(" ")
                entries[name] = reason
    return entries


def load(path, kind):
    """A tensor from a .pb file; None for sequences and optionals."""
    if not kind.HasField("tensor_type"):
        return None
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def graph_inputs(model):
    initializers = {t.name for t in model.graph.initializer}
    return [i for i in model.graph.input if i.name not in initializers]


class Case:
    def __init__(self, case):
        self.name, self.rtol, self.atol = case.name, case.rtol, case.atol
        self.model = case.model
        if self.model is not None:
            self.inputs, self.outputs = case.data_sets[0]
        else:
            folder = pathlib.Path(case.model_dir)
            self.model = onnx.load(folder / "model.onnx")
            sets = folder / "test_data_set_0"
            self.inputs = [load(sets / f"input_{n}.pb", value.type)
                           for n, value in enumerate(graph_inputs(self.model))]
            self.outputs = [load(sets / f"output_{n}.pb", value.type)
                            for n, value in enumerate(self.model.graph.output)]

    def is_tensors(self):
        return all((isinstance(v, np.ndarray) or np.isscalar(v))
                   and np.asarray(v).dtype.kind in "fiub"
                   for v in [*self.inputs, *self.outputs])

    def with_constants(self, is_constant):
        """A copy of the model with some inputs made initializers; what stays."""
        copy = onnx.ModelProto()
        copy.CopyFrom(self.model)
        fed = []
        names = [i.name for i in graph_inputs(self.model)]
        for index, (name, value) in enumerate(zip(names, self.inputs)):
            value = np.asarray(value)
            if not is_constant(index, value):
                fed.append(value)
                continue
            copy.graph.initializer.append(numpy_helper.from_array(value, name))
            for entry in [i for i in copy.graph.input if i.name == name]:
                copy.graph.input.remove(entry)
        return copy, fed


CHOICES = (lambda i, v: False,
           lambda i, v: v.dtype != np.float32,
           lambda i, v: i > 0,
           lambda i, v: True)


class Worker:
    """One tlm-cases process; a new one after a crash."""

    def __init__(self, tool):
        self.tool, self.process = tool, None

    def ask(self, folder):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [self.tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True)
        timer = threading.Timer(SECONDS, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(f"{folder}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        timer.cancel()
        if answer:
            return answer
        self.process.wait()
        return f"crashed with status {self.process.returncode}"

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def difference(folder, case):
    for index, wanted in enumerate(case.outputs):
        wanted = np.asarray(wanted)
        found = np.fromfile(folder / f"output_{index}.bin", wanted.dtype)
        if found.size != wanted.size:
            return f"output {index} has {found.size} elements, not {wanted.size}"
        found = found.reshape(wanted.shape)
        if wanted.dtype.kind in "fc":
            same = np.allclose(found, wanted, case.rtol, max(case.atol, 1e-6),
                               equal_nan=True)
        else:
            same = np.array_equal(found, wanted)
        if not same:
            return f"output {index}: {found.ravel()[:8]} != {wanted.ravel()[:8]}"
    return ""


def attempt(worker, case):
    """(verdict, why): pass, refused, wrong or crashed."""
    if not case.is_tensors():
        return "refused", "strings, sequences, optionals and small floats"
    first, seen = "", set()
    for is_constant in CHOICES:
        model, fed = case.with_constants(is_constant)
        if len(fed) in seen:
            continue
        seen.add(len(fed))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            onnx.save(model, folder / "model.onnx")
            for index, value in enumerate(fed):
                np.ascontiguousarray(value).tofile(
                    folder / f"input_{index}.bin")
            answer = worker.ask(folder)
            if answer == "ok":
                why = difference(folder, case)
                return ("wrong", why) if why else ("pass", "")
        verdict, _, why = answer.partition(" ")
        if verdict != "refused":
            return "crashed" if verdict == "crashed" else "wrong", answer
        first = first or why
    return "refused", first


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("names", nargs="*")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()

    cases = [case for kind in ("node", "simple", "pytorch-converted",
                               "pytorch-operator")
             for case in load_model_tests(kind=kind)
             if not options.names or case.name in options.names]
    local = threading.local()
    workers = []

    def run(raw):
        if not hasattr(local, "worker"):
            local.worker = Worker(options.tool)
            workers.append(local.worker)
        return raw.name, *attempt(local.worker, Case(raw))

    expected, rows, broken = expected_failures(), [], []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, verdict, why in pool.map(run, cases):
            rows.append({"case": name, "verdict": verdict, "why": why})
            unexpected = verdict != "pass" and name not in expected
            stale = verdict == "pass" and name in expected
            bad = unexpected or stale
            if bad:
                broken.append(name)
            if bad or (options.verbose and verdict != "pass"):
                note = " (expected to fail: remove it)" if stale else ""
                print(f"{verdict} {name}{note} {why[:300]}", flush=True)
    for worker in workers:
        worker.close()
    counts = collections.Counter(row["verdict"] for row in rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {"counts": counts, "cases": rows}, indent=1))
    few = not options.names and counts["pass"] < MIN_PASSED
    good = not broken and not few
    print(f"{'PASS' if good else 'FAIL'}: {counts['pass']} of {len(rows)} "
          f"cases pass, {counts['refused']} refused, {counts['wrong']} wrong, "
          f"{counts['crashed']} crashed, {len(broken)} against expectation")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
