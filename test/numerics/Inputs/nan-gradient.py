"""nan-gradient.py DIR: a dump of two gradients, the first not a number, and
figures whose only possible answer is that it is beyond all limits."""

import json
import struct
import sys

names = ["a", "b"]
header = {"__metadata__": {"format": "pt", "loss": "1"}}
for i, name in enumerate(names):
    header[name] = {"dtype": "F32", "shape": [1],
                    "data_offsets": [4 * i, 4 * i + 4]}
text = json.dumps(header).encode()
with open(sys.argv[1] + "/dump.safetensors", "wb") as dump:
    dump.write(struct.pack("<Q", len(text)) + text +
               struct.pack("<2f", float("nan"), 0.0))
figures = {"norm": 1, "projections": [0, 0, 0, 0], "torch_float32_error": 9}
with open(sys.argv[1] + "/figures.json", "w") as out:
    json.dump({"loss": 1, "tensors": {name: figures for name in names}}, out)
