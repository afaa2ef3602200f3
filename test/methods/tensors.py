"""Tensors of a safetensors file, for the scripts beside this one."""

import json
import re
import struct


def read(path, convert=bytes):
    """By name; `convert` makes of its bytes what is wanted."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: convert(data[slice(*tensor["data_offsets"])])
            for name, tensor in header.items()}


def layer_of(name):
    """None: of no layer."""
    found = re.search(r"layers\.(\d+)\.", name)
    return int(found[1]) if found else None
