"""Readers of documents, from bytes to text, for a process that can open no file (`files.sandbox`).

Of a page, boxes keep their state, and lists their chosen entry; deleted text is left out. Of a mail, the visible header
and the text are read, and attachments are counted. Of Word, OpenDocument and PowerPoint files, all text is kept:
headers, footers, notes, comments, text boxes, cells, charts, diagrams. Text that a tracked change deleted, and
placeholders such as "Choose an item.", are omitted. Of a PDF, pages, notes and fields of forms are read, by PDFium;
with OCR, also pages that are pictures. Embedded files are counted, not read. Workbooks give rows, by openpyxl.
"""

import ctypes
import io
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parseaddr
from functools import cache, partial
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from discreet.files.records import ExtractedText, ReadingOptions, SheetRows, Unreadable, decode

DAMAGED = "damaged, or of another format than its suffix states"
ENCRYPTED = "encrypted: save it without a password"
ENCRYPTED_OR_OLD = "encrypted, or in a format from before 2007: save it again without a password"
TOO_LARGE = "too large, or it needs too much memory: split it into several files"

# --- pages -----------------------------------------------------------------------------------------------------------

_SILENT = {"script", "style", "template", "del", "datalist"}
_LINES = set(
    "address article aside blockquote body br caption center dd div dl dt fieldset figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 head header hr html legend li main nav ol option p pre section summary table tbody tfoot thead title "
    "tr ul select textarea".split()
)
_CELLS = {"td", "th"}
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_TICKED, _EMPTY = "\u2612", "\u2610"


def read_html(data: bytes, options: ReadingOptions) -> Iterator[ExtractedText]:
    """Yield the text of a page without scripts and styles. Links are not followed."""
    text, encoding = _decoded(data, options.encoding)
    page = Page(text)
    yield ExtractedText(page.text, encoding, forms=page.forms)


def _decoded(data: bytes, encoding: str | None) -> tuple[str, str]:
    """Return the page and its encoding: as given, by its mark, as valid UTF-8, as declared, or as detected."""
    declared = _DECLARED.search(data[:4096])
    if encoding or data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return decode(data, encoding)
    try:
        return data.decode(), "utf-8"
    except UnicodeError:
        return decode(data, declared[1].decode("ascii", "replace") if declared else "")


