#!/usr/bin/env python3
"""Contracts of an artifact: poison, threads, determinism, refused machine.

  arena filled with NaN, two runs in a row: right results
  1, 2, 3 and 5 threads: the same bits
  two compiles: the same bytes
  a feature this CPU lacks: refused by name, exit code 4
  a network's steps agree with the reference, plain and default schedules

usage: contracts.py [MODEL.onnx] [--json FILE]      (a small network of its own by default)
"""
import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import tlm_ctypes  # noqa: E402
from models import run_tlm, small_cnn  # noqa: E402


def inputs_of(model, seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(dims).astype(dtype) for _, dtype, dims in model.inputs]


def outputs_with(path, seeds, **options):
    model = tlm_ctypes.Model(path, **options)
    results = [model.run(inputs_of(model, seed)) for seed in seeds]
    model.close()
    return results


def same(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b))


def poisoned(folder, model, artifact):
    clean = outputs_with(artifact, (0, 1, 0))
    poison = outputs_with(artifact, (0, 1, 0), poison_arena=True)
    assert all(np.isfinite(y).all() for run in poison for y in run), "NaN of the arena in an output"
    assert all(same(a, b) for a, b in zip(clean, poison)), "poison changes the outputs"
    assert same(poison[0], poison[2]), "a run depends on the run before"
    assert not same(poison[0], poison[1]), "outputs do not depend on the input"


def threads(folder, model, artifact):
    reference = outputs_with(artifact, (0, 1), threads=1)
    for count in (2, 3, 5):
        found = outputs_with(artifact, (0, 1), threads=count)
        assert all(same(a, b) for a, b in zip(reference, found)), f"{count} threads: other bits"


def reproducible(folder, model, artifact):
    first = pathlib.Path(artifact).read_bytes()
    (folder / "again").mkdir()
    again = folder / "again" / pathlib.Path(artifact).name
    run_tlm("compile", model, "-o", again, "-q", "--threads", 2, "--jobs", 1)
    assert first == again.read_bytes(), "two compiles give different bytes"


def refused(folder, model, artifact):
    environment = {"TLM_TEST_HIDE_CPU_FEATURES": "sse4.2"}
    for command in ("run", "bench"):
        _, err = run_tlm(command, artifact, expect=4, environment=environment)
        assert "sse4.2" in err, f"{command} does not name the feature: {err}"
    # Not by the hook: a feature that no processor since 2017 has.
    foreign = folder / "foreign.so"
    _, err = run_tlm("compile", model, "-o", foreign, "--mattr=+xop")
    assert "skipped: this machine lacks xop" in err, err
    _, err = run_tlm("run", foreign, expect=4)
    assert "xop" in err, err


def verified(folder, model, artifact):
    out, _ = run_tlm("verify", model, artifact)
    assert "-> OK" in out, out
    out, _ = run_tlm("verify", model, "--schedules=plain", "-q")
    assert "-> OK" in out, out


CHECKS = [poisoned, threads, reproducible, refused, verified]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        model = arguments.model or small_cnn(folder / "small.onnx")
        artifact = folder / "small.so"
        run_tlm("compile", model, "-o", artifact, "-q", "--threads", 2)
        for check in CHECKS:
            try:
                check(folder, model, artifact)
                results[check.__name__] = "OK"
            except (AssertionError, tlm_ctypes.Error) as problem:
                results[check.__name__] = str(problem)
            print(f"{check.__name__}: {results[check.__name__]}", flush=True)
    good = all(r == "OK" for r in results.values())
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(dict(ok=good, checks=results), indent=1))
    print(f"contracts: {len(results)} checks -> {'OK' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
