"""Runs of `tlm tune` and `tlm explain` on one task, for the benches that compare searches."""
import json
import os
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin"))


def tlm(*arguments):
    return subprocess.run([str(BIN / "tlm"), *map(str, arguments)], check=True, text=True, stdout=subprocess.PIPE)


def write_json(path, value):
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(value))
    part.replace(path)


class TimeLimit:
    """--minutes, from its making on; None is no limit."""

    def __init__(self, minutes):
        self.minutes, self.begin = minutes, time.monotonic()

    def is_over(self):
        return self.minutes is not None and time.monotonic() - self.begin > 60 * self.minutes


def tune(task, *flags):
    """What `tlm tune --json` says of a task text, with the machine as `host`."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        tlm("tune", task, *flags, "--json", report, "-q")
        found = json.loads(report.read_text())
        return dict(found["tasks"][0], host=found["host"])


def search(task, strategy, trials, records, *flags):
    """A search with so many proposals, without a final. Whatever the strategy, two more trials are not its own: the
    default schedule and the fixed one."""
    return tune(task, "--strategy", strategy, "--trials", trials + 2, "--final-rounds", 0, "--records", records, *flags)


def proposals(result):
    """The trials that the strategy has chosen, in order."""
    given = (result["default_schedule"], result["fixed_schedule"])
    return [trial for trial in result["trials"] if trial["schedule"] not in given]


def fastest(trials, most=1):
    """(microseconds, schedule) of the fastest, at most so many."""
    return sorted((t["min_us"], t["schedule"]) for t in trials if t["outcome"] == "ok")[:most]


def measured_in_turn(task, schedules, rounds, *flags):
    """What the trials and a final of such schedules, beside the default one, say: {schedule: a time for each round}
    without those that failed, the default one's time, the machine."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, schedule in enumerate(schedules):
            files.append(pathlib.Path(folder) / f"{number}.schedule")
            files[-1].write_text(schedule if schedule.endswith("\n") else schedule + "\n")
        also = ["--also", *files] if files else []
        result = tune(task, *flags, "--strategy", "default", "--trials", 2 + len(files), *also, "--finalists", 0,
                      "--final-rounds", rounds)
    return ({f["schedule"]: f["min_us"] for f in result["finalists"]}, result["finalists"][0]["min_us"], result["host"])


def schedules_of(path):
    """task key -> text of its schedule, of a file as `tlm explain` writes it."""
    blocks = [block.split("\n", 1)[1].strip() for block in path.read_text().strip().split("\n\n")]
    return {block.splitlines()[1].split()[1]: block for block in blocks}


def explained(task, key, *flags):
    """The source of a task's schedule (model, records, default), and the schedule."""
    with tempfile.TemporaryDirectory() as folder:
        text, report = pathlib.Path(folder) / "task.schedule", pathlib.Path(folder) / "report.json"
        tlm("explain", task, *flags, "-o", text, "--json", report)
        return json.loads(report.read_text())["kernels"][0]["source"], schedules_of(text)[key]
