"""losses.py A B [TOLERANCE]: the losses of two logs of steps are those of one run.

As far as another order of sums lets them be."""

import json
import sys


def losses(path):
    # A run that goes on elsewhere says so in a line of its own.
    return [step["loss"] for step in map(json.loads, open(path)) if "loss" in step]


first, second = map(losses, sys.argv[1:3])
assert len(first) == len(second), (first, second)
worst = max(abs(a - b) / abs(a) for a, b in zip(first, second))
assert worst < (float(sys.argv[3]) if len(sys.argv) > 3 else 1e-5), (first, second)
print(f"{len(first)} losses agree")
