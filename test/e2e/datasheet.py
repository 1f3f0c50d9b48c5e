#!/usr/bin/env python3
"""data/README.md says what data/records holds, and scripts/datasheet counts right.

The section is fresh; its sums are those of `tlm records stats`, which counts on its own; and of a store
with a few records, whose numbers can be seen by eye, every line is what it should be.
"""
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from expectations import ROOT, Expectations, run  # noqa: E402
from models import BIN  # noqa: E402

SHARDS, README = ROOT / "data/records", ROOT / "data/README.md"
BY_HAND = "# Records\n\nBy hand.\n\n<!-- datasheet -->\nof others\n<!-- end -->\n\nAlso by hand.\n"


def tlm(*arguments):
    subprocess.run([str(BIN / "tlm"), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def number(text):
    return int(text.replace(",", ""))


def rows_of(text, title):
    """Cells of the table below a title."""
    lines = re.search(rf"^\*\*{title}\.\*\*.*\n\n((?:\|.*\n)+)", text, re.MULTILINE)[1].strip().split("\n")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def fresh(expect, store):
    """Of the repository: fresh, and the counts are those of another program."""
    expect.ends(run("scripts/datasheet", "--check"), 0, "datasheet: OK", "README.md is fresh")
    expect.ends(run("scripts/datasheet", store, "--check"), 0, "is fresh")
    report = store.with_suffix(".json")
    tlm("records", "stats", store, "--json", report)
    stats, text = json.loads(report.read_text()), README.read_text()
    for count, what in (("records", "records of"), ("candidates", "candidates of"), ("tasks", "tasks.")):
        expect.holds(f" {stats[count]:,} {what}" in text, f"{stats[count]} {count}", text)
    sums = {"targets": ("Machines", 0, 6), "strategies": ("Strategies", 0, 3), "outcomes": ("Outcomes", 0, 3)}
    for key, (title, name, count) in sums.items():
        found = {}
        for row in rows_of(text, title):
            found[row[name].strip("`")] = found.get(row[name].strip("`"), 0) + number(row[count])
        expect.holds(found == stats[key], f"{title}: {found}, expected {stats[key]}")
    drifted = sum(number(row[2].split(" ")[0]) for row in rows_of(text, "Noise"))
    expect.holds(drifted == stats["drifted"], f"{drifted} drifted, expected {stats['drifted']}")
    for title, count in (("Rounds", 1), ("Noise", 1), ("Time", 4)):
        expect.holds(sum(number(row[count]) for row in rows_of(text, title)) == stats["records"], f"{title}: not all records", text)
    kinds = rows_of(text, "Tasks")
    expect.holds(kinds[-1][0] == "all" and all(sum(number(row[i]) for row in kinds[:-1]) == number(kinds[-1][i])
                                               for i in (1, 2, 3)), "kinds and all", str(kinds))


def write_few(store):
    """Of the tasks and targets that are there, a conv, a matmul, and one thread and two."""
    connection = sqlite3.connect(store)
    connection.execute("DELETE FROM record")
    connection.execute("INSERT INTO task(key, label, text) VALUES ('f', 'nobody', 'tlm-task 1\nkind copy\n')")
    tasks = {kind: connection.execute("SELECT id FROM task WHERE text LIKE ? ORDER BY key LIMIT 1",
                                      [f"%\nkind {kind}\n%"]).fetchone()[0] for kind in ("conv", "matmul")}
    targets = {threads: connection.execute("SELECT id FROM target WHERE text LIKE ?", [f"% threads={threads}"]).fetchone()[0]
               for threads in (1, 2)}

    def add(kind, threads, schedule, us, time, outcome=0, detail="", slowdown=1.0, rounds=1, strategy="random", seed=1, build="b1"):
        count = connection.execute("SELECT count(*) FROM record").fetchone()[0]
        connection.execute(
            "INSERT INTO record(id, task, target, schedule, language, compiler, build, outcome, detail, min_us, median_us, "
            "samples, slowdown, strategy, seed, trial, time, rounds) VALUES (?,?,?,?,0,'0.1.0',?,?,?,?,?,9,?,?,?,0,?,?)",
            [f"{count:032x}", tasks[kind], targets[threads], schedule, build, outcome, detail, us, us, slowdown, strategy, seed,
             time, rounds])
    # 1970-01-01 00:00:00 and so on; the pause of two minutes is no measuring.
    add("conv", 1, "s1", 100, 0)
    add("conv", 1, "s1", 110, 30, slowdown=1.09)
    add("conv", 1, "s1", 120, 60, rounds=5, strategy="default")
    add("conv", 1, "s2", 50, 180)
    add("conv", 1, "s2", 51, 210, strategy="model", seed=7)
    add("conv", 1, "s3", 0, 210, outcome=1, detail="transform_failed: here")
    add("conv", 1, "s4", 0, 210, outcome=1, detail="transform_failed: there")
    add("conv", 1, "s5", 0, 210, outcome=2, detail="point [0] is 1, expected 2")
    add("matmul", 2, "s1", 0, 240, outcome=3, detail="signal Aborted")
    add("matmul", 2, "s1", 10, 86400, slowdown=1.5, build="b2")
    add("matmul", 2, "s1", 15, 86410, build="b3")
    connection.commit()
    connection.close()


def by_eye(expect, store, folder):
    readme = folder / "README.md"
    readme.write_text(BY_HAND)
    write_few(store)
    expect.ends(run("scripts/datasheet", store, "--readme", readme, "--check"), 1, "README.md is stale", "hint: scripts/datasheet")
    expect.holds(readme.read_text() == BY_HAND, "--check wrote", readme.read_text())
    expect.ends(run("scripts/datasheet", store, "--readme", readme), 0, "datasheet: OK, 11 records, README.md is written")
    text = readme.read_text()
    expect.holds(text.startswith("# Records\n\nBy hand.\n\n<!-- datasheet -->\nWritten by `scripts/datasheet`; do not edit. 11 records "
                                 "of 6 candidates of 2 tasks.\n") and text.endswith("<!-- end -->\n\nAlso by hand.\n"),
                 "what is around the tables", text)
    expected = {
        "Tasks": [["conv", "1", "5", "8"], ["matmul", "1", "1", "3"], ["all", "2", "6", "11"]],
        "Strategies": [["default", "1", "1", "1", "1"], ["model", "7", "1", "1", "1"], ["random", "1", "6", "9", "5"]],
        "Outcomes": [["ok", "-", "2", "7", "63.6 %"], ["rejected", "transform_failed", "1", "2", "18.2 %"],
                     ["wrong_values", "-", "1", "1", "9.1 %"], ["crashed", "signal Aborted", "1", "1", "9.1 %"]],
        "Rounds": [["1", "10", "6"], ["5", "1", "1"]],
        "Noise": [["1", "8", "1 (12.5 %)", "1.000", "1.000", "1.090", "1.090", "1.090"],
                  ["2", "3", "1 (33.3 %)", "1.000", "1.500", "1.500", "1.500", "1.500"]],
        "Repeated": [["1", "one", "2", "20.0 %", "20.0 %", "20.0 %", "1", "2.0 %", "2.0 %", "2.0 %"],
                     ["2", "several", "1", "50.0 %", "50.0 %", "50.0 %", "0", "-", "-", "-"]],
        "Time": [["0.1.0", "b1", "0", "1", "8", "1970-01-01 00:00", "1970-01-01 00:03", "1.5 min", "0.1"],
                 ["0.1.0", "b1", "0", "2", "1", "1970-01-01 00:04", "1970-01-01 00:04", "0.0 min", "-"],
                 ["0.1.0", "b2", "0", "2", "1", "1970-01-02 00:00", "1970-01-02 00:00", "0.0 min", "-"],
                 ["0.1.0", "b3", "0", "2", "1", "1970-01-02 00:00", "1970-01-02 00:00", "0.0 min", "-"]]}
    for title, rows in expected.items():
        expect.holds(rows_of(text, title) == rows, f"{title}: expected {rows}", str(rows_of(text, title)))
    expect.holds([row[1:] for row in rows_of(text, "Machines")] == [["znver5", "48 KB, 1 MB, 32 MB", "1", "1", "5", "8"],
                                                                   ["znver5", "48 KB, 1 MB, 32 MB", "2", "1", "1", "3"]],
                 "Machines", text)
    expect.holds("Candidates that ended in one way and then in another: 1." in text, "changed outcomes", text)
    expect.ends(run("scripts/datasheet", store, "--readme", readme, "--check"), 0, "is fresh")
    expect.holds(readme.read_text() == text, "written twice, it is not the same", readme.read_text())


def refused(expect, store, folder):
    def refuses(*texts, records=store):
        readme = folder / "none.md"
        expect.ends(run("scripts/datasheet", records, "--readme", readme), 1, "datasheet: FAILED", *texts)
        expect.holds(not readme.exists(), "a file of nothing")
    refuses("there is no such store", records=folder / "nowhere.db")
    refuses("nowhere", records=folder / "nowhere")
    (folder / "text.db").write_text("no database, for certain")
    refuses("not a database", records=folder / "text.db")
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA user_version = 3")
    refuses("a store of version 3, expected 2")
    connection.execute("PRAGMA user_version = 2")
    connection.execute("DELETE FROM record")
    connection.commit()
    refuses("no records")
    connection.close()


def main():
    expect = Expectations("datasheet")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        store = folder / "records.db"
        tlm("records", "import", store, SHARDS)
        fresh(expect, store)
        by_eye(expect, store, folder)
        refused(expect, store, folder)
    return expect.verdict()


if __name__ == "__main__":
    sys.exit(main())
