#!/usr/bin/env python3
"""A whole ResNet-50 out of the graph that the PyPI package onnx carries.

Its light test data has the graph with constant weights, which any wrong
compiler gets right; this fills them from a seed: convolutions He-scaled,
batch norm near identity with sane statistics, so that outputs are finite and
differ from input to input. The same bytes on every machine.

usage: light_model.py OUT.onnx [--model resnet50] [--seed 0]
"""
import argparse
import pathlib
import sys
import zlib

import numpy as np
import onnx
from onnx import numpy_helper

LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"


def roles(graph):
    """initializer name -> (op type, input position)"""
    return {name: (node.op_type, i) for node in graph.node for i, name in enumerate(node.input)}


def values(name, dims, role, seed):
    rng = np.random.Generator(np.random.PCG64([seed, zlib.crc32(name.encode())]))
    op, position = role
    normal = rng.standard_normal(dims).astype(np.float32)
    if op == "BatchNormalization":
        if position == 1:  # scale
            return (0.7 + 0.1 * normal).astype(np.float32)
        if position == 4:  # variance
            return (1 + 0.2 * np.abs(normal)).astype(np.float32)
        return np.float32(0.1) * normal  # bias, mean
    if op in ("Conv", "Gemm", "MatMul") and position == 1:
        fan_in = int(np.prod(dims[1:])) if op == "Conv" else int(max(dims))
        return normal * np.float32(np.sqrt(2.0 / fan_in))
    return np.float32(0.1) * normal


def fill(model, seed):
    graph = model.graph
    used = roles(graph)
    generated = {}  # outputs of ConstantOfShape and the like, which stand for weights
    constants = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in constants:
            generated[node.output[0]] = tuple(int(d) for d in constants[node.input[0]])
    kept = [n for n in graph.node if not (n.op_type == "ConstantOfShape" and n.output[0] in generated)]
    del graph.node[:]
    graph.node.extend(kept)

    weights = []
    for initializer in graph.initializer:
        floats = initializer.data_type == onnx.TensorProto.FLOAT
        dims = tuple(initializer.dims)
        if floats and initializer.name in used:
            array = values(initializer.name, dims, used[initializer.name], seed)
            weights.append(numpy_helper.from_array(array, initializer.name))
        elif any(initializer.name in n.input for n in graph.node):
            weights.append(initializer)
    for name, dims in generated.items():
        weights.append(numpy_helper.from_array(values(name, dims, used[name], seed), name))
    names = {w.name for w in weights}
    inputs = [i for i in graph.input if i.name in names or i.name not in constants]
    del graph.initializer[:]
    graph.initializer.extend(weights)
    del graph.input[:]
    graph.input.extend(inputs)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    source = LIGHT / f"light_{arguments.model}.onnx"
    if not source.exists():
        sys.exit(f"{source} is not there; models: "
                 + " ".join(sorted(p.stem[6:] for p in LIGHT.glob("light_*.onnx"))))
    model = fill(onnx.load(str(source)), arguments.seed)
    onnx.save(model, arguments.out)
    print(f"{arguments.out}: {sum(np.prod(w.dims) for w in model.graph.initializer) / 1e6:.1f} M "
          f"values, seed {arguments.seed}", file=sys.stderr)


if __name__ == "__main__":
    main()
