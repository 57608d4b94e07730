"""The text of PDF files, by PDFium: pages, notes, and fields of forms. With OCR, also of pages that are pictures."""

import ctypes
import re
from collections.abc import Callable, Iterator
from typing import Any

from discreet.reading.sandboxed import Extracted, Unreadable, Wanted
from discreet.reading.sandboxed.markup import EMPTY, TICKED

SMALL = (
    b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>"
)
"""A page without text. Reading it loads all parts of the library."""
_EMBEDDED = re.compile(rb"/Type\s*/EmbeddedFile\b")
_SIDE = 2000
"""The longer side of the picture of a page, in pixels: so many has a page of A4 at 170 a inch."""


def read_pdf(data: bytes, wanted: Wanted) -> Iterator[Extracted | dict[str, object]]:
    """Yield `{"page": number}` for each page that was recognized, and then the text of a PDF."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable("encrypted" if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD else "damaged") from None
    document.init_forms()
    recognize = _recognizer() if wanted.ocr else None
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
    attached = max(attached + document.count_attachments(), len(_EMBEDDED.findall(data)))
    document.close()
    text = "\n\n".join(filter(None, [*texts, *noted]))
    yield Extracted(text, pages=blank, recognized=recognized, attachments=attached, forms=forms)


def _annotations(document: Any, page: Any) -> tuple[list[str], int]:
    """Return the notes and the filled fields of a page, and the number of files that are attached to it."""
    from pypdfium2 import raw

    found, files = list[str](), 0
    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        note = raw.FPDFPage_GetAnnot(page, number)
        kind = raw.FPDFAnnot_GetSubtype(note)
        files += kind == raw.FPDF_ANNOT_FILEATTACHMENT
        if kind == raw.FPDF_ANNOT_WIDGET and document.formenv:
            found.append(_field(document.formenv, note, raw))
        elif kind not in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_WIDGET):
            found.append(_string(raw.FPDFAnnot_GetStringValue, note, b"Contents").strip())
        raw.FPDFPage_CloseAnnot(note)
    return [*filter(None, found)], files


def _field(form: Any, note: Any, raw: Any) -> str:
    """Return what a field of a form says, with its name; "" if it is empty, or a button."""
    name = _string(raw.FPDFAnnot_GetFormFieldAlternateName, form, note) or _string(
        raw.FPDFAnnot_GetFormFieldName, form, note
    )
    kind = raw.FPDFAnnot_GetFormFieldType(form, note)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        choice = _string(raw.FPDFAnnot_GetFormFieldExportValue, form, note)
        return f"{TICKED if raw.FPDFAnnot_IsChecked(form, note) else EMPTY} {name} {choice}".rstrip()
    value = _string(raw.FPDFAnnot_GetFormFieldValue, form, note).strip()
    return f"{name}: {value}" if value and kind != raw.FPDF_FORMFIELD_PUSHBUTTON else ""


def _string(read: Callable[..., int], *about: Any) -> str:
    """Return a text by a function of PDFium that fills a buffer with UTF-16 and returns its size in bytes."""
    size = read(*about, None, 0)
    buffer = ctypes.create_string_buffer(size)
    read(*about, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw.decode("utf-16-le", "replace").rstrip("\0")


def _recognizer() -> Callable[[Any], str]:
    """Return what reads the text of a picture, line by line. It is loaded once, and opens no file after that."""
    global _loaded
    if _loaded is None:
        import cv2
        import numpy
        from rapidocr import RapidOCR

        cv2.setNumThreads(1)
        one = {"EngineConfig.onnxruntime.intra_op_num_threads": 1, "EngineConfig.onnxruntime.inter_op_num_threads": 1}
        _loaded = RapidOCR(params={**one, "Global.log_level": "critical"})
        _loaded(cv2.putText(numpy.full((90, 400, 3), 255, numpy.uint8), "ready", (20, 60), 0, 2, (0, 0, 0), 3))
    engine = _loaded

    def recognize(picture: Any) -> str:
        found = engine(picture)
        return _lines(found.boxes, found.txts) if found.txts else ""

    return recognize


_loaded: Any = None


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
