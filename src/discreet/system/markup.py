"""Texts and HTML that templates hold. In HTML all values are escaped; a page has no scripts, and loads nothing."""

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from discreet.system import words

if TYPE_CHECKING:
    from jinja2 import Environment


def fill(template: str, **values: Any) -> str:
    """Return a template of `discreet/templates`, filled with values. Those of HTML are escaped."""
    return _templates().get_template(template).render(values)


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("discreet"),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["show"] = format
    made.globals |= {name: one for name, one in vars(words).items() if name[0] != "_"} | {"bar": bar, "figure": figure}
    return made


def _printable(value: object) -> str:
    if isinstance(value, Markup):
        return value
    return "".join(one if one.isprintable() else " " if one in "\n\t" else "?" for one in str(value))


def paragraph(*parts: object) -> Markup:
    """Return a paragraph."""
    return Markup("<p>{}</p>\n").format(Markup().join(map(escape, parts)))


def section(title: str, *parts: Markup) -> Markup:
    """Return a section with its heading."""
    return Markup("<section><h2>{}</h2>{}</section>\n").format(title, Markup().join(parts))


def bar(value: float, most: float) -> Markup:
    """Return a bar for a share. A reader without bars needs the numbers as text beside it."""
    full = most if 0 < most < math.inf else 1.0
    filled = min(max(value, 0.0), full) if math.isfinite(value) else 0.0
    return Markup(f'<progress value="{filled:.6g}" max="{full:.6g}"></progress>')


def figure(value: float | None, kind: str) -> str:
    """Return a number of a statistic as a text."""
    if value is None or math.isinf(value):
        return "not known"
    return f"{value:,.0f}" if kind == "count" else f"{value:,.4g}"
