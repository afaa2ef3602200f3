#!/usr/bin/env python3
"""join.py ONE PART...: the adapters of the parts' folders together have the tensors of
ONE's, bit for bit, and each has some."""

import json
import pathlib
import sys


def tensors(folder):
    [path] = pathlib.Path(folder).glob("*.safetensors")
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (about["dtype"], about["shape"],
                   data[8 + size + about["data_offsets"][0]:8 + size + about["data_offsets"][1]])
            for name, about in header.items()}


one, joined = tensors(sys.argv[1]), {}
for folder in sys.argv[2:]:
    own = tensors(folder)
    if not own or joined.keys() & own.keys():
        sys.exit(f"join: {folder} has no tensors of its own")
    joined |= own
if joined != one:
    other = [name for name in one if joined.get(name) != one[name]]
    sys.exit(f"join: other tensors: {other[:4]}")
