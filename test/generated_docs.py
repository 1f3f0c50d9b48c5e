#!/usr/bin/env python3
"""Generated documents are fresh. Needs no build: docs/onnx-support.md is rendered here
from src/import/Operators.def; test/lit/operators.test compares it with `tlm ops --markdown`.

usage: generated_docs.py [--fix]        --fix writes what is stale
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPERATOR = re.compile(r'^TLM_ONNX_OP\((\w+),\s+(\d+),\s+-?\d+,\s+-?\d+,\s+\w+,\s+((?:"[^"]*"\s*)+)\)', re.MULTILINE)


def onnx_support():
    header = (ROOT / "src/import/Import.h").read_text()
    oldest, newest = (re.search(rf"k{age}Opset = (\d+)", header)[1] for age in ("Oldest", "Newest"))
    table = (ROOT / "src/import/Operators.def").read_text()
    found = OPERATOR.findall(table)
    # A line that the pattern does not understand must not go unnoticed.
    assert len(found) == len(re.findall(r"^TLM_ONNX_OP\(", table, re.MULTILINE)), "Operators.def: unknown form"
    rows = []
    for op, since, limits in found:
        taken = "".join(re.findall('"([^"]*)"', limits)) or "all"
        rows.append(f"| {op} | {since}-{newest} | {taken} |")
    return "\n".join([
        "# Supported ONNX operators", "",
        f"Written by `tlm ops --markdown`; do not edit. {len(found)} operators of ONNX's own domain, opsets "
        f"{oldest} to {newest}.",
        "`tlm inspect model.onnx` says what a model needs.", "",
        "| operator | opsets | what is taken |", "|---|---|---|", *rows]) + "\n"


DOCUMENTS = {"docs/onnx-support.md": onnx_support}


def main():
    stale = 0
    for name, render in DOCUMENTS.items():
        path, text = ROOT / name, render()
        if path.exists() and path.read_text() == text:
            continue
        if "--fix" in sys.argv[1:]:
            path.write_text(text)
            print(f"{name}: written")
            continue
        stale += 1
        print(f"{name}: stale\nhint: scripts/check --fix")
    print(f"generated documents: {'FAILED' if stale else 'OK'}, {stale} stale")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
