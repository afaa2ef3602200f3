"""lcsb-layers.py SOME [ALL]: says which layers have gradients that are not zero in
SOME, and whether those are what ALL has for them.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import layer_of, read  # noqa: E402

some = read(sys.argv[1])
layers = {name: layer_of(name) for name in some}
assert len(set(layers.values())) == 6, layers
found = {layers[name] for name, gradient in some.items() if any(gradient.data)}
line = f"gradients of layers {', '.join(map(str, sorted(found)))}"
if len(sys.argv) > 2:
    everything = read(sys.argv[2])
    same = all(some[name] == everything[name]
               for name in some if layers[name] in found)
    line += ": those of all layers" if same else ": other ones"
print(line)
