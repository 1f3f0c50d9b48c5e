"""Commands of several stages that go on where they were stopped: what is done stands in OUT/NAME.json."""
import json
import pathlib
import subprocess


class Failed(Exception):
    pass


def run(*command, **more):
    """Its output, which is printed, too."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, text=True, **more)
    print(done.stdout, end="", flush=True)
    if done.returncode:
        raise Failed(f"{pathlib.Path(command[0]).name} ended with {done.returncode}")
    return done.stdout


def run_stages(name, out, wanted, stages, until):
    """Calls the stages, (name, function of the state) pairs, that are not done yet, the one named `until`
    being the last; the state is a dictionary that outlives the command. The last stage of all is never
    done: it looks itself after what there is. `wanted` is what the results depend on: another one is
    refused. Returns the exit code."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{name}.json"
    state = json.loads(file.read_text()) if file.exists() else dict(options=wanted, done=[])
    try:
        if state["options"] != wanted:
            raise Failed(f"{out} was begun with {state['options']}, not {wanted}")
        for stage, function in stages:
            if stage not in state["done"]:
                print(f"== {stage}", flush=True)
                function(state)
                if stage != stages[-1][0]:
                    state["done"].append(stage)
                partial = file.with_suffix(".partial")
                partial.write_text(json.dumps(state))
                partial.replace(file)
            if stage == until:
                break
    except Failed as failure:
        print(f"{name}: FAILED: {failure}")
        return 1
    print(f"{name}: OK")
    return 0
