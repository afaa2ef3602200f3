"""How a peer's worker talks to the harness: JSON lines over stdin and stdout.

The worker sends {"ready": versions}; for each {"steps": N} it answers
{"seconds": [...], "losses": [...]}, with "planned" beside them if the library
says how many bytes it plans to take; at end of input it leaves. A failure is
{"failed": message}, and its traceback goes to stderr. So does other output of a
library, or it would break the lines.
"""

import json
import os
import sys
import time
import traceback


def first_line(error):
    """One line of an error for a table."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0].strip() if lines else ''}"[:200]


def serve_requests(make_answer, versions):
    """`make_answer` builds the measured step and returns a function that
    answers a request; both are called after stdout is safe."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def send(message):
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        answer = make_answer()
        send({"ready": versions})
        for line in sys.stdin:
            send(answer(json.loads(line)))
    except Exception as error:  # of any library
        traceback.print_exc()
        send({"failed": first_line(error)})
        sys.exit(1)


def serve(make_step, versions):
    """`make_step` builds the model and returns a function that does one
    training step and returns its loss. It may have `planned_bytes`, which a
    request for no steps asks for, too."""
    def make_answer():
        step = make_step()

        def answer(request):
            seconds, losses = [], []
            for _ in range(request["steps"]):
                start = time.perf_counter()
                losses.append(step())
                seconds.append(time.perf_counter() - start)
            return {"seconds": seconds, "losses": losses,
                    "planned": getattr(step, "planned_bytes", 0)}

        return answer

    serve_requests(make_answer, versions)


def read_batches(options):
    """Lists of `batch` sequences of ids, from the file of the workload."""
    with open(options["data"]) as lines:
        ids = [json.loads(line)["input_ids"] for line in lines]
    size = options["batch"]
    return [ids[i:i + size] for i in range(0, len(ids), size)]
