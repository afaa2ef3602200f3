#!/usr/bin/env python3
"""split_memory.py [--weights DTYPE] [--measure] [OPT-125m | OPT-1.3b]...: what a client of HOSL needs.

For the six tasks of the HOSL paper (Liu et al. 2025), with its batches and the longest sequence of
each task (tables IV and V), LoRA r = 8 on q_proj and v_proj, cut after layer 5: planned resident
memory of our HOSL client and of our FO-FO client, beside what the paper reports of its own (table
III, GB of a GPU with its context). The plan is for the longest sequences in every row of a batch, so
it holds for any batch. Prints Markdown. No weights are needed.

--measure trains one step of SST-2's shape with random weights, over a local socket, with one
direction, which takes the memory of ten, and prints what the client planned and took.

    HONE_SHARED=... PATH=build/release/bin:$PATH bench/split_memory.py
"""

import argparse
import json
import os
import pathlib
import random
import tempfile

from build_tools import run_checked, run_main
from split_programs import train_together

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
# What gRPC's engine adds for two programs: anonymous and mapped (docs/split-training.md).
ENGINE = (12 + 16) << 20


def write_spec(folder, model, dtype, batch, length, method):
    spec = folder / "spec.yaml"
    spec.write_text(f"""model: {model}
weights: {{dtype: {dtype}}}
train: {{batch_size: {batch}, max_seq_length: {length}, optimizer: sgd, learning_rate: 1e-4}}
parts:
  lower: {{layers: 0-4, {method}, program: client}}
  upper: {{method: backprop, program: server}}
""")
    return spec


def client(folder, model, dtype, batch, length, method):
    spec = write_spec(folder, model, dtype, batch, length, method)
    plan = json.loads(run_checked(["honec", spec, "--print-plan=json"]).splitlines()[0])
    return plan["resident_bytes"] + ENGINE, plan["weight_bytes"]


def measure(folder, config, dtype, batch, length, method):
    """What both programs say of their memory after a step."""
    vocabulary = json.loads((config / "config.json").read_text())["vocab_size"]
    draw = random.Random(1)
    (folder / "data.jsonl").write_text("".join(
        json.dumps({"input_ids": [draw.randrange(4, vocabulary) for _ in range(length)]}) + "\n"
        for _ in range(batch)))
    if not (folder / "model").exists():
        run_checked(["hone-make-model", config / "config.json", "-o", folder / "model",
                     "--dtype=bfloat16"])
    run_checked(["honec", write_spec(folder, folder / "model", dtype, batch, length, method), "-o",
                 folder / "out"])
    said = train_together(folder / "out", folder, ["--data", folder / "data.jsonl"], ["--steps", 1])
    for who, text in said.items():
        for line in text.splitlines():
            if line.startswith(("peak ", "resident ")):
                print(f"{who}: {line}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", nargs="*")
    parser.add_argument("--weights", default="float32")
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    configs = pathlib.Path(os.environ.get("HONE_SHARED", "shared")) / "data/configs"
    with tempfile.TemporaryDirectory() as name:
        for shape in options.shapes or list(PAPER):
            if options.measure:
                for method in ("method: mezo, directions: 1", "method: backprop"):
                    print(f"{shape}, SST-2, {method}")
                    with tempfile.TemporaryDirectory() as own:
                        measure(pathlib.Path(own), configs / shape, options.weights, BATCH[shape],
                                TASKS["SST-2"], method)
                continue
            print(f"\n{shape}, batches of {BATCH[shape]}, weights {options.weights}\n")
            print("| task | longest | paper FO-FO | paper HOSL | our FO-FO | our HOSL | of them"
                  " weights | below paper's FO-FO | below its HOSL |")
            print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
            for task, length in TASKS.items():
                first, theirs = PAPER[shape][task]
                model = configs / shape
                own, weights = client(pathlib.Path(name), model, options.weights,
                                      BATCH[shape], length, "method: mezo, directions: 10")
                ours, _ = client(pathlib.Path(name), model, options.weights, BATCH[shape], length,
                                 "method: backprop")
                print(f"| {task} | {length} | {first:.2f} GB | {theirs:.2f} GB | {ours / 1e9:.3f} GB"
                      f" | {own / 1e9:.3f} GB | {weights / 1e9:.3f} GB | {first * 1e9 / own:.2f} x |"
                      f" {theirs * 1e9 / own:.2f} x |", flush=True)


if __name__ == "__main__":
    run_main(main)
