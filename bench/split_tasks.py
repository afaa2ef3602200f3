#!/usr/bin/env python3
"""split_tasks.py MODEL [options]: FO-FO, ZO-ZO and HOSL on tasks, as a client and a server.

Trains MODEL, cut after --below layers, on examples of SST-2, RTE and CB with MeZO's prompts: both
parts by backpropagation (FO-FO), both by MeZO (ZO-ZO), or MeZO below backpropagation (HOSL). The
programs meet over a local socket. Prints a Markdown table: the accuracy on the held-out examples,
before training too, what each program took of memory, what the client sends and receives in a step,
and the median step. --times trains the same rows without evaluations and prints their steps alone.

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

DATA = {"sst2": ("train_sample4000.jsonl", "dev.jsonl"), "cb": ("train.jsonl", "val.jsonl"),
        "rte": ("train.jsonl", "val.jsonl")}
# Of a task, unless the option gives it.
DEFAULTS = {"sst2": {"steps": 400, "batch": 16, "directions": 4},
            "cb": {"steps": 150, "batch": 8, "directions": 2},
            "rte": {"steps": 150, "batch": 8, "directions": 2}}
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


def compile_row(options, folder, task, name):
    lower, upper = (part.format(**vars(options)) for part in METHODS[name])
    spec = write_spec(options, folder, task, f"""parts:
  lower: {{layers: 0-{options.below - 1}, {lower}, program: client}}
  upper: {{{upper}, program: server}}
""")
    run_checked(["honec", spec, "-o", folder / "out"])


def train_row(options, folder, task, more):
    """The output of both programs; `more` are options of the client."""
    return train_together(
        folder / "out", folder, ["--data", options.data / task / DATA[task][0], "--too-long", "cut",
                                          "--save-every", 0, *more],
        ["--steps", options.steps, "--seed", options.seed, "--threads", 1])


def seconds(said):
    return number(r"^step +([\d.]+) s", said["client"])


def row(options, folder, task, name):
    compile_row(options, folder, task, name)
    said = train_row(options, folder, task, ["--eval-data", options.data / task / DATA[task][1]])
    steps = [json.loads(line) for line in (folder / "client/steps.jsonl").open()]
    steps = [step for step in steps if "loss" in step]
    median = lambda key: statistics.median(step.get(key, 0) for step in steps)
    peak = lambda program: number(r"^peak +([\d.]+) ", said[program])
    return (f"| {task} | {name} | {accuracy(said['client'])} | {peak('client')} MiB | {peak('server')} MiB |"
            f" {median('sent_bytes') / 1024:.1f} KiB | {median('received_bytes') / 1024:.1f} KiB |"
            f" {seconds(said):.3f} s |")


def print_times(options):
    """All is compiled before the first row is trained."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [(of_task(options, task), task, name, pathlib.Path(folder) / f"{task}-{name}")
                for task in options.tasks for name in options.methods]
        for of, task, name, own in rows:
            own.mkdir()
            compile_row(of, own, task, name)
        print("| task | method | step |\n|---|---|--:|")
        for of, task, name, own in rows:
            print(f"| {task} | {name} | {seconds(train_row(of, own, task, [])):.3f} s |", flush=True)


def of_task(options, task):
    given = {key: value for key, value in vars(options).items() if value is not None}
    return argparse.Namespace(**{**DEFAULTS[task], **given})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--data", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("HONE_SHARED", "../shared")) / "data")
    parser.add_argument("--tasks", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--below", type=settings.count, default=2, help="layers of the client")
    parser.add_argument("--steps", type=settings.count)
    parser.add_argument("--batch", type=settings.count)
    parser.add_argument("--length", type=settings.count, default=256)
    parser.add_argument("--directions", type=settings.count)
    parser.add_argument("--first", type=settings.positive, default=3e-3, help="rate of AdamW")
    parser.add_argument("--zeroth", type=settings.positive, default=1e-3, help="rate of MeZO's SGD")
    parser.add_argument("--seed", type=settings.whole(0), default=1)
    parser.add_argument("--times", action="store_true", help="no evaluations, and steps alone")
    options = parser.parse_args()
    options.data = options.data.resolve()
    if options.times:
        print_times(options)
        return
    print("| task | method | accuracy | client | server | sent a step | received |"
          " step |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for task in options.tasks:
        with tempfile.TemporaryDirectory() as folder:
            print(f"| {task} | before | {before(of_task(options, task), pathlib.Path(folder), task)} | | | | | |",
                  flush=True)
        for name in options.methods:
            with tempfile.TemporaryDirectory() as folder:
                print(row(of_task(options, task), pathlib.Path(folder), task, name), flush=True)


if __name__ == "__main__":
    run_main(main)
