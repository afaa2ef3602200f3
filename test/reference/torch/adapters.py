# ===- adapters.py - Adapters that a C++ test can rebuild ------------------===#
#
# A is uniform in +-1/sqrt(in), as PEFT starts it, and B in +-1/(2 sqrt(r)) or
# zero, both from hash_values.py under the tensor's PEFT name. With a zero B
# every gradient of A is zero: gradients are only compared at a random B. DoRA's
# magnitudes are uniform in 0.5 to 1.5.
#
# ===-----------------------------------------------------------------------===#

import json
import re

import numpy as np
from safetensors.numpy import save_file

from hash_values import uniform
from make_models import target_shapes


def number_of(pattern, path, otherwise):
    """As PEFT's get_pattern_key."""
    for key, number in pattern.items():
        if re.match(rf"(.*\.)?({key})$", path):
            return number
    return otherwise


def adapter_tensors(config, r, zero_b=False, settings={}):
    """float32 lora_A [r, in] and lora_B [out, r] for all linear modules, or
    those that `settings` of PEFT say, and lora_magnitude_vector [out] for DoRA.
    Embeddings and heads that are saved differ from the model's."""
    tensors = {}
    rank = r
    for path, (outputs, inputs) in target_shapes(config).items():
        if path.split(".")[-1] not in settings.get("target_modules", path):
            continue
        layers = settings.get("layers_to_transform")
        if layers and int(re.match(r".*\.[^.]*\.(\d+)\.", path).group(1)) not in layers:
            continue
        r = number_of(settings.get("rank_pattern", {}), path, rank)
        name = f"base_model.model.{path}.lora_"
        if settings.get("use_dora"):
            magnitude = 1 + 0.5 * uniform(name + "magnitude_vector", (outputs,))
            tensors[name + "magnitude_vector"] = magnitude.astype(np.float32)
        a = uniform(name + "A.weight", (r, inputs)) * (1 / np.sqrt(inputs))
        b = uniform(name + "B.weight", (outputs, r)) * (0.5 / np.sqrt(r))
        tensors[name + "A.weight"] = a.astype(np.float32)
        tensors[name + "B.weight"] = b.astype(np.float32) * np.float32(not zero_b)
    for module in settings.get("modules_to_save", []):
        name = f"base_model.model.{'' if module == 'lm_head' else 'model.'}{module}.weight"
        table = 0.5 * uniform(name, (config["vocab_size"], config["hidden_size"]))
        tensors[name] = table.astype(np.float32)
    return tensors


def scales(config, r, alpha, settings):
    """The factor of B(Ax), by module."""
    found = {}
    for path in target_shapes(config):
        rank = number_of(settings.get("rank_pattern", {}), path, r)
        own = number_of(settings.get("alpha_pattern", {}), path, alpha)
        found[path] = own / (np.sqrt(rank) if settings.get("use_rslora") else rank)
    return found


def write_adapter(directory, model_name, config, r, alpha, zero_b=False, more={}):
    """Writes a PEFT adapter directory, with `more` settings, and returns its
    tensors."""
    directory.mkdir(parents=True, exist_ok=True)
    tensors = adapter_tensors(config, r, zero_b, more)
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
        **more,
    }
    text = json.dumps(settings, indent=2, sort_keys=True) + "\n"
    (directory / "adapter_config.json").write_text(text)
    return tensors
