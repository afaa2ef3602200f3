"""large-adapter.py CONFIG FOLDER: a PEFT adapter of rank 1 for a Llama, A and B random."""

import json
import pathlib
import random
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import write  # noqa: E402

config, folder = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
width, inner = config["hidden_size"], config["intermediate_size"]
queries, keys = (config["head_dim"] * config[f"num_{kind}_heads"]
                 for kind in ("attention", "key_value"))
modules = {"self_attn.q_proj": (queries, width), "self_attn.k_proj": (keys, width),
           "self_attn.v_proj": (keys, width), "self_attn.o_proj": (width, queries),
           "mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width),
           "mlp.down_proj": (width, inner)}
draw, tensors = random.Random(5), {}
for layer in range(config["num_hidden_layers"]):
    for module, (rows, columns) in modules.items():
        for name, shape in (("A", [1, columns]), ("B", [rows, 1])):
            numbers = [draw.uniform(-0.05, 0.05) for _ in range(max(shape))]
            tensors[f"base_model.model.model.layers.{layer}.{module}.lora_{name}.weight"] = (
                "F32", shape, struct.pack(f"<{len(numbers)}f", *numbers))
write(folder / "adapter_model.safetensors", tensors, {"format": "pt"})
(folder / "adapter_config.json").write_text(json.dumps(
    {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 1, "lora_alpha": 2, "bias": "none",
     "target_modules": sorted(module.partition(".")[2] for module in modules)}))
