# check_survival.py - what of an update survives groups, computed again
#
#   check_survival.py groups MODEL ADAPTER MERGED FLOATS REPORT
#   check_survival.py measured MODEL ADAPTER MERGED REPORT
#
# Of the one matrix of make_adapters.py, 4 bits in groups of 32. A group's range
# is its least to its greatest value.

import json
import math
import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tensor_file import read_numbers as read  # noqa: E402

NAME = "model.layers.0.mlp.up_proj"


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def numbers(words):
    return [word >> 4 * i & 15 for word in words for i in range(8)]


def restored(tensors):
    q, s, b = numbers(tensors[NAME + ".weight"]), tensors[NAME + ".scales"], tensors[NAME + ".biases"]
    return [s[i // 32] * q[i] + b[i // 32] for i in range(len(q))]


def quantized(values):
    out = []
    for at in range(0, len(values), 32):
        group = [single(x) for x in values[at : at + 32]]
        bias = min(group)
        scale = single((max(group) - bias) / 15)
        out += [single(round((x - bias) / scale) * scale + bias) for x in group]
    return out


def expect(condition, message):
    if not condition:
        sys.exit(f"check_survival.py: {message}")


def check_report(path, title, d, s):
    dd = math.fsum(x * x for x in d)
    survives = math.fsum(x * y for x, y in zip(s, d)) / dd
    error = math.sqrt(math.fsum((y - x) ** 2 for x, y in zip(d, s)) / dd)
    text = path.read_text()
    row = text[text.index(title) :].split("\n")[2].split()
    found = float(row[0]), float(row[1]) / 100, float(row[3])
    expect(row[-1] == NAME + ".weight", f"no row of the matrix: {row}")
    for name, a, b, room in zip(("|d|", "survives", "error"), found, (math.sqrt(dd), survives, error), (1e-3, 1e-3, 1e-3)):
        expect(abs(a - b) <= room * max(1, abs(b)), f"{name}: {a}, expected {b}")
    print(f"survives {survives:.4f}, error {error:.4f}")


def main():
    what, model, adapter, merged = sys.argv[1], *map(pathlib.Path, sys.argv[2:5])
    factors = read(adapter / "adapter_model.safetensors")
    a, b = (factors[f"base_model.model.{NAME}.lora_{x}.weight"] for x in "AB")
    scale = json.loads((adapter / "adapter_config.json").read_text())["lora_alpha"]
    d = [scale * x * y for y in b for x in a]
    before, after = read(model / "model.safetensors"), read(merged / "model.safetensors")
    if what == "groups":
        w, new = restored(before), restored(after)
        floats = read(pathlib.Path(sys.argv[5]) / "model.safetensors")[NAME + ".weight"]
        expect(list(floats) == [single(x + y) for x, y in zip(w, d)], "the floats are not W + d")
        touched = slice(32, 64)
        for suffix, per in ((".scales", 32), (".biases", 32)):
            old, got = list(before[NAME + suffix]), list(after[NAME + suffix])
            expect(old[1] != got[1], f"{suffix} of the group is as before")
            old[1] = got[1]
            expect(old == got, f"{suffix} of another group")
        expect(w[:32] + w[64:] == new[:32] + new[64:], "numbers of another group")
        step = after[NAME + ".scales"][1]
        for x, y, z in zip(w[touched], d[touched], new[touched]):
            expect(abs(z - x - y) <= 0.501 * step, "a number is not the nearest")
        check_report(pathlib.Path(sys.argv[6]), "written as 4 bits", d, [y - x for x, y in zip(w, new)])
    else:
        w = before[NAME + ".weight"]
        s = [y - x for x, y in zip(quantized(w), quantized([x + y for x, y in zip(w, d)]))]
        check_report(pathlib.Path(sys.argv[5]), "if stored as 4 bits", d, s)


main()