class Page(HTMLParser):
    """The text of a page.

    Args:
        page: the page.
        without_quotes: whether the quotes of a mail are left out.

    Attributes:
        text: the text.
        forms: 1 if the page has a list of which no entry is marked as chosen; otherwise 0.
    """

    def __init__(self, page: str, *, without_quotes: bool = False) -> None:
        super().__init__(convert_charrefs=True)
        self._silences = _SILENT | ({"blockquote"} if without_quotes else set())
        self._parts, self._silent = list[str](), list[str]()
        self._kept, self._chosen, self.forms = 0, True, 0
        self.feed(page)
        self.close()
        lines = "".join(self._parts).split("\n")
        self.text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.strip() for line in lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read a tag, with what a browser shows for it."""
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
            self._parts.append("\n")
        if not self._silent:
            self._parts.append(_shown(tag, given))

    def handle_endtag(self, tag: str) -> None:
        """Read the end of an element."""
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        if tag == "select":
            self._silent = [one for one in self._silent if one != "option"]
            self.forms = int(self.forms or not self._chosen)
        self._kept -= tag == "pre" and self._kept > 0
        if tag in _LINES:
            self._parts.append("\n\n" if tag == "p" else "\n")
        elif tag in _CELLS:
            self._parts.append("\t")

    def handle_data(self, data: str) -> None:
        """Read a text between tags."""
        if not self._silent:
            self._parts.append(data if self._kept else re.sub(r"\s+", " ", data))


def _shown(tag: str, given: dict[str, str | None]) -> str:
    """Return what a browser shows for a tag without content."""
    kind = (given.get("type") or "").lower()
    if tag == "input" and kind in ("checkbox", "radio"):
        return f" {_TICKED if 'checked' in given else _EMPTY} "
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


def read_eml(data: bytes, options: ReadingOptions) -> Iterator[ExtractedText]:
    """Yield the header and text of a mail."""
    mail = message_from_bytes(data, policy=policy.default)
    if not isinstance(mail, EmailMessage) or not any(name in mail for name in _HEADER):
        raise Unreadable(DAMAGED)
    shown = {name: _header(mail, name, options) for name in _HEADER if name in mail}
    body = _read_part(mail, options)
    yield replace(
        body,
        text="\n\n".join(["\n".join(f"{name}: {value}" for name, value in shown.items()), *filter(None, [body.text])]),
        fields={
            **{name.lower(): value for name, value in shown.items()},
            "from": parseaddr(shown.get("From", ""))[1] or shown.get("From", ""),
            "message-id": str(mail.get("Message-ID", "")).strip(" <>"),
        },
        bodiless=int(not body.text),
    )


def read_mbox(data: bytes, options: ReadingOptions) -> Iterator[ExtractedText]:
    """Yield the mails of a box: each begins with a line `From `."""
    starts = [*_START.finditer(data)]
    if not starts:
        raise Unreadable(DAMAGED)
    ends = [*(beginning.start() for beginning in starts[1:]), len(data)]
    for start, end in zip(starts, ends, strict=True):
        yield from read_eml(re.sub(rb"(?m)^>(>*From )", rb"\1", data[start.end() : end]), options)


def _read_part(part: EmailMessage, options: ReadingOptions) -> ExtractedText:
    """Return the text of a part of a mail, and of those in it. What is no text is an attachment."""
    kind = part.get_content_type()
    if kind.startswith("multipart/") and not part.is_multipart():
        part = _repaired(part)
        kind = part.get_content_type()
    if part.is_multipart() and kind.startswith("multipart/"):
        parts = [child for child in part.iter_parts() if isinstance(child, EmailMessage)]
        found = [*map(partial(_read_part, options=options), parts)]
        texts = [one.text for one in found]
        if kind == "multipart/alternative":  # the longest form of one text: the plain one may be only a hint
            forms = [(one.get_content_type() != "text/calendar", text) for one, text in zip(parts, texts, strict=True)]
            texts = [text for _, text in sorted(forms, key=lambda form: (form[0], len(form[1])), reverse=True)[:1]]
        return ExtractedText(
            "\n\n".join(filter(None, texts)),
            next((one.encoding for one in found if one.encoding), ""),
            attachments=sum(one.attachments for one in found),
            forms=int(any(one.forms for one in found)),
        )
    if kind.startswith("image/") and "Content-ID" in part and part.get_content_disposition() != "attachment":
        return ExtractedText("")  # a picture in the text, such as a logo: pictures are read from no document
    is_body = kind in ("text/plain", "text/html") or not part.get_filename()
    if part.get_content_disposition() == "attachment" or not kind.startswith("text/") or not is_body:
        return ExtractedText("", attachments=1)
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ExtractedText("")
    text, encoding = decode(data, options.encoding or part.get_content_charset("us-ascii"))
    text = text.replace("\r\n", "\n")
    page = Page(text, without_quotes=options.without_quotes) if kind == "text/html" else None
    text = page.text if page else text
    own = _own_words(text) if options.without_quotes else text
    return ExtractedText(own.strip(), "" if encoding.startswith("utf-8") else encoding, forms=page.forms if page else 0)


def _repaired(part: EmailMessage) -> EmailMessage:
    """Return the parts of a mail by the boundary that its text has, or its text if it has none."""
    body = str(part.get_payload()).encode("utf-8", "surrogateescape")
    boundary = _BOUNDARY.search(body.decode("utf-8", "surrogateescape"))
    head = f'{part.get_content_type()}; boundary="{boundary[1]}"' if boundary else "text/plain"
    again = message_from_bytes(
        f"Content-Type: {head}\n\n".encode("utf-8", "surrogateescape") + body, policy=policy.default
    )
    if isinstance(again, EmailMessage) and (again.is_multipart() or not boundary):
        return again
    raise Unreadable(DAMAGED)


def _own_words(text: str) -> str:
    """Return what the sender wrote: without the lines of an earlier mail, and the line that introduces them."""
    match = _FOLLOWS.search(text)
    return _QUOTE.sub("", text[: match.start()] if match else text)


def _header(mail: EmailMessage, name: str, options: ReadingOptions) -> str:
    raw = next(str(value) for key, value in mail.raw_items() if key.lower() == name.lower())
    if raw.isascii():
        return str(mail[name])
    # A header may not contain such bytes, but mail programs show them.
    return " ".join(decode(raw.encode("utf-8", "surrogateescape"), options.encoding)[0].split())


# --- Word, OpenDocument and PowerPoint -------------------------------------------------------------------------------

_LARGEST = 2**27
"""The largest decompressed XML, in bytes."""
_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of encrypted files, and of formats from before 2007."""
_EMBEDDED = re.compile(r"(word|ppt)/embeddings/[^/]+|word/afchunk[^/]*|Object [0-9]+/content\.xml")
_CHART = re.compile(r"(word|ppt)/charts/chart\d*\.xml")


