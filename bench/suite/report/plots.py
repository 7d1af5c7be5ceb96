"""Plots as SVG: lines over logarithmic axes, and bars. Colours come from the page's style."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 34, 46

Place = Callable[[float], float]
Points = Sequence[tuple[float, float]]


def lines(
    title: str, series: Mapping[str, Points], *, x_label: str, y_label: str = "seconds"
) -> str:
    """A line for each name (its class), both axes logarithmic; points at 0 stand at the left."""
    xs = sorted({x for points in series.values() for x, _ in points})
    ys = [y for points in series.values() for _, y in points]
    positive = [x for x in xs if x > 0] or [1.0]
    at_zero = positive[0] / 4 if xs and xs[0] == 0 else positive[0]
    across = _scale(at_zero, positive[-1], LEFT, WIDTH - RIGHT)
    low, high = _decade(min(ys), math.floor), _decade(max(ys), math.ceil)
    up = _scale(low, high, HEIGHT - BOTTOM, TOP)
    parts = [_grid(up, low, high), _ticks(xs, across, at_zero)]
    for name, points in series.items():
        places = [(across(x or at_zero), up(y)) for x, y in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="line {name}" points="{path}"/>')
        for (x, y), (_, value) in zip(places, sorted(points), strict=True):
            tip = html.escape(f"{name}: {value:.4g}")
            parts.append(
                f'<circle class="dot {name}" cx="{x:.1f}" cy="{y:.1f}" r="3">'
                f"<title>{tip}</title></circle>"
            )
    return _frame(title, parts, x_label, y_label)


def bars(title: str, groups: Sequence[str], series: Mapping[str, Sequence[float | None]]) -> str:
    """For each group a bar of each name; the line at 1 is what they are compared with."""
    values = [v for each in series.values() for v in each if v is not None] or [1.0]
    top = max(1.5, min(max(values), 5.0))
    width = max(WIDTH, LEFT + RIGHT + len(groups) * (len(series) * 7 + 8))
    height = HEIGHT - BOTTOM - TOP
    step = (width - LEFT - RIGHT) / max(len(groups), 1)
    parts = []
    for mark in [part * top / 4 for part in range(5)]:
        y = HEIGHT - BOTTOM - mark / top * height
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{mark:.2g}')
        parts.append("</text>")
    for place, group in enumerate(groups):
        left = LEFT + place * step + 4
        parts.append(
            f'<text class="tick" x="{left + step / 2 - 4:.1f}" y="{HEIGHT - BOTTOM + 16}" '
            f'text-anchor="middle">{html.escape(group)}</text>'
        )
        bar = (step - 8) / len(series)
        for number, (name, each) in enumerate(series.items()):
            value = each[place]
            if value is None:
                continue
            tall = min(value, top) / top * height
            parts.append(
                f'<rect class="bar {name}" x="{left + number * bar:.1f}" '
                f'y="{HEIGHT - BOTTOM - tall:.1f}" width="{max(bar - 1, 1):.1f}" '
                f'height="{tall:.1f}"><title>{html.escape(f"{name}: {value:.3g}")}</title></rect>'
            )
    one = HEIGHT - BOTTOM - height / top
    parts.append(f'<line class="one" x1="{LEFT}" x2="{width - RIGHT}" y1="{one}" y2="{one}"/>')
    return _frame(title, parts, "", "times", width)


def _frame(
    title: str, parts: Sequence[str], x_label: str, y_label: str, width: float = WIDTH
) -> str:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return "\n".join(
        [
            f'<svg viewBox="0 0 {width:.0f} {HEIGHT}" width="{width:.0f}" height="{HEIGHT}" '
            f'role="img" aria-label="{html.escape(title)}">',
            f'<text class="title" x="{LEFT}" y="18">{html.escape(title)}</text>',
            *parts,
            f'<line class="axis" x1="{LEFT}" x2="{width - RIGHT}" y1="{HEIGHT - BOTTOM}" '
            f'y2="{HEIGHT - BOTTOM}"/>',
            f'<text class="label" x="{(LEFT + width - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" '
            f'text-anchor="middle">{html.escape(x_label)}</text>',
            f'<text class="label" transform="translate(14 {middle:.0f}) rotate(-90)" '
            f'text-anchor="middle">{html.escape(y_label)}</text>',
            "</svg>",
        ]
    )


def _grid(up: Place, low: float, high: float) -> str:
    parts, mark = [], low
    while mark <= high * 1.001:
        y = up(mark)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{mark:g}')
        parts.append("</text>")
        mark *= 10
    return "".join(parts)


def _ticks(xs: Sequence[float], across: Place, at_zero: float) -> str:
    """The sizes that were measured."""
    parts = []
    for x in xs:
        place = across(x or at_zero)
        parts.append(
            f'<text class="tick" x="{place:.1f}" y="{HEIGHT - BOTTOM + 16}" '
            f'text-anchor="middle">{_short(x)}</text>'
        )
    return "".join(parts)


def _short(x: float) -> str:
    for unit, word in ((1e6, "M"), (1e3, "k")):
        if x >= unit:
            return f"{x / unit:g}{word}"
    return f"{x:g}"


def _scale(low: float, high: float, start: float, end: float) -> Place:
    span = math.log10(high / low) or 1.0

    def place(value: float) -> float:
        return round(start + (end - start) * math.log10(value / low) / span, 1)

    return place


def _decade(value: float, to: Callable[[float], int]) -> float:
    return float(10 ** to(math.log10(value)))
