"""The three CNNs of ../shared/models with weights. A checkout may be without them:
everything that uses them says so and is skipped.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODELS = pathlib.Path(os.environ.get("TLM_SHARED_MODELS", ROOT.parent / "shared/models"))
CORPUS = pathlib.Path(os.environ.get("TLM_SHARED_CORPUS", MODELS.parent / "corpus"))
NETWORKS = ["resnet50", "mobilenet_v2", "efficientnet_b0"]


def materialise(name, folder):
    """Path of a complete model (a name of NETWORKS, or a file), or None with a message."""
    path = pathlib.Path(name)
    if path.suffix == ".onnx" and path.exists():
        return path
    skeleton, script = MODELS / f"{name}.onnx", MODELS / "materialize.py"
    if not skeleton.exists() or not script.exists():
        print(f"{name}: skipped, there is no {skeleton.name} in {MODELS.parent.name}/{MODELS.name}",
              file=sys.stderr)
        return None
    out = pathlib.Path(folder) / f"{name}.onnx"
    if not out.exists():
        subprocess.run([sys.executable, str(script), str(skeleton), str(out)], check=True,
                       stdout=sys.stderr)
    return out


def materialise_all(names, folder):
    return [path for path in (materialise(name, folder) for name in names) if path]


def with_zero_weights(skeleton, folder):
    """The graph with its removed initializers, as external data of a sparse file; one that has all, as it is."""
    import onnx
    model = onnx.load(skeleton)
    stripped = json.loads({p.key: p.value for p in model.metadata_props}.get("stripped_initializers", "{}"))
    if not stripped:
        return skeleton
    del model.metadata_props[:]
    end = 0
    for name, (dims, _, _) in stripped.items():
        size = 4
        for dim in dims:
            size *= dim
        tensor = model.graph.initializer.add(name=name, dims=dims, data_type=onnx.TensorProto.FLOAT,
                                             data_location=onnx.TensorProto.EXTERNAL)
        for key, value in dict(location="zeros", offset=end, length=size).items():
            tensor.external_data.add(key=key, value=str(value))
        end += (size + 4095) // 4096 * 4096
    with open(folder / "zeros", "wb") as file:
        file.truncate(end)
    path = folder / f"{skeleton.stem}.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def write_tasks(skeletons, tasks, flags):
    """A text for each task of the graphs into the folder `tasks`; returns the names of graphs that failed."""
    tlm = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin")) / "tlm"
    failed = []
    for skeleton in skeletons:
        with tempfile.TemporaryDirectory() as folder:
            model = with_zero_weights(skeleton, pathlib.Path(folder))
            done = subprocess.run([tlm, "space", "sample", model, "--tasks-to", tasks, *flags],
                                  capture_output=True, text=True)
        if done.returncode:
            failed.append(skeleton.stem)
            print(f"{skeleton.stem}: {done.stderr.strip()[-300:]}")
    return failed


def network_tasks(model, tasks, flags):
    """The tasks of a graph as `tlm tune --dry-run` lists them, the heaviest first; a text of each into the folder `tasks`."""
    tlm = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin")) / "tlm"
    with tempfile.TemporaryDirectory() as folder:
        model, listing = with_zero_weights(model, pathlib.Path(folder)), pathlib.Path(folder) / "tasks.json"
        for command in (["tune", model, "--dry-run", "--json", listing], ["space", "sample", model, "--tasks-to", tasks]):
            subprocess.run([str(part) for part in [tlm, *command, *flags]], check=True, stdout=subprocess.DEVNULL)
        return json.loads(listing.read_text())["tasks"]
