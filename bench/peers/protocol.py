"""How a peer's worker talks to the harness: JSON lines over stdin and stdout.

The worker sends {"ready": versions}; for each {"steps": N} it answers
{"seconds": [...], "losses": [...]}; at end of input it leaves. Whatever else a
library prints goes to stderr, or it would break the lines.
"""

import json
import os
import sys
import time


def serve(make_step, versions):
    """`make_step` builds the model and returns a function that does one
    training step and returns its loss; both are called after stdout is safe."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def send(message):
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    step = make_step()
    send({"ready": versions})
    for line in sys.stdin:
        seconds, losses = [], []
        for _ in range(json.loads(line)["steps"]):
            start = time.perf_counter()
            losses.append(step())
            seconds.append(time.perf_counter() - start)
        send({"seconds": seconds, "losses": losses})


def read_batches(options):
    """Lists of `batch` sequences of ids, from the file of the workload."""
    with open(options["data"]) as lines:
        ids = [json.loads(line)["input_ids"] for line in lines]
    size = options["batch"]
    return [ids[i:i + size] for i in range(0, len(ids), size)]
