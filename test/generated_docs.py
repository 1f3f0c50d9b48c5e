#!/usr/bin/env python3
"""Generated documents are fresh, without a build: docs/onnx-support.md has exactly the
rows of src/import/Operators.def. (test/lit/operators.test compares every byte with
what the built tlm writes.)
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPERATOR = re.compile(r'^TLM_ONNX_OP\((\w+), (\d+), -?\d+, -?\d+, \w+,\s+"([^"]*)"\)', re.MULTILINE)
HINT = "hint: build/bin/tlm ops --markdown >docs/onnx-support.md"


def operator_rows():
    newest = re.search(r"kNewestOpset = (\d+)", (ROOT / "src/import/Import.h").read_text())[1]
    table = (ROOT / "src/import/Operators.def").read_text()
    found = OPERATOR.findall(table)
    # A line that the pattern does not understand must not go unnoticed.
    assert len(found) == len(re.findall(r"^TLM_ONNX_OP\(", table, re.MULTILINE)), "Operators.def: unknown form"
    return [f"| {op} | {since}-{newest} | {limits or 'f32'} |" for op, since, limits in found]


def main():
    written = [line for line in (ROOT / "docs/onnx-support.md").read_text().splitlines()
               if re.match(r"\| \w+ \| \d", line)]
    expected = operator_rows()
    stale = sorted(set(written) ^ set(expected))
    good = written == expected
    for row in stale[:10]:
        print(f"docs/onnx-support.md: {'missing' if row in expected else 'stale'}: {row}")
    if not good:
        print(HINT)
    print(f"generated documents: {'OK' if good else 'FAILED'}, {len(stale)} rows differ")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
