"""Two bar plots in one SVG file: the time of a step, and peak memory."""

from xml.sax.saxutils import escape

ROW, BAR, LABEL, WIDTH, PANEL = 22, 14, 280, 300, 400
ANONYMOUS, FILE_BACKED, PEER = "#1f5fa8", "#a9c6e8", "#9a9a9a"


def _bar(x, y, length, colour):
    return (f'<rect x="{x:.1f}" y="{y}" width="{max(length, 0.5):.1f}" '
            f'height="{BAR}" fill="{colour}"/>')


def _text(x, y, text, anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(text)}</text>')


def bars(contestants, title):
    """The SVG text; contestants without figures are left out."""
    done = [c for c in contestants if c.repetitions]
    slowest = max(c.seconds for c in done)
    largest = max(max(c.resident, c.anonymous) for c in done)
    height = 70 + ROW * len(done)
    right = LABEL + PANEL
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{right + PANEL}" '
           f'height="{height}" font-family="sans-serif" font-size="11">',
           f'<rect width="100%" height="100%" fill="white"/>',
           _text(10, 18, title, weight="bold"),
           _text(LABEL, 40, "time of a step, ms"),
           _text(right, 40, "peak memory, MiB: anonymous (dark) of resident")]
    for i, c in enumerate(done):
        y = 52 + ROW * i
        base = y + BAR - 3
        out.append(_text(LABEL - 8, base, f"{c.name}, {c.threads} thr.", "end"))
        length = WIDTH * c.seconds / slowest
        out.append(_bar(LABEL, y, length, ANONYMOUS if c.is_hone else PEER))
        out.append(_text(LABEL + length + 4, base, f"{c.seconds * 1e3:.4g}"))
        resident = WIDTH * c.resident / largest
        out.append(_bar(right, y, resident, FILE_BACKED))
        out.append(_bar(right, y, WIDTH * c.anonymous / largest, ANONYMOUS))
        out.append(_text(right + resident + 4, base,
                         f"{c.anonymous / 2**20:.4g} of "
                         f"{c.resident / 2**20:.4g}"))
    return "\n".join(out + ["</svg>"]) + "\n"
