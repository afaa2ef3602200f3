"""bfloat16-gradients.py [--most=ERROR] FLOAT32 BFLOAT16...: gradients of one adapter.

Roundings to bfloat16 are at most 2^-9 of a value each, and a gradient goes
through a few dozen of them: at most ERROR, 2^-6 unless it is given, in all.
Where it is given, it is the distance of PyTorch's own bfloat16 model from
float64 at the golden adapter, as where a derivative jumps and a rounded value
is on the other side.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import read_numbers as read  # noqa: E402


def apart(exact, rounded):
    assert exact.keys() == rounded.keys()
    difference = sum((v - w) ** 2 for name in exact
                     for v, w in zip(exact[name], rounded[name]))
    return (difference / sum(v * v for t in exact.values() for v in t)) ** 0.5


paths, most = sys.argv[1:], 2 ** -6
if paths[0].startswith("--most="):
    most = float(paths.pop(0).removeprefix("--most="))
float32, *others = map(read, paths)
for path, other in zip(paths[1:], others):
    error = apart(float32, other)
    assert 2 ** -14 < error < most, (path, error)
assert len(others) > 1
print("gradients of both targets are those of float32 but for roundings")
