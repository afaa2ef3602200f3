"""Files of safetensors, for the scripts of all tests, with the standard library."""

import json
import pathlib
import re
import struct
from typing import NamedTuple

LETTERS = {"F64": "d", "F32": "f", "F16": "e", "U32": "I"}


def decode(dtype, data):
    """The numbers that the bytes are."""
    if dtype == "BF16":
        words = struct.unpack(f"<{len(data) // 2}H", data)
        return decode("F32", struct.pack(f"<{len(words)}I", *(word << 16 for word in words)))
    letter = LETTERS[dtype]
    return list(struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data))


class Tensor(NamedTuple):
    dtype: str
    shape: list
    data: bytes

    def numbers(self):
        return decode(self.dtype, self.data)


def parse(path):
    """The metadata, and each tensor by its name."""
    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    metadata = header.pop("__metadata__", {})
    return metadata, {
        name: Tensor(entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
        for name, entry in header.items()
    }


def read(path):
    return parse(path)[1]


def read_numbers(path):
    return {name: tensor.numbers() for name, tensor in read(path).items()}


def read_folder(folder):
    """Of a model or an adapter: name -> the file's name and the tensor."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*model*.safetensors")):
        for name, tensor in read(path).items():
            assert name not in found, name
            found[name] = path.name, tensor
    return found


def write(path, tensors, metadata=None):
    """Tensors are (dtype, shape, data)."""
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def layer_of(name):
    """None: of no layer."""
    found = re.search(r"layers\.(\d+)\.", name)
    return int(found[1]) if found else None
