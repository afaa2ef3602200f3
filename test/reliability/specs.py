#!/usr/bin/env python3
"""Random specs on random small models, of odd shapes.

honec compiles a spec, or says by a code why not; what it names is left out until
it does. The program then trains within its plan, and ends with the same bits for
1, 2, 3 and 5 threads and after kills.

  specs.py --cases 100            random ones, forever different: --seed
"""

import argparse
import hashlib
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "python"))
from command import call

FIGURES = re.compile(r"^(peak|resident) .*\((\d+) of (\d+) bytes\)$", re.M)
NAMED = re.compile(r"error\[H\d+\]: (?:--set )?([a-z_.]+)")
VARIES = re.compile(r' *"(run|tokens_per_second|peak_[a-z]+_bytes|'
                    r'offloaded_bytes)": [^,}]*[,}]')
KEPT = ("train.batch_size", "train.max_seq_length") # whatever is refused

# The values of a key, and how often it is there.
KEYS = {
    "weights.dtype": (0.5, ["float32", "bfloat16", "int8", "int4", "float64"]),
    "weights.group_size": (0.1, [32, 64]),
    "weights.streaming": (0.2, ["true"]),
    "lora": (0.25, ["none"]),
    "lora.r": (0.7, [1, 2, 3, 7, 16, 33]),
    "lora.target_modules": (0.5, ["all-linear"]),
    "lora.use_dora": (0.2, ["true"]),
    "lora.dtype": (0.3, ["bfloat16", "float64"]),
    "lora.lora_dropout": (0.2, [0.05, 0.999]),
    "lora.bias": (0.15, ["all", "lora_only"]),
    "train.loraplus_lr_ratio": (0.15, [16]),
    "train.method": (0.6, ["lcsb", "mezo", "mezo-one-sided", "fgd"]),
    "train.selection": (0.8, ["bernoulli", "cyclic", "round-robin", "freeze",
                              "importance", "lisa", "badam",
                              "stochastic-depth"]),
    "train.selection_ratio": (0.5, [0.01, 0.3, 1]),
    "train.selection_warmup": (0.9, [0, 1, 2]),
    "train.unselected": (0.3, ["identity", "exact"]),
    "train.directions": (0.5, [2, 17]),
    "train.optimizer": (0.8, ["adamw", "sgd", "lion", "adamw-8bit",
                              "adafactor", "sinkgd"]),
    "train.momentum": (0.3, [0.9]),
    "train.momentum_dtype": (0.2, ["bfloat16"]),
    "train.weight_decay": (0.2, [0.1]),
    "train.max_grad_norm": (0.3, [0, 1e-3]),
    "train.residuals": (0.4, ["mesp", "store-h", "mebp", "full"]),
    "train.memory_budget": (0.2, ["none", "8MiB"]),
    "train.kept_dtype": (0.2, ["bfloat16"]),
    "train.activation_offloading": (0.15, ["true"]),
    "train.optimizer_in_backward": (0.15, ["true"]),
    "train.compare": (0.12, ["backprop", "lcsb", "mezo", "fgd"]),
    "train.gradient_accumulation_steps": (0.25, [2, 3]),
    "train.neftune_noise_alpha": (0.1, [5]),
    "train.label_smoothing_factor": (0.15, [0.99]),
    "train.compute_dtype": (0.5, ["bfloat16", "float64"]),
    "train.float32_matmul_precision": (0.1, ["medium"]),
    "train.batch_size": (1, [1, 2, 3, 5]),
    "train.max_seq_length": (1, [2, 3, 8, 31, 33]),
}


def random_model(rng):
    """Its config.json."""
    layers, vocabulary = rng.choice([1, 2, 3, 5]), rng.choice([1, 3, 107, 300])
    config = {"torch_dtype": "float32", "vocab_size": vocabulary}
    if rng.random() < 0.4:
        heads = rng.choice([1, 2, 3])
        return config | {
            "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
            "activation_function": "gelu_new", "n_head": heads,
            "n_embd": heads * rng.choice([1, 2, 7, 8, 33]), "n_layer": layers,
            "n_positions": 64, "n_inner": rng.choice([None, 1, 33]),
            "layer_norm_epsilon": 1e-5}
    family, more = rng.choice([
        ("Llama", {}), ("Qwen2", {"use_sliding_window": False}),
        ("Qwen3", {"use_sliding_window": False}),
        ("Mistral", {"sliding_window": rng.choice([1, 9, None])})])
    key_heads = rng.choice([1, 2, 3])
    return config | more | {
        "architectures": [family + "ForCausalLM"],
        "model_type": family.lower(), "hidden_act": "silu",
        "hidden_size": rng.choice([1, 3, 8, 31, 64]),
        "intermediate_size": rng.choice([1, 7, 64, 100]),
        "num_attention_heads": key_heads * rng.choice([1, 2, 5]),
        "num_key_value_heads": key_heads, "num_hidden_layers": layers,
        "head_dim": 2 * rng.choice([1, 5, 8, 33]), "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "max_position_embeddings": 64,
        "tie_word_embeddings": rng.random() < 0.5}


