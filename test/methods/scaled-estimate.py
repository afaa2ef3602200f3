"""scaled-estimate.py EXACT ESTIMATE SCALED SCALE...: ESTIMATE is c z along one
direction z, with c = <g, z> of the EXACT gradient g; SCALED is that of the
direction whose layer i is SCALE i times z, the layers after those as they are.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import layer_of, read_numbers as read  # noqa: E402

exact, estimate, scaled = map(read, sys.argv[1:4])
given = list(map(float, sys.argv[4:]))
scales = {name: (given + [1.0] * 99)[layer_of(name)] for name in exact}
assert 1.0 in scales.values(), "expects a layer without a scale"
products = {name: sum(x * y for x, y in zip(exact[name], estimate[name]))
            for name in exact}
c = sum(products.values()) ** 0.5  # <g, c z> = c^2
slope = sum(scales[name] * product / c for name, product in products.items())
worst = 0.0
for name, values in scaled.items():
    for found, whole in zip(values, estimate[name]):
        expected = scales[name] * slope * whole / c
        worst = max(worst, abs(found - expected))
largest = max(abs(x) for values in scaled.values() for x in values)
# The log has 24 bits of a coefficient.
assert worst < 1e-6 * largest, (worst, largest)
assert all(not any(scaled[name]) for name in scaled if scales[name] == 0)
print("a scaled direction is in the derivative and in the estimate")
