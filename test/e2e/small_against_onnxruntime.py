#!/usr/bin/env python3
"""A small network of every border kind, through against_onnxruntime.py; for ctest."""
import pathlib
import subprocess
import sys
import tempfile

from models import small_cnn

with tempfile.TemporaryDirectory() as folder:
    model = small_cnn(pathlib.Path(folder) / "small.onnx", 48)
    script = pathlib.Path(__file__).parent / "against_onnxruntime.py"
    sys.exit(subprocess.run([sys.executable, str(script), str(model)]).returncode)
