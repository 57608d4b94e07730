"""From a template to a page, with the headers of pages."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.server.front.pages import words

HERE = Path(__file__).parent
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    # With "no-referrer" browsers hide the origin of a form, too.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}


def page(template: str, status: int = 200, **values: Any) -> Response:
    """Return a page. Every value is escaped."""
    html = _environment().get_template(template).render(values)
    return HTMLResponse(html, status, headers=HEADERS)


def go(path: str) -> Response:
    """Return a redirection, after which the browser's reload sends no form again."""
    return RedirectResponse(path, 303, headers=HEADERS)


@cache
def style() -> str:
    """Return the style sheet."""
    return (HERE / "style.css").read_text(encoding="utf-8")


@cache
def icon() -> str:
    """Return the icon, which browsers ask for with each page."""
    return (HERE / "icon.svg").read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": words.number, "ended": words.ended}
    return made
