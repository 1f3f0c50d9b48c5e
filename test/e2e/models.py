"""Small networks for the end-to-end tests, made on the spot: nothing to download.

usage: models.py OUT.onnx [--size 32]       writes small_cnn
"""
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin"))


class Builder:
    """Collects nodes and seeded weights; each method returns its output's name."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.count = [], [], 0

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, *inputs, **attributes):
        self.count += 1
        name = f"{op.lower()}{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x, c, f, k=3, stride=1, groups=1):
        scale = np.sqrt(2 / (c // groups * k * k))
        w = self.rng.standard_normal((f, c // groups, k, k)) * scale
        return self.node("Conv", x, self.weight(w.astype(np.float32)),
                         self.weight((0.1 * self.rng.standard_normal(f)).astype(np.float32)),
                         kernel_shape=[k, k], strides=[stride, stride], pads=[k // 2] * 4, group=groups)

    def model(self, inputs, outputs, opset=17):
        def info(rows):
            return [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in rows]
        graph = helper.make_graph(self.nodes, "net", info(inputs), info(outputs), self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 8
        return model


def small_cnn(path, size=32):
    """Stem, residual block, depthwise with squeeze-excite, head: every border kind."""
    b = Builder()
    x = b.node("Relu", b.conv("x", 3, 32, stride=2))
    x = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    y = b.node("Relu", b.conv(x, 32, 32))
    y = b.conv(y, 32, 32)
    x = b.node("Relu", b.node("Add", x, y))
    y = b.node("Relu", b.conv(x, 32, 96, k=1))
    y = b.node("Relu", b.conv(y, 96, 96, groups=96))
    s = b.node("GlobalAveragePool", y)
    s = b.node("Relu", b.conv(s, 96, 24, k=1))
    s = b.node("Sigmoid", b.conv(s, 24, 96, k=1))
    y = b.node("Mul", y, s)
    x = b.node("Add", x, b.conv(y, 96, 32, k=1))
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    w = b.weight((b.rng.standard_normal((10, 32)) * 0.3).astype(np.float32))
    b.nodes.append(helper.make_node("Gemm", [x, w, b.weight(np.zeros(10, np.float32))], ["y"],
                                    name="head", transB=1))
    onnx.save(b.model([("x", [1, 3, size, size])], [("y", [1, 10])]), str(path))
    return path


def run_tlm(*arguments, expect=0, environment=None):
    """Runs tlm; asserts the exit code; returns (stdout, stderr)."""
    if not (BIN / "tlm").exists():
        sys.exit(f"{BIN / 'tlm'} is not there; run scripts/build, or set TLM_BIN")
    done = subprocess.run([str(BIN / "tlm"), *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, **(environment or {})})
    assert done.returncode == expect, (
        f"tlm {' '.join(map(str, arguments))}: exit {done.returncode}, expected {expect}\n"
        f"{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def random_model(folder, *arguments):
    """A folder of random weights of the language model."""
    subprocess.run([str(BIN / "tlm-random-model"), str(folder), *map(str, arguments)], check=True)


if __name__ == "__main__":
    small_cnn(sys.argv[1], int(sys.argv[3]) if sys.argv[2:3] == ["--size"] else 32)
