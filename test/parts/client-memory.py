"""client-memory.py MODEL: the growth of the plan of a part without a
backward."""

import json
import pathlib
import subprocess
import sys

LENGTH, WIDTH = 128, 64
model = pathlib.Path(sys.argv[1])


def plan(batch):
    """Of the first part."""
    spec = model / "spec.yaml"
    spec.write_text(f"""model: {model}
weights: {{dtype: float32}}
train: {{batch_size: {batch}, max_seq_length: {LENGTH}, optimizer: sgd}}
parts:
  lower: {{layers: 0-1, method: mezo, program: client}}
  upper: {{method: backprop, program: server}}
""")
    said = subprocess.run(["honec", spec, "--print-plan=json"], check=True, capture_output=True, text=True)
    return json.loads(said.stdout.splitlines()[0])


few, many = plan(32), plan(64)
values = (many["arena_bytes"] - few["arena_bytes"]) / (32 * LENGTH * WIDTH * 4)
assert values <= 1.1, f"{values:.2f} values"
print("a sequence more takes at most 1.1 values of its rows")
threads = [each["thread_bytes"] for each in (few, many)]
assert threads[0] == threads[1], threads
print("a thread has no room for the scores of a batch")
