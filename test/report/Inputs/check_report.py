# check_report.py REPORT LOG RUN-FOLDER - the figures of report.html, from the log
#
# Standard library only. The report has to be well-formed XML that loads nothing and
# whose text is text; each figure has the digits of the log's line.

import json
import math
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

from run_of import run_of

ROWS = {
    "loss": "loss",
    "evaluation loss": "eval_loss",
    "learning rate": "learning_rate",
    "gradient norm": "gradient_norm",
    "anonymous MiB": "peak_anonymous_bytes",
    "resident MiB": "peak_resident_bytes",
}
LARGEST_PAGE = 40 * 1024


def expect(condition, message):
    if not condition:
        sys.exit(f"check_report.py: {message}")


def check_page(text):
    """Nothing is loaded, and no data is markup or script."""
    root = xml.fromstring(text)
    for element in root.iter():
        expect(element.tag not in ("link", "img", "iframe", "object", "base"), f"<{element.tag}>")
        for key in element.attrib:
            expect(not key.startswith("on") and key not in ("src", "href"), f"{element.tag} {key}")
    data, script = (e.text for e in root.iter("script"))
    expect(not re.search(r"[<>&\u2028\u2029]", data), "the data could end the script")
    for word in ("url(", "@import", "fetch", "import(", "innerHTML", "XMLHttp", "eval("):
        expect(word not in text.replace(data, ""), f"the page has {word}")
    expect("default-src 'none'" in text, "the page may load something")
    expect(len((text.replace(data, "")).encode()) <= LARGEST_PAGE, "the page is too large")
    return root


def main():
    report, log = map(pathlib.Path, sys.argv[1:3])
    name = (pathlib.Path(sys.argv[3]) / "lock").read_text().strip()
    text = report.read_text()
    root = check_page(text)
    run = run_of(text)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines = [line for line in lines if name.startswith(line["run"])]
    table = next(e for e in root.iter("table") if e.get("id") == "figures")
    checked = drawn = 0
    for row in table.iter("tr"):
        head = row.find("th").text
        if head not in ROWS:
            continue
        values = [(line["step"], line[ROWS[head]]) for line in lines if line.get(ROWS[head]) is not None]
        numbers = [value for _, value in values]
        found = [float(data.get("value")) for data in row.iter("data")]
        expected = [numbers[0], numbers[-1], min(numbers), max(numbers)]
        expect(found[:4] == expected, f"{head}: {found[:4]}, expected {expected}")
        mean = math.fsum(numbers) / len(numbers)
        expect(math.isclose(found[4], mean, rel_tol=1e-12), f"{head}: mean {found[4]}, expected {mean}")
        # Points are of stretches, one after another, that have all values.
        points = run["series"][ROWS[head]]
        expect(min(p[2] for p in points) == min(numbers), f"{head}: the least point")
        expect(max(p[3] for p in points) == max(numbers), f"{head}: the greatest point")
        expect(all(p[2] <= p[1] * (1 + 1e-12) and p[1] <= p[3] * (1 + 1e-12) for p in points), f"{head}: a mean")
        expect([p[0] for p in points] == sorted({p[0] for p in points}), f"{head}: the order of points")
        if len(points) == len(values):
            expect([p[:2] for p in points] == [list(v) for v in values], f"{head}: a point for each step")
        checked += 1
    drawn = sum(len(points) for points in run["series"].values())
    print(f"{checked} rows of {len(lines)} lines, {drawn} points")


main()
