#!/usr/bin/env python3
"""Real models that PyPI packages carry, compiled and compared with onnxruntime.

rapidocr-onnxruntime's detector, recogniser and classifier, silero-vad (the file without If
in its branches: with the other one, the branch for 8 kHz does not fit a 16 kHz input), magika. Packages are downloaded as wheels into a temporary folder, or
taken from --wheels; without either the check is skipped.

usage: pypi_models.py [--wheels FOLDER] [--json FILE]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import against_onnxruntime as against  # noqa: E402
import tlm_ctypes  # noqa: E402

PACKAGES = ["rapidocr-onnxruntime", "silero-vad", "magika"]
OCR = "rapidocr_onnxruntime/models/"
VAD = "silero_vad/data/"
# Path in the wheel, shapes of the dynamic inputs, values that are no random floats.
MODELS = [
    (OCR + "ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 320, 320)}, {}),
    (OCR + "ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}, {}),
    (OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": (1, 3, 48, 192)}, {}),
    (VAD + "silero_vad_op18_ifless.onnx", {"input": (1, 576), "state": (2, 1, 128)}, {"sr": 16000}),
    ("magika/models/standard_v3_3/model.onnx", {"bytes": (1, 2048)}, {}),
]


def page(rng, shape):
    """Dark strokes in lines on white, scaled to [-1,1]: on noise the detector sees no text, and
    an output of 1e-5 everywhere is rounding."""
    image = np.ones(shape, np.float32)
    for top in range(8, shape[2] - 24, 40):
        for left in range(8, shape[3] - 12, 14):
            for _ in range(4):
                y, x = top + rng.integers(0, 16), left + rng.integers(0, 6)
                if rng.random() < 0.5:
                    image[:, :, y:y + 3, left:left + 10] = -0.9
                else:
                    image[:, :, top:top + 20, x:x + 3] = -0.9
    return image


def draw(session, shapes, fixed, seed):
    rng = np.random.default_rng(seed)
    feed = {}
    for i in session.get_inputs():
        shape = shapes.get(i.name, tuple(d for d in i.shape))
        if i.name in fixed:
            feed[i.name] = np.full(shape, fixed[i.name], np.int64)
        elif i.type == "tensor(float)" and len(shape) == 4:
            feed[i.name] = page(rng, shape)
        elif i.type == "tensor(float)":
            feed[i.name] = rng.random(shape, dtype=np.float32)
        else:
            feed[i.name] = rng.integers(0, 256, shape).astype(np.int32 if "32" in i.type else np.int64)
    return feed


def check(model, shapes, fixed, folder):
    artifact = folder / f"{model.parent.name}_{model.stem}.so"
    flags = [f for name, dims in shapes.items() for f in ("--shape", f"{name}:{'x'.join(map(str, dims))}")]
    done = subprocess.run([str(against.BIN / "tlm"), "compile", str(model), "-o", str(artifact), "-q", *flags],
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        return dict(ok=False, text=done.stderr.strip()[-400:])
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    compiled = tlm_ctypes.Model(artifact, threads=2)
    feeds = [draw(session, shapes, fixed, seed) for seed in (0, 1)]
    worst = worst_change = 0.0
    mine = [[y.copy() for y in compiled.run([feed[n] for n, _, _ in compiled.inputs])] for feed in feeds]
    theirs = [session.run(None, feed) for feed in feeds]
    compiled.close()
    for i in range(len(theirs[0])):
        change = against.largest_difference(theirs[0][i], theirs[1][i])
        for k in (0, 1):
            if mine[k][i].shape != theirs[k][i].shape:
                return dict(ok=False, text=f"output {i}: {mine[k][i].shape}, not {theirs[k][i].shape}")
            error = against.largest_difference(mine[k][i], theirs[k][i])
            largest = float(np.max(np.abs(theirs[k][i]), initial=0))
            worst = max(worst, error / max(largest, 1e-30))
            if change > 1e-3 * largest:
                worst_change = max(worst_change, error / change)
    return dict(ok=bool(worst <= against.OF_LARGEST and worst_change <= against.OF_CHANGE),
                text=f"error {worst:.1e} of the largest, {worst_change:.1e} of the change")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wheels", type=pathlib.Path)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        wheels = arguments.wheels or folder
        if not arguments.wheels:
            subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--quiet",
                            "--only-binary=:all:", "-d", str(wheels), *PACKAGES], check=False)
        for wheel in sorted(wheels.glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                for name, shapes, fixed in MODELS:
                    if name not in archive.namelist():
                        continue
                    archive.extract(name, folder)
                    row = check(folder / name, shapes, fixed, folder)
                    rows.append(dict(model=pathlib.Path(name).name, package=wheel.name.split("-")[0], **row))
                    print(f"{rows[-1]['package']} {rows[-1]['model']}: {'OK' if row['ok'] else 'FAILED'} {row['text']}",
                          flush=True)
    good = len(rows) == len(MODELS) and all(r["ok"] for r in rows)
    verdict = "SKIPPED" if not rows else "OK" if good else "FAILED"
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(dict(ok=good, rows=rows), indent=1))
    print(f"models of PyPI packages: {len(rows)} of {len(MODELS)}, onnxruntime {onnxruntime.__version__} -> {verdict}")
    return 0 if good or not rows else 1


if __name__ == "__main__":
    sys.exit(main())
