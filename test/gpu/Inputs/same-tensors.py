"""same-tensors.py A B: whether two safetensors files have the same tensors."""

import json
import struct
import sys


def tensors(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__")
    return {name: (each["dtype"], each["shape"],
                   data[8 + size:][slice(*each["data_offsets"])])
            for name, each in header.items()}


first, second = map(tensors, sys.argv[1:3])
assert first.keys() == second.keys(), first.keys() ^ second.keys()
for name in first:
    # Norms are stored as they are, and made in bfloat16 by hone-make-model.
    if first[name][0] == "BF16":
        assert first[name] == second[name], name
print(len(first), "tensors are the same")
