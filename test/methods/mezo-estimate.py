"""mezo-estimate.py EXACT ESTIMATE EPSILON REPLAY [ESTIMATE EPSILON REPLAY ...]

Slopes along one direction, of distances that halve: they go to the exact
derivative quadratically. EXACT is the gradient, each ESTIMATE is c z for the c
that is the first number of REPLAY; all in float64 but c.
"""

import array
import json
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: array.array("d", data[slice(*tensor["data_offsets"])])
            for name, tensor in header.items()}


def first_coefficient(path):
    with open(path, "rb") as file:
        assert json.loads(file.readline())["coefficients"] == 1
        return struct.unpack("<f", file.read(4))[0]


exact = read(sys.argv[1])
errors, direction = [], None
for estimate, epsilon, replay in zip(*[iter(sys.argv[2:])] * 3):
    c = first_coefficient(replay)
    z = {name: [x / c for x in values]
         for name, values in read(estimate).items()}
    assert z.keys() == exact.keys()
    if direction is None:
        direction = z
        elements = [x for values in z.values() for x in values]
        mean = sum(elements) / len(elements)
        variance = sum(x * x for x in elements) / len(elements)
        assert abs(mean) < 4 / len(elements) ** 0.5, mean
        assert abs(variance - 1) < 6 / len(elements) ** 0.5, variance
    for name, values in z.items():
        assert max(abs(x - y) for x, y in zip(values, direction[name])) < 1e-5
    slope = sum(g * x for name, values in exact.items()
                for g, x in zip(values, z[name]))
    errors.append(abs(c - slope) / abs(slope))
    print("epsilon", epsilon, "relative error", errors[-1])
for far, near in zip(errors, errors[1:]):
    assert 3 < far / near < 5, (far, near)
print("slopes go to the derivative quadratically")
