#!/usr/bin/env python3
"""split_memory.py [options] [OPT-125m | OPT-1.3b]...: what a client of HOSL needs.

For the six tasks of the HOSL paper (Liu et al. 2025), with its batches and the longest sequence of
each task (tables IV and V), LoRA r = 8 on q_proj and v_proj, cut after layer 5: planned resident
memory of our FO-FO client and of our HOSL client, beside what the paper reports of its own (table
III, GB of a GPU with its context). Of HOSL, too, with streamed weights (the same bits), then in its
smallest plan (the same bits, more time), with the paper's batch in four, accumulated (the same step),
and with other weights. The plan is for the longest sequences in every row of a batch, so it holds for
any batch. Prints Markdown. No weights are needed.

--measure VARIANT trains one step of --task's shape with random weights, over a local socket, with
one direction, which takes the memory of ten, and prints what both programs planned and took.
--first-probe ends as soon as the client waits for the server after its first forward: by then it has
held whatever it holds in a step, and the server has not had to work. --upper 1 gives the server one
layer, which changes nothing for the client and makes less to write.

    HONE_SHARED=... PATH=build/release/bin:$PATH bench/split_memory.py
    HONE_SHARED=... PATH=build/release/bin:$PATH bench/split_memory.py OPT-1.3b --measure streamed \\
        --task BoolQ --first-probe --upper 1
"""

import argparse
import functools
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import time

import process_memory
import settings
from build_tools import run_checked, run_main
from children import end_with_parent
from split_programs import serving, train_together

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The longest sequence of a task, in tokens.
TASKS = {"SST-2": 64, "WIC": 82, "WSC": 87, "BoolQ": 1049, "CB": 284, "RTE": 260}
BATCH = {"OPT-125m": 64, "OPT-1.3b": 8}
# GB of the client: FO-FO, HOSL.
PAPER = {
    "OPT-125m": {"SST-2": (0.86, 0.84), "WIC": (0.80, 0.84), "WSC": (0.92, 0.88),
                 "BoolQ": (8.67, 2.36), "CB": (1.04, 0.96), "RTE": (1.04, 0.97)},
    "OPT-1.3b": {"SST-2": (6.06, 5.78), "WIC": (6.15, 5.80), "WSC": (6.48, 5.90),
                 "BoolQ": (12.86, 6.18), "CB": (7.52, 6.15), "RTE": (7.40, 6.12)},
}
MEZO, BACKWARD = "method: mezo, directions: {}", "method: backprop"
# Method of the client, settings of `weights`, and of how many batches a batch is.
VARIANTS = {
    "FO-FO": (BACKWARD, "dtype: float32", 1),
    "HOSL": (MEZO, "dtype: float32", 1),
    "streamed": (MEZO, "dtype: float32, streaming: true", 1),
    "streamed-smallest": (MEZO, "dtype: float32, streaming: true", 1),
    "streamed-in-four": (MEZO, "dtype: float32, streaming: true", 4),
    "int8": (MEZO, "dtype: int8", 1),
}
SMALLEST = {"streamed-smallest"}  # in place of the default, which costs at most 5 % of the time
BELOW = 5  # layers of the client
SETTLED_SECONDS = 5


def write_spec(folder, model, variant, batch, length, directions):
    method, weights, parts = VARIANTS[variant]
    spec = folder / "spec.yaml"
    spec.write_text(f"""model: {model}
weights: {{{weights}}}
train: {{batch_size: {batch // parts}, gradient_accumulation_steps: {parts}, max_seq_length: {length},
        optimizer: sgd, learning_rate: 1e-4}}
parts:
  lower: {{layers: 0-{BELOW - 1}, {method.format(directions)}, program: client}}
  upper: {{method: backprop, program: server}}
""")
    return spec


@functools.cache
def engine_bytes():
    """Resident bytes that gRPC's engine adds to the plan of one of two programs, the same for all
    models."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run_checked(["hone-make-model", ROOT / "test/reliability/Inputs/small.json", "-o", folder / "model"])
        spec = folder / "spec.yaml"
        spec.write_text(f"""model: {folder}/model
train: {{batch_size: 1, max_seq_length: 8}}
parts:
  lower: {{layers: 0-0, method: mezo, program: client}}
  upper: {{method: backprop, program: server}}
""")
        run_checked(["honec", spec, "-o", folder / "out"])
        (folder / "data.jsonl").write_text('{"input_ids": [1, 2, 3, 4]}\n')
        def planned_resident(*options):
            said = run_checked([folder / "out/client/train", "--plan", "--data", folder / "data.jsonl", *options])
            return float(re.search(r"^ *planned resident +([\d.]+) MiB", said, re.MULTILINE).group(1))
        return round((planned_resident("--connect", f"unix:{folder}/socket") - planned_resident()) * 2**20)


def least_resident(spec):
    """Resident bytes of the client's smallest plan, which the error of a budget that is too small names."""
    done = subprocess.run(["honec", spec, "--print-plan", "--resident-budget=1"], text=True,
                          capture_output=True, preexec_fn=end_with_parent)
    # The client is planned first, so an error after a plan is the server's.
    if done.stdout:
        raise RuntimeError(f"{spec}: the client has a plan of one byte")
    found = re.search(r"\((\d+) bytes, the smallest plan for", done.stderr)
    if not found:
        raise RuntimeError(f"honec: {done.stderr.strip()}")
    return int(found.group(1))


