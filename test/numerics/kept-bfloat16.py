"""kept-bfloat16.py EXACT ROUNDED: gradients of a plan that keeps bfloat16.

The forward pass is exact, so the losses are equal to the bit. Each gradient
differs, by little: bfloat16 rounds a value by at most 2^-9 of itself.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import parse  # noqa: E402


def read(path):
    metadata, tensors = parse(path)
    return metadata["loss"], {name: tensor.numbers()
                              for name, tensor in tensors.items()}


loss, exact = read(sys.argv[1])
other_loss, rounded = read(sys.argv[2])
assert loss == other_loss, (loss, other_loss)
assert exact.keys() == rounded.keys()
errors = []
for name, values in exact.items():
    size = sum(v * v for v in values) ** 0.5
    error = sum((v - w) ** 2 for v, w in zip(values, rounded[name])) ** 0.5
    errors.append(error / size)
assert max(errors) < 2 ** -5, max(errors)
assert max(errors) > 0, "nothing was rounded"
print("rounded values change gradients by little")
