#!/usr/bin/env python3
"""A network in TVM with MetaSchedule, for bench/tune_networks.py; runs in .venv-tvm (scripts/install --tvm).

tvm_peer.py tune MODEL.onnx --work DIR --trials N --threads T
    TVM's own pipeline for static shapes on CPUs (weights packed in advance); adds to what the database in
    DIR holds until it has N measured candidates, then writes DIR/network.so. Ends at once on SIGTERM:
    the database has what was measured. Prints the number of tasks and candidates as JSON.
tvm_peer.py serve DIR FEED.npz --threads T
    Loads it and answers lines on stdin: "outputs FILE" saves the outputs as npz, "run SECONDS" runs for so
    long and prints the times in ms as JSON.
"""
import argparse
import json
import os
import pathlib
import signal
import sys
import time

# TVM and its workers print on stdout as they like: the protocol has a copy of it.
protocol = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)


# Seconds for a candidate, to build and to run it; TVM's own 30 are not enough beside other work.
TIMEOUT = 300


def measured(work):
    path = work / "database_tuning_record.json"
    return sum(1 for line in path.open() if line.strip()) if path.exists() else 0


def storing(builder, scheduler, tasks):
    """The builder, before whose every batch the results of the one before go into the database: on its own the
    scheduler keeps them back until it comes to the same task again, and a run that is stopped loses them."""
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.builder import PyBuilder

    @derived_object
    class Storing(PyBuilder):
        def build(self, build_inputs):
            for task in range(tasks):
                scheduler.touch_task(task)
            return builder.build(build_inputs)

    return Storing()


def tune(arguments):
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.s_tir import meta_schedule
    from tvm.target import codegen

    target = tvm.target.Target({"kind": "llvm", "mtriple": codegen.llvm_get_system_triple(),
                                "mcpu": codegen.llvm_get_system_cpu(), "num-cores": arguments.threads})
    model = onnx.load(arguments.model)
    module = from_onnx(model, keep_params_in_input=False)
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    with target:
        # What the pipeline below does before it tunes: it has no way to say how long a candidate may take.
        prepared = tvm.transform.Sequential([
            relax.transform.DecomposeOpsForInference(), relax.transform.CanonicalizeBindings(),
            relax.get_pipeline("zero"), relax.transform.AttachAttrLayoutFreeBuffers()])(module)
        tasks = meta_schedule.relax_integration.extract_tasks(prepared, target)
        left = arguments.trials - measured(work)
        if left > 0:
            scheduler = meta_schedule.TaskScheduler.create("gradient")
            # Half of the candidates go to every task alike, so that none is without a schedule, the others to where
            # they gain most.
            meta_schedule.relax_integration.tune_relax(
                prepared, {}, target, str(work), max_trials_global=left,
                num_trials_per_iter=max(1, min(64, arguments.trials // (2 * len(tasks)))),
                builder=storing(meta_schedule.builder.LocalBuilder(timeout_sec=TIMEOUT), scheduler, len(tasks)),
                runner=meta_schedule.runner.LocalRunner(timeout_sec=TIMEOUT), task_scheduler=scheduler)
        module = relax.pipeline.static_shape_tuning_pipeline(
            total_trials=0, target=target, work_dir=str(work), cpu_weight_prepack=True)(module)
    executable = tvm.compile(module, target=target)
    machine = relax.VirtualMachine(executable, tvm.cpu())
    constants = [list(module["main"].params)[i] for i in range(len(model.graph.input), len(module["main"].params))]
    packs = "main_transform_params" in [v.name_hint for v in module.functions]
    parameters = list(machine["main_transform_params"]([])) if packs else []
    if len(parameters) != len(constants):
        raise SystemExit(f"main takes {len(constants)} weights, {len(parameters)} were packed")
    executable.export_library(str(work / "network.so"))
    tvm.runtime.save_param_dict_to_file({f"p{i}": p for i, p in enumerate(parameters)}, str(work / "network.params"))
    print(json.dumps({"tasks": len(tasks), "trials": measured(work), "version": tvm.__version__,
                      "mcpu": codegen.llvm_get_system_cpu()}), file=protocol)


def serve(arguments):
    import numpy as np
    import tvm
    from tvm import relax

    machine = relax.VirtualMachine(tvm.runtime.load_module(str(arguments.work / "network.so")), tvm.cpu())
    weights = tvm.runtime.load_param_dict_from_file(str(arguments.work / "network.params"))
    feed = np.load(arguments.feed)
    inputs = [tvm.runtime.tensor(feed[f"input{i}"]) for i in range(len(feed.files))]
    inputs += [weights[f"p{i}"] for i in range(len(weights))]
    main = machine["main"]
    print("ready", file=protocol)
    for line in sys.stdin:
        command, value = line.split(maxsplit=1)
        if command == "outputs":
            outputs = main(*inputs)
            outputs = [outputs] if hasattr(outputs, "numpy") else list(outputs)
            np.savez(value.strip(), **{f"output{i}": y.numpy() for i, y in enumerate(outputs)})
            print("saved", file=protocol)
        else:
            times, begin = [], time.perf_counter()
            while (before := time.perf_counter()) - begin < float(value):
                main(*inputs)
                times.append((time.perf_counter() - before) * 1e3)
            print(json.dumps(times), file=protocol)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("tune")
    command.add_argument("model")
    command.add_argument("--work", type=pathlib.Path, required=True)
    command.add_argument("--trials", type=int, required=True)
    command.add_argument("--threads", type=int, required=True)
    command = commands.add_parser("serve")
    command.add_argument("work", type=pathlib.Path)
    command.add_argument("feed")
    command.add_argument("--threads", type=int, required=True)
    arguments = parser.parse_args()
    os.environ["TVM_NUM_THREADS"] = str(arguments.threads)
    # The processes that build and measure are in this group.
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    (tune if arguments.command == "tune" else serve)(arguments)


if __name__ == "__main__":
    main()
