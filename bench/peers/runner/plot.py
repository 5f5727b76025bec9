# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG, written by hand: text and shapes, a style sheet, nothing else.

Colours of text and lines follow the reader's light or dark scheme; those of the peers are readable
on both. Each peer has a shape as well as a colour.
"""

import html
import math

STYLE = """
  :root { --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --ground: #ffffff; --ours: #0969da; }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --ground: #0d1117; --ours: #4493f8; }
  }
  text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--ink); }
  .soft { fill: var(--soft); }
  .end { text-anchor: end; }
  .mid { text-anchor: middle; }
  .title { font-size: 14px; font-weight: 600; }
  .grid { stroke: var(--line); stroke-width: 1; }
  .ours { stroke: var(--ours); stroke-width: 2; }
  .ours-fill { fill: var(--ours); }
  .ground { fill: var(--ground); }
  .curve { fill: none; stroke-width: 2; }
"""

# Peer: colour, shape.
PEERS = {
    "boost_fiber": ("#1b9e77", "square"),
    "caf": ("#8d8d8d", "cross"),
    "erlang": ("#c2347f", "triangle"),
    "go": ("#2b8cbe", "circle"),
    "libev": ("#7a6bd0", "square"),
    "libst": ("#a6761d", "cross"),
    "libuv": ("#e0a100", "triangle"),
    "tokio": ("#e4572e", "diamond"),
    "limit": ("#8d8d8d", "ring"),
}


def shape(kind, x, y, colour, title):
    """A mark of about ten pixels with a name to hover over."""
    size = 5
    if kind == "circle":
        body = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{colour}"'
    elif kind == "ring":
        body = (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size - 1}" fill="none" '
                f'stroke="{colour}" stroke-width="2"')
    else:
        points = {
            "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
            "triangle": [(0, -1.2), (1.1, 0.9), (-1.1, 0.9)],
            "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
            "cross": [(-1.2, -0.5), (-0.5, -0.5), (-0.5, -1.2), (0.5, -1.2), (0.5, -0.5),
                      (1.2, -0.5), (1.2, 0.5), (0.5, 0.5), (0.5, 1.2), (-0.5, 1.2), (-0.5, 0.5),
                      (-1.2, 0.5)],
        }[kind]
        path = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in points)
        body = f'<polygon points="{path}" fill="{colour}"'
    return f"{body}><title>{html.escape(title)}</title></" + body[1:body.index(" ")] + ">"


def text(x, y, words, classes=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}">{html.escape(words)}</text>'


def line(x1, y1, x2, y2, classes):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'class="{classes}"/>')


def document(width, height, parts, description):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">\n'
            "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
            f"<title>{html.escape(description)}</title>\n<style>{STYLE}</style>\n"
            f'<rect class="ground" width="{width}" height="{height}"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def legend(parts, y, names, left):
    """One row of marks and names."""
    x = left
    for name in names:
        colour, kind = PEERS[name]
        parts.append(shape(kind, x, y - 4, colour, name))
        parts.append(text(x + 10, y, name, "soft"))
        x += 26 + 7 * len(name)


def powers(low, high):
    """The powers of ten, and their halves where there are few, from `low` to `high`."""
    marks = []
    power = math.floor(math.log10(low))
    while 10 ** power <= high:
        for factor in (1, 2, 5):
            if low <= factor * 10 ** power <= high:
                marks.append(factor * 10 ** power)
        power += 1
    if len(marks) > 9:
        marks = [mark for mark in marks if math.log10(mark).is_integer()]
    return marks


def number(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def ratios(title, rows, description):
    """A row of marks for each bench: how many times Orrery's cost each peer's is.

    rows: [(bench, our figure as text, {peer: (ratio, figure as text)})].
    """
    left, right, top, step = 150, 90, 78, 24
    width = 860
    height = top + step * len(rows) + 34
    all_ratios = [ratio for _, _, peers in rows for ratio, _ in peers.values()] + [1.0]
    low = min(0.7, min(all_ratios) * 0.9)
    high = max(all_ratios) * 1.15
    plot_width = width - left - right

    def place(ratio):
        return left + plot_width * math.log(ratio / low) / math.log(high / low)

    parts = [text(16, 24, title, "title")]
    names = [name for name in PEERS if any(name in peers for _, _, peers in rows)]
    legend(parts, 46, names, 22)
    bottom = top + step * len(rows)
    for mark in powers(low, high):
        parts.append(line(place(mark), top - 10, place(mark), bottom, "grid"))
        parts.append(text(place(mark), bottom + 16, f"{number(mark)}×", "soft mid"))
    parts.append(text(width - right + 12, top - 14, "Orrery", "soft"))
    for index, (bench, ours, peers) in enumerate(rows):
        y = top + step * index + step / 2
        parts.append(line(left, y, width - right, y, "grid"))
        parts.append(text(left - 10, y + 4, bench, "end"))
        parts.append(text(width - right + 12, y + 4, ours, ""))
        for name in names:  # the limit comes last and lies on top
            if name not in peers:
                continue
            ratio, figure = peers[name]
            colour, kind = PEERS[name]
            parts.append(shape(kind, place(ratio), y, colour,
                               f"{name}: {figure}, {ratio:.2f} × Orrery"))
    parts.append(line(place(1), top - 10, place(1), bottom, "ours"))
    return document(width, height, parts, description)


def growth(title, curves, description):
    """curves: {name: [(objects, ns)]}, both axes logarithmic."""
    width, height, left, right, top, bottom = 860, 420, 60, 260, 50, 60
    values = [ns for points in curves.values() for _, ns in points]
    low, high = min(values) * 0.7, max(values) * 1.4
    sizes = sorted({size for points in curves.values() for size, _ in points})

    def place(size, ns):
        x = math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])
        y = math.log(ns / low) / math.log(high / low)
        return left + x * (width - left - right), height - bottom - y * (height - top - bottom)

    parts = [text(16, 24, title, "title")]
    for mark in powers(low, high):
        y = place(sizes[0], mark)[1]
        parts.append(line(left, y, width - right, y, "grid"))
        parts.append(text(left - 8, y + 4, f"{number(mark)} ns", "soft end"))
    for size in sizes:
        x = place(size, low)[0]
        parts.append(line(x, top, x, height - bottom, "grid"))
        parts.append(text(x, height - bottom + 18, number(size), "soft mid"))
    parts.append(text((left + width - right) / 2, height - 14, "objects", "soft mid"))
    colours = [colour for name, (colour, _) in PEERS.items() if name != "limit"]
    kinds = ["circle", "diamond", "square", "triangle", "cross", "ring"]
    ends = sorted(curves, key=lambda name: -curves[name][-1][1])
    labels = {}
    last_y = -100.0
    for name in ends:
        last_y = max(place(*curves[name][-1])[1], last_y + 16)
        labels[name] = last_y
    for index, (name, points) in enumerate(curves.items()):
        colour = colours[index % len(colours)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
        parts.append(f'<polyline class="curve" stroke="{colour}" points="{path}"/>')
        for size, ns in points:
            x, y = place(size, ns)
            parts.append(shape(kinds[index % len(kinds)], x, y, colour,
                               f"{name}, {number(size)}: {ns:.1f} ns"))
        parts.append(text(width - right + 14, labels[name] + 4, name, ""))
    return document(width, height, parts, description)
