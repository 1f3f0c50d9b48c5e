#!/usr/bin/env python3
"""Generated documents are fresh. Needs no build: docs/onnx-support.md is rendered here
from src/import/Operators.def (test/lit/operators.test compares it with `tlm ops --markdown`),
docs/space.md from Decisions.def and Limits.def of src/space.

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


def rows_of(name, pattern, macro):
    text = (ROOT / "src/space" / name).read_text()
    found = re.findall(pattern, text, re.MULTILINE)
    assert len(found) == len(re.findall(rf"^{macro}\(", text, re.MULTILINE)), f"{name}: unknown form of {macro}"
    return ["| " + " | ".join(cells) + " |" for cells in found]


def space():
    string = r'"((?:[^"\\]|\\.)*)"'
    decisions = rows_of("Decisions.def", rf"^TLM_DECISION\((\d+), \w+, {string}\)\s*// (.*)$", "TLM_DECISION")
    limits = rows_of("Limits.def", rf"^TLM_LIMIT\(\w+, .*?, {string},\s+{string}\)", "TLM_LIMIT")
    cuts = rows_of("Limits.def", rf"^TLM_CUT\({string},\s+{string}\)", "TLM_CUT")
    return "\n".join([
        "# The space of schedules", "",
        "Written by `test/generated_docs.py` from `src/space/Decisions.def` and `Limits.def`; do not edit.",
        "`tlm space show model.onnx` lists the decisions of each task and how many schedules it has;",
        "`tlm space sample` draws some and tries them. Rules: `src/space/rules`.", "",
        "## Decisions", "",
        "| id | name | value |", "|---|---|---|", *decisions, "",
        "## Limits", "",
        "Every choice within them is offered.", "",
        "| at most | why |", "|---|---|", *limits, "",
        "## Not offered", "",
        "What was measured to be 5 times slower and more, and nothing else.", "",
        "| what | why |", "|---|---|", *cuts]) + "\n"


DOCUMENTS = {"docs/onnx-support.md": onnx_support, "docs/space.md": space}


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
