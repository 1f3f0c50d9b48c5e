#!/usr/bin/env python3
"""Write seeds for tlm_import_fuzz: ONNX's own operator cases, one file each.

usage: import_seeds.py FOLDER

Integer inputs become constants, as exporters have them, so that shapes, axes,
indices and pads are in the file. Then, for example:
  tlm_import_fuzz -max_len=8192 -timeout=10 -rss_limit_mb=1024 corpus FOLDER
"""
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

MAX_BYTES = 4096


def seed(case):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for info, value in zip(case.model.graph.input, case.data_sets[0][0]):
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iub":
            continue
        model.graph.initializer.append(
            numpy_helper.from_array(value, info.name))
        for entry in [i for i in model.graph.input if i.name == info.name]:
            model.graph.input.remove(entry)
    return model.SerializeToString()


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for case in load_model_tests(kind="node"):
        if case.model is None or "expanded" in case.name:
            continue
        data = seed(case)
        if len(data) <= MAX_BYTES:
            (folder / case.name).write_bytes(data)
            count += 1
    print(f"{count} seeds in {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
