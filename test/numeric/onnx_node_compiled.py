#!/usr/bin/env python3
"""Compile and run ONNX's own test cases.

usage: onnx_node_compiled.py TLM_CASES [-v] [--jobs N] [--json FILE] [NAME...]

Every case that comes with the onnx package, compiled and run, with its inputs
fed or made constants as onnx_node_tests.py does for the reference path. What is
refused there, onnx_node_expected.txt, may be refused here; what is refused here
alone must stand in onnx_node_compiled_expected.txt ("name: reason"). A listed
case that passes fails the run, and so does a wrong result or a crash anywhere.
NAME... runs those cases only. Skips (exit 77) without onnx.
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

import onnx_node_tests as reference  # skips without onnx
import numpy as np
import onnx

OWN = pathlib.Path(__file__).with_name("onnx_node_compiled_expected.txt")
SECONDS = 60
CHOICES = (lambda i, v: False,
           lambda i, v: v.dtype.kind != "f",
           lambda i, v: v.dtype.kind != "f" or i > 0,
           lambda i, v: True)


def own_failures():
    lines = OWN.read_text().splitlines() if OWN.exists() else []
    return dict(line.split(": ", 1) for line in lines
                if line and not line.startswith("#"))


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


def difference(folder, outputs, rtol, atol):
    for index, wanted in enumerate(outputs):
        found = np.fromfile(folder / f"output_{index}.bin", wanted.dtype)
        if found.size != wanted.size:
            return f"output {index} has {found.size} elements, not {wanted.size}"
        found = found.reshape(wanted.shape)
        same = (np.allclose(found, wanted, rtol, max(atol, 1e-6), equal_nan=True)
                if wanted.dtype.kind == "f" else np.array_equal(found, wanted))
        if not same:
            return f"output {index}: {found.ravel()[:8]} != {wanted.ravel()[:8]}"
    return ""


def attempt(worker, model, inputs, outputs, rtol, atol):
    """(verdict, why): pass, refused, wrong or crashed."""
    why, seen = "", set()
    for is_constant in CHOICES:
        changed, fed = reference.with_constants(model, inputs, is_constant)
        if len(fed) in seen:
            continue
        seen.add(len(fed))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            onnx.save(changed, folder / "model.onnx")
            for index, value in enumerate(fed):
                np.ascontiguousarray(value).tofile(
                    folder / f"input_{index}.bin")
            answer = worker.ask(folder)
            if answer == "ok":
                wrong = difference(folder, outputs, rtol, atol)
                return ("wrong", wrong) if wrong else ("pass", "")
        verdict, _, why = answer.partition(" ")
        if verdict != "refused":
            return "crashed" if verdict == "crashed" else "wrong", answer
    return "refused", why


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("names", nargs="*")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()

    local, workers = threading.local(), []

    def judge(case):
        _, name, model, inputs, outputs, rtol, atol = case
        strange = reference.strange_type(model, [*inputs, *outputs])
        if strange:
            return name, "refused", strange
        if not hasattr(local, "worker"):
            local.worker = Worker(options.tool)
            workers.append(local.worker)
        reference.raise_opset(model)
        return name, *attempt(local.worker, model,
                              [np.asarray(v) for v in inputs],
                              [np.asarray(v) for v in outputs], rtol, atol)

    expected = {**reference.expected_failures(), **own_failures()}
    rows, broken = [], []
    cases = [case for case in reference.cases()
             if not options.names or case[1] in options.names]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, verdict, why in pool.map(judge, cases):
            rows.append({"case": name, "verdict": verdict, "why": why})
            stale = verdict == "pass" and name in expected
            bad = stale or verdict in ("wrong", "crashed") or (
                verdict == "refused" and name not in expected)
            if bad:
                broken.append(name)
            if bad or (options.verbose and verdict != "pass"):
                note = " (listed as failing)" if stale else ""
                print(f"{verdict} {name}{note} {why[:300]}", flush=True)
    for worker in workers:
        worker.close()
    counts = collections.Counter(row["verdict"] for row in rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {"counts": counts, "cases": rows}, indent=1))
    few = not options.names and counts["pass"] < reference.MIN_PASSED
    good = not broken and not few
    print(f"verdict: {'ok' if good else 'FAILED'}, {counts['pass']} of "
          f"{len(rows)} cases pass, {counts['refused']} refused, "
          f"{counts['wrong']} wrong, {counts['crashed']} crashed, "
          f"{len(broken)} against expectation")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
