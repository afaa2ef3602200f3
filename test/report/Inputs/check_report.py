# check_report.py REPORT LOG RUN-FOLDER - the lines of report.html, from the log
#
# Standard library only. The page may load nothing and its text is text; each step
# of the log is in one line, with the digits of the log's or their mean and range.

import html.parser
import json
import math
import pathlib
import re
import sys

from run_of import lines_of, run_of

LARGEST_HEAD = 40 * 1024


def expect(condition, message):
    if not condition:
        sys.exit(f"check_report.py: {message}")


class Page(html.parser.HTMLParser):
    """Which elements a page has."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.inside = [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        expect(tag in ALLOWED, f"<{tag}>")
        for key, _ in attributes:
            expect(not key.startswith("on") and key not in ("src", "href"), f"{tag} {key}")
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data


ALLOWED = {"html", "head", "meta", "style", "title", "body", "h1", "noscript", "p", "div", "script", "details",
           "summary", "table", "thead", "tr", "th", "tbody", "td", "br"}


def check_page(text):
    """Nothing is loaded, and no data is markup or script."""
    page = Page(text)
    own, *lines = page.scripts
    expect(all(re.fullmatch(r"add\(\[[^<>&\u2028\u2029]*\]\)", line) for line in lines), "a line is no line")
    expect(len(lines) == len(lines_of(text)), "lines are missing")
    for word in ("url(", "@import", "fetch", "import(", "innerHTML", "XMLHttp", "eval("):
        expect(word not in own, f"the page has {word}")
    expect("default-src 'none'" in text, "the page may load something")
    head = text[:text.index("<script>add([")]
    expect(len(head.encode()) <= LARGEST_HEAD, "the page is too large")


def main():
    report, log = map(pathlib.Path, sys.argv[1:3])
    name = (pathlib.Path(sys.argv[3]) / "lock").read_text().strip()
    text = report.read_text()
    check_page(text)
    run = run_of(text)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines = [line for line in lines if name.startswith(line["run"])]
    checked = 0
    for key, points in run["series"].items():
        values = {line["step"]: line[key] for line in lines if line.get(key) is not None}
        expect(list(values) == [step for first, last, *_ in points for step in range(first, last + 1)],
               f"{key}: each step once")
        for first, last, mean, least, most in points:
            own = [values[step] for step in range(first, last + 1)]
            if key == "tokens_per_second":  # rounded in the log
                expect(abs(least - min(own)) < 0.06 and abs(most - max(own)) < 0.06, f"{key}: {first}")
                continue
            expect((least, most) == (min(own), max(own)), f"{key}: the range at {first}")
            expect(math.isclose(mean, math.fsum(own) / len(own), rel_tol=1e-12), f"{key}: the mean at {first}")
        checked += 1
    logged = [[line["step"], line["eval_loss"]] for line in lines if "eval_loss" in line]
    drawn = [[step, loss] for step, _, loss, *_ in run["evals"]]
    expect([e for e in drawn if e[0]] == logged, "the evaluations")
    steps = sum(1 for line in text.splitlines() if line.startswith('<script>add(["step"'))
    print(f"{checked} series of {len(lines)} lines, {steps} lines of steps, {len(drawn)} evaluations")


main()
