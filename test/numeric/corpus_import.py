#!/usr/bin/env python3
"""Import every graph of the corpus and of the models.

usage: corpus_import.py TLM_REFERENCE [NAME_PART]

The skeletons lie in ../shared or $TLM_SHARED; skips (exit 77) without them. An
import needs the weights' dims but hardly their values, so all of them point into
one sparse file. Prints a line a graph and a verdict.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

try:
    import onnx
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TLM_SHARED", REPOSITORY.parent / "shared"))


def skeletons(part):
    found = []
    for folder in ("corpus", "models"):
        found += sorted((SHARED / folder).glob("*.onnx"))
    return [path for path in found if part in path.name]


def add_weights(model, folder):
    """Initializers for the removed ones, all at the start of one file of zeros."""
    props = {p.key: p.value for p in model.metadata_props}
    stripped = json.loads(props.get("stripped_initializers", "{}"))
    largest = 0
    for name, (dims, *_) in stripped.items():
        size = 4
        for dim in dims:
            size *= dim
        largest = max(largest, size)
        tensor = model.graph.initializer.add()
        tensor.name = name
        tensor.data_type = onnx.TensorProto.FLOAT
        tensor.dims.extend(dims)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", "zeros"), ("offset", "0"),
                           ("length", str(size))):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
    with open(folder / "zeros", "wb") as file:
        file.truncate(largest)


def main(tool, part):
    paths = skeletons(part)
    if not paths:
        print(f"skipped: no graphs in {SHARED}")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path in paths:
            model = onnx.load(path)
            add_weights(model, folder)
            onnx.save(model, folder / "model.onnx")
            begin = time.monotonic()
            result = subprocess.run([tool, folder / "model.onnx", "--simplify"],
                                    capture_output=True, text=True, check=False)
            seconds = time.monotonic() - begin
            if result.returncode == 0:
                ops = re.findall(r"^  (\w+) (\d+)$", result.stdout, re.MULTILINE)
                what = " ".join(f"{op}:{count}" for op, count in ops)
                print(f"ok     {path.stem} {seconds:.1f} s, {what}")
            else:
                failed += 1
                print(f"FAILED {path.stem}: {result.stderr.strip()}")
            sys.stdout.flush()
    print(f"verdict: {len(paths) - failed} of {len(paths)} graphs import")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
