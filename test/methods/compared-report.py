"""compared-report.py COMPARE.JSONL DRAWN: the report has the means of all lines, with
the least and the greatest.
"""

import json
import math
import sys

lines = [json.loads(text) for text in open(sys.argv[1])]
drawn = json.load(open(sys.argv[2]))
assert drawn["steps"] == len(lines)
assert (drawn["method"], drawn["reference"]) == (lines[0]["method"], lines[0]["reference"])
assert [layer["name"] for layer in drawn["layers"]] == [layer["name"] for layer in lines[0]["layers"]]
checked = 0
for i, layer in enumerate(drawn["layers"]):
    for measure in ("cosine", "sign_agreement", "relative_error"):
        values = [line["layers"][i][measure] for line in lines]
        values = [value for value in values if value is not None]
        if not values:
            assert measure not in layer, (layer["name"], measure)
            continue
        mean, least, most = layer[measure]
        assert math.isclose(mean, math.fsum(values) / len(values), rel_tol=1e-12)
        assert (least, most) == (min(values), max(values)), (layer["name"], measure)
        checked += 1
assert checked > 0
print(f"report: {checked} means with their ranges")
