#!/usr/bin/env python3
"""The table of bad inputs: each one's exit code and what its message must say.

Nothing may be left behind by a command that failed.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from models import random_model, run_tlm, small_cnn


def dynamic_model(path):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3, 8, 8])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="r")], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, str(path))


def unsupported_model(path):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [helper.make_node("Relu", ["x"], ["a"], name="r"),
             helper.make_node("Det", ["a"], ["b"], name="first_det"),
             helper.make_node("Det", ["a"], ["c"], name="second_det"),
             helper.make_node("MyOp", ["b"], ["y"], name="mine", domain="my.domain")]
    graph = helper.make_graph(nodes, "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                    helper.make_opsetid("my.domain", 3)])
    model.ir_version = 8
    onnx.save(model, str(path))


def bad_weights(folder):
    """Folders of weights that compile refuses."""
    random_model(folder / "weights")
    random_model(folder / "hash", "--flip", 1)
    random_model(folder / "version", "--version-of-language", 9)
    whole = (folder / "weights/model.safetensors").read_bytes()
    config = (folder / "weights/config.json").read_text()

    def copy(name, bytes_=whole, text=config):
        (folder / name).mkdir()
        (folder / name / "model.safetensors").write_bytes(bytes_)
        (folder / name / "config.json").write_text(text)

    copy("half", whole[:len(whole) // 2])
    copy("short", whole[:-4])
    copy("header", whole[:5])
    copy("flipped", whole[:-1000] + bytes([whole[-1000] ^ 1]) + whole[-999:])
    copy("nan", whole[:-4] + b"\xff\xff\xff\x7f")
    copy("llama", text=json.dumps({**json.loads(config), "model_type": "llama"}))
    copy("wider", text=json.dumps({**json.loads(config), "n_embd": 128, "n_inner": 512}))
    copy("cut_config", text=config[:len(config) // 2])
    copy("no_weights")
    (folder / "no_weights/model.safetensors").unlink()


def prepare(folder):
    small_cnn(folder / "small.onnx")
    dynamic_model(folder / "dynamic.onnx")
    unsupported_model(folder / "unsupported.onnx")
    (folder / "text.onnx").write_text("this is no model\n")
    (folder / "empty.onnx").write_bytes(b"")
    whole = (folder / "small.onnx").read_bytes()
    (folder / "cut.onnx").write_bytes(whole[:len(whole) // 2])
    run_tlm("compile", folder / "small.onnx", "-o", folder / "small.so", "-q", "--threads", 2)
    artifact = (folder / "small.so").read_bytes()
    (folder / "cut.so").write_bytes(artifact[:len(artifact) // 2])
    (folder / "text.so").write_text("this is no artifact\n")
    np.save(folder / "good.npy", np.zeros((1, 3, 32, 32), np.float32))
    np.save(folder / "shape.npy", np.zeros((1, 3, 16, 32), np.float32))
    np.save(folder / "dtype.npy", np.zeros((1, 3, 32, 32), np.float64))
    np.save(folder / "expected.npy", np.full((1, 10), 1e6, np.float32))
    (folder / "no_data").mkdir()
    (folder / "text_data").mkdir()
    (folder / "text_data/input_0.pb").write_text("this is no tensor\n")
    (folder / "half_data/test_data_set_0").mkdir(parents=True)
    tensor = onnx.numpy_helper.from_array(np.zeros((1, 3, 32, 32), np.float32), "x")
    (folder / "half_data/test_data_set_0/input_0.pb").write_bytes(tensor.SerializeToString())
    (folder / "report.json").write_text('{"command": "bench"}')
    bad_weights(folder)
    (folder / "cut.npy").write_bytes((folder / "good.npy").read_bytes()[:1000])


# (name, arguments with {d} for the folder, exit code, words of stderr)
CASES = [
    ("missing file", "compile {d}/no.onnx -o {d}/out.so", 1, ["no.onnx"]),
    ("a folder", "compile {d} -o {d}/out.so", 1, []),
    ("not an ONNX file", "compile {d}/text.onnx -o {d}/out.so", 1, ["text.onnx"]),
    ("empty file", "compile {d}/empty.onnx -o {d}/out.so", 1, ["empty.onnx"]),
    ("truncated file", "compile {d}/cut.onnx -o {d}/out.so", 1, ["cut.onnx"]),
    ("unsupported operators", "compile {d}/unsupported.onnx -o {d}/out.so", 1,
     ["Det", "2", "17", "first_det", "MyOp", "my.domain", "mine"]),
    ("dynamic dims", "compile {d}/dynamic.onnx -o {d}/out.so", 1, ["batch", "--dim"]),
    ("shape of another rank", "compile {d}/dynamic.onnx --shape x:1x3 -o {d}/out.so", 1, ["x"]),
    ("shape of an unknown input", "compile {d}/dynamic.onnx --shape z:1x3x8x8 -o {d}/out.so", 1, ["z", "x"]),
    ("malformed shape", "compile {d}/dynamic.onnx --shape x:1xx3 -o {d}/out.so", 2, ["1xx3"]),
    ("malformed dim", "compile {d}/dynamic.onnx --dim batch -o {d}/out.so", 2, ["batch"]),
    ("unknown processor", "compile {d}/small.onnx --mcpu pentium -o {d}/out.so", 2, ["pentium", "x86-64-v3"]),
    ("unknown feature", "compile {d}/small.onnx --mattr=+avx3 -o {d}/out.so", 2, ["avx3", "avx"]),
    ("unknown kind", "compile {d}/small.onnx --emit=exe -o {d}/out.so", 2, ["exe", "llvm-ir"]),
    ("library to stdout", "compile {d}/small.onnx -o -", 2, ["stdout"]),
    ("no such folder to write to", "compile {d}/small.onnx -o {d}/none/out.so", 1, ["none"]),
    ("unknown flag", "compile {d}/small.onnx --thread 2", 2, ["--thread", "--threads"]),
    ("unknown command", "complie {d}/small.onnx", 2, ["compile"]),
    ("no command", "", 2, []),
    ("no model", "compile", 2, ["model"]),
    ("threads of zero", "compile {d}/small.onnx --threads 0", 2, ["threads"]),
    ("run a missing artifact", "run {d}/no.so", 1, ["no.so"]),
    ("run a text file", "run {d}/text.so", 1, ["text.so"]),
    ("run a truncated artifact", "run {d}/cut.so", 1, ["cut.so"]),
    ("run a model file", "run {d}/small.onnx", 1, ["tlm compile"]),
    ("unknown input", "run {d}/small.so --input z=@{d}/good.npy", 1, ["'z'", "'x'", "f32[1,3,32,32]"]),
    ("input of another type", "run {d}/small.so --input x=@{d}/dtype.npy", 1, ["f64", "f32[1,3,32,32]"]),
    ("input of another shape", "run {d}/small.so --input x=@{d}/shape.npy", 1, ["[1,3,16,32]", "f32[1,3,32,32]"]),
    ("input file missing", "run {d}/small.so --input x=@{d}/none.npy", 1, ["none.npy"]),
    ("input file truncated", "run {d}/small.so --input x=@{d}/cut.npy", 1, ["cut.npy"]),
    ("input spec malformed", "run {d}/small.so --input x=what", 2, ["what"]),
    ("output to a text file", "run {d}/small.so --output @{d}/out.txt", 2, [".npy"]),
    ("unexpected output", "run {d}/small.so --expect @{d}/expected.npy", 3, ["'y'", "expected 1000000"]),
    ("bench a text file", "bench {d}/text.so", 1, ["text.so"]),
    ("bad duration", "bench {d}/small.so --duration soon", 2, ["soon"]),
    ("bad percentile", "bench {d}/small.so --percentile 101 -n 1 --warmup 0", 2, ["percentile"]),
    ("verify a missing model", "verify {d}/no.onnx", 1, ["no.onnx"]),
    ("verify with no tolerance", "verify {d}/small.onnx {d}/small.so --rtol 0 --atol 0", 3, ["first difference"]),
    ("test data that is not there", "run {d}/small.so --test-data {d}/none", 1, ["none"]),
    ("test data without tensors", "run {d}/small.so --test-data {d}/no_data", 1, ["no_data", "input_0.pb"]),
    ("test data that is no tensor", "run {d}/small.so --test-data {d}/text_data", 1, ["input_0.pb", "TensorProto"]),
    ("test data without outputs", "verify {d}/small.onnx {d}/small.so --test-data {d}/half_data", 1,
     ["test_data_set_0", "output_*.pb"]),
    ("test data and an input", "run {d}/small.so --test-data {d}/no_data --input random", 2, ["--input"]),
    ("a level too high", "compile {d}/small.onnx -O4", 2, ["-O"]),
    ("approx of another word", "compile {d}/small.onnx --approx=maybe", 2, ["maybe", "off"]),
    ("a mode of another word", "bench {d}/small.so --mode=speed", 2, ["speed", "throughput"]),
    ("no streams", "bench {d}/small.so --streams 0", 2, ["--streams"]),
    ("a trace into no folder", "bench {d}/small.so -n 1 --warmup 0 --trace {d}/none/t.json", 1, ["none"]),
    ("compare a missing file", "compare {d}/none.json {d}/report.json", 1, ["none.json"]),
    ("compare a text file", "compare {d}/text.onnx {d}/report.json", 1, ["text.onnx", "JSON"]),
    ("compare another report", "compare {d}/report.json {d}/report.json", 1, ["report.json", "tlm bench"]),
    ("selftest of a foreign feature", "selftest --mattr=+xop", 4, ["xop"]),
    ("inspect a text file", "inspect {d}/text.onnx", 1, ["text.onnx"]),
    ("no such weights", "compile {d}/small.onnx --model {d}/none -o {d}/out.so", 1, ["none"]),
    ("weights of another vocabulary", "compile {d}/small.onnx --model {d}/hash -o {d}/out.so", 1,
     ["hash", "words", "hint: use the weights of this release"]),
    ("weights of another version", "compile {d}/small.onnx --model {d}/version -o {d}/out.so", 1, ["version 9"]),
    ("half of the weights", "compile {d}/small.onnx --model {d}/half -o {d}/out.so", 1, ["model.safetensors"]),
    ("weights that lack their end", "compile {d}/small.onnx --model {d}/short -o {d}/out.so", 1,
     ["model.safetensors"]),
    ("weights of five bytes", "compile {d}/small.onnx --model {d}/header -o {d}/out.so", 1, ["model.safetensors"]),
    ("a flipped bit of the weights", "compile {d}/small.onnx --model {d}/flipped -o {d}/out.so", 1,
     ["model.safetensors", "hash"]),
    ("a weight that is no number", "compile {d}/small.onnx --model {d}/nan -o {d}/out.so", 1, ["model.safetensors"]),
    ("another architecture", "compile {d}/small.onnx --model {d}/llama -o {d}/out.so", 1, ["model_type", "gpt2"]),
    ("a configuration of other weights", "compile {d}/small.onnx --model {d}/wider -o {d}/out.so", 1,
     ["wider"]),
    ("half of a configuration", "compile {d}/small.onnx --model {d}/cut_config -o {d}/out.so", 1, ["config.json"]),
    ("a configuration alone", "compile {d}/small.onnx --model {d}/no_weights -o {d}/out.so", 1,
     ["model.safetensors"]),
    ("explain with another architecture", "explain {d}/small.onnx --model {d}/llama", 1, ["model_type"]),
    ("a source of another word", "compile {d}/small.onnx --schedules=oracle", 2, ["oracle", "model"]),
    ("records without a store", "compile {d}/small.onnx --schedules=records", 2, ["--records STORE"]),
    ("samples without the model", "compile {d}/small.onnx --schedules=default --samples 4", 2, ["--samples", "--schedules=model"]),
    ("measuring without the model", "compile {d}/small.onnx --schedules=default --measure 4", 2, ["--measure", "tlm tune"]),
    ("measuring for another machine", "compile {d}/small.onnx --model {d}/weights --mattr=+xop --measure 1 "
     "-o {d}/out.so", 4, ["xop"]),
    ("flags before the model", "run --input x=@{d}/good.npy --output - {d}/small.so", 0, []),
    ("dynamic dims, given by --dim", "compile {d}/dynamic.onnx --dim batch=2 -o {d}/fine.so", 0, []),
    ("dynamic dims, given by --shape", "compile {d}/dynamic.onnx --shape x:2x3x8x8 -o {d}/fine.so", 0, []),
]


def check(folder, arguments, code, words):
    before = {p.name for p in folder.iterdir()}
    _, err = run_tlm(*arguments.format(d=folder).split(), expect=code)
    missing = [w for w in words if w not in err]
    assert not missing, f"stderr lacks {missing}: {err}"
    if code:
        left = {p.name for p in folder.iterdir()} - before
        assert not left, f"left behind: {sorted(left)}"
        assert err.startswith("error: ") or "\nerror: " in err, f"no error line: {err}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json")
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        prepare(folder)
        for name, arguments, code, words in CASES:
            try:
                check(folder, arguments, code, words)
                results[name] = "OK"
            except AssertionError as problem:
                results[name] = str(problem)
                print(f"{name}: {problem}")
    good = all(r == "OK" for r in results.values())
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(dict(ok=good, cases=results), indent=1))
    print(f"bad input: {sum(r == 'OK' for r in results.values())} of {len(results)} cases "
          f"-> {'OK' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
