#!/usr/bin/env python3
"""Contracts of an artifact: poison, threads, determinism, refused machine.

  arena filled with NaN, two runs in a row: right results
  1, 2, 3 and 4 threads: the same bits
  two compiles, in two folders, with other numbers of jobs: the same bytes
  a feature this CPU lacks: refused by name, exit code 4
  a network's steps agree with the reference, plain and default schedules

usage: contracts.py [MODEL.onnx ...] [--networks] [--json FILE]
A small network of its own by default; --networks are the three CNNs of ../shared/models,
skipped with a message when they are not there.
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
from shared_networks import NETWORKS, materialise_all  # noqa: E402

COUNTS = (1, 2, 3, 4)


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
    return "an arena of NaN changes nothing, three runs"


def threads(folder, model, artifact):
    reference = outputs_with(artifact, (0, 1), threads=COUNTS[0])
    for count in COUNTS[1:]:
        found = outputs_with(artifact, (0, 1), threads=count)
        assert all(same(a, b) for a, b in zip(reference, found)), f"{count} threads: other bits"
    return f"{', '.join(map(str, COUNTS))} threads give the same bits"


def reproducible(folder, model, artifact):
    first = pathlib.Path(artifact).read_bytes()
    (folder / "again").mkdir()
    again = folder / "again" / pathlib.Path(artifact).name
    run_tlm("compile", model, "-o", again, "-q", "--threads", 2, "--jobs", 1)
    assert first == again.read_bytes(), "two compiles give different bytes"
    return f"two compiles give the same {len(first)} bytes"


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
    return "exit code 4, the message names the feature (sse4.2 hidden, xop missing)"


def verified(folder, model, artifact):
    out, _ = run_tlm("verify", model, artifact)
    assert "-> OK" in out, out
    out, _ = run_tlm("verify", model, "--schedules=plain", "-q")
    assert "-> OK" in out, out
    return "default and plain schedules agree with the reference, step by step"


CHECKS = [poisoned, threads, reproducible, refused, verified]


def check_model(model, folder):
    """name of the check -> {ok, text}."""
    artifact = folder / "net.so"
    run_tlm("compile", model, "-o", artifact, "-q", "--threads", 2)
    results = {}
    for check in CHECKS:
        try:
            results[check.__name__] = dict(ok=True, text=check(folder, model, artifact))
        except (AssertionError, tlm_ctypes.Error) as problem:
            results[check.__name__] = dict(ok=False, text=str(problem))
        row = results[check.__name__]
        print(f"{model.stem}: {check.__name__}: {row['text']} -> {'OK' if row['ok'] else 'FAILED'}", flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--networks", action="store_true")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as temporary:
        models = list(arguments.models)
        if arguments.networks:
            models += materialise_all(NETWORKS, temporary)
        elif not models:
            models = [small_cnn(pathlib.Path(temporary) / "small.onnx")]
        for model in models:
            with tempfile.TemporaryDirectory() as folder:
                results[model.stem] = check_model(model, pathlib.Path(folder))
    good = all(row["ok"] for checks in results.values() for row in checks.values())
    verdict = "SKIPPED" if not results else "OK" if good else "FAILED"
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(
            dict(ok=good, skipped=not results, models=results), indent=1))
    print(f"contracts: {len(results)} models, {len(CHECKS)} checks each -> {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
