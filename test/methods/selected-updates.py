"""selected-updates.py KIND RATE FOLDER STEPS: checks that each of STEPS steps
made FOLDER/K/adapter_model.safetensors, or model.safetensors, of that of K - 1
by AdamW, in double precision, on the layers that moved and on no other: with
the gradient in FOLDER/K.safetensors, clipped to norm 1 over those layers, and
moments and bias corrections of each layer's own updates. KIND badam: a layer
that did not move in the step before begins with moments of zero. Parameters of
no layer move in every step.
"""

import json
import math
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tensor_file import layer_of, read_numbers as read  # noqa: E402

kind, rate, folder, steps = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4]
file = next(f for f in ("adapter_model.safetensors", "model.safetensors") if os.path.exists(f"{folder}/0/{f}"))
before = read(f"{folder}/0/{file}")
moments = {name: ([0.0] * len(x), [0.0] * len(x)) for name, x in before.items()}
counts, last, worst, moves = {}, set(), 0.0, []
for step in range(1, int(steps) + 1):
    after = read(f"{folder}/{step}/{file}")
    gradients = read(f"{folder}/{step - 1}.safetensors")
    moved = {layer_of(name) for name in before if before[name] != after[name]}
    assert None in moved or None not in map(layer_of, before), step
    own = [name for name in before if layer_of(name) in moved]
    norm = math.sqrt(sum(g * g for name in own for g in gradients[name]))
    clip = min(1, 1 / (norm + 1e-6))
    for layer in moved:
        restarts = kind == "badam" and layer not in last and layer is not None
        counts[layer] = 1 if restarts else counts.get(layer, 0) + 1
    for name in own:
        count = counts[layer_of(name)]
        first, second = moments[name]
        for i, g in enumerate(gradients[name]):
            if kind == "badam" and count == 1:
                first[i] = second[i] = 0.0
            first[i] = 0.9 * first[i] + 0.1 * clip * g
            second[i] = 0.999 * second[i] + 0.001 * (clip * g) ** 2
            change = rate * (first[i] / (1 - 0.9**count)) / (
                math.sqrt(second[i] / (1 - 0.999**count)) + 1e-8)
            # A gradient that is next to nothing decides no direction.
            if abs(g) > 1e-5:
                error = abs(before[name][i] - change - after[name][i])
                worst = max(worst, error / rate)
    moves.append(f"{step}: {', '.join(map(str, sorted(moved - {None})))}")
    before, last = after, moved
assert worst < 1e-4, worst
lines = map(json.loads, open(f"{folder}/{steps}/steps.jsonl"))
logged = [f"{line['step']}: {', '.join(map(str, line['selected_layers']))}" for line in lines if "loss" in line]
assert logged == moves, logged
print("; ".join(moves))
