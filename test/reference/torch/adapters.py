# ===- adapters.py - Adapters that a C++ test can rebuild ------------------===#
#
# A is uniform in +-1/sqrt(in), as PEFT starts it, and B in +-1/(2 sqrt(r)) or
# zero, both from hash_values.py under the tensor's PEFT name. With a zero B
# every gradient of A is zero: gradients are only compared at a random B.
#
# ===-----------------------------------------------------------------------===#

import json

import numpy as np
from safetensors.numpy import save_file

from hash_values import uniform
from make_models import target_shapes


def adapter_tensors(config, r, zero_b=False):
    """float32 lora_A [r, in] and lora_B [out, r] for all linear modules."""
    tensors = {}
    for path, (outputs, inputs) in target_shapes(config).items():
        name = f"base_model.model.{path}.lora_"
        a = uniform(name + "A.weight", (r, inputs)) * (1 / np.sqrt(inputs))
        b = uniform(name + "B.weight", (outputs, r)) * (0.5 / np.sqrt(r))
        tensors[name + "A.weight"] = a.astype(np.float32)
        tensors[name + "B.weight"] = b.astype(np.float32) * np.float32(not zero_b)
    return tensors


def write_adapter(directory, model_name, config, r, alpha, zero_b=False):
    """Writes a PEFT adapter directory and returns its tensors."""
    directory.mkdir(parents=True, exist_ok=True)
    tensors = adapter_tensors(config, r, zero_b)
    save_file(tensors, directory / "adapter_model.safetensors", metadata={"format": "pt"})
    names = {path.split(".")[-1] for path in target_shapes(config)}
    settings = {
        "base_model_name_or_path": model_name,
        "bias": "none",
        "fan_in_fan_out": config["model_type"] == "gpt2",
        "inference_mode": True,
        "lora_alpha": alpha,
        "lora_dropout": 0.0,
        "peft_type": "LORA",
        "r": r,
        "target_modules": sorted(names),
        "task_type": None if config["model_type"] == "parallel" else "CAUSAL_LM",
        "use_rslora": False,
    }
    text = json.dumps(settings, indent=2, sort_keys=True) + "\n"
    (directory / "adapter_config.json").write_text(text)
    return tensors
