"""six-layers.py FILE: random weights of Inputs/six-layers.mlir."""

import array
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import write  # noqa: E402

random.seed(1)
shapes = {"model.embed_tokens.weight": [97, 16], "lm_head.weight": [97, 16]}
for layer in range(6):
    shapes[f"model.layers.{layer}.norm.weight"] = [16]
    shapes[f"model.layers.{layer}.mix.weight"] = [16, 16]
tensors = {}
for name, shape in shapes.items():
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    values = array.array("d", [random.gauss(0, 0.3) for _ in range(count)])
    tensors[name] = "F64", shape, values.tobytes()
write(sys.argv[1], tensors)
