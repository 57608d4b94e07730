"""The text of HTML pages and mails.

Of a page, boxes keep their state, and lists their chosen entry; deleted text is left out. Of a mail, the visible header
and the text are read, and attachments are counted.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parseaddr
from html.parser import HTMLParser

from discreet.reading.records import decode
from discreet.reading.sandboxed import Extracted, Unreadable, Wanted

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


# --- mails -----------------------------------------------------------------------------------------------------------

_HEADER = ("From", "To", "Cc", "Date", "Subject")
_START = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]*\n")
_BOUNDARY = re.compile(r"^--(\S[^\n]*?)[ \t]*\r?\n(?=[\w-]+:|\r?\n)", re.MULTILINE)
_FOLLOWS = re.compile(
    r"^\s*(-{2,} ?(Original Message|Forwarded message|Ursprüngliche Nachricht|Weitergeleitete Nachricht"
    r"|Message d.origine|Mensaje original).*|_{10,}\s*"
    r"|(From|Von|De): .*\n(Sent|Gesendet|Date|Datum|Envoyé|Enviado): .*)$",
    re.MULTILINE,
)
"""The line from which on a mail program repeats an earlier mail."""
_QUOTE = re.compile(
    r"(^(On|Am|Le|El) [^\n]{4,150}(\n[^\n]{1,100})?(wrote|schrieb|a écrit|escribió)[^\n]{0,80}:\s*\n+)?"
    r"(^[ \t]*>.*(\n|\Z))+",
    re.MULTILINE,
)


def read_eml(data: bytes, wanted: Wanted) -> Iterator[Extracted]:
    """Yield the header and text of a mail."""
    mail = message_from_bytes(data, policy=policy.default)
    if not isinstance(mail, EmailMessage) or not any(name in mail for name in _HEADER):
        raise Unreadable("damaged")
    shown = {name: _header(mail, name, wanted) for name in _HEADER if name in mail}
    reader = _MailReader(wanted)
    attached = reader.collect(mail)
    texts = [*filter(None, reader.texts)]
    yield Extracted(
        "\n\n".join(["\n".join(f"{name}: {value}" for name, value in shown.items()), *texts]),
        encoding=next((name for name in reader.encodings if not name.startswith("utf-8")), ""),
        fields={
            **{name.lower(): value for name, value in shown.items()},
            "from": parseaddr(shown.get("From", ""))[1] or shown.get("From", ""),
            "message-id": str(mail.get("Message-ID", "")).strip(" <>"),
        },
        attachments=attached,
        forms=reader.forms,
        bodiless=int(not texts),
    )


def read_mbox(data: bytes, wanted: Wanted) -> Iterator[Extracted]:
    """Yield the mails of a box: each begins with a line `From `."""
    starts = [*_START.finditer(data)]
    if not starts:
        raise Unreadable("damaged")
    ends = [*(found.start() for found in starts[1:]), len(data)]
    for start, end in zip(starts, ends, strict=True):
        yield from read_eml(re.sub(rb"(?m)^>(>*From )", rb"\1", data[start.end() : end]), wanted)


class _MailReader:
    """A reader of the parts of a mail, with their texts, their encodings, and whether form fields were met."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self.texts, self.encodings, self.forms = list[str](), list[str](), 0

    def collect(self, part: EmailMessage) -> int:
        """Read a part and those in it. Return the number of attachments."""
        kind = part.get_content_type()
        if kind.startswith("multipart/") and not part.is_multipart():
            part = _repaired(part)
            kind = part.get_content_type()
        if part.is_multipart() and kind.startswith("multipart/"):
            parts = [child for child in part.iter_parts() if isinstance(child, EmailMessage)]
            return self._alternative(parts) if kind == "multipart/alternative" else sum(map(self.collect, parts))
        if kind.startswith("image/") and "Content-ID" in part and part.get_content_disposition() != "attachment":
            return 0  # a picture in the text, such as a logo: pictures are read from no document
        is_body = kind in ("text/plain", "text/html") or not part.get_filename()
        if part.get_content_disposition() == "attachment" or not kind.startswith("text/") or not is_body:
            return 1
        content = self._content(part).replace("\r\n", "\n")
        if kind == "text/html":
            page = page_of(content, without_quotes=self._wanted.without_quotes)
            content, self.forms = page.text, self.forms or page.forms
        if self._wanted.without_quotes:
            content = _own_words(content)
        self.texts.append(content.strip())
        return 0

    def _alternative(self, parts: list[EmailMessage]) -> int:
        """Keep the longest form of one text. The plain form may be empty, or only a hint. Return the attachments."""
        forms: list[tuple[bool, int, str]] = []
        attached, before = 0, self.texts
        for child in parts:
            self.texts = []
            attached += self.collect(child)
            form = "\n\n".join(filter(None, self.texts))
            forms.append((child.get_content_type() != "text/calendar", len(form), form))
        self.texts = [*before, max(forms, key=lambda form: form[:2])[2] if forms else ""]
        return attached

    def _content(self, part: EmailMessage) -> str:
        data = part.get_payload(decode=True)
        if not isinstance(data, bytes):
            return ""
        text, encoding = decode(data, self._wanted.encoding or part.get_content_charset("us-ascii"))
        self.encodings.append(encoding)
        return text


def _repaired(part: EmailMessage) -> EmailMessage:
    """Return the parts of a mail by the boundary that its text has, or its text if it has none."""
    body = str(part.get_payload()).encode("utf-8", "surrogateescape")
    found = _BOUNDARY.search(body.decode("utf-8", "surrogateescape"))
    head = f'{part.get_content_type()}; boundary="{found[1]}"' if found else "text/plain"
    again = message_from_bytes(
        f"Content-Type: {head}\n\n".encode("utf-8", "surrogateescape") + body, policy=policy.default
    )
    if isinstance(again, EmailMessage) and (again.is_multipart() or not found):
        return again
    raise Unreadable("damaged")


def _own_words(text: str) -> str:
    """Return what the sender wrote: without the lines of an earlier mail, and the line that introduces them."""
    found = _FOLLOWS.search(text)
    return _QUOTE.sub("", text[: found.start()] if found else text)


def _header(mail: EmailMessage, name: str, wanted: Wanted) -> str:
    raw = next(str(value) for key, value in mail.raw_items() if key.lower() == name.lower())
    if raw.isascii():
        return str(mail[name])
    # A header may not contain such bytes, but mail programs show them.
    return " ".join(decode(raw.encode("utf-8", "surrogateescape"), wanted.encoding)[0].split())
