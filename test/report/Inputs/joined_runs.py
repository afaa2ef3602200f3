"""joined_runs.py PAGE: the runs of a joined page, a line each. Standard library only."""

import sys

from run_of import lines_of

runs = []
for kind, step, *rest in lines_of(open(sys.argv[1]).read()):
    if kind == "page":
        runs.append({"name": rest[0], "steps": 0, "evals": 0})
    elif kind == "step":
        runs[-1]["steps"] = step
    elif kind == "eval":
        runs[-1]["evals"] += 1
    elif kind == "run":
        runs[-1]["rate"] = dict(rest[0]["settings"])["train.learning_rate"]
for run in runs:
    print(f"{run['name']}: {run['steps']} steps, {run['evals']} evaluations, learning rate {run['rate']}")
