#!/usr/bin/env python3
"""Form of the sources: what no compiler and no clang-format checks.

Source lists in CMake sorted and complete, no tabs, no trailing blanks, no
TODO without an issue number, no file over 600 lines, no Utils, Common or Helper.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = {".h", ".cpp", ".c", ".def", ".py", ".cmake", ".mlir", ".td"}
MAX_LINES = 600
SOURCE = re.compile(r"^\s+([\w./-]+\.(?:cpp|c))$")
TODO = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")
# This file has to write the words that it looks for.
SELF = pathlib.Path("test/sources.py")


def files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split("\n")
    return sorted({pathlib.Path(f) for f in listed if f and (ROOT / f).is_file()})


def check_text(name, text):
    lines = text.split("\n")
    if len(lines) > MAX_LINES + 1:
        yield f"{name}: {len(lines)} lines, {MAX_LINES} is the end: split it"
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            yield f"{name}:{number}: tab"
        if line != line.rstrip():
            yield f"{name}:{number}: blank at the end of the line"
        if name != SELF and TODO.search(line):
            yield f"{name}:{number}: write TODO(#issue)"


def check_cmake(name, text):
    listed, block = set(), []
    for line in text.split("\n") + [""]:
        match = SOURCE.match(line)
        if match:
            block.append(match[1])
            listed.add(match[1])
        elif block:
            if block != sorted(block):
                yield f"{name}: sources not sorted: {' '.join(block)}"
            block = []
    folder = (ROOT / name).parent
    below = [p.parent for p in folder.rglob("CMakeLists.txt") if p.parent != folder]
    for path in sorted(folder.rglob("*.c*")):
        if path.suffix not in (".cpp", ".c") or any(b in path.parents for b in below):
            continue
        base = path.relative_to(folder).as_posix()
        if base not in text:
            yield f"{name}: {base} is not listed"


def main():
    found = []
    for name in files():
        if re.search(r"(?i)(utils?|common|helpers?)\.", name.name):
            found.append(f"{name}: says nothing about what is inside")
        if name.suffix not in CODE and name.name != "CMakeLists.txt":
            continue
        text = (ROOT / name).read_text()
        found += check_text(name, text)
        if name.name == "CMakeLists.txt" and name.parts[0] in ("src", "tools", "bench"):
            found += check_cmake(name, text)
    print("\n".join(found + [f"sources: {'FAILED' if found else 'OK'}, {len(found)} complaints"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
