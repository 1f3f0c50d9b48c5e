"""What the best hand-written kernels do, stated as schedules.

A twin wishes for values of decisions (docs/space.md); what it does not speak of is as in the
default schedule. A value that is not legal for a task becomes the largest legal one below it,
as in the default rules: `tlm explain --schedule-from` names the legal ones. What the libraries
do beyond the decisions (tiles of the reduction, tiles of channels in depthwise convolutions,
softmax while passing over blocks of keys) is not stated.
"""
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
TLM = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin")) / "tlm"
ALL = 1 << 20  # iterations: the whole loop


def contraction(row, width, **more):
    """Register tile of `width` pixels or rows by `row` vectors, all panels one after the other."""
    return {"register_row f": row, "register_tile w": width, "parallel_tile f": ALL,
            "loop_order": "panels_outer", "epilogue_place": "register_tile",
            "prefetch": "next_panel", **more}


def direct(label, wide):
    """oneDNN's jit direct convolution: 28 accumulators of AVX-512, as 28x1 where the image is as
    wide, else 14x2; AVX2: 6x2."""
    stride, size = map(int, re.match(r"conv\d+x\d+s(\d+)(?:g\d+)?_(\d+)x", label).groups())
    narrow = size // stride < 28
    row, width = (2, 6) if not wide else (2, 14) if narrow else (1, 28)
    return contraction(row, width, algorithm="direct")


def pointwise_conv(_label, wide):
    """oneDNN's jit 1x1 convolution: 14 pixels by 2 vectors of AVX-512, 6x2 of AVX2, in blocks of
    pixels that all panels pass over."""
    return contraction(2, 14 if wide else 6) | {"parallel_tile rows": 196}


def strided_pointwise_conv(label, wide):
    """The same, row by row of the image."""
    return pointwise_conv(label, wide) | {"parallel_tile rows": 7}


def winograd(_label, wide):
    """F(4x4,3x3), a block for every row of tiles, as oneDNN's avx512 winograd and ncnn's."""
    return {"algorithm": "winograd_blocked", "tile_rows": 1, "register_row f": 2,
            "register_tile w": 14 if wide else 6, "prefetch": "next_panel"}


def gemm(_label, wide):
    """MLAS's 12x32 of AVX-512, XNNPACK's and MLAS's 6x16 of AVX2."""
    return contraction(2, 12 if wide else 6)


def few_rows(_label, wide):
    """oneDNN's brgemm: 6 rows by 4 vectors of AVX-512, 4x2 of AVX2."""
    return contraction(*((4, 6) if wide else (2, 4)))


def batch_gemm(label, wide):
    """MLAS packs the right operand of every product."""
    return gemm(label, wide) | {"prologue": "pack_weights"}


def depthwise(_label, wide):
    """oneDNN's jit depthwise of NHWC: 6 pixels of a row (AVX2: 4), all channels of them."""
    return {"register_tile h": 1, "register_tile w": 6 if wide else 4, "parallel_tile c": ALL,
            "loop_order": "pixels_outer"}


def pool(_label, wide):
    """oneDNN's jit pooling of NHWC: 16 pixels of a row (AVX2: 4), all channels of them."""
    return {"register_tile h": 1, "register_tile w": 16 if wide else 4, "parallel_tile c": ALL,
            "loop_order": "pixels_outer"}


def global_pool(_label, _wide):
    """XNNPACK's: one vector of channels down the image."""
    return {"register_row c": 1}


def rows(_label, _wide):
    """Softmax and norms of oneDNN and MLAS: a row at a time."""
    return {"parallel_tile rows": 1}


def attention(_label, wide):
    """Blocks of 64 queries as in FlashAttention, products as oneDNN's brgemm."""
    row, width = (4, 6) if wide else (2, 4)
    return {"parallel_tile rows": 64, "register_row keys": row, "register_row f": row,
            "register_tile w": width}


# By kind of kernel_cases.py; elementwise kernels and data movement have no decisions but the
# number of workers.
TWINS = {
    "stem": direct, "conv3x3": direct, "conv3x3 strided": direct, "grouped": direct,
    "conv1x1": pointwise_conv, "conv1x1 strided": strided_pointwise_conv, "winograd": winograd,
    "depthwise3x3": depthwise, "depthwise3x3 strided": depthwise,
    "depthwise5x5": depthwise, "depthwise5x5 strided": depthwise,
    "max pool": pool, "average pool": pool, "global pool": global_pool,
    "gemm": few_rows, "matmul few rows": few_rows, "matmul": gemm, "batch matmul": batch_gemm,
    "attention": attention, "softmax": rows, "layer norm": rows, "rms norm": rows,
}


def explain(model, *flags):
    return subprocess.run([str(TLM), "explain", str(model), "--threads", "1", "--schedules=default",
                           *map(str, flags)], capture_output=True, text=True)


def default_schedules(model, path):
    """label -> (task key, {decision and subject: value}) in the order of the text."""
    explain(model, "-o", path).check_returncode()
    found = {}
    for block in path.read_text().strip().split("\n\n"):
        label, _, task, *choices = block.splitlines()
        found[label[2:]] = (task.split()[1], dict(c.split(" = ") for c in choices))
    return found


def nearest(wish, legal):
    """The largest number that is not above the wish, or the first choice."""
    if str(wish) in legal:
        return str(wish)
    if wish is None or not legal[0].isdigit():
        return legal[0]
    below = [v for v in map(int, legal) if v <= int(wish)]
    return str(max(below) if below else min(map(int, legal)))


def twin_schedule(kind, label, model, folder, wide):
    """A file with the schedule of the kernel `label`, or None where the kind has no twin or
    where it is the default. wide: for AVX-512."""
    if kind not in TWINS:
        return None
    key, default = default_schedules(model, folder / "default.schedule")[label]
    wishes = TWINS[kind](label, wide)
    algorithm = wishes.get("algorithm", default["algorithm"])
    choices = dict(default) if algorithm == default["algorithm"] else {}
    choices = choices | {d: str(v) for d, v in wishes.items()} | {"algorithm": algorithm}
    path = folder / "twin.schedule"
    while True:
        lines = [f"{decision} = {value}" for decision, value in choices.items()]
        path.write_text("\n".join(["tlm-schedule 1", f"task {key}", *lines, ""]))
        done = explain(model, "--schedule-from", path)
        if done.returncode == 0:
            return path if choices != default else None
        place = r"error: .*?:\d+: (\w+(?: \w+)?)"
        if extra := re.match(place + " is no decision", done.stderr):
            del choices[extra[1]]
        elif illegal := re.match(place + r"(?:: .*| is missing); legal: (.*)", done.stderr):
            decision, legal = illegal[1], illegal[2].split()
            value = nearest(wishes.get(decision, default.get(decision)), legal)
            assert choices.get(decision) != value, done.stderr
            choices[decision] = value
        else:
            raise RuntimeError(done.stderr)
