# ===- check_model_loads.py - A trained model, read by Transformers --------===#
#
# check_model_loads.py SOURCE RESULT DATA.jsonl LOSS
#
# RESULT, which a run with lora: none wrote, has the tensors of SOURCE in the same
# files, loads without a missing or unexpected one, and its mean loss over DATA
# in float32 is the LOSS that `train --eval-only --adapter RESULT` printed, to
# 1e-5. With an index its sizes are those of the files.
#
# ===-----------------------------------------------------------------------===#

import json
import pathlib
import sys

import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM

from reference_model import load_base, mean_nll, read_batch


def tensors_of(folder):
    found = {}
    for path in sorted(folder.glob("model*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():
                found[name] = (path.name, tuple(file.get_slice(name).get_shape()))
    return found


def check_index(folder):
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return
    told = json.loads(index.read_text())
    size = 0
    for name, file in told["weight_map"].items():
        with safe_open(folder / file, "pt") as tensors:
            tensor = tensors.get_tensor(name)
            size += tensor.numel() * tensor.element_size()
    assert told["metadata"]["total_size"] == size, (told["metadata"], size)


def check_model(source, result, data, expected):
    ours, theirs = tensors_of(result), tensors_of(source)
    assert ours.items() <= theirs.items(), ours.items() - theirs.items()
    left_out = theirs.keys() - ours.keys()
    assert all("lm_head" in n or "inv_freq" in n for n in left_out), left_out
    check_index(result)
    model, told = AutoModelForCausalLM.from_pretrained(
        result, dtype=torch.float32, output_loading_info=True
    )
    assert not told["missing_keys"] and not told["unexpected_keys"], told
    with torch.no_grad():
        loss = float(mean_nll(load_base(result, torch.float32).eval(), read_batch(data)))
    apart = abs(loss - expected)
    assert apart <= 1e-5, (loss, expected)
    print(f"{result.name}: {len(ours)} tensors, loss within {apart:.1e}")


if __name__ == "__main__":
    check_model(*map(pathlib.Path, sys.argv[1:4]), float(sys.argv[4]))
