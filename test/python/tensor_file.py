"""Files of safetensors, as bytes of each tensor."""

import json
import struct


def read(path):
    """Name to (dtype, shape, bytes)."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    out = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            out[name] = (entry["dtype"], entry["shape"], data[8 + size + begin : 8 + size + end])
    return out