def planned(folder, model, variant, batch, length):
    """Resident bytes of the client."""
    spec = write_spec(folder, model, variant, batch, length, 10)
    if variant in SMALLEST:
        return least_resident(spec) + engine_bytes()
    plan = json.loads(run_checked(["honec", spec, "--print-plan=json"]).splitlines()[0])
    return plan["resident_bytes"] + engine_bytes()


def state_and_seconds(pid):
    """A letter and the processor time."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_first_probe(out, folder, options):
    """Resident bytes of the client, which has worked and waits."""
    with serving(out, folder) as (server, command), (folder / "client.log").open("w") as log:
        client = subprocess.Popen([str(a) for a in [*command, *options]], stdout=log,
                                  stderr=subprocess.STDOUT, preexec_fn=end_with_parent)
        try:
            before, waited = 0, 0
            while waited < SETTLED_SECONDS:
                time.sleep(1)
                if client.poll() is not None or server.poll() is not None:
                    raise RuntimeError((folder / "client.log").read_text() + (folder / "server.log").read_text())
                state, now = state_and_seconds(client.pid)
                # Before it works it has used next to nothing. One that is stopped does not wait.
                waited = waited + 1 if state == "S" and now - before < 0.02 and now > 2 else 0
                before = now
            return process_memory.read_status(client.pid)
        finally:
            client.kill()
            client.wait()


def measure(options, folder, config, variant, batch, length):
    """Prints the memory of the programs in a step, or of the client in its first
    probe."""
    shape = json.loads((config / "config.json").read_text())
    if options.upper:
        shape["num_hidden_layers"] = BELOW + options.upper
    (folder / "config.json").write_text(json.dumps(shape))
    draw = random.Random(1)
    (folder / "data.jsonl").write_text("".join(
        json.dumps({"input_ids": [draw.randrange(4, shape["vocab_size"]) for _ in range(length)]}) + "\n"
        for _ in range(batch)))
    run_checked(["hone-make-model", folder / "config.json", "-o", folder / "model", "--dtype=bfloat16"])
    spec = write_spec(folder, folder / "model", variant, batch, length, 1)
    plan = json.loads(run_checked(["honec", spec, "--print-plan=json", "-o", folder / "out"]).splitlines()[0])
    client = ["--data", folder / "data.jsonl", "--steps", 1]
    if options.first_probe:
        _, resident = measure_first_probe(folder / "out", folder, client)
        print(f"client: resident {resident / 2**20:.1f} of {(plan['resident_bytes'] + engine_bytes()) / 2**20:.1f} MiB"
              " planned, to the end of its first probe")
        return
    for who, text in train_together(folder / "out", folder, client).items():
        for line in text.splitlines():
            if line.startswith(("peak ", "resident ")):
                print(f"{who}: {line}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", default=list(PAPER))
    # A budget is of both programs, so the server has none in which the client's smallest plan is forced.
    parser.add_argument("--measure", choices=[name for name in VARIANTS if name not in SMALLEST])
    parser.add_argument("--task", choices=TASKS, default="SST-2", help="whose length --measure has")
    parser.add_argument("--first-probe", action="store_true")
    parser.add_argument("--upper", type=settings.count, help="layers of the server; default: the shape's")
    options = parser.parse_args()
    configs = pathlib.Path(os.environ.get("HONE_SHARED", "shared")) / "data/configs"
    for shape in options.shapes:
        if shape not in PAPER:
            parser.error(f"expected {' or '.join(PAPER)} but found '{shape}'")
        batch = BATCH[shape]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if options.measure:
                print(f"{shape}, {options.task}, {options.measure}")
                measure(options, folder, configs / shape, options.measure, batch, TASKS[options.task])
                continue
            print(f"\n{shape}, batches of {batch}; in brackets how many times below the paper's HOSL\n")
            print(f"| task | longest | paper FO-FO | paper HOSL | our {' | our '.join(VARIANTS)} |")
            print("|---|" + "--:|" * (3 + len(VARIANTS)))
            for task, length in TASKS.items():
                theirs = PAPER[shape][task]
                cells = []
                for variant in VARIANTS:
                    ours = planned(folder, configs / shape, variant, batch, length) / 1e9
                    cells.append(f"{ours:.3f} GB ({theirs[1] / ours:.1f})")
                print(f"| {task} | {length} | {theirs[0]:.2f} GB | {theirs[1]:.2f} GB | {' | '.join(cells)} |",
                      flush=True)


if __name__ == "__main__":
    run_main(main)
