# ===- follow_losses.py - AdamW steps that a compiled run must follow ------===#
#
# stories260k on tiny-shakespeare, packed into full sequences, in file order: 200
# steps of an adapter, 50 with LoRA+ and 100 of all parameters. The loss of a step is taken
# before its update, so the first one is the base model's: B starts at zero.
# Writes figures only.
#
# ===-----------------------------------------------------------------------===#

import argparse
import json
import pathlib
import tempfile

import numpy as np
import torch
from peft.optimizers import create_loraplus_optimizer

from adapters import write_adapter
from hash_values import hash_ids
from make_models import GOLDEN
from reference_model import load_model, load_whole_model, mean_nll, read_config
from stories import STORIES, shakespeare_ids

R, ALPHA = 8, 16
STEPS, LENGTH = 200, 128
SETTINGS = {
    "r": R,
    "lora_alpha": ALPHA,
    "target_modules": "all-linear",
    "optimizer": "adamw",
    "learning_rate": 1e-3,
    "lr_scheduler_type": "constant",
    "weight_decay": 0.0,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
    "max_grad_norm": 1.0,
    "batch_size": 1,
    "max_seq_length": LENGTH,
    "steps": STEPS,
}


WHOLE = {
    **{k: v for k, v in SETTINGS.items() if k not in ("r", "lora_alpha", "target_modules")},
    "lora": "none",
    "steps": 100,
}


LORAPLUS = {**SETTINGS, "loraplus_lr_ratio": 16, "steps": 50}


def train(model, sequences, settings=SETTINGS):
    """The loss before each update."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    own = {
        "lr": settings["learning_rate"],
        "betas": (settings["adam_beta1"], settings["adam_beta2"]),
        "eps": settings["adam_epsilon"],
    }
    if "loraplus_lr_ratio" in settings:
        optimizer = create_loraplus_optimizer(
            model,
            torch.optim.AdamW,
            loraplus_lr_ratio=settings["loraplus_lr_ratio"],
            loraplus_weight_decay=settings["weight_decay"],
            **own,
        )
    else:
        optimizer = torch.optim.AdamW(
            parameters, weight_decay=settings["weight_decay"], **own
        )
    losses = []
    for ids in sequences:
        loss = mean_nll(model, [(ids, ids)])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, SETTINGS["max_grad_norm"])
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--emit-adapter",
        type=pathlib.Path,
        metavar="DIR",
        help="only write the initial adapter to DIR",
    )
    parser.add_argument(
        "--whole", action="store_true", help="only follow all parameters"
    )
    parser.add_argument("--loraplus", action="store_true", help="only follow LoRA+")
    options = parser.parse_args()
    config = read_config(STORIES)
    if options.emit_adapter:
        write_adapter(options.emit_adapter, "stories260k", config, R, ALPHA, zero_b=True)
        return
    torch.set_num_threads(1)
    ids = shakespeare_ids()
    sequences = np.array(ids[: STEPS * LENGTH]).reshape(STEPS, LENGTH).tolist()
    if not options.whole:
        follow_loraplus(config, ids, sequences)
    if options.loraplus:
        return
    follow_whole(ids, sequences)
    if options.whole:
        return
    with tempfile.TemporaryDirectory() as scratch:
        adapter = pathlib.Path(scratch)
        write_adapter(adapter, "stories260k", config, R, ALPHA, zero_b=True)
        float32 = train(load_model(STORIES, adapter, torch.float32), sequences)
        float64 = train(load_model(STORIES, adapter, torch.float64), sequences)
        bfloat16 = train(load_model(STORIES, adapter, torch.bfloat16), sequences)
    apart = max(abs(a - b) for a, b in zip(float32, float64))
    print(f"loss {float64[0]:.6f} -> {float64[-1]:.6f}; float32 within {apart:.1e}")
    rms = np.sqrt(np.mean((np.array(bfloat16) - np.array(float32)) ** 2))
    print(f"bfloat16 is apart from float32 by {rms:.2e} (root mean square)")
    figures = {
        "settings": SETTINGS,
        "text_tokens": len(ids),
        "used_tokens_hash": hash_ids(ids[: STEPS * LENGTH]),
        "largest_float32_difference": apart,
        "float32": float32,
        "float64": float64,
        "bfloat16": bfloat16,
    }
    write("stories260k.json", figures)


def follow_whole(ids, sequences):
    """All parameters train."""
    follow("stories260k-full.json", WHOLE, ids, sequences, load_whole_model, STORIES)


def follow_loraplus(config, ids, sequences):
    """B has a rate of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        adapter = pathlib.Path(scratch)
        write_adapter(adapter, "stories260k", config, R, ALPHA, zero_b=True)
        name = "stories260k-loraplus.json"
        follow(name, LORAPLUS, ids, sequences, load_model, STORIES, adapter)


def follow(name, settings, ids, sequences, load, *parts):
    """Figures of their own."""
    used = sequences[: settings["steps"]]
    float32 = train(load(*parts, torch.float32), used, settings)
    float64 = train(load(*parts, torch.float64), used, settings)
    apart = max(abs(a - b) for a, b in zip(float32, float64))
    print(f"{name}: {float64[0]:.6f} -> {float64[-1]:.6f}; float32 within {apart:.1e}")
    figures = {
        "settings": settings,
        "text_tokens": len(ids),
        "used_tokens_hash": hash_ids(ids[: settings["steps"] * LENGTH]),
        "largest_float32_difference": apart,
        "float32": float32,
        "float64": float64,
    }
    write(name, figures)


def write(name, figures):
    path = GOLDEN / "losses" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
