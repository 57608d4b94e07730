"""The text of HTML pages. Boxes keep their state, and lists their chosen entry; deleted text is left out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

from discreet.reading.encodings import decode
from discreet.reading.sandboxed.extracted import Extracted, Wanted

_SILENT = {"script", "style", "template", "del", "datalist"}
_LINES = set(
    "address article aside blockquote body br caption center dd div dl dt fieldset figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 head header hr html legend li main nav ol option p pre section summary table tbody tfoot thead title "
    "tr ul select textarea".split()
)
_CELLS = {"td", "th"}
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
TICKED, EMPTY = "\u2612", "\u2610"


def read_html(data: bytes, wanted: Wanted) -> Iterator[Extracted]:
    """Yield the text of a page without scripts and styles. Links are not followed."""
    text, encoding = decoded(data, wanted.encoding)
    page = page_of(text)
    yield Extracted(page.text, encoding, forms=page.forms)


def decoded(data: bytes, encoding: str = "") -> tuple[str, str]:
    """Return the page and its encoding: as given, by its mark, as valid UTF-8, as declared, or as detected."""
    declared = _DECLARED.search(data[:4096])
    if encoding or data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return decode(data, encoding)
    try:
        return data.decode(), "utf-8"
    except UnicodeError:
        return decode(data, declared[1].decode("ascii", "replace") if declared else "")


@dataclass(frozen=True)
class PageText:
    """The text of a page.

    Attributes:
        text: the text.
        forms: 1 if it has a list of which no entry is marked as chosen; otherwise 0.
    """

    text: str
    forms: int


def page_of(page: str, *, without_quotes: bool = False) -> PageText:
    """Return the text of a page; without the quotes of mails, if it is asked for."""
    reader = _Reader(_SILENT | ({"blockquote"} if without_quotes else set()))
    reader.feed(page)
    reader.close()
    lines = "".join(reader.parts).split("\n")
    return PageText(re.sub(r"\n{3,}", "\n\n", "\n".join(line.strip() for line in lines)).strip(), reader.forms)


def text_of_html(page: str) -> str:
    """Return the text of a page."""
    return page_of(page).text


class _Reader(HTMLParser):
    def __init__(self, silent: set[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.parts = list[str]()
        self._silences, self._silent = silent, list[str]()
        self._kept, self._chosen, self.forms = 0, True, 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if self._silent[-1:] == ["option"]:
            self._silent.pop()
        if tag == "select":
            self._chosen = False
        if tag in self._silences or (tag == "option" and "selected" not in given):
            self._silent.append(tag)
        elif tag == "option":
            self._chosen = True
        self._kept += tag == "pre"
        if tag in _LINES:
            self.parts.append("\n")
        if not self._silent:
            self.parts.append(_shown(tag, given))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        if tag == "select":
            self._silent = [one for one in self._silent if one != "option"]
            self.forms = int(self.forms or not self._chosen)
        self._kept -= tag == "pre" and self._kept > 0
        if tag in _LINES:
            self.parts.append("\n\n" if tag == "p" else "\n")
        elif tag in _CELLS:
            self.parts.append("\t")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data if self._kept else re.sub(r"\s+", " ", data))


def _shown(tag: str, given: dict[str, str | None]) -> str:
    """Return what a browser shows for a tag without content."""
    kind = (given.get("type") or "").lower()
    if tag == "input" and kind in ("checkbox", "radio"):
        return f" {TICKED if 'checked' in given else EMPTY} "
    shown = given.get("alt") if tag == "img" else given.get("value") if tag == "input" else ""
    return f" {shown} " if shown and kind not in ("hidden", "password") else ""
