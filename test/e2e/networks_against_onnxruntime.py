#!/usr/bin/env python3
"""Networks against onnxruntime, outputs and boundaries: ResNet-50, MobileNet-V2 and
EfficientNet-B0, or those of --models (bert_base, gpt2, llama7b_1layer, files).

The bounds of against_onnxruntime.py, on two inputs uniform in [0,1), as images are.
Beside stands the conditioning: the input of onnxruntime scaled by 1 + 1e-6, the
change of its own values relative to their largest, over 1e-6. A float has 6e-8, so
with a conditioning above 1e4 the bound of 1e-3 is rounding alone: EfficientNet
with --inputs normal is such a case.

usage: networks_against_onnxruntime.py [--models NAME_OR_FILE ...] [--threads 2]
                                       [--inputs image|normal] [--json FILE]
Models that are not there are skipped with a message.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import against_onnxruntime as against  # noqa: E402
from shared_networks import NETWORKS, materialise_all  # noqa: E402

SCALE = 1e-6
DRAWS = {"image": against.image_inputs, "normal": against.model_inputs}


def conditioning(model, threads, folder, draw):
    """(of the outputs, of the worst value inside) by onnxruntime alone; 0 where
    the inputs are token ids, which cannot be scaled."""
    graph = onnx.load(model, load_external_data=False).graph
    outputs = {o.name for o in graph.output}
    values = [o for n in graph.node for o in n.output if o]
    session = against.session_with(model, values, threads, folder)
    names = [o.name for o in session.get_outputs()]
    x = draw(session, 0)
    if any(v.dtype != np.float32 for v in x.values()):
        return 0.0, 0.0
    scaled = {k: (v * np.float32(1 + SCALE)).astype(np.float32) for k, v in x.items()}
    amplified = {"output": 0.0, "inside": 0.0}
    for name, a, b in zip(names, session.run(None, x), session.run(None, scaled)):
        if a.dtype != np.float32 or not a.size:
            continue
        largest = float(np.max(np.abs(a)))
        kind = "output" if name in outputs else "inside"
        if largest:
            amplified[kind] = max(amplified[kind], against.largest_difference(a, b) / largest / SCALE)
    return amplified["output"], amplified["inside"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", nargs="*", default=NETWORKS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--inputs", choices=DRAWS, default="image")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    draw = DRAWS[arguments.inputs]
    results = []
    for name in arguments.models:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            for model in materialise_all([name], folder):
                artifact = folder / "model.so"
                against.tlm("compile", model, "-o", artifact, "--threads", arguments.threads, "-q")
                rows, missing = against.check(str(model), artifact, arguments.threads, folder, draw)
                result = against.summary(rows, missing)
                result["model"] = pathlib.Path(model).stem
                result["conditioning_output"], result["conditioning_inside"] = conditioning(
                    str(model), arguments.threads, folder, draw)
                against.print_bad(rows, missing)
                print("{model}: {boundaries} boundaries, worst error {worst:.1e} of the largest; outputs "
                      "{worst_output:.1e} of the largest, {of_change:.1e} of the change; conditioning "
                      "{conditioning_output:.1f} at the output, {conditioning_inside:.1f} inside -> {verdict}"
                      .format(**result, verdict="OK" if result["ok"] else "FAILED"), flush=True)
                results.append(dict(result, rows=rows, missing=missing))
    good = all(r["ok"] for r in results)
    verdict = "SKIPPED" if not results else "OK" if good else "FAILED"
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(
            dict(ok=good, skipped=not results, inputs=arguments.inputs, threads=arguments.threads,
                 of_largest=against.OF_LARGEST, of_change=against.OF_CHANGE,
                 onnxruntime=onnxruntime.__version__, networks=results), indent=1))
    print(f"networks against onnxruntime {onnxruntime.__version__}: {len(results)} networks, two inputs "
          f"({arguments.inputs}), at most {against.OF_LARGEST} of the largest and {against.OF_CHANGE} of the "
          f"change -> {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
