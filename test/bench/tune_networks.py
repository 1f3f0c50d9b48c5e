#!/usr/bin/env python3
"""The report of bench/tune_networks.py from state files: its figures, and when it says FAILED."""
import json
import pathlib
import sys
import tempfile

from expectations import HAND_WRITTEN, Expectations, run

ROUNDS = 5
TVM = dict(version="0.25.0", trials=96)


def state(default, tuned, tvm=None, error=1e-6):
    """What the script keeps of a network whose engines took so many milliseconds, in every round."""
    times = dict(default=default, tuned=tuned, **({"tvm": tvm} if tvm else {}))
    return dict(cpu="A CPU", tlm=dict(tasks=28, trials=100, default_ms=1.0, best_ms=1.0), tlm_seconds=90.0,
                times={name: [[ms, ms, 3 * ms]] * ROUNDS for name, ms in times.items()},
                errors={name: error if name == "tuned" else 0.0 for name in times},
                **(dict(tvm=TVM, tvm_seconds=600.0) if tvm else {}))


def report(folder, states, *more):
    for name, kept in states.items():
        place = folder / f"{name}.100.2"
        place.mkdir(parents=True, exist_ok=True)
        (place / "state.json").write_text(json.dumps(kept))
    return run("bench/tune_networks.py", "--report-only", "--work", folder, "--trials", 100, "--models", *states, *more)


def figures(expect, folder):
    results, fresh, facts = folder / "results.md", folder / "fresh.md", folder / "facts.json"
    results.write_text(HAND_WRITTEN.format(name="tune_networks.py"))
    ran = report(folder / "good", {"first": state(8.0, 4.0, 5.0), "second": state(2.0, 2.0)}, "--results", results, fresh,
                 "--json", facts)
    verdict = ("2 networks of 2, 100 trials: first 2.000x of default in 1.5 min, 1.25x of TVM (10.0 min), "
               "second 1.000x of default in 1.5 min -> OK")
    rows = ["| first | 2 | 28 | 8.00 | 4.00 | 2.000 (2.000 to 2.000) | 100 candidates, 1.5 min | 5.00 | "
            "1.250 (1.250 to 1.250) | 96 candidates, 10.0 min |",
            "| second | 2 | 28 | 2.00 | 2.00 | 1.000 (1.000 to 1.000) | 100 candidates, 1.5 min | - | - | - |"]
    expect.ends(ran, 0, f"tune networks: {verdict}", "CPU: A CPU. 100 candidates a network", "TVM 0.25.0, MetaSchedule", *rows)
    expect.section(results, *rows, f"`bench/tune_networks.py`: {verdict}")
    expect.holds(fresh.read_text().startswith("## Networks, tuned\n\n<!-- tune_networks.py -->\n"), "no heading", fresh.read_text())
    kept = json.loads(facts.read_text())
    expect.holds(kept["ok"] is True and kept["rows"][0]["gain"] == [2.0, 2.0, 2.0] and kept["rows"][0]["ms"]["tvm"] == 5.0
                 and "tvm" not in kept["rows"][1], "other figures in the JSON", facts.read_text())


def verdicts(expect, folder):
    """Never slower, never wrong; without TVM all the same."""
    facts = folder / "facts.json"
    alone = report(folder / "alone", {"net": state(8.0, 4.0)})
    expect.ends(alone, 0, "net 2.000x of default in 1.5 min -> OK")
    expect.holds("TVM 0" not in alone[1] and "of TVM" not in alone[1], "a TVM that did not run", alone[1])
    expect.ends(report(folder / "behind", {"net": state(8.0, 4.0, 2.0)}), 0, "0.50x of TVM (10.0 min) -> OK")
    expect.ends(report(folder / "noise", {"net": state(1.0, 1.008)}), 0, "net 0.992x of default", "-> OK")
    slow = report(folder / "slow", {"net": state(1.0, 1.012), "fast": state(8.0, 4.0)}, "--json", facts)
    expect.ends(slow, 1, "net 0.988x of default", ", slower: net -> FAILED")
    expect.holds(json.loads(facts.read_text())["ok"] is False, "ok in the JSON", facts.read_text())
    expect.ends(report(folder / "wrong", {"net": state(8.0, 4.0, 4.0, error=2e-3), "right": state(8.0, 4.0)}), 1,
                ", WRONG: net (tuned) -> FAILED")
    expect.ends(report(folder / "nan", {"net": state(8.0, 4.0, error=float("nan"))}), 1, ", WRONG: net (tuned) -> FAILED")


def unfinished(expect, folder):
    searched = state(8.0, 4.0)
    del searched["times"], searched["errors"]
    expect.ends(report(folder / "half", {"net": state(8.0, 4.0), "later": searched}), 0, "1 networks of 2, 100 trials: net 2.000x")
    expect.ends(report(folder / "none", {"later": searched}), 77, "no network is done -> SKIPPED")
    expect.ends(report(folder / "new", {}, "unknown"), 77, "no network is done -> SKIPPED")


def spread(expect, folder):
    """One bad round of five moves neither median; the interval shows that there was one."""
    uneven = state(8.0, 4.0)
    uneven["times"]["tuned"] = [*uneven["times"]["tuned"][1:], [16.0, 16.0, 16.0]]
    ran = report(folder / "uneven", {"net": uneven})
    expect.ends(ran, 0, "| 8.00 | 4.00 | 2.000 (0.500 to 2.000) |")


def main():
    expect = Expectations("bench tune_networks")
    with tempfile.TemporaryDirectory() as name:
        for part in (figures, verdicts, unfinished, spread):
            part(expect, pathlib.Path(name))
    return expect.verdict()


if __name__ == "__main__":
    sys.exit(main())
