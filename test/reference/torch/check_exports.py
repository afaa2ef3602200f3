# ===- check_exports.py - Do the other programs read what hone-adapter wrote? -===#
#
#   check_exports.py peft MODEL ADAPTER MERGED   PEFT's merge_and_unload()
#   check_exports.py gguf MODEL FILE             gguf-py, as llama.cpp names tensors
#   check_exports.py mlx ADAPTER FOLDER          MLX, with mlx-lm's own LoRALinear
#
# The three need other packages each: requirements.txt; gguf; mlx and mlx-lm.
# test/adapters checks the same with formulas of its own.
#
# ===------------------------------------------------------------------------===#

import json
import pathlib
import re
import sys


def check_peft(model_dir, adapter_dir, merged_dir):
    import torch
    from peft import PeftModel
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float64)
    theirs = PeftModel.from_pretrained(base, adapter_dir).merge_and_unload()
    ours = AutoModelForCausalLM.from_pretrained(merged_dir, dtype=torch.float64)
    if ours.config.tie_word_embeddings != theirs.config.tie_word_embeddings:
        sys.exit(f"PEFT's has tie_word_embeddings {theirs.config.tie_word_embeddings}")
    expected, merged = theirs.state_dict(), ours.state_dict()
    written = load_file(next(merged_dir.glob("*.safetensors")))
    worst = 0.0
    for name, tensor in expected.items():
        difference = (merged[name] - tensor).abs() / tensor.abs().clamp_min(1e-30)
        # PEFT's factors are float32 and its products too: one of both roundings.
        worst = max(worst, float(((merged[name] - tensor).norm() / tensor.norm())))
    print(f"{len(expected)} tensors, {len(written)} in a file, relative difference {worst:.2e}")
    if worst > (1e-6 if written[next(iter(written))].dtype == torch.float32 else 5e-3):
        sys.exit("PEFT merges to something else")


def check_gguf(model_dir, path):
    import gguf

    reader = gguf.GGUFReader(path)
    config = json.loads((model_dir / "config.json").read_text())
    value = {key: field.contents() for key, field in reader.fields.items()}
    arch = {name: key for key, name in gguf.MODEL_ARCH_NAMES.items()}[value["general.architecture"]]
    names = gguf.get_tensor_name_map(arch, config.get("num_hidden_layers") or config["n_layer"])
    # Its converter's names for the modules of Transformers, and for no others.
    known = set(names.mapping[key][1] for key in names.mapping if re.match(r"(model\.layers|transformer\.h)\.", key))
    for tensor in reader.tensors:
        base, factor = tensor.name.rsplit(".", 1)
        if base.removesuffix(".weight") not in known or factor not in ("lora_a", "lora_b"):
            sys.exit(f"llama.cpp has no tensor {tensor.name}")
    if value["general.type"] != gguf.GGUFType.ADAPTER or value[gguf.Keys.Adapter.TYPE] != "lora":
        sys.exit("no adapter")
    print(f"{len(reader.tensors)} tensors, alpha {value[gguf.Keys.Adapter.LORA_ALPHA]}")


def check_mlx(adapter_dir, folder):
    import importlib.util

    import mlx.core as mx
    import numpy
    from safetensors.numpy import load_file

    written = mx.load(str(folder / "adapters.safetensors"))
    parameters = json.loads((folder / "adapter_config.json").read_text())["lora_parameters"]
    config = json.loads((adapter_dir / "adapter_config.json").read_text())
    factors = load_file(adapter_dir / "adapter_model.safetensors")
    modules = sorted({name.rsplit(".", 1)[0] for name in written})
    body = "transformer." if any(".transformer.h." in name for name in factors) else "model."
    for module in modules:
        own = body + module.removeprefix("model.")
        a, b = (factors[f"base_model.model.{own}.lora_{x}.weight"] for x in "AB")
        x = numpy.random.default_rng(0).standard_normal((3, a.shape[1])).astype(numpy.float32)
        expected = config["lora_alpha"] / config["r"] * (x @ a.T @ b.T)
        # As mlx_lm.tuner.lora.LoRALinear.__call__ has it.
        found = parameters["scale"] * ((mx.array(x) @ written[module + ".lora_a"]) @ written[module + ".lora_b"])
        if not numpy.allclose(numpy.array(found), expected, rtol=1e-4, atol=1e-5):
            sys.exit(f"{module}: MLX computes another update")
    print(f"{len(modules)} modules, MLX computes the same updates")


def main():
    what, *paths = sys.argv[1:]
    {"peft": check_peft, "gguf": check_gguf, "mlx": check_mlx}[what](*map(pathlib.Path, paths))


if __name__ == "__main__":
    main()
