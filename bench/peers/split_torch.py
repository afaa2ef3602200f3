#!/usr/bin/env python3
"""split_torch.py [OPT-125m | OPT-1.3b] [--tasks TASK...]: PyTorch's client of FO-FO, its resident memory.

The client of split_memory.py in PyTorch and PEFT: the embeddings and the lowest five layers of OPT in float32 with
random weights, LoRA r = 8 on q_proj and v_proj, SGD, the paper's batch with the longest sequence of each task in
every row, no dropout. A step is the client's forward, the cotangent of the hidden states, which is drawn here in
place of a server's, its backward and its update. Prints Markdown: the resident high-water mark of a process after
--steps, how much of it was there before the first one, and our HOSL client's plan beside it. With --child it is that
process.

    HONE_SHARED=... PATH=build/release/bin:$PATH VENV/bin/python bench/peers/split_torch.py OPT-125m
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import split_memory
import settings
from build_tools import run_main
from children import end_with_parent
from process_memory import read_status, reset_high_water


def make_client(config_folder):
    """The embeddings and lowest layers, up to the cut."""
    import torch
    import transformers
    from peft import LoraConfig, get_peft_model

    config = transformers.OPTConfig.from_pretrained(config_folder)
    config.num_hidden_layers = split_memory.BELOW
    config.dropout = config.attention_dropout = config.layerdrop = 0.0
    config.use_cache = False
    config.dtype = torch.float32
    model = transformers.OPTModel(config)
    # The norm after the last layer is the server's.
    model.decoder.final_layer_norm = torch.nn.Identity()
    return get_peft_model(model, LoraConfig(r=8, lora_alpha=8, target_modules=["q_proj", "v_proj"]))


def run_steps(options):
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    client = make_client(options.config)
    trained = [tensor for tensor in client.parameters() if tensor.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=1e-4)
    rows, length = options.batch, options.length
    vocabulary = client.config.vocab_size
    reset_high_water(os.getpid())
    before = read_status(os.getpid())[1]
    for _ in range(options.steps):
        began = time.monotonic()
        tokens = torch.randint(4, vocabulary, (rows, length))
        hidden = client(input_ids=tokens).last_hidden_state
        hidden.backward(torch.randn_like(hidden))
        optimizer.step()
        optimizer.zero_grad()
    print(json.dumps({"resident": read_status(os.getpid())[1], "before": before, "seconds": time.monotonic() - began,
                      "parameters": sum(tensor.numel() for tensor in trained)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", nargs="?", choices=list(split_memory.PAPER), default="OPT-125m")
    parser.add_argument("--tasks", nargs="+", choices=list(split_memory.TASKS), default=list(split_memory.TASKS))
    parser.add_argument("--steps", type=settings.count, default=1)
    parser.add_argument("--threads", type=settings.count, default=2)
    parser.add_argument("--child", nargs=3, metavar=("CONFIG", "BATCH", "LENGTH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        options.config, options.batch, options.length = (*options.child[:1], *map(int, options.child[1:]))
        return run_steps(options)
    config = pathlib.Path(os.environ.get("HONE_SHARED", "../shared")) / "data/configs" / options.shape
    batch = split_memory.BATCH[options.shape]
    print("| task | longest | PyTorch FO-FO | before its first step | our FO-FO | our HOSL | below PyTorch's | streamed "
          "| below PyTorch's |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for task in options.tasks:
        length = split_memory.TASKS[task]
        done = subprocess.run([sys.executable, str(HERE / "split_torch.py"), "--steps", str(options.steps), "--threads",
                               str(options.threads), "--child", str(config), str(batch), str(length)],
                              text=True, stdout=subprocess.PIPE, preexec_fn=end_with_parent)
        if done.returncode:
            print(f"| {task} | {length} | none: ended by {done.returncode} | | | | | | |", flush=True)
            continue
        peer = json.loads(done.stdout.splitlines()[-1])
        with tempfile.TemporaryDirectory() as name:
            first, own, streamed = (split_memory.planned(pathlib.Path(name), config, variant, batch, length)
                                    for variant in ("FO-FO", "HOSL", "streamed"))
        print(f"| {task} | {length} | {peer['resident'] / 1e9:.3f} GB | {peer['before'] / 1e9:.3f} GB |"
              f" {first / 1e9:.3f} GB | {own / 1e9:.3f} GB | {peer['resident'] / own:.1f} x |"
              f" {streamed / 1e9:.3f} GB | {peer['resident'] / streamed:.1f} x |", flush=True)
        print(f"{task}: {peer['seconds']:.1f} s a step, {peer['parameters']} parameters", file=sys.stderr)


if __name__ == "__main__":
    run_main(main)
