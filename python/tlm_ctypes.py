"""A compiled model from Python, through the C ABI of include/tlm/tlm.h.

    model = tlm_ctypes.Model("resnet50.so", threads=2)
    y, = model.run([x])          # numpy arrays in the order of the signature
"""
import ctypes as c
import pathlib

import numpy as np

ABI_VERSION = 1
MACHINE = 4  # tlm_status of an artifact that is not for this CPU

# ONNX TensorProto.DataType -> numpy.
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 5: np.int16, 6: np.int32,
          7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64, 4: np.uint16, 12: np.uint32,
          13: np.uint64}


class Error(RuntimeError):
    """A failed call: `status` is the tlm_status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Tensor(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("data", c.c_void_p), ("dtype", c.c_int32),
                ("rank", c.c_int32), ("dims", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64))]


class TensorInfo(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("name", c.c_char_p), ("dtype", c.c_int32),
                ("rank", c.c_int32), ("dims", c.POINTER(c.c_int64)),
                ("symbols", c.POINTER(c.c_char_p))]


class StepInfo(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("name", c.c_char_p), ("kernel", c.c_char_p),
                ("task_key", c.c_char_p), ("output_name", c.c_char_p), ("flops", c.c_double),
                ("bytes", c.c_double), ("stages", c.c_int32), ("max_parallelism", c.c_int32)]


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("threads", c.c_int32),
                ("parallel_for", c.c_void_p), ("parallel_for_user", c.c_void_p),
                ("allocate", c.c_void_p), ("release", c.c_void_p), ("allocate_user", c.c_void_p),
                ("log", c.c_void_p), ("log_user", c.c_void_p), ("poison_arena", c.c_int32)]


StepHook = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_int32, c.c_int64, c.c_int64)


class RunOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("step_hook", StepHook), ("step_hook_user", c.c_void_p)]


class Api(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("abi_version", c.c_uint32),
        ("last_error", c.CFUNCTYPE(c.c_char_p)),
        ("model_open", c.CFUNCTYPE(c.c_int, c.POINTER(Options), c.POINTER(c.c_void_p))),
        ("model_close", c.CFUNCTYPE(None, c.c_void_p)),
        ("input_count", c.CFUNCTYPE(c.c_int32, c.c_void_p)),
        ("output_count", c.CFUNCTYPE(c.c_int32, c.c_void_p)),
        ("input_info", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_int32, c.POINTER(TensorInfo))),
        ("output_info", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_int32, c.POINTER(TensorInfo))),
        ("context_create", c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(c.c_void_p))),
        ("context_destroy", c.CFUNCTYPE(None, c.c_void_p)),
        ("run", c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Tensor), c.c_int32, c.POINTER(Tensor),
                            c.c_int32, c.c_void_p)),
        ("step_count", c.CFUNCTYPE(c.c_int32, c.c_void_p)),
        ("step_info", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_int32, c.POINTER(StepInfo))),
        ("step_output", c.c_void_p),
        ("manifest", c.CFUNCTYPE(c.c_char_p)),
    ]


def describe(array):
    tensor = Tensor(c.sizeof(Tensor), array.ctypes.data,
                    next(k for k, v in DTYPES.items() if v == array.dtype), array.ndim)
    tensor.dims = (c.c_int64 * max(1, array.ndim))(*array.shape)
    return tensor


class Context:
    """Buffers of one call at a time: one a thread."""

    def __init__(self, model):
        self.model = model
        self.handle = c.c_void_p()
        model.check(model.api.context_create(model.handle, c.byref(self.handle)))

    def close(self):
        if self.handle:
            self.model.api.context_destroy(self.handle)
            self.handle = None

    def bind(self, inputs, outputs, step_hook=None):
        """A function that runs on exactly these arrays, with no work in Python but for
        `step_hook(step, begin_ns, end_ns)` after each step."""
        ins = (Tensor * len(inputs))(*map(describe, inputs))
        outs = (Tensor * len(outputs))(*map(describe, outputs))
        run, handle, check = self.model.api.run, self.handle, self.model.check
        options = None
        if step_hook:
            hook = StepHook(lambda _user, _context, *step: step_hook(*step))
            options = c.byref(RunOptions(c.sizeof(RunOptions), hook))
        keep = (inputs, outputs, options)

        def call(_keep=keep):
            check(run(handle, ins, len(ins), outs, len(outs), options))
        return call


class Model:
    def __init__(self, path, threads=0, poison_arena=False):
        self.library = c.CDLL(str(pathlib.Path(path).resolve()))
        function = self.library.tlm_artifact_api
        function.restype = c.POINTER(Api)
        function.argtypes = [c.c_uint32]
        pointer = function(ABI_VERSION)
        if not pointer:
            raise Error(5, f"{path} does not serve ABI version {ABI_VERSION}")
        self.api = pointer.contents
        options = Options(struct_size=c.sizeof(Options), threads=threads,
                          poison_arena=int(poison_arena))
        self.handle = c.c_void_p()
        self.check(self.api.model_open(c.byref(options), c.byref(self.handle)))
        self.inputs = self._signature(self.api.input_count, self.api.input_info)
        self.outputs = self._signature(self.api.output_count, self.api.output_info)
        self.context = Context(self)

    def check(self, status):
        if status:
            raise Error(status, self.api.last_error().decode())

    def _signature(self, count, info):
        rows = []
        for i in range(count(self.handle)):
            native = TensorInfo(struct_size=c.sizeof(TensorInfo))
            self.check(info(self.handle, i, c.byref(native)))
            rows.append((native.name.decode(), DTYPES[native.dtype],
                         tuple(native.dims[:native.rank])))
        return rows

    def steps(self):
        rows = []
        for i in range(self.api.step_count(self.handle)):
            native = StepInfo(struct_size=c.sizeof(StepInfo))
            self.check(self.api.step_info(self.handle, i, c.byref(native)))
            rows.append({"name": native.name.decode(), "kernel": native.kernel.decode(),
                         "output": native.output_name.decode(), "flops": native.flops,
                         "bytes": native.bytes})
        return rows

    def new_outputs(self):
        return [np.empty(dims, dtype) for _, dtype, dims in self.outputs]

    def run(self, inputs, context=None):
        inputs = [np.asarray(x, order="C") for x in inputs]  # ascontiguousarray makes a scalar 1-D
        outputs = self.new_outputs()
        (context or self.context).bind(inputs, outputs)()
        return outputs

    def manifest(self):
        return self.api.manifest().decode()

    def close(self):
        if self.handle:
            self.context.close()
            self.api.model_close(self.handle)
            self.handle = None
