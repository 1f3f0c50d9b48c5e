#!/usr/bin/env python3
"""What tlm does with hostile files: refuse them, and never crash, hang or leak.

First the known kinds of damage to models, in the unit tests of the importer under
ASan and UBSan and in the table of bad input of the tool; then libFuzzer, for every
format of a file that a user may hand over: models from seeds of ONNX's own operator
cases, for four tenths of the time, and the others in equal parts. No file may take
10 s or 1 GB. Files that broke something stay in build-fuzz/hostile and are named.

usage: hostile_files.py [--minutes 10] [--only NAME ...] [--json FILE]
Configures and builds the preset `fuzz` where it is not up to date; the table and
some of the seeds need scripts/build.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TLM_BIN", ROOT / "build/bin"))
BUILD = ROOT / "build-fuzz"
KEPT = BUILD / "hostile"
UNIT_SECONDS, UNIT_MB = 10, 1024
SLOW_SECONDS = 5       # such units are kept, but are no failure
EXIT_SECONDS = 120     # what libFuzzer may take beyond its minutes
KINDS_SECONDS = 600    # for all the unit tests
MODELS_SHARE = 0.4     # of the minutes, for the importer

# What is fuzzed: a name, the program and the longest input.
FUZZERS = [
    ("models", "tlm_import_fuzz", 8192),                         # twice the largest seed
    ("tensors: .npy, .npz, .pb", "tlm_tensor_files_fuzz", 4096),
    ("tasks and schedules", "tlm_space_fuzz", 256),
    ("sentences", "tlm_sentence_fuzz", 512),
    ("files of sentences", "tlm_sentences_fuzz", 8192),
    ("weights, adapters, configurations", "tlm_model_fuzz", 16384),
    ("records as lines", "tlm_records_fuzz", 256),
    ("stores of records", "tlm_store_fuzz", 64),
]

# Each kind of damage has at least one unit test.
KINDS = [
    ("cut anywhere", ["OnnxReaderDamage.TruncatedAnywhere"]),
    ("every bit flipped", ["OnnxReaderDamage.EveryBitFlipped"]),
    ("random bytes", ["OnnxReaderDamage.RandomBytesOverwritten"]),
    ("no model at all", ["OnnxReaderTest.MissingEmptyAndForeignFiles"]),
    ("cycles", ["ImportBroken.Cycle"]),
    ("duplicate names", ["ImportBroken.DuplicateNames"]),
    ("missing inputs", ["ImportBroken.MissingInputsAndOutputs", "ImportBroken.OperandCounts"]),
    ("wrong element types", ["ImportBroken.Types", "OnnxReader.TensorDataMustMatchItsType"]),
    ("negative dims", ["ImportShapes.NegativeDims"]),
    ("dims whose product overflows", ["ImportShapes.HugeInput", "ImportShapes.HugeResult"]),
    ("lists beyond all bounds", ["ImportLists.TooLongAreRefused", "ImportLists.ManyArePaidForTogether"]),
    ("external data: .., absolute, links", ["OnnxReaderTest.ExternalDataMustStayInTheFolder"]),
    ("external data that does not fit", ["OnnxReaderTest.ExternalDataMustFitTheFile"]),
]


def build():
    targets = [program for _, program, _ in FUZZERS]
    steps = [["cmake", "--build", "--preset", "fuzz", "--target", *targets, "tlm_import_test"]]
    if not (BUILD / "build.ninja").exists():
        steps.insert(0, ["cmake", "--preset", "fuzz"])
    for step in steps:
        done = subprocess.run(step, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{done.stdout}{done.stderr}{' '.join(step)}: exit {done.returncode}")


def known_kinds(folder):
    """One row per kind: its tests, how many of them passed, how many files they damaged."""
    report = folder / "gtest.json"
    names = [name for _, tests in KINDS for name in tests]
    command = [str(BUILD / "bin/tlm_import_test"), "--gtest_filter=" + ":".join(names),
               f"--gtest_output=json:{report}", "--gtest_brief=1"]
    try:
        subprocess.run(command, stdout=sys.stderr, timeout=KINDS_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"the unit tests did not end in {KINDS_SECONDS} s", file=sys.stderr)
    found = {}
    if report.exists():     # not after a hang or a sanitizer's report
        for suite in json.loads(report.read_text())["testsuites"]:
            for test in suite["testsuite"]:
                found[f"{suite['name']}.{test['name']}"] = test
    rows = []
    for kind, tests in KINDS:
        passed = [found[t] for t in tests if t in found and "failures" not in found[t]]
        rows.append(dict(kind=kind, tests=len(tests), passed=len(passed), ok=len(passed) == len(tests),
                         damaged_files=sum(int(t.get("damaged_files", 0)) for t in passed)))
    return rows


def bad_input(folder):
    """The table of the tool: how many cases there are and how many went as they must."""
    environment = dict(os.environ, TLM_BIN=str(tools()))
    report = folder / "bad_input.json"
    done = subprocess.run([sys.executable, str(ROOT / "test/e2e/bad_input.py"), "--json", str(report)],
                          env=environment, stdout=sys.stderr)
    cases = json.loads(report.read_text())["cases"] if report.exists() else {}
    return dict(cases=len(cases), passed=sum(v == "OK" for v in cases.values()),
                ok=done.returncode == 0 and bool(cases))


def tools():
    """Where tlm is: the preset `fuzz` has none of its own."""
    return BIN if (BIN / "tlm").exists() else ROOT / "build/bin"


def children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tensor_seeds(seeds):
    import numpy as np
    from onnx import numpy_helper
    for name, array in (("f32", np.arange(6, dtype=np.float32).reshape(2, 3)), ("i64", np.arange(4)),
                        ("f16", np.ones((3, 1), np.float16, order="F")), ("bool", np.zeros(0, bool))):
        np.save(seeds / f"{name}.npy", array)
        np.savez(seeds / f"{name}.npz", a=array, b=array)
        np.savez_compressed(seeds / f"{name}.z.npz", a=array)
        (seeds / f"{name}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def seeds_of(program, seeds):
    """Writes sound files; programs without any make theirs themselves."""
    def run(*command):
        subprocess.run([str(word) for word in command], check=True, stdout=sys.stderr)
    seeds.mkdir()
    if program == "tlm_import_fuzz":
        run(sys.executable, ROOT / "test/fuzz/import_seeds.py", seeds)
    elif program == "tlm_tensor_files_fuzz":
        tensor_seeds(seeds)
    elif program == "tlm_sentences_fuzz":
        run(tools() / "tlm-sentences", "random", ROOT / "test/lit/Inputs/conv.task", "-o", seeds / "conv.tlms",
            "--answers", 4, "--mcpu", "x86-64-v4", "--threads", 2)
    elif program == "tlm_model_fuzz":
        run(tools() / "tlm-random-model", seeds, "--words", 7, "--positions", 1, "--layers", 1, "--heads", 1,
            "--width", 16)


def fuzz(name, program, max_len, minutes, folder):
    seeds, corpus = folder / f"{program}.seeds", folder / f"{program}.corpus"
    corpus.mkdir()
    seeds_of(program, seeds)
    KEPT.mkdir(exist_ok=True)
    before = set(KEPT.iterdir())
    seconds = max(1, round(minutes * 60))   # 0 would be for ever
    command = [str(BUILD / "bin" / program), f"-max_total_time={seconds}", f"-timeout={UNIT_SECONDS}",
               f"-rss_limit_mb={UNIT_MB}", f"-max_len={max_len}", "-len_control=0", f"-report_slow_units={SLOW_SECONDS}",
               f"-artifact_prefix={KEPT}/{program}-", "-print_final_stats=1", str(corpus), str(seeds)]
    log, cpu_before = folder / f"{program}.log", children_cpu_seconds()
    with log.open("wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        try:
            status = child.wait(seconds + EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            status = None
    cpu_seconds = children_cpu_seconds() - cpu_before   # far below the wall's: a loaded machine
    text = log.read_text(errors="replace")
    stats = {name: int(value) for name, value in re.findall(r"^stat::(\w+):\s+(\d+)$", text, re.M)}
    ran = re.search(r"^Done \d+ runs in (\d+) second", text, re.M)
    seed = re.search(r"^INFO: Seed: (\d+)$", text, re.M)
    kept = [alone(program, str(p.relative_to(ROOT))) for p in sorted(set(KEPT.iterdir()) - before)]
    result = dict(name=name, program=program, seed=int(seed[1]) if seed else None, exit=status, kept=kept,
                  units=stats.get("number_of_executed_units", 0), seconds=int(ran[1]) if ran else None,
                  cpu_seconds=cpu_seconds,
                  slowest_seconds=stats.get("slowest_unit_time_sec"), peak_mb=stats.get("peak_rss_mb"))
    result["faults"] = faults_of(result, text)
    if result["faults"]:
        (KEPT / f"{program}.log").write_text(text)
        print("\n".join(text.splitlines()[-60:]), file=sys.stderr)
    return result


def alone(program, path):
    """Seconds of CPU of a kept file in a process of its own: whatever else ran beside the fuzzer."""
    child = subprocess.Popen([str(BUILD / "bin" / program), str(ROOT / path), f"-rss_limit_mb={UNIT_MB}",
                              f"-timeout={10 * UNIT_SECONDS}"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return dict(path=path, cpu_seconds=usage.ru_utime + usage.ru_stime, exit=child.returncode)


def faults_of(result, text):
    """In words; empty after a whole run without any."""
    if result["exit"] is None:
        return ["libFuzzer did not end"]
    words = {"LeakSanitizer": "leak", "libFuzzer: timeout": "hang", "libFuzzer: out-of-memory": "memory"}
    found = [word for sign, word in words.items() if f"ERROR: {sign}" in text]
    if result["exit"] and not found:
        found = ["crash"]
    if not found and (not result["units"] or result["seconds"] is None):
        found = ["no statistics"]
    return found


def told(faults):
    return ", ".join(faults) or "no crash, hang or leak"


def share_of(program, chosen):
    """Of the minutes."""
    others = sum(other != "tlm_import_fuzz" for _, other, _ in chosen)
    if len(chosen) in (1, others):
        return 1 / len(chosen)
    return MODELS_SHARE if program == "tlm_import_fuzz" else (1 - MODELS_SHARE) / others


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", nargs="*", default=[program for _, program, _ in FUZZERS], metavar="NAME",
                        help="programs that fuzz, tlm_import_fuzz for example")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    chosen = [row for row in FUZZERS if row[1] in arguments.only]
    if len(chosen) < len(set(arguments.only)):
        parser.error("--only: there are " + ", ".join(program for _, program, _ in FUZZERS))
    build()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        kinds = known_kinds(folder)
        for row in kinds:
            files = f", {row['damaged_files']} files" if row["damaged_files"] else ""
            print(f"{row['kind']:36} {row['passed']} of {row['tests']} tests{files}", flush=True)
        table = bad_input(folder)
        print(f"{'bad input of every command':36} {table['passed']} of {table['cases']} cases", flush=True)
        fuzzed = []
        for name, program, max_len in chosen:
            share = share_of(program, chosen)
            result = fuzz(name, program, max_len, share * arguments.minutes, folder)
            fuzzed.append(result)
            print(f"{name:36} {result['units']} units in {result['seconds']} s ({result['cpu_seconds']:.0f} s of CPU), slowest "
                  f"{result['slowest_seconds']} s, peak {result['peak_mb']} MB, {told(result['faults'])}", flush=True)
            for unit in result["kept"]:
                print(f"kept: {unit['path']}: alone {unit['cpu_seconds']:.1f} s of CPU, exit {unit['exit']}")
    faults = [f"{result['program']}: {fault}" for result in fuzzed for fault in result["faults"]]
    good = all(row["ok"] for row in kinds) and table["ok"] and not faults
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(
            dict(ok=good, unit_seconds=UNIT_SECONDS, unit_mb=UNIT_MB, kinds=kinds, bad_input=table,
                 fuzz=fuzzed), indent=1))
    print(f"hostile files: {sum(row['ok'] for row in kinds)} of {len(kinds)} known kinds, "
          f"{table['passed']} of {table['cases']} bad inputs; {len(fuzzed)} formats, {sum(r['units'] for r in fuzzed)} units in "
          f"{sum(r['seconds'] or 0 for r in fuzzed)} s ({sum(r['cpu_seconds'] for r in fuzzed):.0f} s of CPU), {told(faults)} "
          f"-> {'OK' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
