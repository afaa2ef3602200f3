"""large-gradients.py FLOAT32 FLOAT64: each gradient is that of float64 to 1e-4 of its
length, as --self-check wants it, and none is zero or not finite. A sum of 28,672
terms is off by about 1e-5 (its root times 2^-24), and a gradient goes through some 30.
"""

import math
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import read_numbers  # noqa: E402

float32, float64 = map(read_numbers, sys.argv[1:])
assert float32.keys() == float64.keys() and float32
largest = (0.0, "")
for name, exact in float64.items():
    length = math.sqrt(sum(v * v for v in exact))
    error = math.sqrt(sum((v - w) ** 2 for v, w in zip(exact, float32[name])))
    assert 0 < length < math.inf, (name, length)
    assert error <= 1e-4 * length, (name, error / length)
    largest = max(largest, (error / length, name))
print(f"{len(float64)} gradients are those of float64: at most {largest[0]:.1e}, {largest[1]}")
