"""run_of.py REPORT [KEY...]: what the page of a run draws, or a part of it.

Standard library only. What a line is, runtime/src/program/ReportLine.h says.
"""

import json
import re
import sys

COLUMNS = ["loss", "learning_rate", "lower_learning_rate", "gradient_norm", "tokens_per_second",
           "peak_anonymous_bytes", "peak_resident_bytes"]


def lines_of(page):
    """The arrays of a page's lines, without a line that was cut off."""
    return [json.loads(found) for found in re.findall(r"^<script>add\((\[[^<]*\])\)</script>.*\n", page, re.M)]


def run_of(page):
    run = {"series": {}, "evals": [], "samples": {}}
    for kind, step, *rest in lines_of(page):
        if kind == "run":
            run.update(rest[0])
        elif kind == "step":
            for name, value in zip(COLUMNS, rest[3:]):
                if value is not None:
                    mean, least, most = value if isinstance(value, list) else [value] * 3
                    run["series"].setdefault(name, []).append([rest[0], step, mean, least, most])
        elif kind == "eval":
            run["evals"].append([step, *rest])
        elif kind == "sample":
            index, source, text, loss, ids, prompt, expected = rest
            known = run["samples"].setdefault(index, {"source": source, "text": text, "ids": ids, "prompt": prompt,
                                                     "expected": expected})
            known["after" if step else "before"] = loss
        elif kind == "compared":
            run["compared"] = rest[0]
        elif kind == "end":
            run["end"] = [step, *rest]
        else:
            run.setdefault(kind, []).append([step, *rest])
    if run["samples"]:
        run["sample"] = run["samples"][0]
    return run


if __name__ == "__main__":
    found = run_of(open(sys.argv[1]).read())
    for key in sys.argv[2:]:
        found = found[key]
    print(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))
