"""The text of HTML pages."""

import io
import re
from html.parser import HTMLParser

from discreet.reading.records import detect_encoding
from discreet.reading.sandboxed.extracted import Extracted

_SILENT = {"script", "style", "template"}
_LINES = set(
    "address article aside blockquote body br caption center dd div dl dt fieldset figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 head header hr html legend li main nav ol option p pre section summary table tbody tfoot thead title "
    "tr ul".split()
)
_CELLS = {"td", "th"}
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)


def read_html(data: bytes) -> Extracted:
    """Return the text of a page without scripts and styles. Links are not followed."""
    return Extracted(text_of_html(decoded(data)))


def decoded(data: bytes) -> str:
    """Return the decoded page: by its byte order mark, as valid UTF-8, as declared, or as detected, in this order."""
    likely = detect_encoding(lambda: io.BytesIO(data))
    declared = _DECLARED.search(data[:4096])
    if likely == "cp1252" and declared:
        try:
            return data.decode(declared[1].decode("ascii"))
        except (LookupError, UnicodeError):
            pass
    return data.decode(likely, "replace").removeprefix("\ufeff")


def text_of_html(page: str) -> str:
    """Return the text of a page."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    lines = "".join(reader.parts).split("\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.strip() for line in lines)).strip()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.silent = ""
        self.kept = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self.silent = tag
        self.kept += tag == "pre"
        if tag in _LINES:
            self.parts.append("\n")
        shown = dict(attrs)
        if tag == "img" and shown.get("alt"):
            self.parts.append(f" {shown['alt']} ")
        if tag == "input" and shown.get("value") and shown.get("type") not in ("hidden", "password"):
            self.parts.append(f" {shown['value']} ")

    def handle_endtag(self, tag: str) -> None:
        if tag == self.silent:
            self.silent = ""
        self.kept -= tag == "pre" and self.kept > 0
        if tag in _LINES:
            self.parts.append("\n\n" if tag == "p" else "\n")
        elif tag in _CELLS:
            self.parts.append("\t")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.parts.append(data if self.kept else re.sub(r"\s+", " ", data))
