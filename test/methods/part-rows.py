"""part-rows.py BOTH LOWER UPPER: the first three layers of six of the adapter BOTH
have the bits of LOWER, the others those of UPPER."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import layer_of, read  # noqa: E402

both, lower, upper = map(read, sys.argv[1:])
assert lower != upper
for name, bits in both.items():
    assert bits == (lower if layer_of(name) < 3 else upper)[name], name
print("each part: the bits of its own optimizer and rate")
