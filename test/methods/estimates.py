"""estimates.py EXACT MANY DIRECTIONS (ESTIMATE REPLAY) x 7

EXACT is the gradient, in float64. Each ESTIMATE is c z for one direction z and the
c that is the first number of REPLAY: the derivative along z; three slopes of two
sides, for distances that halve, which go to it quadratically; and three of one
side, which go to it linearly. MANY is the mean of j z over as many DIRECTIONS.
"""

import json
import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import read_numbers as read  # noqa: E402


def first_coefficient(path):
    with open(path, "rb") as file:
        assert json.loads(file.readline())["coefficients"] == 1
        return struct.unpack("<f", file.read(4))[0]


def dot(a, b):
    return sum(x * y for name, values in a.items()
               for x, y in zip(values, b[name]))


exact, many = read(sys.argv[1]), read(sys.argv[2])
directions = int(sys.argv[3])
errors, direction = [], None
for estimate, replay in zip(*[iter(sys.argv[4:])] * 2):
    c = first_coefficient(replay)
    z = {name: [x / c for x in values]
         for name, values in read(estimate).items()}
    assert z.keys() == exact.keys()
    if direction is None:
        direction = z
        count = sum(map(len, z.values()))
        mean = sum(map(sum, z.values())) / count
        assert abs(mean) < 4 / count ** 0.5, mean
        assert abs(dot(z, z) / count - 1) < 6 / count ** 0.5
    for name, values in z.items():
        assert max(abs(x - y) for x, y in zip(values, direction[name])) < 1e-5
    slope = dot(exact, z)
    errors.append(abs(c - slope) / abs(slope))
    print("relative error", errors[-1])
# The log has 24 bits of a number.
assert errors[0] < 1e-6, errors[0]
assert len(errors) == 7
for far, near in zip(errors[1:4], errors[2:4]):
    assert 3 < far / near < 5, (far, near)
for far, near in zip(errors[4:], errors[5:]):
    assert 1.6 < far / near < 2.4, (far, near)

difference = {name: [x - y for x, y in zip(values, exact[name])]
              for name, values in many.items()}
found = dot(difference, difference) / dot(exact, exact)
expected = (count + 1) / directions
print("squared relative error", found, "expected", expected)
assert 0.85 < found / expected < 1.15
print("derivatives, slopes and errors are as they should be")
