#!/usr/bin/env python3
"""split_memory.py [OPT-125m | OPT-1.3b]...: what a client of HOSL needs, by the plan.

For the six tasks of the HOSL paper (Liu et al. 2025), with its batches and the longest sequence of
each task (tables IV and V), LoRA r = 8 on q_proj and v_proj, cut after layer 5: planned resident
memory of our HOSL client and of our FO-FO client, beside what the paper reports of its own (table
III, GB of a GPU with its context). The plan is for the longest sequences in every row of a batch, so
it holds for any batch. Prints Markdown. No weights are needed.

    HONE_SHARED=... PATH=build/release/bin:$PATH bench/split_memory.py
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

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


def client(folder, model, batch, length, method):
    spec = folder / "spec.yaml"
    spec.write_text(f"""model: {model}
train: {{batch_size: {batch}, max_seq_length: {length}, optimizer: sgd, learning_rate: 1e-4}}
parts:
  lower: {{layers: 0-4, {method}, program: client}}
  upper: {{method: backprop, program: server}}
""")
    done = subprocess.run(["honec", spec, "--print-plan=json"], text=True, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr)
    plan = json.loads(done.stdout.splitlines()[0])
    return plan["resident_bytes"] + ENGINE, plan["weight_bytes"]


def main():
    configs = pathlib.Path(os.environ.get("HONE_SHARED", "shared")) / "data/configs"
    with tempfile.TemporaryDirectory() as name:
        for shape in sys.argv[1:] or list(PAPER):
            print(f"\n{shape}, batches of {BATCH[shape]}\n")
            print("| task | longest | paper FO-FO | paper HOSL | our FO-FO | our HOSL | of them"
                  " weights | below paper's FO-FO | below its HOSL |")
            print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
            for task, length in TASKS.items():
                first, theirs = PAPER[shape][task]
                model = configs / shape
                own, weights = client(pathlib.Path(name), model, BATCH[shape], length,
                                      "method: mezo, directions: 10")
                ours, _ = client(pathlib.Path(name), model, BATCH[shape], length,
                                 "method: backprop")
                print(f"| {task} | {length} | {first:.2f} GB | {theirs:.2f} GB | {ours / 1e9:.3f} GB"
                      f" | {own / 1e9:.3f} GB | {weights / 1e9:.3f} GB | {first * 1e9 / own:.2f} x |"
                      f" {theirs * 1e9 / own:.2f} x |", flush=True)


if __name__ == "__main__":
    main()
