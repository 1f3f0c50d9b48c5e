"""Rows of the records of a store, or of shards, and in what time they were measured."""
import os
import pathlib
import sqlite3
import subprocess
import tempfile

BIN = pathlib.Path(os.environ.get("TLM_BIN", pathlib.Path(__file__).resolve().parents[1] / "build/bin"))
STORE_VERSION = 2      # src/records/Migrations.h
PAUSE_SECONDS = 60     # between records; more is no measuring

QUERY = """SELECT t.key AS task, t.text AS text, g.key AS target, g.text AS machine, r.schedule, r.language, r.compiler, r.build,
r.outcome, r.detail, r.min_us, r.slowdown, r.rounds, r.strategy, r.seed, r.time
FROM record r JOIN task t ON t.id = r.task JOIN target g ON g.id = r.target"""


class Failed(Exception):
    pass


def read_store(store):
    """All records, as they were at one moment."""
    if not store.exists():
        raise Failed(f"{store}: there is no such store")
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        connection.row_factory = sqlite3.Row
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != STORE_VERSION:
            raise Failed(f"{store}: a store of version {version}, expected {STORE_VERSION}; hint: tlm records stats "
                         "brings an older one up to date")
        return [dict(row) for row in connection.execute(QUERY)]
    finally:
        connection.close()


def records_of(paths):
    """Of one store (*.db), or of files and folders of shards."""
    if len(paths) == 1 and paths[0].suffix == ".db":
        return read_store(paths[0])
    with tempfile.TemporaryDirectory() as folder:
        store = pathlib.Path(folder) / "records.db"
        done = subprocess.run([str(BIN / "tlm"), "records", "import", str(store), *map(str, paths)], capture_output=True,
                              text=True)
        if done.returncode:
            raise Failed(done.stderr.strip())
        return read_store(store)


def measuring_seconds(rows):
    times = sorted(row["time"] for row in rows)
    return sum(after - before for before, after in zip(times, times[1:]) if after - before <= PAUSE_SECONDS)
