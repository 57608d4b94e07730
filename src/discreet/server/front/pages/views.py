"""What a page shows: a template with the headers of pages. Its sentences stand in the template."""

import math
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.server.accounts.keys import METER_READS
from discreet.system.words import unit_word

HERE = Path(__file__).parent
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    # With "no-referrer" browsers hide the origin of a form, too.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}
STOPPED = {
    "end": "answered",
    "length": "answered, cut at its longest length",
    "budget": "answered, cut where the budget ended",
    "public": "nothing was released",
    "task": "answered without documents",
}
"""How a question ended, by the receipt's word; an error's code stands for itself."""
_LARGEST_FACTOR = 1e6


def number(value: float) -> str:
    """Return a number with at most four digits."""
    return f"{value:.4g}"


def ended(stopped: str) -> str:
    """Return how a question ended."""
    return STOPPED.get(stopped, stopped.replace("_", " ") or "not settled")


def odds(epsilon: float) -> str:
    """Return the factor by which the odds of a guess about an individual change at most; "" if it says nothing."""
    factor = math.exp(min(epsilon, 50.0))
    return number(factor) if factor <= _LARGEST_FACTOR else ""


def page(template: str, status: int = 200, **values: Any) -> Response:
    """Return a page. Every value is escaped."""
    html = _environment().get_template(template).render(values)
    return HTMLResponse(html, status, headers=HEADERS)


def go(path: str) -> Response:
    """Return a redirection, after which the browser's reload sends no form again."""
    return RedirectResponse(path, 303, headers=HEADERS)


@cache
def asset(name: str) -> str:
    """Return the style sheet or the icon, which browsers ask for with each page."""
    return (HERE / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": number, "ended": ended, "unit_word": unit_word, "odds": odds}
    made.globals["meter_reads"] = METER_READS
    return made
