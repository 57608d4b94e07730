"""Mail: the visible header and the text. Attachments are counted, not read."""

import io
from email import message_from_bytes, policy
from email.message import EmailMessage

from discreet.reading.records import detect_encoding
from discreet.reading.sandboxed.extracted import Extracted, Unreadable
from discreet.reading.sandboxed.markup import text_of_html

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_LATIN = ("iso-8859-1", "latin-1", "latin1")
"""Encodings that mails in cp1252 often declare. cp1252 includes them."""


def read_eml(data: bytes) -> Extracted:
    """Return the header and text of a mail."""
    mail = message_from_bytes(data, policy=policy.default)
    if not isinstance(mail, EmailMessage) or not any(name in mail for name in _SHOWN):
        raise Unreadable("damaged")
    header = "\n".join(f"{name}: {_shown(mail, name)}" for name in _SHOWN if name in mail)
    texts: list[str] = []
    attached = _collect(mail, texts)
    return Extracted("\n\n".join([header, *filter(None, texts)]), attachments=attached)


def _collect(part: EmailMessage, texts: list[str]) -> int:
    """Add the texts of a part to `texts`. Return the number of its attachments."""
    kind = part.get_content_type()
    if kind == "multipart/alternative":
        return _alternative(part, texts)
    if part.is_multipart() and kind.startswith("multipart/"):
        return sum(_collect(child, texts) for child in part.iter_parts() if isinstance(child, EmailMessage))
    if kind.startswith("image/") and "Content-ID" in part and part.get_content_disposition() != "attachment":
        return 0  # a picture in the text, such as a logo: pictures are read from no document
    if part.get_filename() or part.get_content_disposition() == "attachment" or not kind.startswith("text/"):
        return 1
    content = _content(part).replace("\r\n", "\n")
    texts.append((text_of_html(content) if kind == "text/html" else content).strip())
    return 0


def _alternative(part: EmailMessage, texts: list[str]) -> int:
    """Add the longest form of one text. The plain form may be empty, or only a hint. Return the attachments."""
    forms: list[tuple[bool, int, str]] = []
    attached = 0
    for child in part.iter_parts():
        if isinstance(child, EmailMessage):
            found: list[str] = []
            attached += _collect(child, found)
            form = "\n\n".join(filter(None, found))
            forms.append((child.get_content_type() != "text/calendar", len(form), form))
    texts.append(max(forms, key=lambda form: form[:2])[2] if forms else "")
    return attached


def _content(part: EmailMessage) -> str:
    """Return the text of a part in its declared encoding, or in the detected one if the declaration is wrong."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    declared = part.get_content_charset("us-ascii")
    for name in ("cp1252", declared) if declared in _LATIN else (declared,):
        try:
            return data.decode(name)
        except (LookupError, UnicodeError):
            continue
    return _likely(data)


def _shown(mail: EmailMessage, name: str) -> str:
    raw = next(str(value) for key, value in mail.raw_items() if key.lower() == name.lower())
    if raw.isascii():
        return str(mail[name])
    # A header may not contain such bytes, but mail programs show them.
    return " ".join(_likely(raw.encode("utf-8", "surrogateescape")).split())


def _likely(data: bytes) -> str:
    return data.decode(detect_encoding(lambda: io.BytesIO(data)), "replace")
