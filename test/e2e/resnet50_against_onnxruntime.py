#!/usr/bin/env python3
"""ResNet-50 of the PyPI package onnx, seeded weights, against onnxruntime; for ctest."""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

with tempfile.TemporaryDirectory() as folder:
    model = str(pathlib.Path(folder) / "resnet50.onnx")
    subprocess.run([sys.executable, str(HERE.parents[1] / "python/light_model.py"), model], check=True)
    sys.exit(subprocess.run([sys.executable, str(HERE / "against_onnxruntime.py"), model]).returncode)
