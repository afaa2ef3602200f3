"""lcsb-layers.py SOME [ALL]: says which layers have gradients that are not zero in
SOME, and whether those are what ALL has for them.
"""

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


some = read(sys.argv[1])
layer_of = {name: int(re.search(r"layers\.(\d+)\.", name)[1]) for name in some}
assert len(set(layer_of.values())) == 6, layer_of
found = {layer_of[name] for name, gradient in some.items() if any(gradient)}
line = f"gradients of layers {', '.join(map(str, sorted(found)))}"
if len(sys.argv) > 2:
    everything = read(sys.argv[2])
    same = all(some[name] == everything[name]
               for name in some if layer_of[name] in found)
    line += ": those of all layers" if same else ": other ones"
print(line)