def compiled(folder, settings):
    """Compiles, without the settings that honec names, and returns them."""
    (folder / "spec.yaml").write_text("model: model\n")
    while True:
        options = [part for key, value in settings.items()
                   for part in ("--set", f"{key}={value}")]
        done = subprocess.run(
            ["honec", "spec.yaml", "-o", "out", *options], cwd=folder,
            text=True, capture_output=True)
        if done.returncode == 0:
            return settings
        refused = [key for key in settings
                   if key in done.stderr and key not in KEPT]
        if "error[H" not in done.stderr or done.returncode not in (2, 65) \
                or not refused:
            raise RuntimeError(f"honec ends with {done.returncode}, "
                               f"{settings}\n{done.stderr[-2000:]}")
        named = NAMED.findall(done.stderr)
        key = named[0] if named and named[0] in refused else refused[0]
        settings = {k: v for k, v in settings.items() if k != key}


def write_data(rng, path, vocabulary, length):
    lines = []
    for _ in range(rng.choice([1, 3, 9])):
        ids = [rng.randrange(vocabulary)
               for _ in range(rng.randint(2, length))]
        lines.append(json.dumps({"input_ids": ids}) + "\n")
    path.write_text("".join(lines))


def training(folder, name, threads):
    return ["./out/train", "--data", "data.jsonl", "--output", name, "--log",
            f"{name}.jsonl", "--threads", str(threads), "--steps", "5",
            "--save-every", "1", "--show-samples", "0"]


def bits(folder, name):
    digest = hashlib.sha256(
        VARIES.sub("", (folder / f"{name}.jsonl").read_text()).encode())
    for file in sorted((folder / name).glob("*.safetensors")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def train(folder, name, threads):
    """The bits that a run ends with."""
    done = subprocess.run(training(folder, name, threads), cwd=folder,
                          text=True, capture_output=True)
    if done.returncode == 2 and "error[H0905]" in done.stderr:
        return None # more threads than the budget has room for
    if done.returncode == 65 and "error[H0809]" in done.stderr:
        return "diverges"
    if done.returncode:
        raise RuntimeError(f"{name} ends with {done.returncode}\n"
                           f"{done.stdout[-400:]}{done.stderr[-1000:]}")
    for what, taken, planned in FIGURES.findall(done.stdout):
        if int(taken) > int(planned):
            raise RuntimeError(f"{name}: {what} {taken} of {planned}")
    return bits(folder, name)


def run_case(seed, folder):
    rng = random.Random(seed)
    config = random_model(rng)
    (folder / "config.json").write_text(json.dumps(config))
    call(["hone-make-model", "config.json", "-o", "model"], cwd=folder)
    settings = compiled(folder, {key: rng.choice(values)
                                 for key, (often, values) in KEYS.items()
                                 if rng.random() < often})
    write_data(rng, folder / "data.jsonl", config["vocab_size"],
               settings["train.max_seq_length"])
    ends = {threads: train(folder, f"threads{threads}", threads)
            for threads in (1, 2, 3, 5)}
    found = {end for end in ends.values() if end}
    if len(found) > 1:
        raise RuntimeError(f"bits differ with threads: {ends}")
    for _ in range(3):
        killed = subprocess.Popen(training(folder, "killed", 1), cwd=folder,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        time.sleep(0.1 * rng.random())
        killed.kill()
        killed.wait()
    if found and train(folder, "killed", 1) not in found:
        raise RuntimeError("bits differ after kills")
    return settings


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--seed", type=int,
                        default=random.randrange(10 ** 9))
    arguments = parser.parse_args()
    broken = 0
    for seed in range(arguments.seed, arguments.seed + arguments.cases):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="specs-"))
        try:
            print(f"seed {seed}: {run_case(seed, folder)}", flush=True)
        except RuntimeError as error:
            print(f"BROKEN seed {seed}: {error}", flush=True)
            broken += 1
        shutil.rmtree(folder)
    print(f"specs: {arguments.cases - broken} of {arguments.cases} kept")
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
