"""part-rows.py BOTH LOWER UPPER: the first three layers of six of the adapter BOTH
have the bits of LOWER, the others those of UPPER."""

import json
import re
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: data[slice(*tensor["data_offsets"])]
            for name, tensor in header.items()}


both, lower, upper = map(read, sys.argv[1:])
assert lower != upper
for name, bits in both.items():
    layer = int(re.search(r"layers\.(\d+)\.", name)[1])
    assert bits == (lower if layer < 3 else upper)[name], name
print("each part: the bits of its own optimizer and rate")