_WORD = r"header\d*|document\d*|footnotes|endnotes|comments|footer\d*|charts/chart\d*|diagrams/data\d*"
_SLIDES = r"slides/slide\d+|notesSlides/notesSlide\d+|comments/\w+|charts/chart\d*|diagrams/data\d*"
_PACKED = {
    "docx": ("word/", _WORD, r"document\d*"),
    "pptx": ("ppt/", _SLIDES, "presentation"),
    "odt": ("", "content|styles", "content"),
}
"""Of each format the folder of its parts, those with text in the order in which they are read, and the main one."""


def _read_packed(kind: str, data: bytes, _: ReadingOptions) -> Iterator[ExtractedText]:
    """Yield the text of a file of Word or OpenDocument, or of a presentation with the notes of its slides."""
    folder, order, main = _PACKED[kind]
    if data.startswith(_OLD):
        raise Unreadable(ENCRYPTED_OR_OLD)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        if not any(re.fullmatch(rf"{folder}{main}\.xml", name) for name in names):
            raise Unreadable(DAMAGED)
        if _is_encrypted(archive):
            raise Unreadable(ENCRYPTED)
        names.sort(key=lambda name: (len(name), name))  # slide2 before slide10
        parts = [name for part in order.split("|") for name in names if re.fullmatch(rf"{folder}{part}\.xml", name)]
        if sum(archive.getinfo(name).file_size for name in parts) > _LARGEST:
            raise Unreadable(TOO_LARGE)
        texts = [_text_of(ElementTree.fromstring(archive.read(name)), kind == "odt") for name in parts]
    # Each chart embeds a sheet whose numbers the chart already has.
    sheets = sum(bool(_CHART.fullmatch(name)) for name in names)
    embedded = max(0, sum(bool(_EMBEDDED.fullmatch(name)) for name in names) - sheets)
    # The header of the first page and that of the others are often equal.
    yield ExtractedText("\n\n".join(dict.fromkeys(filter(None, map(_tidied, texts)))), attachments=embedded)


def _is_encrypted(archive: zipfile.ZipFile) -> bool:
    if any(info.flag_bits & 1 for info in archive.infolist()):
        return True
    manifest = "META-INF/manifest.xml"
    return manifest in archive.namelist() and b"encryption-data" in archive.read(manifest)


