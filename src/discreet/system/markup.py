"""Pages of HTML from plain parts. All texts are escaped. A page has no scripts, and loads nothing."""

import html
import math
from collections.abc import Iterable, Sequence

_STYLE = """
body { font: 15px/1.5 Georgia, "Times New Roman", serif; color: #1a1a1a; max-width: 50em; margin: 2em auto;
  padding: 0 1.5em; }
h1 { font-size: 1.7em; margin-bottom: 0; } h2 { font-size: 1.2em; margin: 2em 0 .4em; border-bottom: 1px solid #999; }
p, ul { margin: .5em 0; } .lead { font-size: 1.1em; }
table { border-collapse: collapse; width: 100%; margin: .7em 0; font: 13px/1.4 Arial, Helvetica, sans-serif; }
th, td { text-align: left; vertical-align: top; padding: .3em .6em; border: 1px solid #ccc; overflow-wrap: break-word; }
th { background: #f1f1ee; } tr > :first-child { white-space: nowrap; }
tr { break-inside: avoid; } thead { display: table-header-group; }
.private { border-left: 4px solid #b03a2e; padding-left: .9em; }
.private::before { content: "Private: for the custodian and the supervisor only."; color: #b03a2e; font-weight: bold;
  font-size: .85em; display: block; }
.note { color: #555; font-size: .9em; } .problem { color: #b03a2e; font-weight: bold; } .warning { color: #9a6700; }
.signs td { height: 3em; width: 50%; border: 0; border-bottom: 1px solid #333; vertical-align: bottom; }
h2, h3 { break-after: avoid; }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } table { font-size: 9pt; } @page { margin: 18mm; } }
"""


class Markup(str):
    """A text that is HTML. Only the functions of this file make one."""


def escaped(text: object) -> Markup:
    """Return a text escaped for HTML. Unprintable characters become question marks."""
    if isinstance(text, Markup):
        return text
    shown = "".join(one if one.isprintable() else " " if one in "\n\t" else "?" for one in str(text))
    return Markup(html.escape(shown))


def element(name: str, *parts: object, kind: str = "") -> Markup:
    """Return an element with its parts in order."""
    about = f' class="{html.escape(kind)}"' if kind else ""
    return Markup(f"<{name}{about}>{''.join(escaped(part) for part in parts)}</{name}>\n")


def paragraph(*parts: object, kind: str = "") -> Markup:
    """Return a paragraph."""
    return element("p", *parts, kind=kind)


def strong(text: object) -> Markup:
    """Return a text in bold type."""
    return Markup(f"<strong>{escaped(text)}</strong>")


def listed(items: Iterable[object]) -> Markup:
    """Return a list of items."""
    return element("ul", *(element("li", item) for item in items))


def table(headings: Sequence[object], rows: Iterable[Sequence[object]], kind: str = "") -> Markup:
    """Return a table whose headings are printed on each page."""
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    head = [element("thead", element("tr", *(element("th", one) for one in headings)))] if headings else []
    return element("table", *head, element("tbody", *body), kind=kind)


def bar(value: float, most: float) -> Markup:
    """Return a bar for a share. A reader without bars needs the numbers as text beside it."""
    full = most if 0 < most < math.inf else 1.0
    filled = min(max(value, 0.0), full) if math.isfinite(value) else 0.0
    return Markup(f'<progress value="{filled:.6g}" max="{full:.6g}"></progress>')


def section(title: str, *parts: object) -> Markup:
    """Return a section with its heading."""
    return element("section", element("h2", title), *parts)


def private(*parts: object) -> Markup:
    """Return parts with a mark that they are private."""
    return element("div", *parts, kind="private")


def page(title: str, *parts: object) -> str:
    """Return a whole page."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # A second defence: even an unescaped text could run no script and load nothing.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escaped(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{''.join(escaped(part) for part in parts)}</body>\n</html>\n"
    )
