#!/usr/bin/env python3
"""Shards of `tlm collect`, merged, are one run.

Three shards go into stores of their own; one of them is killed (SIGKILL) after a
moment and started again. Merged in either order, they hold the same tasks and
the same candidates as one run over everything (from sources that do not learn
from times), each candidate once, and the merged stores export the same bytes.

usage: collect_shards.py [--count 6]
"""
import argparse
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from models import BIN, small_cnn

PARTS = 3


def tlm(*arguments):
    done = subprocess.run([str(BIN / "tlm"), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"tlm {arguments[0]}: exit {done.returncode}: {done.stderr.strip()}\ncollect_shards: FAILED")
    return done.stdout


def candidates(store):
    """(task, target, schedule), sorted."""
    connection = sqlite3.connect(store)
    try:
        return sorted(connection.execute("SELECT t.key, g.key, r.schedule FROM record r JOIN task t ON t.id = r.task "
                                         "JOIN target g ON g.id = r.target"))
    finally:
        connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=6)
    options = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory(prefix="tlm-collect-") as name:
        folder = pathlib.Path(name)
        small_cnn(folder / "m.onnx")

        def command(store, shard):
            return ["collect", folder / "m.onnx", "--records", folder / store, "--threads", 1, "--count", options.count,
                    "--sources", "random,near-default", "--seed", 7, "--shard", shard, "-q"]
        tlm(*command("one.db", "1/1"))
        first = subprocess.Popen([str(BIN / "tlm"), *map(str, command("1.db", f"1/{PARTS}"))],
                                 stdout=subprocess.DEVNULL)
        time.sleep(1.5)
        first.send_signal(signal.SIGKILL)
        first.wait()
        for part in range(1, PARTS + 1):
            tlm(*command(f"{part}.db", f"{part}/{PARTS}"))
        parts = [folder / f"{part}.db" for part in range(1, PARTS + 1)]
        tlm("records", "merge", folder / "up.db", *parts)
        tlm("records", "merge", folder / "down.db", *reversed(parts))
        whole, merged = candidates(folder / "one.db"), candidates(folder / "up.db")
        if whole != merged:
            failures.append(f"{len(whole)} candidates in one run, {len(merged)} in its shards, "
                            f"{len(set(whole) ^ set(merged))} of them in one only")
        if len(set(whole)) != len(whole) or len(set(merged)) != len(merged):
            failures.append("a candidate was measured twice")
        if not all(candidates(part) for part in parts):
            failures.append("a shard without tasks")
        for store in ("up", "down"):
            tlm("records", "export", folder / f"{store}.db", folder / store)
        shards = [sorted((path.name, path.read_bytes()) for path in (folder / store).iterdir()) for store in ("up", "down")]
        if shards[0] != shards[1]:
            failures.append("merged in another order, the exported bytes differ")
    for failure in failures:
        print(f"FAIL {failure}")
    print(f"collect_shards: {'FAILED' if failures else 'OK'}, {len(merged)} candidates of {len({c[0] for c in merged})} "
          f"tasks from {PARTS} shards, one of them killed and taken up, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
