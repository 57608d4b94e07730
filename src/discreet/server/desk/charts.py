"""Bars, for a chart of SVG: places and sizes alone. The template draws them, with a table beneath."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, ROW, LABELS, GAP = 600, 26, 150, 70
"""Of a chart: its width, the height of a row, and the room for labels and for numbers."""


@dataclass(frozen=True)
class Bar:
    """A bar of a chart.

    Attributes:
        label: what it is of.
        value: its value.
        y: its upper edge.
        length: its length.
    """

    label: str
    value: float
    y: int
    length: float


@dataclass(frozen=True)
class Chart:
    """A chart of bars, one under the other."""

    bars: tuple[Bar, ...]
    height: int


def bar_chart(rows: Sequence[tuple[str, float]]) -> Chart:
    """Return the chart of labelled values of at least 0."""
    most = max((value for _, value in rows), default=0) or 1
    room = WIDTH - LABELS - GAP
    bars = tuple(
        Bar(label, value, place * ROW, round(room * value / most, 1)) for place, (label, value) in enumerate(rows)
    )
    return Chart(bars, max(1, len(rows)) * ROW)
