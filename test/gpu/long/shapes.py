#!/usr/bin/env python3
"""Random models and specs on the PTX machine, beside the processor's programs.

Each case is a family with other sizes, a method, a policy, storages and batches.
Its program for CUDA must print the losses of the one for this processor, resume
a run that was stopped with the same bits, and go on with the processor's
checkpoint as the processor goes on with its own.

  shapes.py MODELS PTX_DRIVER --minutes 10    as many cases as there is time for
  shapes.py MODELS PTX_DRIVER --case 17       one of them again, and keep it
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from command import call

FAMILIES = ["llama-tiny", "qwen2-tiny", "qwen3-tiny", "mistral-window-tiny",
            "gemma3-tiny", "gpt2-tiny", "gpt-neo-tiny", "opt-tiny",
            "opt-post-tiny"]
METHODS = {
    "backprop": {},
    "in-backward": {"train.optimizer_in_backward": "true",
                    "train.max_grad_norm": 0},
    "dora": {"lora.use_dora": "true"},
    "dropout": {"lora.lora_dropout": 0.2},
    "model": {"lora": "none"},
    "bfloat16-model": {"lora": "none", "weights.dtype": "bfloat16"},
    "accumulates": {"train.gradient_accumulation_steps": 2},
    "lcsb": {"train.method": "lcsb", "train.selection_warmup": 1},
    "badam": {"train.method": "lcsb", "train.selection": "badam",
              "train.selection_period": 1},
    "mezo": {"train.method": "mezo", "train.directions": 2},
    "mezo-one-sided": {"train.method": "mezo-one-sided"},
    "fgd": {"train.method": "fgd"},
}
STORAGES = [{}, {"weights.dtype": "bfloat16"},
            {"weights.dtype": "int8", "weights.group_size": 32},
            {"weights.dtype": "int4", "weights.group_size": 32}]
STEPS = 3


def random_config(models, rng, is_grouped):
    """`is_grouped`: rows of weights are whole groups of 32."""
    family = rng.choice(FAMILIES)
    config = json.loads((models / family / "config.json").read_text())
    heads = rng.choice([1, 2, 4] if is_grouped else [1, 2, 3, 4])
    width = 32 * rng.choice([1, 2, 3]) if is_grouped else \
        heads * rng.choice([8, 10, 16, 24])
    named = lambda *names: next(name for name in names if name in config)
    config[named("num_attention_heads", "n_head", "num_heads")] = heads
    config[named("hidden_size", "n_embd")] = width
    if "num_key_value_heads" in config:
        config["num_key_value_heads"] = rng.choice(
            [count for count in range(1, heads + 1) if heads % count == 0])
    if "word_embed_proj_dim" in config:
        config["word_embed_proj_dim"] = width
    for name in ("intermediate_size", "ffn_dim"):
        if config.get(name):
            config[name] = 32 * rng.randrange(1, 5) if is_grouped else \
                rng.randrange(20, 150)
    if "head_dim" in config:
        config["head_dim"] = width // heads if is_grouped else \
            2 * rng.randrange(3, 14)
    config["vocab_size"] = rng.choice([97, 300, 1500, 5000])
    return family, config


def optimizers_of(method):
    """Those that are not refused: a refusal is no case of numerics."""
    optimizers = ["adamw", "sgd", "lion", "adamw-8bit"]
    if "mezo" not in method and method != "fgd":
        optimizers.append("adafactor")
    if METHODS[method].get("lora") == "none":
        optimizers += ["sinkgd"] * 2  # of whole weights alone
    return optimizers


def random_case(models, seed):
    rng = random.Random(seed)
    method, storage = rng.choice(list(METHODS)), rng.choice(STORAGES)
    family, config = random_config(models, rng, "weights.group_size" in storage)
    length = rng.choice([9, 32, 70])
    settings = {
        "train.batch_size": rng.choice([1, 2]),
        "train.max_seq_length": length,
        "train.optimizer": rng.choice(optimizers_of(method)),
        "train.learning_rate": "1e-3",
        "train.lr_scheduler_type": "constant",
        "train.seed": seed,
    }
    settings |= storage
    if "gpt2" in family or rng.random() < 0.7:
        settings["train.residuals"] = rng.choice(
            ["mesp", "store-h", "mebp", "full", "planned"])
    if rng.random() < 0.15:
        settings["train.compute_dtype"] = "bfloat16"
    if settings["train.optimizer"] == "lion":
        settings["train.momentum_dtype"] = rng.choice(["float32", "bfloat16"])
    settings |= METHODS[method]
    if settings.get("lora") == "none":
        settings.pop("weights.group_size", None)
        if settings.get("weights.dtype", "").startswith("int"):
            settings.pop("weights.dtype")
    else:
        settings |= {"lora.r": rng.choice([1, 4, 8, 19]),
                     "lora.target_modules": "all-linear"}
    if "mezo" in method or method == "fgd":
        settings.pop("train.residuals", None)
    samples = [[rng.randrange(config["vocab_size"])
                for _ in range(rng.randrange(2, length + 1))]
               for _ in range(6)]
    return family, method, config, settings, samples


def losses(folder):
    lines = (folder / "steps.jsonl").read_text().splitlines()
    return [step["loss"] for step in map(json.loads, lines) if "loss" in step]


def result(folder):
    files = sorted(path for path in folder.glob("*.safetensors"))
    return b"".join(path.read_bytes() for path in files)


def compare(first, second, tolerance, what):
    assert len(first) == len(second) == STEPS, (what, first, second)
    worst = max(abs(a - b) / abs(a) for a, b in zip(first, second))
    assert worst < tolerance, f"{what}: losses differ by {worst:.1e}: {first} {second}"
    return worst


def run_case(seed, models, driver, folder):
    """The case, and the greatest relative difference of a loss."""
    family, method, config, settings, samples = random_case(models, seed)
    (folder / "config.json").write_text(json.dumps(config))
    call(["hone-make-model", folder / "config.json", "-o", folder / "model",
          "--seed", seed])
    (folder / "data.jsonl").write_text(
        "".join(json.dumps({"input_ids": ids}) + "\n" for ids in samples))
    spec = folder / "spec.yaml"
    spec.write_text("model: model\n")
    options = [part for key, value in settings.items()
               for part in ("--set", f"{key}={value}")]
    what = f"{family} {method} " + " ".join(
        f"{key.split('.')[-1]}={value}" for key, value in settings.items())
    try:
        call(["honec", spec, *options, "-o", folder / "cpu"])
    except RuntimeError as refused:
        if "error[H0" not in str(refused):
            raise
        return what + "  " + str(refused).split("error[")[1].split("\n")[0], None
    call(["honec", spec, *options, "--set", "target.triple=nvptx64-nvidia-cuda",
          "--set", f"target.cpu={random.Random(seed).choice(['sm_75', 'sm_80', 'sm_90', 'sm_90a'])}",
          "-o", folder / "cuda"])
    machine = dict(os.environ, LD_LIBRARY_PATH=str(driver),
                   HONE_PTX_ORDER=["ascending", "descending", "random"][seed % 3],
                   HONE_PTX_SEED=str(seed))

    def train(program, output, steps, *more):
        call([folder / program / "train", "--data", folder / "data.jsonl",
              "--output", folder / output, "--steps", steps,
              "--show-samples", 0, *more],
             env=machine if program == "cuda" else os.environ)
        return folder / output

    of_cpu, of_cuda = train("cpu", "on-cpu", STEPS), train("cuda", "on-cuda", STEPS)
    # A gradient of random directions has the size of the difference of two
    # losses, which cancel. A stored moment may be another code, and a sum near
    # zero have another sign.
    tolerance = 3e-2 if settings.get("train.compute_dtype") == "bfloat16" or \
        "bfloat16-model" == method else 1e-3 if "mezo" in method or \
        settings["train.optimizer"] in ("lion", "adamw-8bit", "sinkgd") else 2e-5
    worst = compare(losses(of_cpu), losses(of_cuda), tolerance, "beside the processor")
    train("cuda", "parts", 1)
    parts = train("cuda", "parts", STEPS)
    assert result(parts) == result(of_cuda), "a run that was stopped has other bits"
    train("cpu", "crossed", 1)
    crossed = train("cuda", "crossed", STEPS, "--allow-other-numerics")
    compare(losses(of_cpu), losses(crossed), tolerance, "from the processor's checkpoint")
    train("cuda", "back", 1)
    back = train("cpu", "back", STEPS, "--allow-other-numerics")
    compare(losses(of_cpu), losses(back), tolerance, "from the device's checkpoint")
    return what, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("driver", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--from-seed", type=int, default=1)
    parser.add_argument("--case", type=int)
    given = parser.parse_args()
    end = time.monotonic() + 60 * given.minutes
    seed, done, refused, failed, worst = given.case or given.from_seed, 0, 0, [], 0
    while True:
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"hone-shapes-{seed}-"))
        try:
            what, found = run_case(seed, given.models, given.driver, folder)
            if found is None:
                refused += 1
            else:
                done, worst = done + 1, max(worst, found)
            print(f"{seed}: {'refused' if found is None else f'{found:.1e}'}  {what}",
                  flush=True)
        except (RuntimeError, AssertionError) as problem:
            failed.append(seed)
            print(f"{seed}: FAILED  {problem}\n  {random_case(given.models, seed)[:2]} "
                  f"{random_case(given.models, seed)[3]}", flush=True)
        if given.case is None:
            subprocess.run(["rm", "-rf", folder])
        else:
            print(folder)
        seed += 1
        if given.case is not None or time.monotonic() > end:
            break
    print(f"{done} cases agree, {refused} refused, {len(failed)} failed, losses "
          f"differ by {worst:.1e} at most")
    sys.exit(bool(failed) or not done)


main()
