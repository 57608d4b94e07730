"""Mail: the visible header and the text. Attachments are counted, not read."""

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parseaddr

from discreet.reading.encodings import decode
from discreet.reading.sandboxed.extracted import Extracted, Unreadable, Wanted
from discreet.reading.sandboxed.markup import page_of

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
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
    if not isinstance(mail, EmailMessage) or not any(name in mail for name in _SHOWN):
        raise Unreadable("damaged")
    shown = {name: _shown(mail, name, wanted) for name in _SHOWN if name in mail}
    reader = _Reader(wanted)
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


class _Reader:
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


def _shown(mail: EmailMessage, name: str, wanted: Wanted) -> str:
    raw = next(str(value) for key, value in mail.raw_items() if key.lower() == name.lower())
    if raw.isascii():
        return str(mail[name])
    # A header may not contain such bytes, but mail programs show them.
    return " ".join(decode(raw.encode("utf-8", "surrogateescape"), wanted.encoding)[0].split())
