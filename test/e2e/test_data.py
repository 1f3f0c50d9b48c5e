#!/usr/bin/env python3
"""run and verify --test-data: folders as ONNX ships them, outputs by onnxruntime.

usage: test_data.py [--json FILE]
"""
import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnxruntime
from onnx import numpy_helper

from models import run_tlm, small_cnn


def write(path, name, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(numpy_helper.from_array(array, name).SerializeToString())


def prepare(folder):
    model = small_cnn(folder / "net.onnx")
    run_tlm("compile", model, "-o", folder / "net.so", "-q", "--threads", 2)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    for number in (0, 1):
        x = np.random.default_rng(number).standard_normal((1, 3, 32, 32)).astype(np.float32)
        y, = session.run(None, {"x": x})
        for data in ("good", "wrong"):
            write(folder / f"{data}/test_data_set_{number}/input_0.pb", "x", x)
            write(folder / f"{data}/test_data_set_{number}/output_0.pb", "y",
                  y + np.float32(data == "wrong" and number == 1))


def every_set(folder):
    out, _ = run_tlm("run", folder / "net.so", "--test-data", folder / "good")
    assert "test_data_set_0: y: " in out and "test_data_set_1: y: " in out, out
    assert "test data: 2 of 2 sets agree -> OK" in out, out


def one_set(folder):
    out, _ = run_tlm("run", folder / "net.so", f"--test-data={folder}/good/test_data_set_1")
    assert "test data: 1 of 1 sets agree -> OK" in out, out


def mismatch(folder):
    report = folder / "report.json"
    out, err = run_tlm("run", folder / "net.so", "--test-data", folder / "wrong", "--json", report, expect=3)
    assert "test data: 1 of 2 sets agree -> MISMATCH" in out, out
    assert "test_data_set_1: output 'y'" in err, err
    sets = json.loads(report.read_text())["test_data"]
    assert [s["ok"] for s in sets] == [True, False], sets


def tolerances(folder):
    run_tlm("run", folder / "net.so", "--test-data", folder / "wrong", "--atol", 1.5)
    run_tlm("run", folder / "net.so", "--test-data", folder / "good", "--rtol", 0, "--atol", 0, expect=3)


def verify(folder):
    for artifact in ([folder / "net.so"], []):
        out, _ = run_tlm("verify", folder / "net.onnx", *artifact, "--test-data", folder / "good", "-q")
        assert "2 of 2 sets agree -> OK" in out and "verify: " in out, out
        out, _ = run_tlm("verify", folder / "net.onnx", *artifact, "--test-data", folder / "wrong", "-q", expect=3)
        assert "1 of 2 sets agree -> MISMATCH" in out, out


CHECKS = [every_set, one_set, mismatch, tolerances, verify]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json")
    arguments = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        prepare(folder)
        for check in CHECKS:
            try:
                check(folder)
                results[check.__name__] = "OK"
            except AssertionError as problem:
                results[check.__name__] = str(problem)
                print(f"{check.__name__}: {problem}")
    good = all(r == "OK" for r in results.values())
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(dict(ok=good, checks=results), indent=1))
    print(f"test data: {len(results)} checks -> {'OK' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
