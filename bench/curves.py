"""Held-out loss against training time, and against memory, in one SVG file."""

from xml.sax.saxutils import escape

COLOURS = ["#1f5fa8", "#c2410c", "#15803d", "#7e22ce", "#0891b2", "#a16207",
           "#be123c", "#475569"]
LEFT, TOP, WIDTH, HEIGHT, GAP = 60, 50, 380, 280, 90


def _ticks(low, high, count=5):
    step = (high - low) / count or 1.0
    return [low + i * step for i in range(count + 1)]


class _Panel:
    """Axes of one panel, and where a point of the data is."""

    def __init__(self, left, x_range, y_range, x_label):
        self.left, self.x_range, self.y_range = left, x_range, y_range
        self.out = [f'<rect x="{left}" y="{TOP}" width="{WIDTH}" '
                    f'height="{HEIGHT}" fill="none" stroke="#999"/>',
                    _text(left + WIDTH / 2, TOP + HEIGHT + 34, x_label,
                          "middle")]
        for x in _ticks(*x_range):
            self.out.append(_text(self.x(x), TOP + HEIGHT + 15, f"{x:.4g}",
                                  "middle"))
        for y in _ticks(*y_range):
            self.out.append(
                f'<line x1="{left}" x2="{left + WIDTH}" y1="{self.y(y):.1f}" '
                f'y2="{self.y(y):.1f}" stroke="#eee"/>')
            self.out.append(_text(left - 6, self.y(y) + 4, f"{y:.3g}", "end"))

    def x(self, value):
        low, high = self.x_range
        return self.left + WIDTH * (value - low) / (high - low or 1)

    def y(self, value):
        low, high = self.y_range
        return TOP + HEIGHT * (1 - (value - low) / (high - low or 1))


def _text(x, y, text, anchor="start", weight="normal", fill="black"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'font-weight="{weight}" fill="{fill}">{escape(text)}</text>')


def svg(lines, points, title):
    """`lines`: (label, [(seconds, loss)]); `points`: (label, MiB, loss)."""
    losses = [loss for _, line in lines for _, loss in line]
    y_range = (min(losses), max(losses))
    time = _Panel(LEFT, (0, max(s for _, line in lines for s, _ in line)),
                  y_range, "seconds of training")
    sizes = [size for _, size, _ in points]
    memory = _Panel(LEFT + WIDTH + GAP, (min(0, *sizes), max(sizes) * 1.1),
                    y_range, "planned peak of anonymous memory, MiB")
    height = TOP + HEIGHT + 60 + 18 * len(lines)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" '
           f'width="{LEFT + 2 * WIDTH + GAP + 30}" height="{height}" '
           f'font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="white"/>',
           _text(LEFT, 20, f"held-out loss: {title}", weight="bold")]
    out += time.out + memory.out
    for i, (label, line) in enumerate(lines):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join(f"{time.x(s):.1f},{time.y(v):.1f}" for s, v in line)
        out.append(f'<polyline points="{path}" fill="none" '
                   f'stroke="{colour}" stroke-width="1.8"/>')
        _, size, loss = points[i]
        out.append(f'<circle cx="{memory.x(size):.1f}" '
                   f'cy="{memory.y(loss):.1f}" r="4" fill="{colour}"/>')
        y = TOP + HEIGHT + 60 + 18 * i
        out.append(f'<rect x="{LEFT}" y="{y - 9}" width="18" height="6" '
                   f'fill="{colour}"/>')
        out.append(_text(LEFT + 26, y, label))
    return "\n".join(out + ["</svg>"]) + "\n"
