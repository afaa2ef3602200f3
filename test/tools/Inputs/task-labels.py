"""task-labels.py TRAIN SHARED: real files of tasks, evaluated whole.

Labels are those of the files, line by line, and the accuracy is that of the
losses that --predictions gives each candidate.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

train, shared = sys.argv[1:3]
WORDS = {
    "sst2": ("sst2/dev.jsonl", {1: "great", 0: "terrible"}),
    "rte": ("rte/val.jsonl", {"entailment": "Yes", "not_entailment": "No"}),
    "cb": ("cb/val.jsonl",
           {"entailment": "Yes", "contradiction": "No", "neutral": "Maybe"}),
}
for task, (name, words) in WORDS.items():
    path = os.path.join(shared, "data", name)
    with tempfile.TemporaryDirectory() as work:
        predicted = os.path.join(work, "predictions")
        out = subprocess.run([train, "--eval-only", "--task", task, "--eval-data", path,
                              "--too-long", "cut", "--predictions", predicted],
                             check=True, capture_output=True, text=True).stdout
        with open(predicted) as file:
            lines = [json.loads(line) for line in file]
    with open(path) as file:
        labels = [words[json.loads(line)["label"]] for line in file]
    assert [line["label"] for line in lines] == labels, task
    correct = sum(min(line["losses"], key=line["losses"].get) == label
                  for line, label in zip(lines, labels))
    found = re.search(r"^accuracy +[0-9.]+, (\d+) of (\d+) examples", out, re.M)
    assert (int(found[1]), int(found[2])) == (correct, len(labels)), (task, found[0])
    print(f"{task}: {len(labels)} labels, {correct} right")
