#!/usr/bin/env python3
"""What the README shows of `tlm compile` and `tlm bench --profile` on ResNet-50: the real
output of a run here, cut after the heaviest kernels.

usage: readme_example.py [--model NAME_OR_FILE] [--threads 2] [--duration 3s] [FILE ...]
Without FILE it goes to stdout; a FILE needs the marks of python/marked_section.py.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin"))
KERNELS = 8

sys.path.insert(0, str(ROOT / "python"))
from marked_section import write_section  # noqa: E402
from shared_networks import materialise  # noqa: E402


def shown(folder, *arguments):
    done = subprocess.run([str(BIN / "tlm"), *arguments], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"tlm {' '.join(arguments)}\n{done.stdout}exit {done.returncode}")
    return [f"$ tlm {' '.join(arguments)}", *done.stdout.splitlines()]


def cut(lines):
    """The head and the heaviest kernels of a profile."""
    rows = [i for i, line in enumerate(lines) if line.split()[:1] and line.split()[0].isdigit()]
    return [line for i, line in enumerate(lines) if i not in rows[KERNELS:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--duration", default="3s")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = materialise(arguments.model, folder)
        if not model:
            print("example -> SKIPPED")
            return 0
        here = pathlib.Path(folder) / "resnet50.onnx"
        if not here.exists():
            shutil.copy(model, here)
        lines = shown(folder, "compile", "resnet50.onnx", "-o", "resnet50.so", "--threads", arguments.threads)
        lines += [""] + cut(shown(folder, "bench", "resnet50.so", "--threads", arguments.threads,
                                  "--duration", arguments.duration, "--profile"))
    cpu = subprocess.run([str(BIN / "tlm-peak"), "1"], capture_output=True, text=True, check=True).stdout
    cpu = json.loads(cpu)["cpu"]
    text = "\n".join([f"On {cpu}, {arguments.threads} threads; the {KERNELS} heaviest kernels of the profile:",
                      "", "```", *lines, "```", ""])
    for path in arguments.files:
        write_section(path, "readme_example.py", text)
    if not arguments.files:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
