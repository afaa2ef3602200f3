# ===- check_logits.py - What PyTorch and a program say of every token ------===#
#
#   check_logits.py TRAIN TRAINED MODEL [ADAPTER]
#
# TRAIN is a program that honec made, TRAINED what `train --adapter` reads, or -.
# MODEL is what Transformers loads, with ADAPTER, if given, on it by PEFT: what TRAIN
# wrote, or hone-adapter. The log-probability of a token after a few others is the
# loss of one sample, and agrees within 1e-5; every third of the vocabulary is asked.
#
# ===-----------------------------------------------------------------------===#

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import torch
from peft import PeftModel

from hash_values import integers
from reference_model import load_base, read_config

LENGTH, EVERY, TOLERANCE = 17, 3, 1e-5


def loss_of(train, trained, prompt, token, path):
    """The program's loss of `token` alone, after the prompt."""
    labels = [-100] * len(prompt) + [token]
    path.write_text(json.dumps({"input_ids": [*prompt, token], "labels": labels}) + "\n")
    command = [train, "--eval-only", "--eval-data", path]
    if trained != "-":
        command += ["--adapter", trained]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(re.search(r"^eval loss +([0-9.]+) over 1 token$", out, re.M)[1])


def check_logits(train, trained, model_dir, adapter_dir=None):
    model = load_base(model_dir, torch.float32).eval()
    if adapter_dir:
        model = PeftModel.from_pretrained(model, str(adapter_dir)).eval()
    vocabulary = read_config(model_dir)["vocab_size"]
    tokens = range(0, vocabulary, EVERY)
    prompt = integers("logits", LENGTH, vocabulary).tolist()
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt]), use_cache=False).logits[0, -1]
    theirs = -torch.log_softmax(logits.double(), -1)[::EVERY]
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "sample.jsonl"
        ours = torch.tensor(
            [loss_of(train, trained, prompt, token, path) for token in tokens],
            dtype=torch.float64,
        )
    apart = float((ours - theirs).abs().max())
    print(f"{len(tokens)} log-probabilities, at most {apart:.1e} apart")
    if not apart <= TOLERANCE:
        sys.exit("PyTorch computes something else")


if __name__ == "__main__":
    check_logits(*sys.argv[1:])
