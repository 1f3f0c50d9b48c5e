#!/usr/bin/env python3
"""Whole networks, tuned: `tlm tune --total-trials N` against the default schedules, and TVM MetaSchedule beside it.

tlm searches with the evolutionary strategy and the task scheduler; TVM (scripts/install --tvm; left out
with a message where it is not installed) with its MetaSchedule, with as many candidates measured, on
the same ONNX file, f32, the same threads. Then the three artifacts, tuned, default and TVM's, are
measured end to end, in turn, and must agree with onnxruntime. A network is done one step after the
other; what is done stands in the work folder, and a run that is stopped, by --minutes or otherwise,
goes on. Wall time of a search is that of all its runs.

usage: tune_networks.py [--models resnet50 ...] [--trials 1000] [--threads 2] [--rounds 15] [--work DIR]
                        [--minutes M] [--without-tvm] [--report-only] [--json FILE] [--results FILE ...]
Verdict: no network is slower than with default schedules (by more than 1 %, the noise of alternating
medians), and every result is right.
"""
import argparse
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "bench"))
from intervals import median  # noqa: E402
from marked_section import write_section  # noqa: E402
from networks import BIN, PAUSE, ROUND_SECONDS, OnnxRuntime, Tlm  # noqa: E402
from shared_networks import materialise  # noqa: E402

TVM_PYTHON = ROOT / ".venv-tvm/bin/python"
PEER = ROOT / "bench/tvm_peer.py"
NOISE = 1.01


class OutOfTime(Exception):
    pass


class Work:
    """What has been done for one network with one setting, in a folder of its own."""

    def __init__(self, arguments, name):
        self.arguments, self.name = arguments, name
        self.folder = arguments.work / f"{pathlib.Path(name).stem}.{arguments.trials}.{arguments.threads}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "state.json"
        self.state = json.loads(self.path.read_text()) if self.path.exists() else {}

    def save(self, **values):
        self.state.update(values)
        part = self.path.with_name("state.json.part")
        part.write_text(json.dumps(self.state, indent=1))
        part.replace(self.path)

    def search(self, key, command, stop_signal, deadline):
        """Runs a search to its end, or until the deadline; adds its wall time."""
        begin = time.monotonic()
        with open(self.folder / f"{key}.log", "a") as log:
            process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=log, text=True,
                                       start_new_session=True)
            try:
                output, _ = process.communicate(timeout=max(1.0, deadline - begin) if deadline else None)
            except subprocess.TimeoutExpired:
                process.send_signal(stop_signal)
                process.communicate()
                raise OutOfTime from None
            finally:
                if process.poll() is None:
                    process.send_signal(stop_signal)
                    process.wait()
                self.save(**{f"{key}_seconds": self.state.get(f"{key}_seconds", 0) + time.monotonic() - begin})
        if process.returncode:
            raise SystemExit(f"{self.name}: {key} failed with {process.returncode}; {self.folder / f'{key}.log'} says why")
        return output

    def tune(self, model, deadline):
        if "tlm" in self.state:
            return
        report = self.folder / "tune.json"
        self.search("tlm", [BIN / "tlm", "tune", model, "--threads", self.arguments.threads, "--total-trials",
                            self.arguments.trials, "--records", self.folder / "records.tlm", "-o", self.schedules,
                            "--json", report, "-q"], signal.SIGINT, deadline)
        found = json.loads(report.read_text())
        network = found["networks"][0]
        self.save(tlm={"tasks": len(found["tasks"]), "trials": sum(len(task["trials"]) for task in found["tasks"]),
                       "default_ms": network["default_ms"], "best_ms": network["best_ms"]}, cpu=found["host"]["cpu"])

    def tune_tvm(self, model, deadline):
        if "tvm" in self.state or self.arguments.without_tvm:
            return
        if not TVM_PYTHON.exists():
            print(f"{self.name}: no TVM; scripts/install --tvm installs it", file=sys.stderr)
            return
        output = self.search("tvm", [TVM_PYTHON, PEER, "tune", model, "--work", self.folder / "tvm", "--trials",
                                     self.arguments.trials, "--threads", self.arguments.threads], signal.SIGTERM, deadline)
        self.save(tvm=json.loads(output))

    @property
    def schedules(self):
        return self.folder / "tuned.schedules"

    def measure(self, model):
        threads = self.arguments.threads
        reference = OnnxRuntime(model, threads)
        feed = reference.draw(np.random.default_rng(0))
        expected = reference.bind(feed)()
        for stale in self.folder.glob("*.so"):
            stale.unlink()
        tuned = Tlm(model, threads, self.folder, self.schedules)
        default = Tlm(model, threads, self.folder)
        turns = {"default": Turn(default.bind(feed), default), "tuned": Turn(tuned.bind(feed), tuned)}
        if "tvm" in self.state:
            turns["tvm"] = TvmTurn(self.folder, feed, reference, threads)
        errors = {name: max(float(np.max(np.abs(a - b)) / np.max(np.abs(b)))
                            for a, b in zip(turn.outputs(), expected, strict=True)) for name, turn in turns.items()}
        times = {name: [] for name in turns}
        for turn in turns.values():
            turn.run(ROUND_SECONDS)
        names = list(turns)
        for number in range(self.arguments.rounds):
            start = number % len(names)
            for name in names[start:] + names[:start]:
                time.sleep(PAUSE)
                times[name].append(turns[name].run(ROUND_SECONDS))
        for turn in turns.values():
            turn.close()
        self.save(times=times, errors=errors)


