"""packed.py TRAIN: sequences of one batch, each alone, and as one sequence.

TRAIN takes batches of three. The loss of a batch is the mean over its target
tokens, so it follows from the losses and the target tokens of each sequence.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

train = sys.argv[1]
LENGTHS = (5, 37, 20)
sequences = [[(7 * i * i + 13 * k) % 250 for i in range(length)]
             for k, length in enumerate(LENGTHS)]


def loss_of(lines, work):
    path = os.path.join(work, "data.jsonl")
    with open(path, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    out = subprocess.run([train, "--eval-only", "--eval-data", path], check=True,
                         capture_output=True, text=True).stdout
    found = re.search(r"eval loss +([0-9.]+) over (\d+) tokens", out)
    return float(found[1]), int(found[2])


with tempfile.TemporaryDirectory() as work:
    alone = [loss_of([{"input_ids": ids}], work) for ids in sequences]
    together, count = loss_of([{"input_ids": ids} for ids in sequences], work)
    assert count == sum(length - 1 for length in LENGTHS)
    expected = sum(loss * tokens for loss, tokens in alone) / count
    assert abs(together - expected) < 1e-6, (together, expected)
    print("3 sequences lose together what they lose alone")
    # The same targets, without borders.
    ids = sum(sequences, [])
    labels = sum(([-100] + ids[1:] for ids in sequences), [])
    joined, same = loss_of([{"input_ids": ids, "labels": labels}], work)
    assert same == count and abs(joined - expected) > 1e-4, (joined, expected)
    print("one sequence of all three loses something else")
