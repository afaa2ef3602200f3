"""compared-gradients.py COMPARE.JSONL STEP OWN REFERENCE: the line of STEP has what
is computed here of two gradients.

Each is a safetensors file, or BEFORE:AFTER:RATE, two adapters between which SGD made
one update of it. The numbers are sums that no order changes (math.fsum).
"""

import json
import math
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import layer_of, read_numbers as read  # noqa: E402


def gradient(text):
    if ":" not in text:
        return read(text)
    before, after, rate = text.split(":")
    old, new = (read(f"{path}/adapter_model.safetensors")
                for path in (before, after))
    return {name: [(x - y) / float(rate) for x, y in zip(old[name], new[name])]
            for name in old}


def close(found, expected, name, limit=1e-7):
    if expected is None or found is None:
        assert found is None and expected is None, (name, found, expected)
        return
    assert abs(found - expected) <= limit * max(1, abs(expected)), (
        name, found, expected)


def check(line, own, reference, place):
    g = [x for name in sorted(own) for x in own[name]]
    r = [x for name in sorted(own) for x in reference[name]]
    gg, rr, gr = (math.fsum(x * y for x, y in zip(a, b))
                  for a, b in ((g, g), (r, r), (g, r)))
    dd = math.fsum((x - y) ** 2 for x, y in zip(g, r))
    signs = [(x > 0) == (y > 0) and x != 0 for x, y in zip(g, r) if y != 0]
    close(line["cosine"], gr / math.sqrt(gg * rr) if gg and rr else None,
          f"{place} cosine")
    close(line["sign_agreement"], sum(signs) / len(signs) if signs else None,
          f"{place} sign_agreement", 1e-12)
    close(line["relative_error"], math.sqrt(dd / rr) if rr else None,
          f"{place} relative_error")
    assert line["elements"] == len(g)
    assert line["zeros"] == g.count(0), (place, line["zeros"], g.count(0))
    assert line["reference_zeros"] == r.count(0), place
    assert "not_finite" not in line


lines = [json.loads(text) for text in open(sys.argv[1])]
step = int(sys.argv[2])
[line] = [line for line in lines if line["step"] == step]
own, reference = map(gradient, sys.argv[3:5])
assert own.keys() == reference.keys() and own


def of(pattern):
    names = [name for name in own if re.search(pattern, name)]
    assert names, pattern
    return ({name: own[name] for name in names},
            {name: reference[name] for name in names})


layers = sorted({layer_of(name) for name in own})
assert [int(layer["name"]) for layer in line["layers"]] == layers
for layer in line["layers"]:
    check(layer, *of(rf"layers\.{layer['name']}\."), f"layer {layer['name']}")
assert [kind["name"] for kind in line["kinds"]] == ["lora_A", "lora_B"]
for kind in line["kinds"]:
    check(kind, *of(kind["name"]), kind["name"])
check(line["all"], own, reference, "all")
print(f"{line['method']} with {line['reference']}, step {step}: cosine "
      f"{line['all']['cosine']:.4f}, error {line['all']['relative_error']:.4g}")
