"""nan-gradient.py DIR: a dump of two gradients, the first not a number, and
figures whose only possible answer is that it is beyond all limits."""

import json
import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tensor_file import write  # noqa: E402

names = ["a", "b"]
write(sys.argv[1] + "/dump.safetensors",
      {name: ("F32", [1], struct.pack("<f", number))
       for name, number in zip(names, (float("nan"), 0.0))},
      {"format": "pt", "loss": "1"})
figures = {"norm": 1, "projections": [0, 0, 0, 0], "torch_float32_error": 9}
with open(sys.argv[1] + "/figures.json", "w") as out:
    json.dump({"loss": 1, "tensors": {name: figures for name in names}}, out)
