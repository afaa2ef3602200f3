#!/usr/bin/env python3
"""Plans beside the kernel's account, for random models and specs.

Each case is a model of a few to thousands of layers, a method, an optimizer, a
number of threads, and what a run does: it trains with evaluations, comparisons
and checkpoints, resumes, writes its result, and evaluates that again. Memory is
looked at from outside all the while, and at the end the run says what the
kernel counted. A case where more was taken than was planned is an error.

  plans.py --cases 100            random ones, forever different: --seed
  plans.py --case layers=600,width=8,threads=1 ...
"""

import argparse
import json
import pathlib
import random
import re
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "python"))
from command import call

MIB = 1024 * 1024
FAMILIES = {
    "qwen2": {"architectures": ["Qwen2ForCausalLM"], "hidden_act": "silu",
              "use_sliding_window": False},
    "llama": {"architectures": ["LlamaForCausalLM"], "hidden_act": "silu",
              "attention_bias": False, "mlp_bias": False,
              "rope_scaling": None},
    "gpt2": {"architectures": ["GPT2LMHeadModel"],
             "activation_function": "gelu_new"},
}
METHODS = {
    "backprop": {},
    "in-backward": {"train.optimizer_in_backward": "true",
                    "train.max_grad_norm": 0},
    "dora": {"lora.use_dora": "true"},
    "model": {"lora": "none"},
    "bfloat16-model": {"lora": "none", "weights.dtype": "bfloat16"},
    "accumulates": {"train.gradient_accumulation_steps": 3},
    "lcsb": {"train.method": "lcsb", "train.selection_warmup": 1},
    "badam": {"train.method": "lcsb", "train.selection": "badam",
              "train.selection_period": 1},
    "importance": {"train.method": "lcsb", "train.selection": "importance",
                   "train.selection_warmup": 1},
    "mezo": {"train.method": "mezo", "train.directions": 3},
    "fgd": {"train.method": "fgd"},
    "compared": {"train.method": "mezo", "train.compare": "backprop"},
    "int4": {"weights.dtype": "int4", "weights.group_size": 32},
    "streamed": {"weights.streaming": "true"},
    "offloaded": {"train.activation_offloading": "true"},
    "sinkgd": {"lora": "none", "train.optimizer": "sinkgd"},
}
OPTIMIZERS = ["adamw", "sgd", "adamw-8bit", "lion", "adafactor"]
FIGURES = re.compile(r"^(peak|resident) .*\((\d+) of (\d+) bytes\)$", re.M)
PLANNED = re.compile(r"^  planned (peak|resident) +([0-9.]+) MiB", re.M)
RUN_OPTIONS = ["--eval-every", "1", "--save-every", "1", "--show-samples", "0",
               "--lr-scheduler-type", "constant"]


def random_case(rng, most_layers=2000):
    layers = round(2 * (most_layers / 2) ** rng.random())
    return {
        "layers": layers,
        "width": rng.choice([8, 8, 32, 64] if layers < 200 else [8, 32]),
        "family": rng.choice(list(FAMILIES)),
        "method": rng.choice(list(METHODS)),
        "optimizer": rng.choice(OPTIMIZERS),
        "modules": rng.choice(["all-linear", "default"]),
        "threads": round(64 ** rng.random()),
        "prefix": rng.choice([0, 0, 0, 20, 200]),
    }


def write_config(case, folder):
    width = case["width"]
    config = dict(FAMILIES[case["family"]], model_type=case["family"],
                  torch_dtype="float32", vocab_size=300)
    if case["family"] == "gpt2":
        config |= {"n_embd": width, "n_head": 2, "n_layer": case["layers"],
                   "n_positions": 128, "layer_norm_epsilon": 1e-5,
                   "tie_word_embeddings": True}
    else:
        config |= {"hidden_size": width, "intermediate_size": 2 * width,
                   "num_attention_heads": 2, "num_key_value_heads": 2,
                   "num_hidden_layers": case["layers"], "rms_norm_eps": 1e-6,
                   "rope_theta": 10000.0, "max_position_embeddings": 128,
                   "tie_word_embeddings": True}
    (folder / "config.json").write_text(json.dumps(config))


def options_of(settings):
    return [part for key, value in settings.items()
            for part in ("--set", f"{key}={value}")]


def rename_tensors(model, prefix, spec, settings):
    """The same model as .mlir, with `prefix` before each name of a tensor."""
    text = call(["honec", spec, "--stop-after=import", *options_of(settings)])
    text = re.sub(r'(hone\.call @[^ ]+ ")', rf'\g<1>{prefix}', text)
    text = re.sub(r"hone\.layers = \[.*?\]",
                  lambda layers: re.sub(r'"(?=\w)', f'"{prefix}', layers[0]), text)
    file = model / "model.safetensors"
    raw = file.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = {name if name == "__metadata__" else prefix + name: value
              for name, value in json.loads(raw[8:8 + size]).items()}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    file.write_bytes(len(head).to_bytes(8, "little") + head + raw[8 + size:])
    (model / "model.mlir").write_text(text)
    return model / "model.mlir"


