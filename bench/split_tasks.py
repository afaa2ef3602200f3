#!/usr/bin/env python3
"""split_tasks.py MODEL [options]: FO-FO, ZO-ZO and HOSL on tasks, as a client and a server.

Trains MODEL, cut after --below layers, on examples of SST-2, RTE and CB with MeZO's prompts: both
parts by backpropagation (FO-FO), both by MeZO (ZO-ZO), or MeZO below backpropagation (HOSL). The
programs meet over a local socket. Prints a Markdown table: the accuracy on the held-out examples,
before training too, what each program took of memory, what the client sends and receives in a step,
and the median step.

    HONE_SHARED=... PATH=build/release/bin:$PATH bench/split_tasks.py MODEL
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import tempfile

import settings
from build_tools import run_checked, run_main
from split_programs import train_together

DATA = {"sst2": ("train_sample4000.jsonl", "dev.jsonl"), "rte": ("train.jsonl", "val.jsonl"),
        "cb": ("train.jsonl", "val.jsonl")}
FIRST = "method: backprop, optimizer: adamw, learning_rate: {first}"
ZEROTH = "method: mezo, directions: {directions}, optimizer: sgd, learning_rate: {zeroth}"
METHODS = {"FO-FO": (FIRST, FIRST), "ZO-ZO": (ZEROTH, ZEROTH), "HOSL": (ZEROTH, FIRST)}


def number(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return float(found.group(1)) if found else float("nan")


def accuracy(said):
    """That of the last evaluation."""
    return re.findall(r"accuracy +([\d.]+)", said)[-1]


def write_spec(options, folder, task, parts):
    spec = folder / "spec.yaml"
    spec.write_text(f"""model: {options.model}
lora: {{r: 8, lora_alpha: 16, target_modules: all-linear}}
train: {{task: {task}, batch_size: {options.batch}, max_seq_length: {options.length}}}
{parts}""")
    return spec


def before(options, folder, task):
    run_checked(["honec", write_spec(options, folder, task, ""), "-o", folder / "whole"])
    return accuracy(run_checked([folder / "whole/train", "--eval-only", "--eval-data",
                                 options.data / task / DATA[task][1], "--too-long", "cut"]))


def row(options, folder, task, name):
    lower, upper = (part.format(**vars(options)) for part in METHODS[name])
    spec = write_spec(options, folder, task, f"""parts:
  lower: {{layers: 0-{options.below - 1}, {lower}, program: client}}
  upper: {{{upper}, program: server}}
""")
    run_checked(["honec", spec, "-o", folder / "out"])
    data, held_out = (options.data / task / file for file in DATA[task])
    said = train_together(
        folder / "out", folder,
        ["--data", data, "--eval-data", held_out, "--too-long", "cut"],
        ["--steps", options.steps, "--seed", options.seed, "--save-every", 0, "--threads", 1])
    steps = [json.loads(line) for line in (folder / "client/steps.jsonl").open()]
    steps = [step for step in steps if "loss" in step]
    median = lambda key: statistics.median(step.get(key, 0) for step in steps)
    peak = lambda program: number(r"^peak +([\d.]+) ", said[program])
    seconds = number(r"^step +([\d.]+) s", said["client"])
    return (f"| {task} | {name} | {accuracy(said['client'])} | {peak('client')} MiB | {peak('server')} MiB |"
            f" {median('sent_bytes') / 1024:.1f} KiB | {median('received_bytes') / 1024:.1f} KiB |"
            f" {seconds:.3f} s |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--data", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("HONE_SHARED", "../shared")) / "data")
    parser.add_argument("--tasks", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--below", type=settings.count, default=2, help="layers of the client")
    parser.add_argument("--steps", type=settings.count, default=500)
    parser.add_argument("--batch", type=settings.count, default=16)
    parser.add_argument("--length", type=settings.count, default=256)
    parser.add_argument("--directions", type=settings.count, default=10)
    parser.add_argument("--first", type=settings.positive, default=3e-3, help="rate of AdamW")
    parser.add_argument("--zeroth", type=settings.positive, default=1e-3, help="rate of MeZO's SGD")
    parser.add_argument("--seed", type=settings.whole(0), default=1)
    options = parser.parse_args()
    options.data = options.data.resolve()
    print("| task | method | accuracy | client | server | sent a step | received |"
          " step |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for task in options.tasks:
        with tempfile.TemporaryDirectory() as folder:
            print(f"| {task} | before | {before(options, pathlib.Path(folder), task)} | | | | | |",
                  flush=True)
        for name in options.methods:
            with tempfile.TemporaryDirectory() as folder:
                print(row(options, pathlib.Path(folder), task, name), flush=True)


if __name__ == "__main__":
    run_main(main)
