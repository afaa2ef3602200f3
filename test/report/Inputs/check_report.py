# check_report.py REPORT LOG RUN-FOLDER - the figures of report.html, from the log
#
# Standard library only. The report has to be well-formed XML without any
# reference to the outside; each figure has the digits of the log's line.

import json
import math
import pathlib
import sys
import xml.etree.ElementTree as xml

ROWS = {
    "loss": "loss",
    "evaluation loss": "eval_loss",
    "learning rate": "learning_rate",
    "gradient norm": "gradient_norm",
    "anonymous MiB": "peak_anonymous_bytes",
    "resident MiB": "peak_resident_bytes",
}


def expect(condition, message):
    if not condition:
        sys.exit(f"check_report.py: {message}")


def main():
    report, log = map(pathlib.Path, sys.argv[1:3])
    name = (pathlib.Path(sys.argv[3]) / "lock").read_text().strip()
    text = report.read_text()
    root = xml.fromstring(text)
    for element in root.iter():
        expect(element.tag.split("}")[-1] not in ("script", "link", "img", "iframe", "object"), f"<{element.tag}>")
        for key in element.attrib:
            expect(not key.startswith("on") and key not in ("src", "href"), f"{element.tag} {key}")
    expect("url(" not in text and "@import" not in text, "the style asks for another file")

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines = [line for line in lines if name.startswith(line["run"])]
    table = next(e for e in root.iter("table") if e.get("id") == "figures")
    checked = 0
    for row in table.iter("tr"):
        head = row.find("th").text
        if head not in ROWS:
            continue
        values = [line[ROWS[head]] for line in lines if line.get(ROWS[head]) is not None]
        found = [float(data.get("value")) for data in row.iter("data")]
        expected = [values[0], values[-1], min(values), max(values)]
        expect(found[:4] == expected, f"{head}: {found[:4]}, expected {expected}")
        mean = math.fsum(values) / len(values)
        expect(math.isclose(found[4], mean, rel_tol=1e-12), f"{head}: mean {found[4]}, expected {mean}")
        checked += 1
    drawn = sum(len(e.get("points").split()) for e in root.iter() if e.tag.endswith("polyline"))
    print(f"{checked} rows of {len(lines)} lines, {drawn} points")


main()
