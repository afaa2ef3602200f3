#!/usr/bin/env python3
"""gains.py [options]: what a second program gains, beside a second thread and beside what hone-simulate predicts.

One model, HOSL and AsyncFGD with two modules: a step of one program with one thread, of the same
with two threads, and of two programs with a core and a thread each, which meet over gRPC with TLS on
this machine. Every call measures a round and adds it to FOLDER/rounds.jsonl; --table makes a Markdown
table of them. The gain of a round is predicted from the profiles of the round before, so the first
one is in no median. Random weights.

    HONE_SHARED=... PATH=build/release/bin:$PATH bench/gains.py --folder FOLDER --prepare
    HONE_SHARED=... PATH=build/release/bin:$PATH bench/gains.py --folder FOLDER # as many rounds as calls
    HONE_SHARED=... PATH=build/release/bin:$PATH bench/gains.py --folder FOLDER --table
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import time

import predictions
import settings
from build_tools import run_checked, run_main

DEFAULT_MODEL = pathlib.Path(os.environ.get("HONE_SHARED", "../shared")) / "data/configs/Qwen2.5-0.5B"
# Keys of `train`, and other keys; of two programs and of one.
SCHEDULES = {
    "HOSL": ("", """parts:
  lower: {{layers: 0-{last}, method: mezo, directions: {directions}{client}}}
  upper: {{method: backprop{server}}}
"""),
    "AsyncFGD": (", method: fgd{modules}", ""),
}
APART = {"client": ", program: client", "server": ", program: server",
         "modules": ", modules: 2, asynchronous: true"}
WHOLE = dict.fromkeys(APART, "")


def compile_program(options, folder, schedule, length, name, words):
    train, more = (text.format(last=options.below - 1, directions=options.directions, **words)
                   for text in SCHEDULES[schedule])
    exchange = "exchange: {in_flight: 2}\n" if schedule == "HOSL" and words is APART else ""
    spec = folder / f"{name}.yaml"
    spec.write_text(f"""model: {options.folder}/model
weights: {{dtype: bfloat16}}
lora: {{r: 8, dtype: bfloat16}}
train: {{compute_dtype: bfloat16, batch_size: 1, max_seq_length: {length}, learning_rate: 1e-4{train}}}
{more}{exchange}""")
    if not (folder / name).exists():
        run_checked(["honec", spec, "-o", folder / "unfinished"])
        (folder / "unfinished").rename(folder / name)


def prepare(options, schedule, length):
    """The folder of a schedule's programs: one by the schedule's name, and `whole`."""
    options.folder.mkdir(parents=True, exist_ok=True)
    if not (options.folder / "model").exists():
        run_checked(["hone-make-model", options.model / "config.json", "-o",
                     options.folder / "model", "--dtype=bfloat16"])
    folder = options.folder / f"{schedule}{length}"
    if not (folder / "keys").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        draw = random.Random(1)
        (folder / "data.jsonl").write_text("".join(
            json.dumps({"input_ids": [draw.randrange(4, 1000) for _ in range(length)]}) + "\n"
            for _ in range(64)))
        predictions.make_keys(folder)
    compile_program(options, folder, schedule, length, schedule, APART)
    compile_program(options, folder, schedule, length, "whole", WHOLE)
    return folder


def measure_alone(options, folder, threads):
    """The median step of one program, and its profile."""
    out = folder / f"alone{time.monotonic_ns()}"
    cores = "0" if threads == 1 else "0,1"
    run_checked(["taskset", "-c", cores, folder / "whole/train", "--data", folder / "data.jsonl",
                 "--steps", options.steps, "--save-every", 0, "--threads", threads, "--output", out,
                 "--profile", out.with_suffix(".json")])
    logged = (out / "steps.jsonl").read_text().splitlines()
    return (statistics.median(options.batch * options.length / json.loads(line)["tokens_per_second"]
                              for line in logged[options.warm:]), out.with_suffix(".json"))


def measure_round(options, schedule, length):
    """A row of rounds.jsonl."""
    folder = prepare(options, schedule, length)
    options.length = length
    one, profile = measure_alone(options, folder, 1)
    two, _ = measure_alone(options, folder, 2)
    apart, profiles = predictions.measure(options, folder, schedule, None)
    return {"schedule": schedule, "tokens": length, "one": one, "two": two, "apart": apart,
            "profile": str(profile), "profiles": {name: str(path) for name, path in profiles.items()}}


def predicted_gain(folder, row):
    """Of two programs over one with one thread, from the profiles of a round."""
    own = folder / f"{row['schedule']}{row['tokens']}"
    alone = json.loads(run_checked(["hone-simulate", own / "whole.yaml", "--json", "--profile",
                                    row["profile"]]))["prediction"]
    apart = predictions.predict(own / f"{row['schedule']}.yaml", row["schedule"], None, row["profiles"],
                                ["--rate", "400MB/s", "--latency", "200us"])
    return alone["step_seconds"] / apart["step_seconds"]


def print_table(folder, rows):
    print("| schedule | tokens | one thread | two threads | two programs | gain over one thread | predicted |"
          " of predicted | over two threads |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    cells = {}
    for row in rows:
        cells.setdefault((row["schedule"], row["tokens"]), []).append(row)
    for (schedule, tokens), rounds in cells.items():
        if len(rounds) < 2:
            continue
        predicted = [predicted_gain(folder, row) for row in rounds[:-1]]
        counted = rounds[1:]
        one, two, apart = ([row[key] for row in counted] for key in ("one", "two", "apart"))
        gains = [a / b for a, b in zip(one, apart)]
        median = statistics.median
        print(f"| {schedule} | {tokens} | {median(one):.3f} s | {median(two):.3f} s | {median(apart):.3f} s |"
              f" {median(gains):.2f} x | {median(predicted):.2f} x |"
              f" {median([a / b for a, b in zip(gains, predicted)]):.2f} |"
              f" {median([a / b for a, b in zip(two, apart)]):.2f} x |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--model", type=pathlib.Path, default=DEFAULT_MODEL,
                        help="a folder with config.json")
    parser.add_argument("--schedule", nargs="+", choices=list(SCHEDULES), default=list(SCHEDULES))
    parser.add_argument("--tokens", nargs="+", type=settings.count, default=[256, 32])
    parser.add_argument("--below", type=settings.count, default=16, help="layers of HOSL's client")
    parser.add_argument("--directions", type=settings.count, default=4, help="of HOSL's client")
    parser.add_argument("--steps", type=settings.count, default=5)
    parser.add_argument("--warm", type=settings.whole(0), default=1, help="steps that are not counted")
    parser.add_argument("--prepare", action="store_true", help="compile only")
    parser.add_argument("--table", action="store_true", help="of the rounds so far")
    options = parser.parse_args()
    if options.warm >= options.steps:
        parser.error("--warm: expected fewer than --steps")
    options.batch = 1
    log = options.folder / "rounds.jsonl"
    if options.table:
        return print_table(options.folder, [json.loads(line) for line in log.read_text().splitlines()])
    for schedule in options.schedule:
        for length in options.tokens:
            if options.prepare:
                prepare(options, schedule, length)
                continue
            row = measure_round(options, schedule, length)
            with log.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    run_main(main)
