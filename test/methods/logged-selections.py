"""logged-selections.py FOLDER: what the logs of selections.sh there say that each
step selected.
"""

import json
import sys

logs = {name: [json.loads(line) for line in open(f"{sys.argv[1]}/{name}.jsonl")]
        for name in ("run-plain", "held", "some", "parts")}
assert all("selected_layers" not in line for line in logs.pop("run-plain"))
steps = {name: [line["selected_layers"] for line in log if "loss" in line] for name, log in logs.items()}

held = steps["held"]
assert held[:4] == [list(range(6))] * 4, held
assert held[4] == held[5] == held[6] != held[7] == held[8] == held[9], held
assert all(len(layers) == 3 and layers == sorted(layers) for layers in held[4:]), held
assert steps["some"] == [[1], [3], [5]], steps["some"]
assert steps["parts"] == [[0, 3], [1, 4], [2, 5]], steps["parts"]
print("logs: the layers of each step, held as long after a warm-up")
