"""held-out.py OUT DATA: the lines of DATA that the run with output OUT, which
showed all its samples, has not trained on. Each is said to be on one side."""
import collections
import json
import re
import sys

out, data = (open(path).read() for path in sys.argv[1:3])
shown = collections.Counter(
    tuple(int(id) for id in re.findall(r"\d+", line))
    for line in re.findall(r"^  ids +(.*)$", out, re.M))
found = re.search(r"(\d+) of (\d+) (?:is|are) held out to evaluate on, drawn by seed", out)
lines = data.splitlines()
assert int(found[2]) == len(lines) and sum(shown.values()) == len(lines) - int(found[1])
held = 0
for line in lines:
    ids = tuple(json.loads(line)["input_ids"])
    if shown[ids] > 0:
        shown[ids] -= 1
    else:
        held += 1
        print(line)
assert held == int(found[1]), (held, found[0])
