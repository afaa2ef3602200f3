#!/usr/bin/env python3
"""fewer-rows.py HONEC SPEC MODEL WORK [--methods]

Runs with shorter samples than were compiled in take less memory and have the
bits of programs that were compiled for them:

 * planned peak without adapter, optimizer and process, at 1/2 and 1/4 of the
   rows: at most 0.6 and 0.35 of that of all rows;
 * measured at most planned, at each;
 * the adapter after some steps: equal, byte for byte, to that of a program whose
   spec has the length and fixed residuals;
 * the program: at most 64 KiB larger than one without placements.

--methods: instead, the bits alone, for each kind of step.
"""

import json
import os
import random
import re
import subprocess
import sys

honec, spec, model, work = sys.argv[1:5]
LENGTH = 512
BOUNDS = {2: 0.6, 4: 0.35}
KINDS = {
    "in-backward": ["train.optimizer_in_backward=true", "train.max_grad_norm=0"],
    "lcsb": ["train.method=lcsb", "train.selection_ratio=0.5"],
    "mezo": ["train.method=mezo", "train.directions=2"],
    "fgd": ["train.method=fgd"],
    "accumulated": [],
    "compared": ["train.compare=mezo"],
    "bfloat16": ["train.compute_dtype=bfloat16"],
    "whole": ["lora=none"],
    "full": ["train.residuals=full"],
    "streamed": ["weights.streaming=true"],
}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def compiled(name, length, *settings, options=()):
    folder = f"{work}/{name}"
    words = [f"--set={s}" for s in settings]
    run(honec, spec, f"--set=model={model}", f"--set=train.max_seq_length={length}",
        *words, *options, "-o", folder)
    return folder + "/train"


def written(path, longest):
    """Samples of up to `longest` tokens, one of them as long."""
    source = random.Random(longest)
    with open(path, "w") as file:
        for i in range(6):
            count = longest if i == 2 else source.randint(5, longest)
            ids = [source.randrange(90) for _ in range(count)]
            file.write(json.dumps({"input_ids": ids}) + "\n")
    return path


def trained(train, output, data, *options):
    """The bytes of the trained tensors, and measured and planned peak."""
    out = run(train, "--data", data, "--output", output, "--threads", "2",
              "--show-samples", "0", *options)
    figures = re.search(r"^peak .*\((\d+) of (\d+) bytes\)$", out, re.M)
    name = "adapter_model" if os.path.exists(f"{output}/adapter_config.json") else "model"
    with open(f"{output}/{name}.safetensors", "rb") as file:
        return file.read(), int(figures[1]), int(figures[2])


def share(train, *options):
    """The rows' share of the planned peak, in MiB."""
    rows = dict(re.findall(r"^  (\S[\w ]*?) +([\d.]+) MiB", run(train, "--plan",
                "--threads", "2", *options), re.M))
    fixed = ("adapter", "parameters", "optimizer", "process")
    return float(rows["planned peak"]) - sum(float(rows.get(f, 0)) for f in fixed)


def check(holds, text):
    print(text)
    if not holds:
        sys.exit("FAILED: " + text)


def figures():
    train = compiled("all", LENGTH)
    bare = compiled("bare", LENGTH, options=["--step-options=halvings=0"])
    grown = os.path.getsize(train) - os.path.getsize(bare)
    check(grown <= 65536, f"the program grew by {grown} bytes")
    whole = share(train)
    for part in (1, 2, 4, 8):
        length = LENGTH // part
        data = written(f"{work}/{length}.jsonl", length)
        given = [] if part == 1 else ["--max-seq-length", str(length)]
        ratio = share(train, *given) / whole
        check(ratio <= BOUNDS.get(part, 1), f"1/{part} of the rows: {ratio:.3f} of the peak")
        own, measured, planned = trained(train, f"{work}/run{part}", data, *given)
        check(measured <= planned, f"  measured {measured} of {planned} bytes")
        other = compiled(f"own{part}", length, "train.residuals=mesp")
        check(own == trained(other, f"{work}/other{part}", data)[0], "  the same bits")


def methods():
    length = LENGTH // 4
    data = written(f"{work}/data.jsonl", length)
    for kind, settings in KINDS.items():
        options = ["--gradient-accumulation-steps", "3"] if kind == "accumulated" else []
        train = compiled(kind, LENGTH, *settings)
        other = compiled(kind + "-own", length, *settings)
        own, measured, planned = trained(train, f"{work}/{kind}/run", data,
                                         "--max-seq-length", str(length), *options)
        check(measured <= planned, f"{kind}: measured {measured} of {planned} bytes")
        same = own == trained(other, f"{work}/{kind}/other", data, *options)[0]
        check(same, f"{kind}: the same bits")


os.makedirs(work, exist_ok=True)
methods() if "--methods" in sys.argv else figures()
