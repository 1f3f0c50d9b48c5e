#!/usr/bin/env python3
"""Every graph of ../shared/corpus: compiled, right, and not hopelessly slow.

One graph at a time is filled with weights, compiled, run on two inputs, compared
with onnxruntime (outputs: at most 1e-3 of the largest and 1e-2 of the change), timed
beside it on one thread, and deleted. About 20 GB pass through in all. Drawn weights make
some networks so ill-conditioned (onnxruntime's own outputs move by over 1e4 times a change
of its input) that no two right engines agree on their outputs: those are judged by every
task's output, for the values that the task read.

usage: corpus.py [PATTERN ...] [--most N] [--json FILE]      PATTERN: a glob of names
"""
import argparse
import fnmatch
import json
import pathlib
import sys
import tempfile
import time

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import against_onnxruntime as against  # noqa: E402
import networks_against_onnxruntime as networks  # noqa: E402
import tlm_ctypes  # noqa: E402
from shared_networks import CORPUS, MODELS  # noqa: E402

ALLOWED_ERRORS = 5
SLOWEST_ALLOWED = 3.0
ILL_CONDITIONED = 1e4


def fastest_ms(call, seconds=0.5):
    call()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best * 1e3


def check(skeleton, folder):
    """A row: ok, error or figures."""
    model, artifact = folder / "model.onnx", folder / "model.so"
    done = against.subprocess.run([sys.executable, MODELS / "materialize.py", skeleton, model],
                                  capture_output=True, text=True)
    if done.returncode:
        return dict(ok=False, error="not materialised: " + done.stderr.strip()[-200:])
    begin = time.perf_counter()
    done = against.subprocess.run([against.BIN / "tlm", "compile", model, "-o", artifact, "-q",
                                   "--threads", "1"], capture_output=True, text=True, timeout=300)
    seconds = time.perf_counter() - begin
    if done.returncode:
        return dict(ok=False, error=done.stderr.strip()[-300:], exit=done.returncode)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    compiled = tlm_ctypes.Model(artifact, threads=1)
    feeds = [against.model_inputs(session, seed) for seed in (0, 1)]
    names = [name for name, _, _ in compiled.inputs]
    mine = [[y.copy() for y in compiled.run([feed[n] for n in names])] for feed in feeds]
    theirs = [session.run(None, feed) for feed in feeds]
    worst = worst_change = 0.0
    for i, expected in enumerate(theirs[0]):
        other = theirs[1][i]
        if expected.dtype.kind != "f":
            if any(not np.array_equal(mine[k][i], theirs[k][i]) for k in (0, 1)):
                return dict(ok=False, error=f"output {i} differs")
            continue
        change = against.largest_difference(expected, other)
        for k in (0, 1):
            error = against.largest_difference(mine[k][i], theirs[k][i])
            largest = float(np.max(np.abs(theirs[k][i]), initial=0))
            worst = max(worst, error / largest if largest else error)
            if change > 1e-3 * largest:
                worst_change = max(worst_change, error / change)
    inputs = [feeds[0][n] for n in names]
    bound = compiled.context.bind([np.ascontiguousarray(x) for x in inputs], compiled.new_outputs())
    ours, peer = fastest_ms(bound), fastest_ms(lambda: session.run(None, feeds[0]))
    fell_back = [k["label"] for k in json.loads(compiled.manifest())["kernels"] if k.get("fallback_reason")]
    compiled.close()
    right = worst <= against.OF_LARGEST and worst_change <= against.OF_CHANGE and np.isfinite(worst)
    amplified = 0.0
    if not right:
        amplified, _ = networks.conditioning(str(model), 1, folder, against.model_inputs)
    if amplified > ILL_CONDITIONED:
        tasks, missing = against.check(str(model), artifact, 1, folder, against.model_inputs)
        right = not missing and all(t["ok"] for t in tasks if t["kind"] == "boundary")
    return dict(ok=bool(right), conditioning=amplified, worst=worst, of_change=worst_change, compile_s=seconds, tlm_ms=ours,
                onnxruntime_ms=peer, slower=ours / peer, fell_back=fell_back)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--most", type=int)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    skeletons = [p for p in sorted(CORPUS.glob("*.onnx"))
                 if any(fnmatch.fnmatch(p.stem, pattern) for pattern in arguments.patterns)]
    if not skeletons:
        print("corpus: no graphs there -> SKIPPED")
        return 0
    rows = []
    for skeleton in skeletons[:arguments.most]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                row = check(skeleton, pathlib.Path(folder))
            except Exception as failure:  # a peer's refusal is a row, too
                row = dict(ok=False, error=f"{type(failure).__name__}: {failure}"[-300:])
        rows.append(dict(model=skeleton.stem, **row))
        text = row.get("error") or (
            "error {worst:.1e} of the largest, {of_change:.1e} of the change; compiled in {compile_s:.1f} s; "
            "{tlm_ms:.2f} ms, onnxruntime {onnxruntime_ms:.2f} ms: {slower:.2f}x its time".format(**row))
        if row.get("conditioning"):
            text += f"; conditioning {row['conditioning']:.0e}: judged by its tasks"
        if row.get("fell_back"):
            text += f"; fell back: {' '.join(row['fell_back'])}"
        print(f"{skeleton.stem}: {'OK' if row['ok'] else 'FAILED'} {text}", flush=True)
    errors = [r for r in rows if "error" in r]
    wrong = [r for r in rows if not r["ok"] and "error" not in r]
    timed = sorted((r for r in rows if "slower" in r), key=lambda r: -r["slower"])
    print("ten slowest: " + ", ".join(f"{r['model']} {r['slower']:.2f}x" for r in timed[:10]))
    slow = [r for r in timed if r["slower"] > SLOWEST_ALLOWED]
    fell_back = sum(len(r.get("fell_back", [])) for r in rows)
    good = not wrong and len(errors) <= ALLOWED_ERRORS and not slow
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(dict(ok=good, rows=rows), indent=1))
    print(f"corpus: {len(rows)} graphs, {len(errors)} refused, {len(wrong)} wrong, {fell_back} kernels fell back, "
          f"{len(slow)} over {SLOWEST_ALLOWED:.0f}x onnxruntime's time -> {'OK' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
