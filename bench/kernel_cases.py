"""The kernels of bench/kernels.py: operators of the six networks of ../shared/models at their
sizes, with the epilogue that the network has, as models of a few nodes.

A case says its sizes; all values are drawn from a seed made of its name. Grouped convolutions
and concatenation, which none of the six has, come from ResNeXt-50, RegNet-Y and DenseNet-121,
resize from DeepLab; rows of M = 8 and 1024 are the same layers with other batches.
"""
import dataclasses
import math
import typing
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = 17


class ModelBuilder:
    """Nodes one after the other; values are (name, dims)."""

    def __init__(self, name):
        self.rng = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
        self.name, self.nodes, self.weights, self.inputs, self.feed = name, [], [], [], {}

    def input(self, *dims, ids_below=None):
        name = f"x{len(self.inputs)}"
        if ids_below:
            self.feed[name] = self.rng.integers(0, ids_below, dims)
        else:
            self.feed[name] = self.rng.standard_normal(dims, np.float32)
        dtype = onnx.TensorProto.INT64 if ids_below else onnx.TensorProto.FLOAT
        self.inputs.append(helper.make_tensor_value_info(name, dtype, dims))
        return name, tuple(dims)

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name, np.shape(array)

    def scalar(self, value):
        return self.constant(np.float32(value))

    def weight(self, *dims, fan_in=100):
        return self.constant(self.rng.standard_normal(dims, np.float32) / np.float32(math.sqrt(fan_in)))

    def op(self, kind, *operands, dims=None, **attributes):
        """Without `dims`, those of the operands broadcast."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, [o[0] if o else "" for o in operands], [name],
                                           **attributes))
        return name, tuple(dims or np.broadcast_shapes(*(o[1] for o in operands)))

    def reshape(self, x, *dims):
        return self.op("Reshape", x, self.constant(np.array(dims, np.int64)), dims=dims)

    def transpose(self, x, *perm):
        return self.op("Transpose", x, perm=perm, dims=[x[1][p] for p in perm])

    def epilogue(self, x, names):
        """`names` as "add relu": what the networks have behind their contractions."""
        for name in names.split():
            if name == "add":
                x = self.op("Add", x, self.input(*x[1]))
            elif name == "mul":
                x = self.op("Mul", x, self.input(*x[1]))
            elif name == "clip":
                x = self.op("Clip", x, self.scalar(0), self.scalar(6), dims=x[1])
            elif name == "swish":
                x = self.op("Mul", x, self.op("Sigmoid", x))
            elif name == "gelu":
                erf = self.op("Erf", self.op("Div", x, self.scalar(math.sqrt(2))))
                x = self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.scalar(1))),
                            self.scalar(0.5))
            elif name == "gelu_tanh":
                cube = self.op("Mul", self.op("Pow", x, self.scalar(3)), self.scalar(0.044715))
                inner = self.op("Mul", self.op("Add", x, cube), self.scalar(math.sqrt(2 / math.pi)))
                x = self.op("Mul", self.op("Mul", x, self.scalar(0.5)),
                            self.op("Add", self.op("Tanh", inner), self.scalar(1)))
            else:
                x = self.op({"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid"}[name], x)
        return x

    def save(self, y, path):
        output = helper.make_tensor_value_info(y[0], onnx.TensorProto.FLOAT, y[1])
        graph = helper.make_graph(self.nodes, "kernel", self.inputs, [output], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, str(path))


def conv(b, channels, filters, size, kernel=1, stride=1, groups=1, after="", scaled=False):
    x = b.input(1, channels, size, size)
    if scaled:
        x = b.op("Mul", x, b.input(1, channels, 1, 1))
    depth = channels // groups * kernel * kernel
    out, pad = -(-size // stride), kernel // 2
    y = b.op("Conv", x, b.weight(filters, channels // groups, kernel, kernel, fan_in=depth),
             b.weight(filters), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4,
             group=groups, dims=(1, filters, out, out))
    return b.epilogue(y, after)


def depthwise(b, channels, size, kernel, stride=1, after=""):
    return conv(b, channels, channels, size, kernel, stride, channels, after)


def max_pool(b, channels, size):
    out = -(-size // 2)
    return b.op("MaxPool", b.input(1, channels, size, size), kernel_shape=[3, 3], strides=[2, 2],
                pads=[1] * 4, dims=(1, channels, out, out))


def average_pool(b, channels, size):
    return b.op("AveragePool", b.input(1, channels, size, size), kernel_shape=[2, 2],
                strides=[2, 2], dims=(1, channels, size // 2, size // 2))


def global_pool(b, channels, size):
    return b.op("GlobalAveragePool", b.input(1, channels, size, size), dims=(1, channels, 1, 1))


def matmul(b, m, k, n, after="", bias=True):
    y = b.op("MatMul", b.input(1, m, k), b.weight(k, n, fan_in=k), dims=(1, m, n))
    return b.epilogue(b.op("Add", y, b.weight(n)) if bias else y, after)


def gemm(b, k, n):
    return b.op("Gemm", b.input(1, k), b.weight(n, k, fan_in=k), b.weight(n), transB=1, dims=(1, n))


def batch_matmul(b, batch, m, k, n):
    return b.op("MatMul", b.input(1, batch, m, k), b.input(1, batch, k, n), dims=(1, batch, m, n))


def attention(b, heads, rows, depth, mask):
    """From the projections to what the output projection reads. mask: "padding" is added to the
    scores of a key, "causal" selects by a constant triangle."""
    width = heads * depth

    def head(perm):
        return b.transpose(b.reshape(b.input(1, rows, width), 1, rows, heads, depth), *perm)

    scores = b.op("MatMul", head((0, 2, 1, 3)), head((0, 2, 3, 1)), dims=(1, heads, rows, rows))
    scores = b.op("Div", scores, b.scalar(math.sqrt(depth)))
    if mask == "padding":
        scores = b.op("Add", scores, b.input(1, 1, 1, rows))
    else:
        triangle = b.constant(np.tril(np.ones((1, 1, rows, rows), np.bool_)))
        scores = b.op("Where", triangle, scores, b.scalar(np.finfo(np.float32).min))
    weights = b.op("Softmax", scores, axis=-1)
    y = b.op("MatMul", weights, head((0, 2, 1, 3)), dims=(1, heads, rows, depth))
    return b.reshape(b.transpose(y, 0, 2, 1, 3), 1, rows, width)


def softmax(b, *dims):
    return b.op("Softmax", b.input(*dims), axis=-1)


def layer_norm(b, rows, width):
    return b.op("LayerNormalization", b.input(1, rows, width), b.weight(width), b.weight(width),
                axis=-1, epsilon=1e-12, dims=(1, rows, width))


def rms_norm(b, rows, width):
    x = b.input(1, rows, width)
    mean = b.op("ReduceMean", b.op("Pow", x, b.scalar(2)), axes=[-1], keepdims=1, dims=(1, rows, 1))
    root = b.op("Sqrt", b.op("Add", mean, b.scalar(1e-6)))
    return b.op("Mul", b.weight(width), b.op("Mul", x, b.op("Div", b.scalar(1), root)))


def rotary(b, heads, rows, depth):
    """x cos + rotate_half(x) sin of LLaMA."""
    x, half = b.input(1, heads, rows, depth), depth // 2

    def part(begin, end):
        bounds = (b.constant(np.array([v], np.int64)) for v in (begin, end, 3))
        return b.op("Slice", x, *bounds, dims=(1, heads, rows, half))

    turned = b.op("Concat", b.op("Neg", part(half, depth)), part(0, half), axis=-1, dims=x[1])
    table = (1, 1, rows, depth)
    return b.op("Add", b.op("Mul", x, b.weight(*table)), b.op("Mul", turned, b.weight(*table)))


def pointwise(b, names, *dims):
    return b.epilogue(b.input(*dims), names)


def split_heads(b, rows, heads, depth):
    return b.transpose(b.reshape(b.input(1, rows, heads * depth), 1, rows, heads, depth), 0, 2, 1, 3)


def concat(b, size, *channels):
    return b.op("Concat", *(b.input(1, c, size, size) for c in channels), axis=1,
                dims=(1, sum(channels), size, size))


def gather(b, words, width, count):
    return b.op("Gather", b.weight(words, width), b.input(1, count, ids_below=words), axis=0,
                dims=(1, count, width))


def pad(b, channels, size):
    return b.op("Pad", b.input(1, channels, size, size),
                b.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)),
                dims=(1, channels, size + 2, size + 2))


def resize(b, channels, size, factor):
    scales = b.constant(np.array([1, 1, factor, factor], np.float32))
    return b.op("Resize", b.input(1, channels, size, size), None, scales, mode="linear",
                coordinate_transformation_mode="half_pixel",
                dims=(1, channels, size * factor, size * factor))


@dataclasses.dataclass(frozen=True)
class Case:
    network: str
    kind: str   # of the table; kernel_twins.py has a twin for most kinds
    sizes: str  # what tells it from the others of its kind
    build: typing.Callable
    copied_bytes: int = 0  # of a pure copy that does not read its operand as a whole

    @property
    def name(self):
        return f"{self.network} {self.kind} {self.sizes}"

    def make(self, path):
        """Writes the model and returns its inputs by name."""
        builder = ModelBuilder(self.name)
        builder.save(self.build(builder), path)
        return builder.feed


def case(network, kind, function, *sizes, **more):
    text = [*map(str, sizes), *(f"{key}={value}" for key, value in more.items())]
    return Case(network, kind, " ".join(text), lambda b: function(b, *sizes, **more))


RESNET, MOBILENET, EFFICIENTNET = "resnet50", "mobilenet_v2", "efficientnet_b0"
BERT, GPT2, LLAMA = "bert_base", "gpt2", "llama7b_1layer"

CASES = [
    # channels, filters, size, kernel, stride, groups
    case(RESNET, "stem", conv, 3, 64, 224, 7, 2, after="relu"),
    case(MOBILENET, "stem", conv, 3, 32, 224, 3, 2, after="clip"),
    case(RESNET, "conv1x1", conv, 64, 64, 56, after="relu"),
    case(RESNET, "conv1x1", conv, 64, 256, 56, after="add relu"),
    case(RESNET, "conv1x1", conv, 256, 64, 56, after="relu"),
    case(RESNET, "conv1x1", conv, 128, 512, 28, after="add relu"),
    case(RESNET, "conv1x1", conv, 256, 1024, 14, after="add relu"),
    case(RESNET, "conv1x1", conv, 1024, 256, 14, after="relu"),
    case(RESNET, "conv1x1", conv, 2048, 512, 7, after="relu"),
    case(MOBILENET, "conv1x1", conv, 32, 16, 112),
    case(MOBILENET, "conv1x1", conv, 16, 96, 112, after="clip"),
    case(MOBILENET, "conv1x1", conv, 144, 24, 56, after="add"),
    case(MOBILENET, "conv1x1", conv, 384, 64, 14, after="add"),
    case(MOBILENET, "conv1x1", conv, 320, 1280, 7, after="clip"),
    case(EFFICIENTNET, "conv1x1", conv, 16, 96, 112, after="swish"),
    case(EFFICIENTNET, "conv1x1", conv, 240, 40, 28, after="add", scaled=True),
    case(EFFICIENTNET, "conv1x1", conv, 1152, 192, 7, after="add", scaled=True),
    case(RESNET, "conv1x1 strided", conv, 256, 512, 56, 1, 2),
    case(RESNET, "conv1x1 strided", conv, 1024, 2048, 14, 1, 2),
    case(RESNET, "winograd", conv, 64, 64, 56, 3, after="relu"),
    case(RESNET, "winograd", conv, 128, 128, 28, 3, after="relu"),
    case(RESNET, "winograd", conv, 256, 256, 14, 3, after="relu"),
    case(RESNET, "conv3x3", conv, 512, 512, 7, 3, after="relu"),
    case(RESNET, "conv3x3 strided", conv, 128, 128, 56, 3, 2, after="relu"),
    case(RESNET, "conv3x3 strided", conv, 512, 512, 14, 3, 2, after="relu"),
    case("resnext50_32x4d", "grouped", conv, 128, 128, 56, 3, 1, 32, after="relu"),
    case("resnext50_32x4d", "grouped", conv, 512, 512, 14, 3, 1, 32, after="relu"),
    case("regnet_y_800mf", "grouped", conv, 144, 144, 28, 3, 1, 9, after="relu"),
    case("regnet_y_800mf", "grouped", conv, 320, 320, 28, 3, 2, 20, after="relu"),
    # channels, size, kernel, stride
    case(MOBILENET, "depthwise3x3", depthwise, 32, 112, 3, after="clip"),
    case(MOBILENET, "depthwise3x3", depthwise, 144, 56, 3, after="clip"),
    case(MOBILENET, "depthwise3x3", depthwise, 384, 14, 3, after="clip"),
    case(MOBILENET, "depthwise3x3", depthwise, 960, 7, 3, after="clip"),
    case(MOBILENET, "depthwise3x3 strided", depthwise, 96, 112, 3, 2, after="clip"),
    case(EFFICIENTNET, "depthwise3x3 strided", depthwise, 240, 28, 3, 2, after="swish"),
    case(EFFICIENTNET, "depthwise5x5", depthwise, 240, 28, 5, after="swish"),
    case(EFFICIENTNET, "depthwise5x5", depthwise, 1152, 7, 5, after="swish"),
    case(EFFICIENTNET, "depthwise5x5 strided", depthwise, 144, 56, 5, 2, after="swish"),
    # channels, size
    case(RESNET, "max pool", max_pool, 64, 112),
    case("densenet121", "average pool", average_pool, 128, 56),
    case(RESNET, "global pool", global_pool, 2048, 7),
    case(EFFICIENTNET, "global pool", global_pool, 32, 112),
    # m, k, n
    case(RESNET, "gemm", gemm, 2048, 1000),
    case(EFFICIENTNET, "matmul few rows", matmul, 1, 1152, 48, after="swish"),
    case(BERT, "matmul few rows", matmul, 1, 768, 768, after="tanh"),
    case(LLAMA, "matmul few rows", matmul, 1, 4096, 4096, after="add", bias=False),
    case(LLAMA, "matmul few rows", matmul, 1, 4096, 11008, after="swish", bias=False),
    case(BERT, "matmul few rows", matmul, 8, 768, 3072, after="gelu"),
    case(LLAMA, "matmul few rows", matmul, 8, 4096, 4096, after="add", bias=False),
    case(BERT, "matmul", matmul, 128, 768, 768),
    case(BERT, "matmul", matmul, 128, 768, 768, after="add"),
    case(BERT, "matmul", matmul, 128, 768, 3072, after="gelu"),
    case(BERT, "matmul", matmul, 128, 3072, 768, after="add"),
    case(GPT2, "matmul", matmul, 128, 768, 50257, bias=False),
    case(LLAMA, "matmul", matmul, 128, 4096, 4096, after="add", bias=False),
    case(LLAMA, "matmul", matmul, 128, 4096, 11008, after="swish", bias=False),
    case(BERT, "matmul", matmul, 1024, 768, 768, after="add"),
    case(BERT, "matmul", matmul, 1024, 768, 3072, after="gelu"),
    # batch, m, k, n
    case(BERT, "batch matmul", batch_matmul, 12, 128, 64, 128),
    case(BERT, "batch matmul", batch_matmul, 12, 128, 128, 64),
    case(LLAMA, "batch matmul", batch_matmul, 32, 128, 128, 128),
    # heads, rows, depth
    case(BERT, "attention", attention, 12, 128, 64, "padding"),
    case(GPT2, "attention", attention, 12, 128, 64, "causal"),
    case(LLAMA, "attention", attention, 32, 128, 128, "causal"),
    case(BERT, "softmax", softmax, 1, 12, 128, 128),
    case(LLAMA, "softmax", softmax, 1, 32, 128, 128),
    # rows, width
    case(BERT, "layer norm", layer_norm, 128, 768),
    case(BERT, "layer norm", layer_norm, 1024, 768),
    case(LLAMA, "rms norm", rms_norm, 128, 4096),
    case(GPT2, "elementwise", pointwise, "gelu_tanh", 1, 128, 3072),
    case(RESNET, "elementwise", pointwise, "add relu", 1, 256, 56, 56),
    case(EFFICIENTNET, "elementwise", pointwise, "swish", 1, 96, 112, 112),
    case(LLAMA, "elementwise", pointwise, "swish mul", 1, 128, 11008),
    case(LLAMA, "rotary", rotary, 32, 128, 128),
    # rows, heads, depth
    case(BERT, "transpose", split_heads, 128, 12, 64),
    case(LLAMA, "transpose", split_heads, 128, 32, 128),
    case("densenet121", "concat", concat, 28, 128, 32, 32, 32),
    dataclasses.replace(case(BERT, "gather", gather, 30522, 768, 128),
                        copied_bytes=2 * 4 * 768 * 128),
    case(RESNET, "pad", pad, 64, 112),
    case("deeplabv3_mobilenet_v3_large", "resize", resize, 21, 16, 16),
]
