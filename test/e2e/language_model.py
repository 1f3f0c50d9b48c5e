#!/usr/bin/env python3
"""Compiles with schedules that a language model of random weights wrote.

  every step of the artifact agrees with the reference
  the same bytes for two runs, any number of jobs and a seed; explain tells the same schedules
  probabilities of explain multiply to what the report of compile says
  weights that know too few words: default schedules, counted
  --measure: never slower than the default schedule by its own figures

usage: language_model.py [--json FILE]
"""
import argparse
import hashlib
import json
import math
import pathlib
import sys
import tempfile

from models import random_model, run_tlm, small_cnn


def compile_(folder, name, *flags):
    """(report, digest of the artifact)"""
    artifact, report = folder / "net.so", folder / f"{name}.json"
    run_tlm("compile", folder / "net.onnx", "-o", artifact, "--threads", 2, "-q", "--json", report, *flags)
    return json.loads(report.read_text()), hashlib.sha256(artifact.read_bytes()).hexdigest()


def sources(report):
    return [kernel["schedule_source"] for kernel in report["kernels"]]


def right(folder):
    report, _ = compile_(folder, "right", "--model", folder / "weights", "--verify=ref")
    found = sources(report)
    inference = report["inference"]
    assert found.count("model") == inference["written"] > 5, found
    assert inference["refused"] == 0 and not report["fallbacks"], report["fallbacks"]
    assert any(phase["name"] == "inference" and phase["seconds"] > 0 for phase in report["phases"])
    return f"{found.count('model')} kernels as the model wrote them, every step as the reference"


def same_bytes(folder):
    flags = ["--model", folder / "weights", "--samples", 6, "--seed", 5]
    first = compile_(folder, "first", *flags)[1]
    for jobs in (1, 2, 3):
        assert compile_(folder, "again", *flags, "--jobs", jobs)[1] == first, f"{jobs} jobs: other bytes"
    other = compile_(folder, "other", *flags[:-1], 6)[1]
    assert other != first, "another seed, the same bytes"
    default = compile_(folder, "default", "--schedules=default")[1]
    assert default not in (first, other), "the model wrote the default schedules"
    schedules = folder / "net.schedules"
    run_tlm("explain", folder / "net.onnx", "--threads", 2, *flags, "-o", schedules)
    assert compile_(folder, "given", "--schedule-from", schedules)[1] == first, "explain tells others"
    return "the same bytes with 1, 2 and 3 jobs, and with the schedules that explain wrote"


def explained(folder):
    report = folder / "explain.json"
    run_tlm("explain", folder / "net.onnx", "--threads", 2, "--model", folder / "weights", "--json", report)
    compiled = {k["key"]: k for k in compile_(folder, "plain", "--model", folder / "weights")[0]["kernels"]}
    decisions = 0
    for kernel in json.loads(report.read_text())["kernels"]:
        other = compiled[kernel["key"]]
        assert kernel["source"] == other["schedule_source"], kernel["label"]
        if kernel["source"] != "model":
            continue
        chances = [d["probability"] for d in kernel["decisions"]]
        assert all(0 < p <= 1 for p in chances), chances
        assert all(p == 1 for p, d in zip(chances, kernel["decisions"]) if d["choices"] == 1), chances
        assert math.isclose(sum(map(math.log, chances)), kernel["log_probability"], abs_tol=1e-3), chances
        assert math.isclose(kernel["log_probability"], other["log_probability"], abs_tol=1e-9)
        assert 0 < kernel["expected_share"] < 1, kernel["expected_share"]
        decisions += sum(d["choices"] > 1 for d in kernel["decisions"])
    assert decisions > 20, decisions
    return f"{decisions} decisions with their probabilities"


def old_weights(folder):
    """Words of tasks but none of choices; and some of both."""
    random_model(folder / "few", "--words", 7)
    report, digest = compile_(folder, "few", "--model", folder / "few")
    inference = report["inference"]
    assert inference["written"] == 0 and inference["refused"] > 5, inference
    assert set(sources(report)) == {"default"}, sources(report)
    assert digest == compile_(folder, "default", "--schedules=default")[1]
    random_model(folder / "short", "--positions", 66)
    report, _ = compile_(folder, "short", "--model", folder / "short", "--verify=ref")
    some = report["inference"]
    assert some["written"] > 0 and some["refused"] > 0, some
    return f"{inference['refused']} and {some['refused']} kernels stay with default schedules"


def measured(folder):
    report, _ = compile_(folder, "measured", "--model", folder / "weights", "--measure", 2, "--verify=ref")
    found = [kernel["measured"] for kernel in report["kernels"] if "measured" in kernel]
    assert len(found) == report["inference"]["written"], found
    for each in found:
        assert each["failed"] == 0 and 2 <= each["candidates"] <= 3 or each["candidates"] == 1, each
        assert 0 < each["microseconds"] <= each["default_microseconds"], each
    assert any(phase["name"] == "measure" for phase in report["phases"])
    return f"{sum(each['candidates'] for each in found)} candidates of {len(found)} kernels measured"


CHECKS = [right, same_bytes, explained, old_weights, measured]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json")
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        small_cnn(folder / "net.onnx")
        random_model(folder / "weights")
        for check in CHECKS:
            try:
                results[check.__name__] = check(folder)
                print(f"{check.__name__:12} {results[check.__name__]} -> OK")
            except AssertionError as problem:
                results[check.__name__] = f"FAILED: {problem}"
                print(f"{check.__name__:12} {problem} -> FAILED")
    failed = sum(str(text).startswith("FAILED") for text in results.values())
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(dict(ok=not failed, checks=results), indent=1))
    print(f"language model: {len(results) - failed} of {len(results)} checks -> {'FAILED' if failed else 'OK'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
