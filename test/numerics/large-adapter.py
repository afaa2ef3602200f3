"""large-adapter.py CONFIG FOLDER [RANK]: a PEFT adapter for a Llama, A and B random: bfloat16
of 2^-7 to 2^-5 with either sign, so that every number is exact in all types.
"""

import json
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import write  # noqa: E402

SIGN_AND_EXPONENT = bytes([0x3C, 0xBC] * 128)
config, folder = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
rank = int((sys.argv[3:] or ["1"])[0])
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
        for name, shape in (("A", [rank, columns]), ("B", [rows, rank])):
            count = shape[0] * shape[1]
            numbers = bytearray(2 * count)
            numbers[0::2] = draw.randbytes(count)
            numbers[1::2] = draw.randbytes(count).translate(SIGN_AND_EXPONENT)
            tensors[f"base_model.model.model.layers.{layer}.{module}.lora_{name}.weight"] = (
                "BF16", shape, bytes(numbers))
write(folder / "adapter_model.safetensors", tensors, {"format": "pt"})
(folder / "adapter_config.json").write_text(json.dumps(
    {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": 2 * rank, "bias": "none",
     "target_modules": sorted(module.partition(".")[2] for module in modules)}))
