#!/usr/bin/env python3
"""scripts/pretrain, scripts/finetune and scripts/release-model on three small networks: splits, the same bytes again,
models that were trained.

Two networks judge, one of them as a variant in the corpus; the third one is learnt from. Where there
is no tlm-train, the stages before it.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from models import BIN, ROOT, small_cnn  # noqa: E402


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def expect(good, what, text=""):
    if not good:
        print(f"{text}\npretrain: FAILED: {what}")
        sys.exit(1)


def pretrain(shared, out, *more):
    return run(ROOT / "scripts/pretrain", "-o", out, "--shared", shared, "--count", 200, "--answers", 12,
               "--layers", 1, "--heads", 1, "--width", 16, "--batch", 2048, "--threads", 1, *more)


def finetune(pretrained, out, *more):
    return run(ROOT / "scripts/finetune", "-o", out, "--pretrained", pretrained, "--tasks", 2, "--count", 10, "--steps", 2,
               "--batch", 512, "--threads", 1, *more)


def released(folder, out, fine):
    """scripts/release-model takes what was trained, with its numbers, and nothing else."""
    report = folder / "written.json"
    report.write_text(json.dumps(dict(complete=True, results="twice as fast\n")))

    def release(sentences, target):
        return run(ROOT / "scripts/release-model", fine / "model", "--held-out", out / "corpus/held-out.keys",
                   "--stage", "random schedules", out / "model", sentences,
                   "--stage", "measured schedules", fine / "model", fine / "training.tlms", "--written", report, "-o", target)
    code, text = release(out / "training.tlms", folder / "released")
    expect(code == 0 and "release model: OK" in text, "not released", text)
    card = (folder / "released/README.md").read_text()
    expect("| random schedules | training.tlms | 200 |" in card and "| 4 | 2,048 | 0.001 | 1 |" in card, "numbers", card)
    expect("| measured schedules | training.tlms | " in card and "| 2 | 512 | 0.0003 | 1 |" in card, "second numbers", card)
    expect("twice as fast" in card, "no evaluation", card)
    files = sorted(p.name for p in (folder / "released").iterdir())
    expect(files == ["README.md", "config.json", "model.safetensors"], "other files", str(files))
    code, text = release(out / "validation.tlms", folder / "wrong")
    expect(code == 1 and "not the sentences" in text and not (folder / "wrong").exists(), "wrong sentences", text)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shared, out, again = folder / "shared", folder / "out", folder / "again"
        for part in ("corpus", "models"):
            (shared / part).mkdir(parents=True)
        small_cnn(shared / "models/judge.onnx", 32)
        small_cnn(shared / "corpus/variant.onnx", 64)
        small_cnn(shared / "corpus/learnt.onnx", 48)
        splits = dict(train=["learnt"], unseen_family=[], test_variant=["variant"])
        (shared / "corpus/splits.json").write_text(json.dumps(splits))

        stage = "model" if (BIN / "tlm-train").exists() else "sentences"
        code, text = pretrain(shared, out, "--steps", 4, "--until", stage)
        expect(code == 0 and text.rstrip().endswith("pretrain: OK"), "it does not run", text)
        expect(text.count("check: OK") == 2 and "over 200 tasks" in text, "no check of the splits", text)
        keys = (out / "corpus/held-out.keys").read_text().splitlines()
        expect("f32 matmul b1 m1 n10 k32" in keys, "the head of the judge is not held out", "\n".join(keys))

        # A task that judges is refused as training data, with its key; made past that, it is found.
        sentences, file = BIN / "tlm-sentences", folder / "wrong.tlms"
        judged = [sentences, "random", out / "corpus/test.tasks", "-o", file, "--answers", 2]
        code, text = run(*judged, "--held-out", out / "corpus/held-out.keys")
        expect(code == 1 and any(f"'{key}' is held out" in text for key in keys), "not refused", text)
        expect(not file.exists(), "the refused file was written")
        code, text = run(*judged)
        expect(code == 0, "not written", text)
        code, text = run(sentences, "check", file, "--held-out", out / "corpus/held-out.keys")
        expect(code == 1 and any(f"'{key}' is held out" in text for key in keys), "not found", text)

        # The same command goes on where it was; a fresh one makes the same bytes.
        before = (out / "training.tlms").stat().st_mtime_ns
        code, text = pretrain(shared, out, "--until", "sentences")
        expect(code == 0 and "==" not in text, "a finished stage ran again", text)
        expect((out / "training.tlms").stat().st_mtime_ns == before, "written again")
        code, text = pretrain(shared, out, "--until", "sentences", "--seed", 7)
        expect(code == 1 and "was begun with" in text, "another seed goes on", text)
        code, text = pretrain(shared, again, "--until", "sentences")
        expect(code == 0, "the second run", text)
        for name in ("training.tlms", "validation.tlms", "corpus/training.tasks"):
            expect((out / name).read_bytes() == (again / name).read_bytes(), f"{name} differs")
        if stage == "model":
            expect((out / "model/model.safetensors").exists(), "no weights")

        # Tasks measured, of which some judge; then from the records of that run alone, and with others.
        proposed = ["--sources", "model,random", "--model", out / "model"] if stage == "model" else ["--sources", "random"]
        code, text = finetune(out, folder / "fine", "--until", stage, *proposed)
        expect(code == 0 and "finetune: OK" in text, "it does not run", text)
        expect(text.count("check: OK") == 2 and "1 of them to judge" in text, "no check of the splits", text)
        expect(stage != "model" or re.search(r"measured .*model [1-9]", text), "nothing by the model", text)
        expect(stage != "model" or "labels learnt from " in text, "no labels", text)
        again = [folder / "other", "--until", "sentences", "--records", folder / "fine/shards", *proposed]
        code, text = finetune(out, *again, "--tasks", 0)
        expect(code == 0 and "0 tasks to measure" in text, "not from shards", text)
        for name in ("training.tlms", "validation.tlms"):
            expect((folder / "fine" / name).read_bytes() == (folder / "other" / name).read_bytes(), f"{name} differs")
        code, text = finetune(out, folder / "more", "--until", "records", "--records", folder / "fine/shards", *proposed)
        few, more = ({path.name for path in (folder / name).glob("*/*.task")} for name in ("fine", "more"))
        new = {path.name for path in (folder / "more/measured").glob("*/*.task")}
        expect(code == 0 and new and few and not few & new and more == few | new, "not beside the others", text)
        if stage == "model":
            released(folder, out, folder / "fine")
    print(f"pretrain: OK, up to {stage}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
