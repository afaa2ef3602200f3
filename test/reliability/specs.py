#!/usr/bin/env python3
"""Random specs on random small models, of odd shapes.

honec compiles a spec, or says by a code why not; what it names is left out until
it does, and so are options of the run that the program refuses. The program then
trains within its plan, and ends with the same bits for 1, 2, 3 and 5 threads and
after kills. Its adapter has one loss, whoever evaluates it.

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
    "lora.use_rslora": (0.1, ["true"]),
    "lora.rank_pattern": (0.1, ['{"layers.0.*": 5}', '{"h.0.*": 5}']),
    "lora.layers_to_transform": (0.15, ["[0]", "[1-2]"]),
    "lora.modules_to_save": (0.15, ["[norm]", "[embed_tokens]", "[lm_head]",
                                    "[ln_f, wte]"]),
    "lora.bias": (0.15, ["all", "lora_only"]),
    "train.loraplus_lr_ratio": (0.15, [16]),
    "train.method": (0.6, ["lcsb", "mezo", "mezo-one-sided", "fgd"]),
    "train.selection": (0.8, ["bernoulli", "cyclic", "round-robin", "freeze",
                              "importance", "lisa", "badam",
                              "stochastic-depth"]),
    "train.selection_ratio": (0.5, [0.01, 0.3, 1]),
    "train.selection_warmup": (0.9, [0, 1, 2]),
    "train.selection_period": (0.2, [3]),
    "train.selection_groups": (0.2, [1, 2]),
    "train.selection_schedule": (0.2, ["step", "linear", "cosine"]),
    "train.unselected": (0.3, ["identity", "exact"]),
    "train.unselected_update": (0.2, ["momentum", "none"]),
    "train.direction_scales": (0.2, ["[0=0]", "[0=0.2]"]),
    "train.direction_scale_steps": (0.1, [3]),
    "train.directions": (0.5, [2, 17]),
    "train.optimizer": (0.8, ["adamw", "sgd", "lion", "adamw-8bit",
                              "adafactor", "sinkgd"]),
    "train.momentum": (0.3, [0.9]),
    "train.momentum_dtype": (0.2, ["bfloat16"]),
    "train.weight_decay": (0.2, [0.1]),
    "train.max_grad_norm": (0.3, [0, 1e-3]),
    "train.residuals": (0.4, ["mesp", "store-h", "mebp", "full"]),
    "train.memory_budget": (0.2, ["none", "8MiB"]),
    "train.resident_budget": (0.1, ["none", "16MiB"]),
    "train.kept_dtype": (0.2, ["bfloat16"]),
    "train.activation_offloading": (0.15, ["true"]),
    "train.optimizer_in_backward": (0.15, ["true"]),
    "train.data_parallel": (0.1, ["true"]),
    "train.lr_scheduler_type": (0.3, ["constant", "linear", "cosine",
                                      "constant_with_warmup"]),
    "train.warmup_steps": (0.2, [2, 100]),
    "train.learning_rate": (0.3, [0, 1e-2]),
    "train.compare_every": (0.1, [1, 3]),
    "train.compare": (0.12, ["backprop", "lcsb", "mezo", "fgd"]),
    "train.gradient_accumulation_steps": (0.25, [2, 3]),
    "train.neftune_noise_alpha": (0.1, [5]),
    "train.label_smoothing_factor": (0.15, [0.99]),
    "train.compute_dtype": (0.5, ["bfloat16", "float64"]),
    "train.float32_matmul_precision": (0.1, ["medium"]),
    "train.batch_size": (1, [1, 2, 3, 5]),
    "train.max_seq_length": (1, [2, 3, 8, 31, 33]),
}


# Options of a run, as keys are.
RUNS = {
    "--eval-data": (0.4, ["data.jsonl"]),
    "--eval-split": (0.15, [1, 0.3]),
    "--eval-every": (0.7, [1, 2, 7]),
    "--early-stop": (0.4, [1, 2]),
    "--load-best-model-at-end": (0.3, [None]),
    "--save-total-limit": (0.3, [0, 1]),
    "--show-samples": (0.5, [0, 5]),
    "--batch-size": (0.2, [1, 2]),
    "--max-seq-length": (0.2, [2, 7, 30]),
    "--too-long": (0.5, ["cut", "split", "leave-out"]),
    "--shuffle": (0.2, ["false"]),
    "--suspend-every": (0.15, ["10ms"]),
    "--for": (0.1, ["60s"]),
    "--seed": (0.3, [0, 2 ** 64 - 1]),
}
SHORTENS = ("--too-long", "--max-seq-length", "--eval-split")


def random_model(rng):
    """Its config.json."""
    layers, vocabulary = rng.choice([1, 2, 3, 5]), rng.choice([1, 3, 107, 300])
    config = {"torch_dtype": "float32", "vocab_size": vocabulary}
    heads = rng.choice([1, 2, 3])
    width = heads * rng.choice([1, 2, 7, 8, 33])
    family = rng.choice(["GPT2", "GPT2", "OPT", "GPTNeo", "Gemma3", "Llama",
                         "Qwen2", "Qwen3", "Mistral"])
    if family == "GPT2":
        return config | {
            "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
            "activation_function": "gelu_new", "n_head": heads,
            "n_embd": width, "n_layer": layers,
            "n_positions": 64, "n_inner": rng.choice([None, 1, 33]),
            "layer_norm_epsilon": 1e-5}
    if family == "OPT":
        return config | {
            "architectures": ["OPTForCausalLM"], "model_type": "opt",
            "activation_function": rng.choice(["relu", "gelu"]),
            "do_layer_norm_before": rng.random() < 0.5,
            "ffn_dim": rng.choice([1, 33, 64]), "hidden_size": width,
            "num_attention_heads": heads, "num_hidden_layers": layers,
            "max_position_embeddings": 64,
            "word_embed_proj_dim": rng.choice([width, width, 5])}
    if family == "GPTNeo":
        kinds = [rng.choice(["global", "local"]) for _ in range(layers)]
        return config | {
            "architectures": ["GPTNeoForCausalLM"], "model_type": "gpt_neo",
            "activation_function": "gelu_new", "hidden_size": width,
            "num_heads": heads, "num_layers": layers,
            "intermediate_size": rng.choice([None, 1, 33]),
            "attention_types": [[[kind], 1] for kind in kinds],
            "attention_layers": kinds, "window_size": rng.choice([1, 9]),
            "max_position_embeddings": 64, "layer_norm_epsilon": 1e-5}
    key_heads = rng.choice([1, 2, 3])
    config |= {
        "architectures": [family + "ForCausalLM"],
        "model_type": family.lower(), "hidden_act": "silu",
        "hidden_size": rng.choice([1, 3, 8, 31, 64]),
        "intermediate_size": rng.choice([1, 7, 64, 100]),
        "num_attention_heads": key_heads * rng.choice([1, 2, 5]),
        "num_key_value_heads": key_heads, "num_hidden_layers": layers,
        "head_dim": 2 * rng.choice([1, 5, 8, 33]), "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "max_position_embeddings": 64,
        "tie_word_embeddings": rng.random() < 0.5}
    if family == "Gemma3":
        config.pop("hidden_act")
        return config | {
            "model_type": "gemma3_text",
            "hidden_activation": "gelu_pytorch_tanh",
            "attention_bias": False, "query_pre_attn_scalar": 20,
            "layer_types": [rng.choice(["sliding_attention", "full_attention"])
                            for _ in range(layers)],
            "sliding_window": rng.choice([1, 9]),
            "rope_local_base_freq": 100.0, "tie_word_embeddings": True}
    return config | {"Qwen2": {"use_sliding_window": False},
                     "Qwen3": {"use_sliding_window": False},
                     "Mistral": {"sliding_window": rng.choice([1, 9, None])},
                     "Llama": {}}[family]


def drawn(rng, keys):
    return {key: rng.choice(values) for key, (often, values) in keys.items()
            if rng.random() < often}


def random_parts(rng, layers):
    """Parts of a spec, with methods of their own, as JSON, or nothing."""
    if layers < 2 or rng.random() > 0.15:
        return {}
    cut = rng.randrange(1, layers)
    parts = {}
    for name, low, high in (("a", 0, cut), ("b", cut, layers)):
        parts[name] = {key[6:]: value for key, value in drawn(rng, KEYS).items()
                       if key[6:] in ("method", "optimizer", "selection",
                                      "directions", "max_grad_norm",
                                      "learning_rate", "weight_decay",
                                      "unselected", "warmup_steps")}
        parts[name] |= {"layers": f"{low}-{high - 1}"}
        if parts[name].get("method") == "lcsb":
            parts[name]["selection_warmup"] = 1
    return parts


def compiled(folder, settings, parts):
    """Compiles, without the settings that honec names, and returns them."""
    while True:
        (folder / "spec.yaml").write_text(
            "model: model\n" + (f"parts: {json.dumps(parts)}\n"
                                if parts else ""))
        options = [part for key, value in settings.items()
                   for part in ("--set", f"{key}={value}")]
        done = subprocess.run(
            ["honec", "spec.yaml", "-o", "out", *options], cwd=folder,
            text=True, capture_output=True)
        if done.returncode == 0:
            return settings, parts
        refused = [key for key in settings
                   if key in done.stderr and key not in KEPT]
        coded = "error[H" in done.stderr and done.returncode in (2, 65)
        named = NAMED.findall(done.stderr)
        if coded and named and named[0] in refused:
            settings = {k: v for k, v in settings.items() if k != named[0]}
        elif coded and parts and re.search(r"\bparts?\b", done.stderr):
            parts = {}
        elif coded and refused:
            settings = {k: v for k, v in settings.items() if k != refused[0]}
        else:
            raise RuntimeError(f"honec ends with {done.returncode}, "
                               f"{settings} {parts}\n{done.stderr[-2000:]}")


def write_data(rng, path, vocabulary, length):
    lines = []
    for _ in range(rng.choice([1, 3, 9])):
        ids = [rng.randrange(vocabulary)
               for _ in range(rng.randint(2, length))]
        labels = {} if rng.random() < 0.7 else {
            "labels": [rng.choice([-100, id]) for id in ids[:-1]] + ids[-1:]}
        lines.append(json.dumps({"input_ids": ids} | labels) + "\n")
    path.write_text("".join(lines))


def training(name, threads, options):
    return ["./out/train", "--data", "data.jsonl", "--output", name, "--log",
            f"{name}.jsonl", "--threads", str(threads), "--steps", "5",
            "--save-every", "1", *[str(part) for pair in options.items()
                                   for part in pair if part is not None]]


def bits(folder, name):
    digest = hashlib.sha256(
        VARIES.sub("", (folder / f"{name}.jsonl").read_text()).encode())
    for file in sorted((folder / name).glob("**/*.safetensors")):
        # A checkpoint of an optimizer has the run's number.
        if not re.search("/checkpoint-", str(file)):
            digest.update(str(file.relative_to(folder / name)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def train(folder, name, threads, options):
    """The bits that a run ends with."""
    done = subprocess.run(training(name, threads, options), cwd=folder,
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


def accepted(folder, options):
    """The options, without those that the program names as it refuses; None if
    no sample is left."""
    while True:
        done = subprocess.run(
            training("refused", 1, options), cwd=folder, text=True,
            capture_output=True)
        if done.returncode == 0 or "error[H0809]" in done.stderr:
            return options
        refused = [name for name in options if name in done.stderr]
        if "error[H" not in done.stderr or done.returncode not in (2, 65):
            raise RuntimeError(f"train ends with {done.returncode}, {options}\n"
                               f"{done.stderr[-1000:]}")
        refused += [name for name in SHORTENS if name in options]
        if not refused:
            return None
        options = {k: v for k, v in options.items() if k != refused[0]}


def run_case(seed, folder):
    rng = random.Random(seed)
    config = random_model(rng)
    (folder / "config.json").write_text(json.dumps(config))
    call(["hone-make-model", "config.json", "-o", "model"], cwd=folder)
    layers = next(config[key] for key in ("num_hidden_layers", "num_layers",
                                          "n_layer") if key in config)
    settings, parts = compiled(folder, drawn(rng, KEYS),
                               random_parts(rng, layers))
    write_data(rng, folder / "data.jsonl", config["vocab_size"],
               settings["train.max_seq_length"] + rng.choice([0, 0, 9]))
    options = drawn(rng, RUNS)
    options = accepted(folder, options)
    said = settings | {"parts": parts, "run": options,
                       "model": config.get("model_type")}
    if options is None:
        return "no data", said
    started = time.time()
    ends = {threads: train(folder, f"threads{threads}", threads, options)
            for threads in (1, 2, 3, 5)}
    span = (time.time() - started) / 4
    found = {end for end in ends.values() if end}
    if len(found) > 1:
        raise RuntimeError(f"bits differ with threads: {ends} {said}")
    for _ in range(4):
        killed = subprocess.Popen(
            training("killed", rng.choice([1, 2]), options), cwd=folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1.1 * span * rng.random())
        killed.kill()
        killed.wait()
    last = train(folder, "killed", 1, options)
    if found and last not in found:
        raise RuntimeError(f"bits differ after kills {said}")
    if found == {"diverges"}:
        return "diverges", said
    if "lora" in settings: # the result is a model
        return "", said
    lines = set()
    for name, threads in (("killed", 1), ("threads1", 2), ("threads2", 3)):
        done = subprocess.run(
            ["./out/train", "--eval-only", "--eval-data", "data.jsonl",
             "--too-long", "cut", "--adapter", name, "--threads",
             str(threads)], cwd=folder, text=True, capture_output=True)
        if done.returncode and "error[H0905]" not in done.stderr:
            raise RuntimeError(f"evaluation ends with {done.returncode} {said}\n"
                               f"{done.stderr[-1000:]}")
        lines |= set(re.findall("^eval.*", done.stdout, re.M))
    if len(lines) > 1:
        raise RuntimeError(f"evaluations differ: {lines} {said}")
    return "", said


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
            print(f"seed {seed}:", *run_case(seed, folder), flush=True)
        except RuntimeError as error:
            print(f"BROKEN seed {seed}: {error}", flush=True)
            broken += 1
        shutil.rmtree(folder)
    print(f"specs: {arguments.cases - broken} of {arguments.cases} kept")
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
