"""losses.py A B: the losses of two logs of steps are those of one run.

As far as another order of sums lets them be."""

import json
import sys

first, second = ([json.loads(line)["loss"] for line in open(path)]
                 for path in sys.argv[1:3])
assert len(first) == len(second), (first, second)
worst = max(abs(a - b) / abs(a) for a, b in zip(first, second))
assert worst < 1e-5, (first, second)
print(f"{len(first)} losses agree")
