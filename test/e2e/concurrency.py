#!/usr/bin/env python3
"""Two artifacts in one process, eight caller threads: right, and not slower.

Each caller has a context of its own and alternates between the models. The
results must be the bits of a single caller; the whole must take at most 1.3
times what one caller needs for the same calls one after the other.

usage: concurrency.py [A.onnx B.onnx] [--networks] [--calls N] [--json FILE]
Two small networks by default; --networks are pairs of the three CNNs of ../shared/models,
skipped with a message when they are not there.
"""
import argparse
import json
import pathlib
import sys
import tempfile
import threading
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import tlm_ctypes  # noqa: E402
from models import run_tlm, small_cnn  # noqa: E402
from shared_networks import NETWORKS, materialise_all  # noqa: E402

CALLERS, LIMIT, ATTEMPTS = 8, 1.3, 3
CALLS, NETWORK_CALLS = 200, 12  # of each caller


class Caller:
    """A context, inputs and outputs of one thread for every model."""

    def __init__(self, models, seed):
        self.calls, self.outputs, self.contexts = [], [], []
        for model in models:
            rng = np.random.default_rng(seed)
            inputs = [rng.standard_normal(dims).astype(dtype) for _, dtype, dims in model.inputs]
            outputs = model.new_outputs()
            self.contexts.append(tlm_ctypes.Context(model))
            self.calls.append(self.contexts[-1].bind(inputs, outputs))
            self.outputs.append(outputs)

    def run(self, count):
        for i in range(count):
            self.calls[i % len(self.calls)]()

    def bits(self):
        return [y.tobytes() for outputs in self.outputs for y in outputs]

    def close(self):
        for context in self.contexts:
            context.close()


def measure(models, calls):
    callers = [Caller(models, seed) for seed in range(CALLERS)]
    for caller in callers:
        caller.run(len(models))
    expected = [caller.bits() for caller in callers]
    for caller in callers:
        for outputs in caller.outputs:
            for y in outputs:
                y.fill(0)

    begin = time.perf_counter()
    for caller in callers:
        caller.run(calls)
    serial = time.perf_counter() - begin
    right = [caller.bits() for caller in callers] == expected

    threads = [threading.Thread(target=caller.run, args=(calls,)) for caller in callers]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    parallel = time.perf_counter() - begin
    right = right and [caller.bits() for caller in callers] == expected
    for caller in callers:
        caller.close()
    return right, serial, parallel


def check_pair(sources, calls, folder):
    artifacts = []
    for source in sources:
        artifact = folder / f"{source.stem}.so"
        if not artifact.exists():
            run_tlm("compile", source, "-o", artifact, "-q", "--threads", 2)
        artifacts.append(artifact)
    models = [tlm_ctypes.Model(a) for a in artifacts]
    # Other programs disturb a measurement upwards only: the best attempt counts.
    attempts = [measure(models, calls) for _ in range(ATTEMPTS)]
    for model in models:
        model.close()
    right = all(a[0] for a in attempts)
    ratio = min(parallel / serial for _, serial, parallel in attempts)
    row = dict(models=[s.stem for s in sources], ok=right and ratio <= LIMIT, right=right, ratio=ratio,
               calls=calls, seconds=[a[1:] for a in attempts])
    print(f"{' and '.join(row['models'])}: {CALLERS} callers, results {'right' if right else 'WRONG'}, "
          f"{ratio:.2f} x the serial time -> {'OK' if row['ok'] else 'FAILED'}", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--networks", action="store_true")
    parser.add_argument("--calls", type=int,
                        help=f"of each caller (default {CALLS}, with --networks {NETWORK_CALLS})")
    parser.add_argument("--any-speed", action="store_true", help="judge the results only")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        calls = arguments.calls or (NETWORK_CALLS if arguments.networks else CALLS)
        if arguments.networks:
            models = materialise_all(NETWORKS, folder)
            pairs = [(a, b) for a, b in zip(models, models[1:] + models[:1]) if a != b]
        else:
            pairs = [arguments.models or [small_cnn(folder / "a.onnx", 64), small_cnn(folder / "b.onnx", 96)]]
        rows = [check_pair(pair, calls, folder) for pair in pairs]
    if arguments.any_speed:
        for row in rows:
            row["ok"] = row["right"]
    good = all(row["ok"] for row in rows)
    verdict = "SKIPPED" if not rows else "OK" if good else "FAILED"
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(
            dict(ok=good, skipped=not rows, limit=LIMIT, callers=CALLERS, pairs=rows), indent=1))
    worst = max((row["ratio"] for row in rows), default=0)
    print(f"concurrency: {len(rows)} pairs of artifacts, {CALLERS} callers, at most {worst:.2f} x the serial "
          f"time (limit {LIMIT}) -> {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
