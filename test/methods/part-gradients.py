"""part-gradients.py FOLDER LOWER-LAYERS LOWER UPPER...: gradients of the two parts
of a model of six layers, in FOLDER/LOWER-UPPER.safetensors, against what each
method has alone.

FOLDER/exact is the gradient, FOLDER/METHOD that of a method along one direction for
all layers: c z with c = <g, z>, so that <g, c z> = c^2. A part has c' z with c' of
its own layers, which is <g', c z'> / c^2 times the whole's. FOLDER/mask-S is the
gradient whose backward is the identity but in layers S.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import layer_of, read_numbers  # noqa: E402

folder, below = sys.argv[1], int(sys.argv[2])
LAYERS = 6


def read(name):
    return read_numbers(f"{folder}/{name}.safetensors")


def rows(gradient, layers):
    return [x for name in sorted(gradient)
            if layer_of(name) in layers
            for x in gradient[name]]


def dot(a, b):
    assert len(a) == len(b)
    return sum(x * y for x, y in zip(a, b))


def error(found, expected):
    difference = [x - y for x, y in zip(found, expected)]
    return (dot(difference, difference) / dot(expected, expected)) ** 0.5


def check(part, method, found, limit, expected):
    assert any(found), (part, method)
    wrong = error(found, expected)
    assert wrong < limit, (part, method, wrong)
    return f"{wrong:.1e}"


exact = read("exact")
everything = set(range(LAYERS))


def judge(lower, upper):
    """The errors of both parts."""
    found = read(f"{lower}-{upper}")
    parts = {"lower": (lower, set(range(below))),
             "upper": (upper, set(range(below, LAYERS)))}
    # The first of three groups of the part's layers, one layer each.
    selected = set()
    for method, layers in parts.values():
        selected |= {min(layers)} if method == "lcsb" else layers
    errors = []
    for part, (method, layers) in parts.items():
        own = rows(found, layers)
        if method in ("backprop", "lcsb"):
            # Above all that selects, and where nothing does, it is the gradient.
            mask = "".join(map(str, sorted(selected)))
            whole = exact if selected == everything else read(f"mask-{mask}")
            errors.append(check(part, method, own, 1e-12,
                                rows(whole, layers)))
            assert not any(rows(found, layers - selected))
            continue
        along = read(method)
        c2 = dot(rows(exact, everything), rows(along, everything))
        scale = dot(rows(exact, layers), rows(along, layers)) / c2
        errors.append(check(part, method, own, 1e-6 if method == "fgd" else 1e-4,
                            [scale * x for x in rows(along, layers)]))
    return errors


for lower, upper in zip(*[iter(sys.argv[3:])] * 2):
    print(f"{lower} below {upper}: errors", *judge(lower, upper))
