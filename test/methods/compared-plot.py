"""compared-plot.py COMPARE.JSONL COMPARE.SVG: the plot has the means of all lines
where its axes say they are.
"""

import json
import math
import sys
import xml.etree.ElementTree as xml

lines = [json.loads(text) for text in open(sys.argv[1])]
root = xml.parse(sys.argv[2]).getroot()
svg = "{http://www.w3.org/2000/svg}"
width, height = float(root.get("width")), float(root.get("height"))
texts = [(t.text, float(t.get("x")), float(t.get("y")))
         for t in root.iter(svg + "text")]
assert all(0 <= x <= width and 0 <= y <= height for _, x, y in texts)
dots = [(float(c.get("cx")), float(c.get("cy")))
        for c in root.iter(svg + "circle")]
layers = len(lines[0]["layers"])
ranges = [line for line in root.iter(svg + "line")
          if line.get("x1") == line.get("x2")]


def means(measure):
    for i in range(layers):
        values = [line["layers"][i][measure] for line in lines]
        values = [value for value in values if value is not None]
        if values:
            yield sum(values) / len(values), min(values), max(values)


at = 0
for name, measure in (("cosine", "cosine"), ("equal signs", "sign_agreement"),
                      ("relative error", "relative_error")):
    [(_, left, y)] = [text for text in texts if text[0] == name]
    # An axis is read off its labels, which are 4 below their lines.
    ticks = [(float(text), ty - 4) for text, x, ty in texts
             if x == left - 8 and y < ty < y + 160]
    assert len(ticks) >= 2, ticks
    scale = (lambda v: v) if measure != "relative_error" else (
        lambda v: math.log10(max(v, 1e-300)))
    (low, bottom), (high, top) = min(ticks), max(ticks)

    def place(value):
        share = (scale(value) - scale(low)) / (scale(high) - scale(low))
        return bottom + share * (top - bottom)

    for mean, least, most in means(measure):
        x, found = dots[at]
        expected = min(max(place(mean), top - 20), bottom)
        assert abs(found - expected) < 0.2, (name, mean, found, expected)
        line = ranges[at]
        assert line.get("x1") == f"{x:.1f}"
        assert float(line.get("y2")) - 0.1 <= found <= float(line.get("y1")) + 0.1
        at += 1
assert at == len(dots) == len(ranges) and at > 0
print(f"plot: {at} means where the axes say")
