#!/usr/bin/env python3
"""Compare the logits of tlm's language model with independent implementations.

usage: model_against_transformers.py TLM_LOGITS [FOLDER ...]

A FOLDER is a model in Hugging Face's layout. Without any, three are made with
random weights. The rivals: GPT-2 in numpy (float64), written from its
definition and sharing nothing with tlm, not even the reader of safetensors; and
`transformers` itself, loading the folder, where torch and transformers are
installed: python3 -m venv --system-site-packages DIR beside Debian's
python3-torch, and DIR/bin/pip install 'transformers==4.40.2' 'numpy<2'.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

try:
    import torch
    import transformers
except ImportError as missing:
    print(f"without transformers: {missing}")
    transformers = None

# Largest difference of a logit: float32 sums of a few thousand terms.
TOLERANCE = 1e-4

SHAPES = (  # layers, heads, width, positions, vocabulary
    (2, 2, 32, 64, 50),
    (4, 4, 192, 200, 700),
    (6, 8, 256, 256, 1000),
)


def read_safetensors(path):
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    data = raw[8 + size:]
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            assert entry["dtype"] == "F32", entry
            tensors[name] = np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"])
    return tensors


def write_safetensors(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape,
                        "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text +
                     b"".join(v.tobytes() for v in tensors.values()))


def make_folder(folder, shape, rng):
    """Weights large enough that attention and gelu are far from linear."""
    layers, heads, width, positions, vocabulary = shape
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
        "activation_function": "gelu_new", "n_layer": layers, "n_head": heads,
        "n_embd": width, "n_positions": positions, "vocab_size": vocabulary,
        "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True,
        "bos_token_id": None, "eos_token_id": None, "tlm_weights_version": 1,
        "tlm_vocabulary_version": 1, "tlm_vocabulary_hash": "0" * 16}))
    tensors = {}

    def matrix(name, *dims):
        scale = 1.5 / dims[0] ** 0.5 if "h." in name else 0.3
        tensors[name] = (rng.standard_normal(dims) * scale).astype(np.float32)

    def vector(name, count, middle):
        tensors[name] = (middle + 0.2 * rng.standard_normal(count)).astype(np.float32)

    def norm(name):
        vector(name + ".weight", width, 1)
        vector(name + ".bias", width, 0)

    def linear(name, inputs, outputs):
        matrix(name + ".weight", inputs, outputs)
        vector(name + ".bias", outputs, 0)

    matrix("transformer.wte.weight", vocabulary, width)
    matrix("transformer.wpe.weight", positions, width)
    for i in range(layers):
        at = f"transformer.h.{i}"
        norm(at + ".ln_1")
        linear(at + ".attn.c_attn", width, 3 * width)
        linear(at + ".attn.c_proj", width, width)
        norm(at + ".ln_2")
        linear(at + ".mlp.c_fc", width, 4 * width)
        linear(at + ".mlp.c_proj", 4 * width, width)
    norm("transformer.ln_f")
    write_safetensors(folder / "model.safetensors", tensors)


def numpy_logits(config, tensors, tokens):
    w = {name.removeprefix("transformer."): values.astype(np.float64)
         for name, values in tensors.items()}

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + config["layer_norm_epsilon"])
        return x * w[name + ".weight"] + w[name + ".bias"]

    def linear(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    heads, width = config["n_head"], config["n_embd"]
    count = len(tokens)
    x = w["wte.weight"][tokens] + w["wpe.weight"][:count]
    later = np.triu(np.full((count, count), -np.inf), 1)
    for i in range(config["n_layer"]):
        at = f"h.{i}"
        q, k, v = (part.reshape(count, heads, -1).transpose(1, 0, 2) for part in
                   np.split(linear(norm(x, at + ".ln_1"), at + ".attn.c_attn"), 3, -1))
        scores = q @ k.transpose(0, 2, 1) / (width // heads) ** 0.5 + later
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ v
        x = x + linear(mixed.transpose(1, 0, 2).reshape(count, width), at + ".attn.c_proj")
        u = linear(norm(x, at + ".ln_2"), at + ".mlp.c_fc")
        u = 0.5 * u * (1 + np.tanh((2 / np.pi) ** 0.5 * (u + 0.044715 * u ** 3)))
        x = x + linear(u, at + ".mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def transformers_logits(folder, sentences):
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    with torch.no_grad():
        return [np.array(model(torch.tensor([tokens])).logits[0].tolist()) for tokens in sentences]


def compare(tool, folder, rng):
    """Whether tlm agrees with every rival on sentences of random tokens."""
    config = json.loads((folder / "config.json").read_text())
    longest, vocabulary = config["n_positions"], config["vocab_size"]
    sentences = [rng.integers(0, vocabulary, size).tolist()
                 for size in (1, 2, 17, longest // 2, longest)]
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name) / "logits.bin"
        run = subprocess.run([tool, folder, out], text=True, capture_output=True, check=False,
                             input="\n".join(" ".join(map(str, s)) for s in sentences))
        if run.returncode != 0:
            print(f"FAIL {folder.name}: {run.stderr.strip()}")
            return False
        found = np.fromfile(out, np.float32).reshape(-1, vocabulary)
    tensors = read_safetensors(folder / "model.safetensors")
    rivals = {"numpy": np.concatenate([numpy_logits(config, tensors, s) for s in sentences])}
    if transformers:
        rivals["transformers " + transformers.__version__] = np.concatenate(
            transformers_logits(folder, sentences))
    good = True
    for rival, expected in rivals.items():
        error = np.abs(found - expected).max()
        good = good and error <= TOLERANCE
        print(f"{'ok  ' if error <= TOLERANCE else 'FAIL'} {folder.name} and {rival}: "
              f"largest difference {error:.1e}, logits up to {np.abs(expected).max():.1f}")
    return good


def main(tool, folders):
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        paths = [pathlib.Path(f) for f in folders]
        if not paths:
            for i, shape in enumerate(SHAPES):
                paths.append(pathlib.Path(name) / f"random{i}")
                make_folder(paths[-1], shape, rng)
        results = [compare(tool, path, rng) for path in paths]
    print(f"model against independent implementations: {'OK' if all(results) else 'FAILED'}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