def _tidied(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip()


def _kind(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "line-break": "\n"}
_ENDS = {"p": "\n", "h": "\n", "tr": "\n", "tbl": "\n", "table": "\n", "table-row": "\n", "pt": "\n"}
_SYMBOLS = {"FE": "\u2612", "FD": "\u2612", "A8": "\u2610", "6F": "\u2610", "FC": "\u2713", "FB": "\u2717"}
"""Boxes and ticks of the font Wingdings, which forms use for answers. Other symbols become an empty box."""
_LEFT_OUT = {"del", "moveFrom", "Fallback", "tracked-changes", "tabs", "placeholder"}
"""Deletions of tracked changes, second copies of text boxes for old programs, tab stops, and placeholders."""


def _text_of(root: Element, is_open: bool) -> str:
    """Return the text of a part. Notes and comments of OpenDocument lie within words; they follow the text."""
    notes: list[Element] = []
    texts = [*_texts(root, is_open, notes)]
    for note in notes:
        parts = ("".join(_texts(child, is_open, [], within=True)).strip() for child in note)
        texts.append("\n" + " ".join(filter(None, parts)) + "\n")
    return "".join(texts)


def _texts(element: Element, is_open: bool, notes: list[Element], *, within: bool = False) -> Iterator[str]:
    """Yield the texts in an element.

    Args:
        element: the element.
        is_open: whether the file is of OpenDocument: there, all text in a paragraph counts. A text of Microsoft has its
            own element.
        notes: receives the notes and comments of OpenDocument.
        within: whether the element is in a paragraph of OpenDocument.
    """
    kind = _kind(element)
    if kind in _LEFT_OUT or _child(_child(element, "sdtPr"), "showingPlcHdr") is not None:
        return
    if is_open and kind in ("annotation", "note"):
        notes.append(element)
        return
    if kind in ("tc", "table-cell"):
        cell = "".join(text for child in element for text in _texts(child, is_open, notes))
        yield " ".join(cell.split("\n")).strip() + "\t"
        return
    within = within or (is_open and kind in ("p", "h"))
    yield _MARKS.get(kind, "")
    yield (_open_field if is_open else _field)(element, kind)
    if within:
        yield _spaced(element.text)
    for child in element:
        yield from _texts(child, is_open, notes, within=within)
        if within:
            yield _spaced(child.tail)
    yield _ENDS.get(kind, "")


def _field(element: Element, kind: str) -> str:
    """Return what an element of a file of Microsoft shows by itself: a text, a symbol, or a field of a form."""
    if kind in ("t", "v"):
        return element.text or ""
    if kind == "sym":
        return _SYMBOLS.get(_value(element, "char")[-2:].upper(), "\u25a1")
    if kind == "checkBox":
        state = _child(element, "checked", _child(element, "default"))
        return _EMPTY if state is None or _value(state) in ("0", "false", "off") else _TICKED
    if kind == "ddList":
        entries = [_value(child) for child in element if _kind(child) == "listEntry"]
        chosen = int(_value(_child(element, "result", _child(element, "default"))) or 0)
        return entries[chosen] if 0 <= chosen < len(entries) else ""
    return ""


def _open_field(element: Element, kind: str) -> str:
    """Return what an element of OpenDocument shows by itself: spaces, or a field of a form."""
    if kind == "s":
        return " " * min(int(_value(element, "c") or 1), 1000)
    if ":form:" not in str(element.tag):
        return ""
    if kind in ("checkbox", "radio"):
        states = (_value(element, "current-state"), _value(element, "current-selected"))
        return f"{_TICKED if 'checked' in states or 'true' in states else _EMPTY} {_value(element, 'label')}\n"
    if kind in ("option", "item"):
        return f"{_value(element, 'label')}\n" if _value(element, "current-selected") == "true" else ""
    shown = _value(element, "current-value")
    return f"{shown}\n" if shown else ""


def _child(element: Element | None, kind: str, other: Element | None = None) -> Element | None:
    return next((child for child in (() if element is None else element) if _kind(child) == kind), other)


def _value(element: Element | None, name: str = "val") -> str:
    attributes = {} if element is None else element.attrib
    return next((value for key, value in attributes.items() if key.rpartition("}")[2] == name), "")


def _spaced(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "")


# --- workbooks -------------------------------------------------------------------------------------------------------

_BATCH = 200
_PLACE = re.compile(r'0|\\.|"[^"]*"|[-() ]')
_PLACES = re.compile(f"(?:{_PLACE.pattern})+")
"""A number format of digits and separators, such as 00000 or 000-00-0000, for numbers that are names."""
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_EXACT = 1e15
_LARGEST_BOOK = 2**30
"""The largest decompressed XML, in bytes. It is read piece by piece."""


def read_xlsx(data: bytes, _: ReadingOptions) -> Iterator[SheetRows]:
    """Yield the rows of a workbook. A formula gives its saved value. A number with leading zeros is a text."""
    import openpyxl

    if data.startswith(_OLD):
        raise Unreadable(ENCRYPTED_OR_OLD)
    warnings.simplefilter("ignore")
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    if sum(info.file_size for info in book._archive.infolist()) > _LARGEST_BOOK:
        raise Unreadable(TOO_LARGE)
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # the dimensions that a file states may be wrong
        rows: list[tuple[str, int, list[object]]] = []
        for number, row in enumerate(sheet.iter_rows(), 1):
            cells = [_cell(cell) for cell in row]
            while cells and cells[-1] is None:
                cells.pop()
            if cells:
                rows.append((sheet.title, number, cells))
            if len(rows) == _BATCH:
                yield SheetRows(rows)
                rows = []
        yield SheetRows(rows)


def _cell(cell: Any) -> object:
    value = cell.value
    if value is not None and cell.data_type == "e":
        return {"error": 1}
    if isinstance(value, str):
        return _ESCAPED.sub(_character, value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value, str(cell.number_format))
    if value is None or isinstance(value, bool):
        return value
    return {"date": value.isoformat()} if isinstance(value, datetime) else str(value)


def _number(value: float, shown: str) -> object:
    """Return a number, or the shown text if it has leading zeros: the number 7 that is shown as 007 is "007".

    A spreadsheet keeps 15 digits. A larger number is returned as it would be shown, such as 1.5e+20: it was rounded.
    """
    if abs(value) >= _EXACT:
        return f"{value:.15g}"
    places = _PLACE.findall(shown) if _PLACES.fullmatch(shown) else []
    if places.count("0") < 2 or value < 0 or not float(value).is_integer():
        return value
    digits = str(int(value)).zfill(places.count("0"))
    first = len(digits) - places.count("0") + 1  # the first 0 of the format takes all excess digits
    pieces = iter([digits[:first], *digits[first:]])
    return "".join(next(pieces) if place == "0" else place.strip('\\"') for place in places)


def _character(escaped: re.Match[str]) -> str:
    """Return the character of an escape, which stands for a character that XML cannot have. Drop "_x000D_"."""
    code = int(escaped[1], 16)
    return "" if code == 0x0D else escaped[0] if 0xD800 <= code < 0xE000 else chr(code)


# --- PDF --------------------------------------------------------------------------------------------------------------

SMALL = (
    b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>"
)
"""A page without text. Reading it loads all parts of the library."""
_EMBEDDED_FILE = re.compile(rb"/Type\s*/EmbeddedFile\b")
_SIDE = 2000
"""The longer side of the picture of a page, in pixels: so many has a page of A4 at 170 a inch."""


def read_pdf(data: bytes, options: ReadingOptions) -> Iterator[ExtractedText | dict[str, object]]:
    """Yield `{"page": number}` for each page that was recognized, and then the text of a PDF."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(ENCRYPTED if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD else DAMAGED) from None
    document.init_forms()
    recognize = _recognizer() if options.ocr else None
    texts, noted, blank, recognized = list[str](), list[str](), 0, 0
    attached = 0
    for number in range(len(document)):
        page = document[number]
        text = page.get_textpage().get_text_range().replace("\r\n", "\n").replace("\x02", "-").strip()
        notes, files = _annotations(document, page)
        attached += files
        if not text and recognize:
            scale = _SIDE / max(*page.get_size(), 1)
            text = recognize(page.render(scale=scale).to_numpy())
            recognized += bool(text)
            yield {"page": number + 1}
        blank += not text
        texts.append(text)
        noted += notes
        page.close()
    forms = int(document.get_formtype() in (pypdfium2.raw.FORMTYPE_XFA_FULL, pypdfium2.raw.FORMTYPE_XFA_FOREGROUND))
    # A stream is never packed. Some files name their embedded files where PDFium does not look.
    attached = max(attached + document.count_attachments(), len(_EMBEDDED_FILE.findall(data)))
    document.close()
    text = "\n\n".join(filter(None, [*texts, *noted]))
    yield ExtractedText(text, pages=blank, recognized=recognized, attachments=attached, forms=forms)


def _annotations(document: Any, page: Any) -> tuple[list[str], int]:
    """Return the notes and the filled fields of a page, and the number of files that are attached to it."""
    from pypdfium2 import raw

    texts, files = list[str](), 0
    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        note = raw.FPDFPage_GetAnnot(page, number)
        kind = raw.FPDFAnnot_GetSubtype(note)
        files += kind == raw.FPDF_ANNOT_FILEATTACHMENT
        if kind == raw.FPDF_ANNOT_WIDGET and document.formenv:
            texts.append(_pdf_field(document.formenv, note, raw))
        elif kind not in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_WIDGET):
            texts.append(_string(raw.FPDFAnnot_GetStringValue, note, b"Contents").strip())
        raw.FPDFPage_CloseAnnot(note)
    return [*filter(None, texts)], files


def _pdf_field(form: Any, note: Any, raw: Any) -> str:
    """Return what a field of a form says, with its name; "" if it is empty, or a button."""
    name = _string(raw.FPDFAnnot_GetFormFieldAlternateName, form, note) or _string(
        raw.FPDFAnnot_GetFormFieldName, form, note
    )
    kind = raw.FPDFAnnot_GetFormFieldType(form, note)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        choice = _string(raw.FPDFAnnot_GetFormFieldExportValue, form, note)
        return f"{_TICKED if raw.FPDFAnnot_IsChecked(form, note) else _EMPTY} {name} {choice}".rstrip()
    value = _string(raw.FPDFAnnot_GetFormFieldValue, form, note).strip()
    return f"{name}: {value}" if value and kind != raw.FPDF_FORMFIELD_PUSHBUTTON else ""


def _string(read: Callable[..., int], *about: Any) -> str:
    """Return a text by a function of PDFium that fills a buffer with UTF-16 and returns its size in bytes."""
    size = read(*about, None, 0)
    buffer = ctypes.create_string_buffer(size)
    read(*about, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw.decode("utf-16-le", "replace").rstrip("\0")


@cache
def _recognizer() -> Callable[[Any], str]:
    """Return what reads the text of a picture, line by line. It is loaded once, and opens no file after that."""
    import cv2
    import numpy
    from rapidocr import RapidOCR

    cv2.setNumThreads(1)
    one = {"EngineConfig.onnxruntime.intra_op_num_threads": 1, "EngineConfig.onnxruntime.inter_op_num_threads": 1}
    engine = RapidOCR(params={**one, "Global.log_level": "critical"})
    engine(cv2.putText(numpy.full((90, 400, 3), 255, numpy.uint8), "ready", (20, 60), 0, 2, (0, 0, 0), 3))

    def recognize(picture: Any) -> str:
        result = engine(picture)
        return _lines(result.boxes, result.txts) if result.txts else ""

    return recognize


def _lines(boxes: Any, texts: tuple[str, ...]) -> str:
    """Return the texts of a page, from top to bottom: those that stand side by side on one line."""
    lines, bottom = list[list[tuple[float, str]]](), -1.0
    for box, text in sorted(zip(boxes, texts, strict=True), key=lambda one: float(one[0][:, 1].mean())):
        middle = float(box[:, 1].mean())
        if middle > bottom:
            lines.append([])
            bottom = (middle + float(box[:, 1].max())) / 2
        lines[-1].append((float(box[:, 0].min()), text))
    return "\n".join(" ".join(text for _, text in sorted(line)) for line in lines)


READERS: dict[str, Callable[[bytes, ReadingOptions], Iterator[Any]]] = {
    **{kind: partial(_read_packed, kind) for kind in _PACKED},
    "pdf": read_pdf,
    "html": read_html,
    "eml": read_eml,
    "mbox": read_mbox,
    "xlsx": read_xlsx,
}
"""The readers by format: of a file's bytes they yield `ExtractedText` or `SheetRows`, and plain data for progress."""