def watched(folder, command):
    """The program's output, and its highest RssAnon and VmHWM."""
    out = call(["watch-memory", folder / "seen", *command])
    anonymous, resident, _ = map(int, (folder / "seen").read_text().split())
    return out, anonymous, resident


def run_case(case, folder):
    """Rows (what, taken, planned), in bytes."""
    model = folder / "model"
    write_config(case, folder)
    call(["hone-make-model", folder / "config.json", "-o", model,
          "--tokenizer=byte"])
    settings = {"train.batch_size": 1, "train.max_seq_length": 32,
                "train.optimizer": case["optimizer"],
                "target.threads": case["threads"]}
    settings["lora.target_modules"] = (
        "all-linear" if case["modules"] == "all-linear" else
        "[c_attn]" if case["family"] == "gpt2" else "[q_proj, v_proj]")
    method = METHODS[case["method"]]
    if method.get("lora") == "none":
        settings.pop("lora.target_modules", None)
    if method.get("train.method") in ("mezo", "fgd"):
        settings["train.optimizer"] = "sgd"
    else: # planning looks at each layer by itself
        settings["train.residuals"] = "mesp"
    settings |= method
    spec = folder / "spec.yaml"
    spec.write_text("model: model\n")
    if case["prefix"]:
        prefix = "a" * (case["prefix"] - 1) + "."
        settings["model"] = rename_tensors(model, prefix, spec, settings)
        settings = {key: value for key, value in settings.items()
                    if not key.startswith("lora.")}
    call(["honec", spec, "-o", folder / "out", *options_of(settings)])
    data = folder / "data.jsonl"
    data.write_text("".join(json.dumps({"input_ids": [3 + i, 4, 5, 6, 7, 8]})
                            + "\n" for i in range(40)))
    train = [folder / "out" / "train", "--threads", case["threads"]]
    evaluates = ["--eval-data", data]
    result = folder / "run"
    training = [*train, "--data", data, *evaluates, "--output", result,
                *RUN_OPTIONS]
    modes = {"train": [*training, "--steps", 2],
             "resume": [*training, "--steps", 3],
             "gradients": [*train, "--data", data, "--dump-gradients",
                           folder / "gradients"],
             "evaluate": [*train, "--eval-only", *evaluates, "--adapter",
                          result]}
    rows = []
    for name, command in modes.items():
        planned = dict(PLANNED.findall(call([*command, "--plan"])))
        out, *seen = watched(folder, command)
        own = {what: (int(taken), int(limit))
               for what, taken, limit in FIGURES.findall(out)}
        for what, outside in zip(("peak", "resident"), seen):
            # The plan is rounded where the program prints no bytes.
            taken, limit = own.get(
                what, (0, int(float(planned[what]) * MIB + 0.005 * MIB)))
            rows.append((f"{name} {what}", max(taken, outside), limit))
    return rows


def parse(text):
    case = dict(random_case(random.Random(0)), family="qwen2", prefix=0,
                method="backprop", optimizer="sgd", modules="all-linear")
    for part in text.split(","):
        key, value = part.split("=")
        case[key] = int(value) if value.isdigit() else value
    return case


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", default=[], type=parse)
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--most-layers", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = random.randrange(10 ** 9) if arguments.seed is None \
        else arguments.seed
    rng = random.Random(seed)
    if arguments.cases:
        print(f"seed {seed}")
    cases = arguments.case + [random_case(rng, arguments.most_layers)
                               for _ in range(arguments.cases)]
    exceeded = 0
    for case in cases:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="plans-"))
        name = ",".join(f"{key}={value}" for key, value in case.items())
        try:
            rows = run_case(case, folder)
            worst = max(rows, key=lambda row: row[1] - row[2])
            more = [row for row in rows if row[1] > row[2]]
            print(f"{name}: " + ", ".join(
                f"{what} {taken / MIB:.2f} of {planned / MIB:.2f}"
                for what, taken, planned in rows[:4])
                + f"; tightest {worst[0]}, {worst[2] - worst[1]} bytes left",
                flush=True)
        except RuntimeError as error:
            more = [error]
            print(f"{name}: {error}", flush=True)
        for row in more:
            print(f"EXCEEDED {name}: {row}", flush=True)
        exceeded += bool(more)
        shutil.rmtree(folder)
    print(f"plans: {len(cases) - exceeded} of {len(cases)} kept")
    sys.exit(exceeded > 0)


if __name__ == "__main__":
    main()
