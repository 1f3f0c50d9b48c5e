#!/usr/bin/env python3
"""What records_kill.py judges by does fail: a short run's log, and stores that something was done to.

The log of `tlm tune -vv` says which records are in the store. As they are, nothing is wrong; with one
removed, changed or measured twice, without any, without the file, or with a process left, it is said.
"""
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from expectations import Expectations  # noqa: E402
from models import BIN, small_cnn  # noqa: E402
from records_kill import Run, judge  # noqa: E402


def record(folder):
    """A store and what its run printed."""
    small_cnn(folder / "m.onnx")
    store = folder / "store.db"
    run = Run([str(BIN / "tlm"), "tune", str(folder / "m.onnx"), "--threads", "1", "--heaviest", "1", "--trials", "4",
               "--strategy", "random", "--records", str(store), "-vv"], folder / "log.txt")
    if run.end():
        sys.exit(f"{run.lines()[-1:]}\nrecords_kill_judge: FAILED: no records")
    return store, run.recorded()


def changed(store, name, *commands):
    """A copy of the store after these commands."""
    copy = store.with_name(f"{name}.db")
    shutil.copy(store, copy)
    connection = sqlite3.connect(copy)
    for command in commands:
        connection.execute(*command)
    connection.commit()
    connection.close()
    return copy


def main():
    expect = Expectations("records_kill_judge")
    with tempfile.TemporaryDirectory(prefix="tlm-judge-") as name:
        store, printed = record(pathlib.Path(name))
        some = min(printed)

        def judged(what, judged_store, *texts, count=None, acknowledged=printed):
            wrong, found = judge(judged_store, acknowledged, name)
            expect.holds(len(wrong) == len(texts) and all(text in line for text, line in zip(texts, wrong)),
                         f"{what}: expected {list(texts)}", f"{wrong}")
            expect.holds(found == (len(printed) if count is None else count), f"{what}: {found} records")
        expect.holds(len(printed) > 3, "hardly any records", str(printed))
        judged("as it is", store)
        judged("one removed", changed(store, "removed", ("DELETE FROM record WHERE id = ?", [some])),
               "1 finished records are lost", count=len(printed) - 1)
        judged("one that is not there", store, "1 finished records are lost", acknowledged=printed | {"0" * 32})
        judged("one changed", changed(store, "changed", ("UPDATE record SET min_us = min_us + 1 WHERE id = ?", [some])),
               "records stats --check:")
        columns = ", ".join(row[1] for row in sqlite3.connect(store).execute("PRAGMA table_info(record)") if row[1] != "id")
        judged("one twice", changed(store, "twice", (f"INSERT INTO record(id, {columns}) SELECT '{'0' * 32}', {columns} FROM record "
                                                     "WHERE rounds = 1 AND id = (SELECT min(id) FROM record WHERE rounds = 1)",)),
               "records stats --check:", "1 candidates were measured twice", count=len(printed) + 1)
        judged("all removed", changed(store, "empty", ("DELETE FROM record",)), f"{len(printed)} finished records are lost", count=0)
        judged("no store", store.with_name("none.db"), f"{len(printed)} records were printed, and there is no store", count=0)
        orphan = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", name])
        try:
            judged("a process left", store, f"processes left: {orphan.pid}")
        finally:
            orphan.kill()
            orphan.wait()
    return expect.verdict()


if __name__ == "__main__":
    sys.exit(main())
