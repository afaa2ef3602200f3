"""six-layers.py FILE: random weights of Inputs/six-layers.mlir."""

import array
import json
import random
import struct
import sys

random.seed(1)
shapes = {"model.embed_tokens.weight": [97, 16], "lm_head.weight": [97, 16]}
for layer in range(6):
    shapes[f"model.layers.{layer}.norm.weight"] = [16]
    shapes[f"model.layers.{layer}.mix.weight"] = [16, 16]
header, data = {}, b""
for name, shape in shapes.items():
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    values = array.array("d", [random.gauss(0, 0.3) for _ in range(count)])
    header[name] = {"dtype": "F64", "shape": shape,
                    "data_offsets": [len(data), len(data) + 8 * count]}
    data += values.tobytes()
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
