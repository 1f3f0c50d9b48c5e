#!/usr/bin/env python3
"""Includes go down the data flow only (the list of docs and README, as a table).

Prints every include that goes up or sideways, and everything that names MLIR
or LLVM headers outside lower/; exit 1 when there is one.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folder of src/ -> folders right below it; what those may include, it may too.
BELOW = {
    "base": [],
    "target": ["base"],
    "graph": ["target"],
    "task": ["target"],
    "import": ["graph", "task"],
    "partition": ["graph", "task"],
    "space": ["graph", "task"],
    "lang": ["import", "partition", "space"],
    "model": ["lang"],
    "lower": ["space", "task"],
    "records": ["lang"],
    "measure": ["lower", "records", "runtime"],
    "search": ["measure", "model"],
    "train": ["search"],
    "runtime": [],
    "driver": ["import", "partition", "space", "lower", "search", "runtime"],
}
# Graph is no input of a kernel: lower sees Tasks only.
DENIED = {("lower", "graph")}
MLIR_FOLDERS = {"lower"}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def allowed(folder):
    seen, todo = set(), [folder]
    while todo:
        for below in BELOW[todo.pop()]:
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return {f for f in seen if (folder, f) not in DENIED}


def complaints():
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in {".h", ".cpp", ".c", ".def"}:
            continue
        name = path.relative_to(ROOT)
        folder = path.relative_to(ROOT / "src").parts[0]
        if folder not in BELOW:
            yield f"{name}: folder '{folder}' is not in the table of test/layering.py"
            continue
        legal = allowed(folder)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match[2].split("/")[0]
            if target in ("mlir", "llvm") and folder not in MLIR_FOLDERS:
                yield f"{name}:{number}: {folder} must not include {match[2]}: only lower/ sees MLIR"
            elif match[1] == '"' and target in BELOW and target != folder and target not in legal:
                yield f"{name}:{number}: {folder} must not include {match[2]}"


def main():
    found = list(complaints())
    print("\n".join(found + [f"layering: {'FAILED' if found else 'OK'}, {len(found)} bad includes"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
