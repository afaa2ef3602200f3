"""exact-gradients.py SOME ALL: SOME has the gradients of ALL in some layers, and in
what is of no layer, and none in all others. Says which.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import layer_of, read  # noqa: E402

some, everything = map(read, sys.argv[1:])
assert list(some) == list(everything)
found = {layer_of(name) for name, gradient in some.items() if any(gradient.data)}
assert {None} & set(map(layer_of, some)) <= found, "nothing of what is of no layer"
for name, gradient in some.items():
    assert layer_of(name) not in found or gradient == everything[name], name
layers = ", ".join(map(str, sorted(found - {None})))
print(f"those of all layers in {layers}{' and outside' if None in found else ''}")
