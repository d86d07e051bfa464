"""_html.py - tables and small charts for notebooks."""
from __future__ import annotations

import html

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Sequence

_COLOURS = ("#1f77b4", "#d62728")


def escape(text: "Any") -> str:
    """Text for a page."""
    return html.escape(str(text))


def table(caption: str, head: "Sequence[str]", rows: "Iterable[Sequence[Any]]") -> str:
    """A table with a head row; cells that begin with <svg or <div are inserted verbatim."""
    def cell(value: Any) -> str:
        text = str(value)
        return text if text.startswith(("<svg", "<div")) else escape(text)
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>"
                   for row in rows)
    return (f"<table><caption>{escape(caption)}</caption>"
            + (f"<thead><tr>{top}</tr></thead>" if head else "") + f"<tbody>{body}</tbody></table>")


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def bar(share: float) -> str:
    """A fraction between 0 and 1 as a bar."""
    width = round(100 * min(max(share, 0.0), 1.0), 1)
    return (f'<div style="width:100px;background:#eee"><div style="width:{width}px;'
            f'background:{_COLOURS[0]};height:0.8em"></div></div>')


def lines(title: str, series: "dict[str, Sequence[float]]") -> str:
    """Curves over 0, 1, 2, ... as SVG; values that are not numbers are left out."""
    drawn = {name: [(i, v) for i, v in enumerate(values) if v == v]
             for name, values in series.items()}
    drawn = {name: points for name, points in drawn.items() if points}
    if not drawn:
        return ""
    every = [v for points in drawn.values() for _, v in points]
    low, high = min(every), max(every)
    span, last = (high - low) or 1.0, max(max(i for i, _ in p) for p in drawn.values()) or 1

    def place(point: "tuple[int, float]") -> str:
        return f"{40 + 300 * point[0] / last:.1f},{150 - 130 * (point[1] - low) / span:.1f}"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 440 170" width="440" '
             f'height="170" style="max-width:100%;height:auto" font-family="sans-serif" '
             f'font-size="11"><title>{escape(title)}</title>'
             f'<text x="2" y="24">{high:.3g}</text><text x="2" y="152">{low:.3g}</text>'
             f'<text x="40" y="166">0</text><text x="340" y="166" text-anchor="end">{last}</text>']
    for i, (name, points) in enumerate(drawn.items()):
        colour = _COLOURS[i % len(_COLOURS)]
        parts.append(f'<polyline fill="none" stroke="{colour}" points="'
                     + " ".join(place(p) for p in points)
                     + f'"/><text x="350" y="{30 + 16 * i}" fill="{colour}">{escape(name)}</text>')
    return "".join(parts) + "</svg>"