class Turn:
    def __init__(self, call, engine):
        self.call, self.engine = call, engine

    def outputs(self):
        return self.call()

    def run(self, seconds):
        self.engine.raw()
        times, begin = [], time.perf_counter()
        while (before := time.perf_counter()) - begin < seconds:
            self.engine.raw()
            times.append((time.perf_counter() - before) * 1e3)
        return times

    def close(self):
        self.engine.model.close()


class TvmTurn:
    """TVM in a process and a Python environment of its own, which waits while others have their turn."""

    def __init__(self, folder, feed, reference, threads):
        self.temporary = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.temporary.name)
        self.answers = path / "outputs.npz"
        np.savez(path / "feed.npz", **{f"input{i}": feed[info.name]
                                       for i, info in enumerate(reference.session.get_inputs())})
        self.process = subprocess.Popen([str(TVM_PYTHON), str(PEER), "serve", str(folder / "tvm"), str(path / "feed.npz"),
                                         "--threads", str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"tvm_peer.py serve ended with {self.process.wait()}")
        return line

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def outputs(self):
        self.ask(f"outputs {self.answers}")
        saved = np.load(self.answers)
        return [saved[f"output{i}"] for i in range(len(saved.files))]

    def run(self, seconds):
        return json.loads(self.ask(f"run {seconds}"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.temporary.cleanup()


def ratio(rounds, others, draws=2000):
    """median(others) / median(rounds) over medians of rounds, with its 95 % bootstrap interval; rounds are pairs."""
    pairs = [(median(b), median(a)) for a, b in zip(rounds, others)]
    generator = random.Random(1)

    def value(chosen):
        return median([a for a, _ in chosen]) / median([b for _, b in chosen])

    spread = sorted(value([generator.choice(pairs) for _ in pairs]) for _ in range(draws))
    return value(pairs), spread[int(0.025 * draws)], spread[int(0.975 * draws)]


def row_of(work):
    state = work.state
    times = {name: median([median(one) for one in rounds]) for name, rounds in state["times"].items()}
    gain = ratio(state["times"]["tuned"], state["times"]["default"])
    row = {"network": pathlib.Path(work.name).stem, "threads": work.arguments.threads, "ms": times, "gain": gain,
           "errors": state["errors"], "tlm": dict(state["tlm"], seconds=state["tlm_seconds"])}
    if "tvm" in times:
        row["tvm"] = dict(state["tvm"], seconds=state["tvm_seconds"], ratio=ratio(state["times"]["tuned"],
                                                                                 state["times"]["tvm"]))
    return row


def table(rows, cpu, trials):
    versions = {row["tvm"]["version"] for row in rows if "tvm" in row}
    lines = [f"CPU: {cpu}. {trials} candidates a network, over its tasks where they gain most; f32, batch 1, milliseconds, median of "
             "medians over rounds that alternate; ratios with intervals of 95 %."
             + (f" TVM {', '.join(versions)}, MetaSchedule, weights packed in advance." if versions else ""), "",
             "| network | threads | tasks | default | tuned | default / tuned | search | TVM | TVM / tuned | its search |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        def text(three):
            return f"{three[0]:.3f} ({three[1]:.3f} to {three[2]:.3f})"
        tvm = row.get("tvm")
        peer = (f"{row['ms']['tvm']:.2f} | {text(tvm['ratio'])} | {tvm['trials']} candidates, {tvm['seconds'] / 60:.1f} min"
                if tvm else "- | - | -")
        lines.append(f"| {row['network']} | {row['threads']} | {row['tlm']['tasks']} | {row['ms']['default']:.2f} | "
                     f"{row['ms']['tuned']:.2f} | {text(row['gain'])} | {row['tlm']['trials']} candidates, "
                     f"{row['tlm']['seconds'] / 60:.1f} min | {peer} |")
    return "\n".join(lines)


def report(works, arguments):
    done = [work for work in works if "times" in work.state]
    if not done:
        print("tune networks: no network is done -> SKIPPED")
        return 77
    rows = [row_of(work) for work in done]
    text = table(rows, done[0].state["cpu"], arguments.trials)
    print(text)
    wrong = [f"{row['network']} ({name})" for row in rows for name, error in row["errors"].items() if not error < 1e-3]
    slow = [row["network"] for row in rows if row["gain"][0] < 1 / NOISE]
    good = not wrong and not slow
    verdict = (f"{len(rows)} networks of {len(works)}, {arguments.trials} trials: "
               + ", ".join(f"{row['network']} {row['gain'][0]:.3f}x of default in {row['tlm']['seconds'] / 60:.1f} min"
                           + (f", {row['tvm']['ratio'][0]:.2f}x of TVM ({row['tvm']['seconds'] / 60:.1f} min)"
                              if "tvm" in row else "") for row in rows)
               + (f", WRONG: {', '.join(wrong)}" if wrong else "") + (f", slower: {', '.join(slow)}" if slow else "")
               + f" -> {'OK' if good else 'FAILED'}")
    for path in arguments.results:
        write_section(path, "tune_networks.py", f"{text}\n\n`bench/tune_networks.py`: {verdict}\n", "## Networks, tuned\n\n")
    if arguments.json:
        arguments.json.write_text(json.dumps({"ok": good, "verdict": verdict, "rows": rows}, indent=1))
    print(f"tune networks: {verdict}")
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=["resnet50"], help="names of ../shared/models, or files")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/tune_networks")
    parser.add_argument("--minutes", type=float, help="stop after so long; the same command goes on")
    parser.add_argument("--without-tvm", action="store_true")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--results", nargs="*", default=[], metavar="FILE")
    arguments = parser.parse_args()
    deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
    works = [Work(arguments, name) for name in arguments.models]
    try:
        for work in works if not arguments.report_only else []:
            model = materialise(work.name, work.folder)
            if model and "times" not in work.state:
                work.tune(model, deadline)
                work.tune_tvm(model, deadline)
                work.measure(model)
    except OutOfTime:
        print("the time is up; the same command goes on", file=sys.stderr)
    return report(works, arguments)


if __name__ == "__main__":
    sys.exit(main())
