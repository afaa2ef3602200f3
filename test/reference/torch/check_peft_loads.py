# ===- check_peft_loads.py - Does PEFT read the adapter that was written? ---===#
#
#   check_peft_loads.py MODEL ADAPTER DATA.jsonl [--line N] [--expected-loss X]
#
# PEFT only warns about keys that it cannot place and then trains a fresh
# tensor instead, so the tensors in the loaded model are compared with the
# file one by one. DATA holds {"input_ids", "labels"} lines.
#
# ===-----------------------------------------------------------------------===#

import argparse
import pathlib
import sys

import torch
from safetensors.torch import load_file

from reference_model import load_model, mean_nll, name_in_files, read_batch


def misplaced_tensors(model, adapter_dir):
    """Names whose values in the loaded model are not those of the file."""
    written = load_file(adapter_dir / "adapter_model.safetensors")
    everything = {
        name_in_files(name): p.detach()
        for name, p in model.named_parameters()
        if ".original_module." not in name
    }
    # In addition to PEFT's usual tensors: biases that the adapter trains.
    loaded = {
        name: p
        for name, p in everything.items()
        if "lora_" in name or name in written
    }
    return sorted(
        name
        for name in written.keys() | loaded.keys()
        if name not in written
        or name not in loaded
        or not torch.equal(written[name].float(), loaded[name])
    )


def check_adapter(model_dir, adapter_dir, data, line=None, expected=None, tolerance=1e-5):
    model = load_model(model_dir, adapter_dir, torch.float32)
    wrong = misplaced_tensors(model, adapter_dir)
    if wrong:
        sys.exit(f"{len(wrong)} tensors did not reach the model: {', '.join(wrong)}")
    batch = read_batch(data)
    if line:
        batch = [batch[line - 1]]
    with torch.no_grad():
        loss = float(mean_nll(model, batch))
    print(f"loss {loss:.9f}")
    if expected is not None and abs(loss - expected) > tolerance * abs(expected):
        sys.exit(f"expected {expected:.9f} within {tolerance:g} relative")


def main():
    parser = argparse.ArgumentParser(description="checks that PEFT loads an adapter")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("adapter", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--line", type=int, help="only this line, counted from 1")
    parser.add_argument("--expected-loss", type=float)
    parser.add_argument("--tolerance", type=float, default=1e-5, help="relative")
    options = parser.parse_args()
    check_adapter(
        options.model, options.adapter, options.data, options.line, options.expected_loss, options.tolerance
    )


if __name__ == "__main__":
    main()
